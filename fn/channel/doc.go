// Package channel decides how what the platform offers reaches the tenants of a channel. It
// has two sides: the channel's (Next), which admits tenants to the offer, and the tenant's
// (Gate.Decide), which says whether a tenant takes it now. Both are pure: the time is an
// argument, and all that is remembered is in the channel's State and in the tenants' Records.
//
// # Order
//
// Tenants get an offer in an order that differs from offer to offer, by a hash of the
// tenant's name and the offer's digest, so that it isn't always the same that come first.
// Before that order come those whose claims match rollout.first, then those that an earlier
// offer has broken. Last come those that aren't Ready, which tell little about the offer,
// and those that were admitted once and didn't begin.
//
// # Steps
//
// A step's percentage is of all tenants of the channel, rounded up; those that first selects
// are counted apart. It says how many may have the offer, not which: one that waits for its
// window or is frozen is overtaken. While a tenant that first selects lacks the offer or
// changes, no other begins, unless that one is frozen or doesn't answer. Whoever writes a
// claim may have it selected and keep it from beginning, so the others wait for that for
// eight days at most. Time in which the channel is paused or halted doesn't count.
//
// A step is over when as many tenants have the offer as it allows and none changes any more,
// and the soak has passed since the last of them was Ready. Tenants that wait for their
// window are waited for: it opens within a week. One whose claim has set or moved it since
// the offer began is waited for eight days at most: it could be moved again and again. Where
// all that are left are frozen, don't answer or aren't waited for, the step goes on with
// those it has, if that is one at least. A step that adds nobody needs no soak of its own. A
// percentage never goes down while the offer is the same, even where the steps are edited.
//
// After the last step the channel is Complete when every tenant has the offer. Where the
// last step is below 100 percent, the others stay as they are.
//
// # How many at a time
//
// A tenant takes a slot from when it is admitted until it is Ready with the offer, is
// Degraded, or has taken longer than stuckFor. There are maxUpdating slots. While fewer
// tenants than that have proved the offer there are only as many slots as have proved it,
// and at least as many as may break (haltAfter.degraded); broken ones take theirs for good.
// So an offer that breaks every tenant breaks exactly as many as haltAfter.degraded says.
//
// Tenants are admitted by name, and only while their window is open, so nobody takes a slot
// to wait. An admission is in force for half an hour. It ends before that when the channel
// is paused, halts or is edited, or when the window closes. Since a tenant may have begun
// and its record be on its way, the slot is free five minutes later. A tenant that didn't
// begin in that time, such as one whose composite resource is paused, is tried again after
// all others: an hour later, then two, and so on up to sixteen. New ones are admitted once
// half of the slots are free, so that the state doesn't change with each tenant. While a
// thousand tenants haven't begun, no other is admitted, so that the state stays small.
//
// # Halt
//
// A tenant is broken by the offer when it was Ready before it took it, and then is Degraded
// or Failing for a minute (Grace), or takes longer than stuckFor. Later trouble isn't the offer's: once it was Ready with the
// offer for the longest soak of all steps, and for stuckFor at least, a tenant isn't broken
// by it any more. Neither is one that wasn't Ready before. When as many are broken as
// haltAfter.degraded says, the channel halts, and stays so though they recover. An edited
// offer ends the halt, and so does paused, while fewer than that many are broken.
//
// Until that many are broken, broken tenants are put up with: they hold up neither step nor
// soak.
//
// # Edits
//
// An edit of the offer is another offer: it begins with the first step, for every tenant
// that doesn't have it. Tenants that change to the offer before end that first. Nobody goes
// back by itself: what a tenant has accepted it keeps until it is admitted to another offer.
//
// So it is where the other offer is one from before. Those that the last one broke are
// admitted first. A tenant runs no lower version for an offer, unless the one that it runs
// hasn't proved itself there, and is one of argo-cd (Record.Unproved). Where it keeps a higher
// one, what that breaks isn't the fault of the offer from before.
//
// # Tenants that come and go
//
// A new tenant gets the offer that was complete last, and then waits its turn. For that an
// offer is complete once the last step, if that is one of 100 percent, is over, whoever is
// frozen, doesn't answer or moves its window: a single tenant can't keep new ones from
// getting it. Where there has been none it gets the offer itself, unless that is paused or
// has halted: then it begins without an offer, and gets one in its turn. One that comes from
// another channel, or from none, keeps what it has and waits its turn. One for which an
// offer changes nothing, such as one whose claim names all versions itself, takes it at
// once; it is counted in no step, since it tells nothing. One that is deleted is forgotten.
//
// # Lost state
//
// Where the channel's state is lost, what tenants have stands in their records, and it goes
// on from there: at the first step, which those that have the offer fill; so it takes the
// longest soak of the steps passed before to get back to the step at which it was. For five
// minutes it admits nobody, since it doesn't know who was admitted before.
package channel
