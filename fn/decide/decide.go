package decide

import (
	"reflect"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// A Result is what is decided about a tenant.
type Result struct {
	*tenant.Decision
	Accepted tenant.Accepted
	tenant.Standing
}

// Tenant decides about a tenant that has made a choice. decide returns the decision about what is to be
// accepted. A revision of a channel that the tenant can't have changes nothing; without a channel, that
// is an error.
func Tenant(c Choice, decide func(tenant.Accepted) (*tenant.Decision, error)) (Result, error) {
	d, err := decide(c.Take)
	out := Result{Decision: d, Accepted: c.Take, Standing: c.Standing}
	// Where it can't have what it is to have, it doesn't matter what it waits for.
	if c.Other == nil || err != nil && !c.Took {
		return out, err
	}
	other, otherErr := decide(*c.Other)
	known := d != nil && other != nil
	same := known && unaffected(d, other)
	if c.Spare {
		// One that can't go back to an earlier version isn't what a new tenant would be.
		same = known && reflect.DeepEqual(d, other)
	}
	switch {
	case c.Took && err != nil && otherErr == nil && c.Name != "":
		out = Result{Decision: other, Accepted: *c.Other, Standing: c.Standing}
		out.Took, out.UpdateAvailable = false, true
		out.Revision = c.Other.Offered.In(c.Name)
		out.Message = "can't use " + what(c) + ": " + err.Error()
		return out, nil
	case c.Took:
		out.Changes = !same
	case same && c.Free:
		out.Decision, out.Accepted = other, *c.Other
		out.UpdateAvailable, out.Message, out.Took = false, "", c.Name != ""
		out.Revision = c.Other.Offered.In(c.Name)
	case same:
		out.UpdateAvailable, out.Message, out.Looked = false, "", true
	case otherErr != nil && err == nil:
		out.Message += "; can't use " + what(c) + ": " + otherErr.Error()
	default:
		out.Looked, out.Changes = known, known
		out.Message += changes(d, other)
	}
	return out, err
}

func what(c Choice) string {
	if c.Name == "" {
		return "the update"
	}
	return "the revision"
}

// unaffected reports whether two decisions are equal except for VersionsHeld, which is only
// shown.
func unaffected(now, then *tenant.Decision) bool {
	a, b := *now, *then
	a.VersionsHeld, b.VersionsHeld = nil, nil
	return reflect.DeepEqual(a, b)
}
