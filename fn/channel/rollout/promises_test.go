package rollout

import (
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// The promises of the package, held against a simulation. They are written out again here, in other
// words than those of the product.

func (s *simulation) failf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf(s.now.Format(time.RFC3339)+": "+format, args...)
}

func (s *simulation) maxFailures() int { return max(1, int(s.rollout.MaxFailures)) }

func (s *simulation) maxConcurrency() int {
	if n := int(s.rollout.MaxConcurrency); n > 0 {
		return n
	}
	return 20
}

func (s *simulation) isMandatory(r *Record) bool {
	return s.rollout.MandatoryGroup != nil && r.Labels["tier"] == "internal"
}

// checkBegin checks a tenant that begins to change to the newest revision.
func (s *simulation) checkBegin(t *simTenant) {
	s.t.Helper()
	if state, _ := t.record.Schedule.At(s.now); state != maintenance.Open {
		s.failf("%s changes outside of its window, or while it is frozen", t.record.Tenant)
	}
	if t.spare {
		return
	}
	changing, broken := 1, 0
	for _, other := range s.tenants {
		switch {
		case other.gone || other == t:
		case other.broke == s.channel.Revision:
			broken++
		case other.spare:
		case other.record.Updating() && s.now.Sub(other.record.Took) < 30*time.Minute && other.record.Phase == v1alpha1.PhaseUpdating:
			changing++
		}
	}
	if s.now.Sub(s.edited) > 30*time.Minute+Settle && changing > s.maxConcurrency() {
		s.failf("%s is one more than %d that change", t.record.Tenant, s.maxConcurrency())
	}
}

// check checks a call of the channel.
func (s *simulation) check(c *Channel, was State) {
	s.t.Helper()
	is, r := s.state, s.result
	same := was.Revision == is.Revision
	if same && is.Percent < was.Percent && !s.edited.Equal(s.now) && s.now.Sub(s.edited) > time.Hour {
		s.failf("from %d to %d percent", was.Percent, is.Percent)
	}
	if same && was.Halted != nil && was.Halted.Revision == is.Revision && is.Halted == nil && !c.Paused {
		s.failf("the halt is over, and nobody has ended it")
	}
	if p := r.Conditions[0]; p.True && r.Again.IsZero() || strings.Contains(p.Message, "0001-") {
		s.failf("nobody will look again: %+v", r)
	}
	had := map[string]Assignment{}
	for _, a := range c.Assignments {
		had[a.Tenant] = a
	}
	var others, base, have int
	records := map[string]*Record{}
	// Steps are of those that the revision changes, or would.
	affects := func(of *Record) bool {
		if of.Revision >= c.Revision {
			return !of.Took.IsZero() && !of.Unchanged
		}
		return of.looks(c.Revision) == Changes
	}
	joined := func(of *Record) bool { return !is.Since.IsZero() && of.Created.After(is.Since) && !s.isMandatory(of) }
	for i := range c.Records {
		of := &c.Records[i]
		records[of.Tenant] = of
		if !s.isMandatory(of) && affects(of) && !joined(of) {
			base++
			if of.Revision >= c.Revision {
				have++
			}
		}
	}
	for _, a := range r.Assignments {
		of := records[a.Tenant]
		if old, was := had[a.Tenant]; was && old == a || of == nil {
			if of != nil && a.Revision == c.Revision && of.Revision < a.Revision && s.now.Before(a.Until.Add(Settle)) && !s.isMandatory(of) && affects(of) && !joined(of) {
				have++
			}
			continue
		}
		// Those that are seen broken get it whatever the step is.
		mends := of.WasReady && !of.Took.IsZero() && of.Phase != v1alpha1.PhaseReady
		switch {
		case a.Withdrawn:
		case c.Paused || is.Halted != nil && !mends:
			s.failf("assigns a revision to %s while paused or halted", a.Tenant)
		case a.Revision != c.Revision || of.Revision >= a.Revision:
			s.failf("assigns revision %d to %s, which has %d of %d", a.Revision, a.Tenant, of.Revision, c.Revision)
		case !affects(of):
			s.failf("assigns a revision to %s, for which it changes nothing", a.Tenant)
		default:
			if state, _ := of.Schedule.At(s.now); state != maintenance.Open {
				s.failf("assigns a revision to %s, whose window is closed", a.Tenant)
			}
			if joined(of) && is.Percent < 100 {
				s.failf("assigns a revision to %s, which is newer", a.Tenant)
			}
			if !s.isMandatory(of) && !joined(of) {
				have++
			}
			if !s.isMandatory(of) && !joined(of) && !mends {
				others++
			}
		}
	}
	if most := (base*is.Percent + 99) / 100; others > 0 && have > most {
		s.failf("%d of %d have the revision, or may have it: %d percent are %d", have, base, is.Percent, most)
	}
	if others > 0 && s.rollout.MandatoryGroup != nil {
		for _, of := range records {
			a, assigned := had[of.Tenant]
			passedOver := assigned && (a.Again || a.Revision == c.Revision && !a.Withdrawn && s.now.After(a.Until))
			passedOver = passedOver || of.looks(c.Revision) == "" && !s.now.Before(is.Since.Add(30*time.Minute))
			unaffected := of.looks(c.Revision) == None
			if state, _ := of.Schedule.At(s.now); s.isMandatory(of) && of.Revision < c.Revision && state == maintenance.Open && !passedOver && !unaffected {
				s.failf("assigns the revision to others while %s of the mandatory group doesn't have it", of.Tenant)
			}
		}
	}
	if same && is.Percent > was.Percent && is.Percent > 0 && s.now.Sub(s.edited) > time.Hour {
		s.checkStep(c, was)
	}
}

