// Package rollout decides which tenants of a channel get its newest revision next. It has the
// states of a tenant and the words of a strategy from Open Cluster Management's rollouts
// (https://open-cluster-management.io/docs/concepts/resource-distribution/manifestworkreplicaset/).
//
// Next is a pure function: the time is an argument, what is true of tenants is in the Records that
// they write, and what has to be remembered is in the State and in the Assignments.
//
// # Who
//
// A tenant says whether the newest revision would change anything that runs. One that it changes nothing for
// has succeeded, and takes the revision once that is complete. The others are assigned it, one after the
// other. Tenants that are created meanwhile get it in the last step, and nobody waits for them, so that a
// channel that grows comes to an end.
//
// # Order
//
// Tenants of the mandatory group come first, and the others wait until each of these has
// succeeded or failed, or is skipped or passed over. Then come tenants that an earlier revision has
// broken, then those that are Ready, then the others, then those that were passed over, and then those that
// are newer than the revision. Within each of these, tenants of namespaces
// without a failed or progressing tenant come first, and then a hash of name and revision decides,
// so that the order differs from revision to revision.
//
// # How many
//
// At most maxConcurrency tenants progress at a time. While fewer tenants than that have proved the
// revision, which means that they were Ready before and are Ready with it, as many may progress as
// have, and at least maxFailures; each failure takes one of these. So a revision that breaks every
// tenant breaks maxFailures, and then halts.
//
// A step allows a percentage of the tenants outside of the mandatory group that the revision changes, rounded
// up, to have it. It says how many, not which: others overtake a tenant that waits for its window. A step
// is over when as many have it, or nobody else can get it, none progresses, and minSuccessTime has
// passed since the last of them became Ready or failed. What happens in that time doesn't begin it anew.
//
// # Failures
//
// A tenant has failed when it was Ready before it took a revision, and then is Degraded or
// Failing for a minute, or isn't Ready within progressDeadline. That counts with each later revision, too, until
// the tenant is Ready. It gets the next revision that changes something for it whatever the step is, and also
// while the channel has halted.
//
// Failures count once for each namespace where the revision has changed tenants of at least maxFailures
// namespaces: whoever breaks any number of its own claims is one failure. If the claim of a tenant that has
// failed is changed or deleted, that counts until the next revision, since it says nothing about this one.
//
// A halt that the newest revision has caused lasts until there is another one, or the channel is paused. One
// that an earlier revision has caused also ends once its tenants are Ready. Going on after a pause in the
// middle of a rollout forgives what has failed until then.
package rollout
