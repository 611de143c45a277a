package channel

import "time"

const (
	// inForce is how long an admission is in force. Within it a tenant looks, also where
	// nothing but the passing of time makes it.
	inForce = 30 * time.Minute
	// Settle is how long what one side has written may take to be seen by the other, and
	// the answer to be seen in turn.
	Settle = 5 * time.Minute
	// retry is how long a tenant that didn't begin isn't tried again. It doubles each time,
	// up to as often as maxDoubled.
	retry      = time.Hour
	maxDoubled = 4
	// mostSilent is how many tenants are remembered that didn't begin. While there are as
	// many, nobody else is admitted: the state has to have room in a ConfigMap.
	mostSilent = 1000
	// windowsWithin is for how long those that rollout.first selects, and those whose claims
	// move their windows, hold up others. Every window opens within a week.
	windowsWithin = 8 * 24 * time.Hour
)

// An Admission lets a tenant begin to change to an offer.
type Admission struct {
	Tenant string `json:"tenant"`
	Offer  string `json:"offer"`
	// Until is when it ends.
	Until time.Time `json:"until"`
	// Withdrawn says that it was ended before its time.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Tries is how often the tenant was admitted before and didn't begin.
	Tries int `json:"tries,omitempty"`
}

// Valid reports whether a tenant may begin by the admission.
func (a *Admission) Valid(offer string, now time.Time) bool {
	return a != nil && !a.Withdrawn && a.Offer == offer && now.Before(a.Until)
}

// matters reports whether an admission still says something about its tenant.
func (a *Admission) matters(offer, accepted string, now time.Time) bool {
	return a.unseen(accepted, now) || a.silent(offer, accepted, now)
}

// unseen reports whether the tenant may begin by the admission, or may have begun and
// nobody has seen it yet.
func (a *Admission) unseen(accepted string, now time.Time) bool {
	return accepted != a.Offer && now.Before(a.Until.Add(Settle))
}

// withdraw ends an admission before its time, and reports whether there was time left.
func (a *Admission) withdraw(now time.Time) bool {
	if !now.Before(a.Until) {
		return false
	}
	a.Until, a.Withdrawn = now, true
	return true
}

// silent reports whether the tenant didn't begin in its time.
func (a *Admission) silent(offer, accepted string, now time.Time) bool {
	return a.Offer == offer && accepted != offer && !a.Withdrawn && !a.unseen(accepted, now)
}

// retry is when a tenant that didn't begin is tried again.
func (a *Admission) retry() time.Time { return a.Until.Add(retry << min(a.Tries, maxDoubled)) }
