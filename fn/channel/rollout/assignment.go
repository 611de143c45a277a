package rollout

import "time"

const (
	// Settle is the time in which a tenant sees what the channel has written, and the channel sees
	// the tenant's answer.
	Settle = 5 * time.Minute
	// retry is how long after the end of an assignment that was passed over the tenant is assigned
	// the revision again, after all others.
	retry = time.Hour
	// maxAssignments is how many assignments may be open: the channel composes an object for each, and for those with which tenants were passed
	// over, at most one for each tenant.
	maxAssignments = 1000
)

// An Assignment says which revision a tenant is to have. There is one until the tenant has it.
type Assignment struct {
	Tenant   string `json:"tenant"`
	Revision int64  `json:"revision"`
	// Until is when the tenant may no longer begin to change to it.
	Until time.Time `json:"until"`
	// Withdrawn says that the channel has ended it early.
	Withdrawn bool `json:"withdrawn,omitempty"`
	// Mends says that an earlier revision had broken the tenant: a halt doesn't end the assignment.
	Mends bool `json:"mends,omitempty"`
	// Again says that the tenant was assigned the revision before, and didn't begin.
	Again bool `json:"again,omitempty"`
}

// Allows reports whether the assignment lets its tenant begin to change to a revision. It reports
// false for nil.
func (a *Assignment) Allows(revision int64, now time.Time) bool {
	return a.Assigns(revision) && now.Before(a.Until)
}

// open reports whether the tenant may still begin, or may have begun although its record doesn't
// say so yet.
func (a *Assignment) open(now time.Time) bool { return now.Before(a.Until.Add(Settle)) }

// withdraw returns the assignment as it is when it ends now, unless it has ended.
func (a Assignment) withdraw(now time.Time) Assignment {
	if !a.Withdrawn && now.Before(a.Until) {
		a.Until, a.Withdrawn = now, true
	}
	return a
}

// mayBegin reports whether the tenant may begin to change to a revision, or may have begun although its record
// doesn't say so yet. It reports false for nil.
func (a *Assignment) mayBegin(revision int64, now time.Time) bool {
	return a != nil && a.Revision == revision && a.open(now)
}

// Assigns reports whether the assignment is to a revision, and wasn't withdrawn. It reports false for
// nil.
func (a *Assignment) Assigns(revision int64) bool {
	return a != nil && !a.Withdrawn && a.Revision == revision
}
