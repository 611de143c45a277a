package channel

import "time"

const (
	// inForce is how long an admission is in force. Crossplane calls the function for each
	// tenant within that time, even if nothing changes.
	inForce = 30 * time.Minute
	// Settle is the time in which the tenant sees what the channel has written, and the
	// channel sees the tenant's answer.
	Settle = 5 * time.Minute
	// retry is how long after its end an admission of a tenant that didn't begin is
	// repeated. It doubles each time, at most maxDoubled times.
	retry      = time.Hour
	maxDoubled = 4
	// mostSilent is how many tenants that didn't begin are remembered. While there are that
	// many, no other tenant is admitted: the state has to fit into a ConfigMap.
	mostSilent = 1000
	// windowsWithin is for how long tenants that rollout.first selects, and tenants whose
	// claims move their windows, hold up others. Every window opens within a week.
	windowsWithin = 8 * 24 * time.Hour
	// joining is how long after an offer began older tenants still join the channel as if they had
	// been there: a plan may have many join, whose records arrive one after the other.
	joining = time.Hour
)

// An Admission lets a tenant begin to change to an offer.
type Admission struct {
	Tenant string `json:"tenant"`
	Offer  string `json:"offer"`
	// Until is when it ends.
	Until time.Time `json:"until"`
	// Withdrawn says that the channel ended it early.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Broken says that an earlier offer had broken the tenant when it was admitted.
	Broken bool `json:"broken,omitempty"`
	// Tries is how often the tenant was admitted before and didn't begin.
	Tries int `json:"tries,omitempty"`
}

// Valid reports whether the admission lets its tenant begin to update to an offer, given by
// its digest. It reports false for nil.
func (a *Admission) Valid(offer string, now time.Time) bool {
	return a != nil && !a.Withdrawn && a.Offer == offer && now.Before(a.Until)
}

// matters reports whether the admission has to be remembered.
func (a *Admission) matters(offer, accepted string, now time.Time) bool {
	return a.unseen(accepted, now) || a.silent(offer, accepted, now)
}

// unseen reports whether the tenant may still begin, or may have begun although its record
// doesn't say so yet.
func (a *Admission) unseen(accepted string, now time.Time) bool {
	return accepted != a.Offer && now.Before(a.Until.Add(Settle))
}

// withdraw ends the admission now, and reports whether it was still in force.
func (a *Admission) withdraw(now time.Time) bool {
	if !now.Before(a.Until) {
		return false
	}
	a.Until, a.Withdrawn = now, true
	return true
}

// silent reports whether the tenant didn't begin while the admission was in force.
func (a *Admission) silent(offer, accepted string, now time.Time) bool {
	return a.Offer == offer && accepted != offer && !a.Withdrawn && !a.unseen(accepted, now)
}

// retry returns when a tenant that didn't begin is admitted again.
func (a *Admission) retry() time.Time { return a.Until.Add(retry << min(a.Tries, maxDoubled)) }