// checkStep checks that a step that a call has left behind was over.
func (s *simulation) checkStep(c *Channel, was State) {
	s.t.Helper()
	for _, step := range s.rollout.Steps {
		if int(step.Percent) < was.Percent || int(step.Percent) >= s.state.Percent {
			continue
		}
		d, _ := time.ParseDuration(string(step.MinSuccessTime))
		for i := range c.Records {
			r := &c.Records[i]
			if s.byName[r.Tenant].mended == c.Revision || r.Ready.Sub(r.Took) > 30*time.Minute {
				// A step doesn't wait for what is mended, and not again for what had failed.
				continue
			}
			if r.Revision >= c.Revision && r.Updating() && r.Phase == v1alpha1.PhaseUpdating && s.now.Sub(r.Took) < 30*time.Minute {
				s.failf("from %d to %d percent while %s updates", was.Percent, s.state.Percent, r.Tenant)
			}
			if r.Revision >= c.Revision && r.WasReady && !r.Took.IsZero() && !r.Ready.IsZero() && s.now.Sub(r.Ready) < d-Grace {
				s.failf("from %d to %d percent, %s after %s was Ready", was.Percent, s.state.Percent, s.now.Sub(r.Ready), r.Tenant)
			}
		}
	}
}

// checkEnd checks that all has come to its end.
func (s *simulation) checkEnd() {
	s.t.Helper()
	for revision, share := range s.breaks {
		broken := map[string]bool{}
		n := 0
		for _, t := range s.tenants {
			if t.broke == revision {
				n++
				broken[namespaceOf(t.record.name())] = true
			}
		}
		if share == 1 && s.customers == 0 && n > s.most[revision] && !s.forgot[revision] {
			s.failf("revision %d, which breaks every tenant, broke %d, want at most %d", revision, n, s.most[revision])
		}
	}
	lack := false
	for _, t := range s.tenants {
		lack = lack || !t.gone && t.mute
		if !t.gone && !t.mute && t.record.Revision != s.channel.Revision {
			s.failf("%s doesn't have the revision: %+v\n%+v\n%+v", t.record.Tenant, t.record, s.state, s.result.Conditions)
		}
	}
	if complete := s.result.Conditions[2]; !lack && !complete.True || s.state.Complete != s.channel.Revision {
		s.failf("not complete: %+v, %+v", s.state, s.result.Conditions)
	}
}
