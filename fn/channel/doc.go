// Package channel decides how an offer reaches the tenants of a channel. It has two sides:
// Next, which admits tenants to the offer and is called for the channel, and Gate.Decide,
// which says whether a tenant takes the offer now and is called for the tenant. Both are
// pure functions: the time is an argument, and what has to be remembered is in the channel's
// State and in the tenants' Records.
//
// # Order
//
// The order of tenants is by a hash of the tenant's name and the offer's digest, so that it
// differs from offer to offer. Before that order come tenants whose claims match
// rollout.first, then those that an earlier offer has broken. Last come tenants that aren't
// Ready, which tell little about the offer, and those that were admitted and didn't begin.
//
// # Steps
//
// A step's percentage is of all tenants of the channel, rounded up, except for those that
// rollout.first selects. It says how many tenants may have the offer, not which: others
// overtake a tenant that waits for its window or is frozen. While a tenant that
// rollout.first selects lacks the offer or is updating, no other tenant begins, unless the
// selected one is frozen or didn't begin. Whoever writes a claim may have it selected and keep
// it from its update, so the others wait for at most eight days. Time in which the channel is
// paused or halted doesn't count.
//
// A step is over when as many tenants have the offer as it allows, none is updating, and the
// soak has passed since the last of them became Ready. A step waits for tenants whose
// windows are closed: each window opens within a week. It waits for at most eight days for a
// tenant whose claim has set or moved its window since the offer began, because the claim
// could move it again and again. Where all remaining tenants are frozen, didn't begin or
// aren't waited for, the step ends with the tenants that have the offer, if there is at
// least one. A tenant that didn't begin and is admitted again doesn't count as one that has
// it. A step that adds no tenant needs no soak of its own. If the steps are edited, the rollout
// goes on at the last one of at most the percentage that it had reached, or else at the first.
// A new channel without tenants completes its offer at once. One that has no tenants any more
// stays where it is until it has one, since an edit of its namespaces may have excluded all.
//
// After the last step the condition Complete is True when every tenant has the offer. If the
// last step is below 100 percent, the remaining tenants stay as they are.
//
// # How many at a time
//
// A tenant takes a slot from its admission until it is Ready with the offer, is Degraded, or
// has taken longer than stuckFor. There are at most maxUpdating slots. While fewer tenants
// than that have proved the offer, which means that they were Ready before and are Ready
// with it, there are as many slots as these, and at least haltAfter.degraded. A broken tenant
// keeps its slot. So an offer that breaks every tenant breaks exactly haltAfter.degraded.
//
// Tenants are admitted by name, and only while their window is open, so that no tenant takes
// a slot to wait. An admission is in force for half an hour. It ends earlier when the channel
// is paused, halts or is edited, or when the window closes. The slot is free five minutes
// later, because the tenant may have begun while its record hasn't arrived yet. A tenant that
// didn't begin in that time, such as one whose composite resource is paused, is admitted
// again after all others: an hour later, then two, and so on up to sixteen. Tenants are
// admitted only once half of the slots are free, so that the state doesn't change with each
// tenant. While a thousand tenants haven't begun, no other is admitted, so that the state
// stays small.
//
// # Halt
//
// A tenant is broken by the offer when it was Ready before it accepted it, and then is
// Degraded or Failing for a minute (Grace), or takes longer than stuckFor. Once a tenant was
// Ready with the offer for the longest soak of all steps, and at least for stuckFor, later
// trouble doesn't count. A tenant that wasn't Ready before doesn't count either. When
// haltAfter.degraded tenants are broken, the channel halts, and stays halted even if they
// recover. The halt ends when the offer is edited, or when the channel is paused while fewer
// than haltAfter.degraded tenants are broken.
//
// Authors of claims help themselves: they name the version from before, or another channel. That
// says nothing about the offer, which would then break the next tenant. So a broken tenant
// whose claim is changed before it is well, or that leaves the channel, counts as broken until
// the offer is edited or the channel is paused (State.Broken). A tenant whose claim was changed
// while it wasn't well has proved nothing either. What another channel did to a tenant doesn't
// count in this one. Once the offer is complete, or late tenants are treated like others, only
// one tenant of each customer counts that was broken and has left.
//
// Authors of claims also break what they have. While Helm tries a change that came after the
// tenant was Ready with the offer, and takes it back, trouble isn't attributed to the offer:
// package rollout records such a tenant as Updating.
//
// As long as there are fewer, broken tenants hold up neither a step nor its soak.
//
// # Edits
//
// An edit of the offer makes another offer: it begins with the first step, for every tenant
// that doesn't have it. Tenants that are updating to the earlier offer finish that first. A
// tenant never goes back by itself: what it has accepted it keeps until it is admitted to
// another offer.
//
// The same holds for an edit that restores an earlier offer. Tenants that the last offer broke
// are admitted first, at most haltAfter.degraded of each customer. If such a tenant becomes
// Ready before it accepts the offer, it still counts as one that wasn't Ready before. An offer
// lowers no version that runs, except one of argo-cd that hasn't proved itself on the tenant
// (Record.Unproved). If a tenant keeps a higher version, trouble with that isn't attributed to
// the earlier offer.
//
// # Tenants that come and go
//
// A new tenant gets the last complete offer, and then waits its turn. For this, an offer is
// complete once the last step is over, if that is one of 100 percent, even if some tenants
// are frozen, didn't begin or move their windows: no single tenant can keep new ones from
// getting it. If no offer was complete yet, a new tenant gets the current one, unless that is
// paused or has halted: then it begins without an offer, and gets one in its turn. A tenant
// that comes from another channel, or from none, keeps what it has and waits its turn.
//
// A tenant is late that was created after the offer began, or after the last pause or halt,
// or that has joined the channel more than an hour after that. It is counted in no step, and
// rollout.first doesn't select it: otherwise claims that come and go could hold up all others
// for ever, or break one offer again and again. It gets the offer once that is complete, or as
// others do if none of these has it or can begin (State.Included). A tenant is late, too, that
// has given back an offer that changed nothing for it, since its claim may take and give back
// an offer for ever.
// A tenant that was restored from a backup since isn't late: its record says when it joined.
//
// A tenant for which an offer changes nothing, such as one whose claim names all versions
// itself, takes it at once and is counted in no step, since it says nothing about the offer.
// What it has of the offer before must still prove itself, and can be broken (Record.Kept).
//
// # Lost state
//
// If the channel's state is lost, the tenants' records still say what they have. The channel
// begins again at the first step, where the tenants that have the offer count, so that it
// takes the longest soak of the earlier steps to get back to where it was. For five minutes
// it admits no tenant, since it doesn't know which ones were admitted before. A halt stays: it
// is also in what the channel has published.
package channel
