// Package rollout decides when a tenant gets a change. No other package delays changes. A
// tenant gets changes of its claim at once. It gets platform changes, which are those of its
// channel's offer, its plan and the function's input, together: in its maintenance window,
// and with a channel in its turn.
//
// # Types
//
// What these types of several packages are to each other, in the order in which a call for a
// tenant uses them:
//
//   - [tenant.Ask]: what the claim asks for.
//   - [tenant.Given]: all that is known of a tenant, with its Ask, plan, input and offer.
//   - [tenant.Accepted]: the Ask, plan, input and offer that a tenant has, kept in its Secret.
//   - [tenant.Offer]: a channel's offer that a tenant has.
//   - [tenant.Published]: what a channel tells all of its tenants, in an EnvironmentConfig.
//   - [channel.Admission]: what a channel tells one tenant that may begin, in a ConfigMap.
//   - [tenant.Gate]: both of these, as far as a tenant knows them.
//   - [maintenance.Schedule]: when a tenant's platform changes may begin.
//   - [channel.Gate] and [channel.Verdict]: what decides, and which offer a tenant is to have.
//   - [tenant.Standing]: what Next decided beside the Accepted, with the claim's status.channel.
//   - [tenant.Decision]: what follows from an Accepted: names, versions and values to compose.
//   - [channel.Record]: what a channel knows of a tenant, in a ConfigMap that the tenant writes.
//   - [channel.State]: what a channel remembers, in a ConfigMap that no tenant reads.
package rollout
