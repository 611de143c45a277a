package schedule

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// How long a part is paused or slowed. If an API server is away for longer, the host evicts pods.
const (
	shortest    = 2 * time.Second
	longestIdle = 10 * time.Second
	longestSlow = 15 * time.Second
)

// New returns the schedule of a seed. It is the same for the same seed and options.
func New(seed uint64, o Options) Schedule {
	g := &generator{Options: o, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // No secret depends on it.
	s := Schedule{Seed: seed, Plans: map[string]int{}}
	for _, plan := range o.Plans {
		s.Plans[plan] = g.newValue()
	}
	for n := range o.Tenants {
		g.tenant(n)
	}
	g.plans()
	for _, part := range Parts {
		g.part(part)
	}
	// The channel uses its own random numbers, so that it changes nothing else in the schedule of a seed.
	g.random = rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // No secret depends on it.
	s.Offer = g.newValue()
	g.offers()
	g.members()
	// So do sleep and backups.
	g.random = rand.New(rand.NewPCG(seed, 2)) //nolint:gosec // No secret depends on it.
	g.naps()
	slices.SortStableFunc(g.steps, func(a, b Step) int { return cmp.Compare(a.At, b.At) })
	s.Steps = g.steps
	return s
}

// generator makes steps.
type generator struct {
	Options
	random *rand.Rand
	steps  []Step
	// value is the last value that was chosen: no two are the same.
	value int
}

func (g *generator) newValue() int {
	g.value++
	return 10 + g.value
}

// between returns a duration in tenths of seconds.
func (g *generator) between(least, most time.Duration) time.Duration {
	return (least + time.Duration(g.random.Int64N(int64(most-least)+1))).Truncate(100 * time.Millisecond)
}

func (g *generator) happens(percent int) bool { return g.random.IntN(100) < percent }

func oneOf[T any](g *generator, of []T) T { return of[g.random.IntN(len(of))] }

// tenant adds the steps of a tenant. The first tenant is never deleted, so that there is one after each run.
func (g *generator) tenant(n int) {
	add := func(at time.Duration, a Action, s Spec) {
		g.steps = append(g.steps, Step{At: at, Action: a, Tenant: n, Spec: s})
	}
	at := g.between(0, g.Length/4)
	spec := g.newSpec()
	add(at, Create, spec)
	last := Create
	for {
		at += g.between(g.Length/20, g.Length/5)
		if at > g.Length {
			break
		}
		switch {
		case last == Delete:
			spec, last = g.newSpec(), Create
		case n > 0 && g.happens(12):
			spec, last = Spec{}, Delete
		case last == Break:
			last = Mend
		case last == Mistake:
			last = Correct
		case g.happens(20):
			last = Break
		case g.happens(15):
			last = Mistake
		default:
			spec, last = g.changed(spec), Change
		}
		add(at, last, spec)
	}
	switch last {
	case Break:
		add(g.Length, Mend, spec)
	case Mistake:
		add(g.Length, Correct, spec)
	default:
	}
}

func (g *generator) newSpec() Spec {
	s := Spec{Plan: oneOf(g, g.Plans), Value: g.newValue(), BackedUp: g.Backups}
	if len(g.ArgoCD) > 0 {
		s.ArgoCD = oneOf(g, g.ArgoCD)
	}
	if len(g.Kubernetes) > 0 {
		s.Kubernetes = oneOf(g, g.Kubernetes)
	}
	return s
}

// changed returns a spec that differs in its value, its plan or a version. Versions only rise.
func (g *generator) changed(s Spec) Spec {
	switch {
	case g.happens(25):
		s.Plan = oneOf(g, g.Plans)
	case g.happens(40) && next(g.ArgoCD, s.ArgoCD) != "":
		s.ArgoCD = next(g.ArgoCD, s.ArgoCD)
	case g.happens(40) && next(g.Kubernetes, s.Kubernetes) != "":
		s.Kubernetes = next(g.Kubernetes, s.Kubernetes)
	default:
		s.Value = g.newValue()
	}
	return s
}

// next returns the version after another one, "" for none.
func next(versions []string, is string) string {
	if i := slices.Index(versions, is); i >= 0 && i+1 < len(versions) {
		return versions[i+1]
	}
	return ""
}

// plans adds edits of plans while tenants use them.
func (g *generator) plans() {
	for at := g.between(g.Length/4, g.Length/2); at < g.Length; at += g.between(g.Length/4, g.Length) {
		g.steps = append(g.steps, Step{At: at, Action: EditPlan, Tenant: -1, Plan: oneOf(g, g.Plans), Value: g.newValue()})
	}
}

// offers adds edits of the channel's offer while tenants are updating to the offer before.
func (g *generator) offers() {
	for at := g.between(g.Length/4, g.Length/2); at < g.Length; at += g.between(g.Length/3, g.Length/2) {
		g.steps = append(g.steps, Step{At: at, Action: EditOffer, Tenant: -1, Value: g.newValue()})
	}
}

// members puts most claims into the channel when they are created, and has some join or leave it later. The first tenant is always in it.
func (g *generator) members() {
	in := map[int]bool{}
	for i := range g.steps {
		step := &g.steps[i]
		n := step.Tenant
		switch step.Action {
		case Create:
			in[n] = n == 0 || g.happens(60)
		case Change:
			in[n] = n == 0 || in[n] != g.happens(20)
		case Delete:
			in[n] = false
		default:
		}
		if n >= 0 && !step.Disturbs() {
			step.Spec.InChannel = in[n]
		}
	}
}

// naps has tenants sleep between two steps, and wake up before the second, or asks for a backup then.
func (g *generator) naps() {
	last := map[int]Step{}
	for _, step := range slices.Clone(g.steps) {
		if step.Tenant < 0 || step.Disturbs() {
			continue
		}
		was := last[step.Tenant]
		last[step.Tenant] = step
		gap := step.At - was.At
		// Not while something is broken or mistaken.
		if !slices.Contains([]Action{Create, Change, Correct, Mend}, was.Action) {
			continue
		}
		add := func(at time.Duration, a Action, spec Spec, value int) {
			g.steps = append(g.steps, Step{At: at, Action: a, Tenant: step.Tenant, Spec: spec, Value: value})
		}
		switch {
		case g.Sleeps && g.happens(40):
			asleep := was.Spec
			asleep.Asleep = true
			from := was.At + g.between(0, gap/3)
			add(from, Sleep, asleep, 0)
			add(from+g.between(gap/3, gap/2), Wake, was.Spec, 0)
		case g.Backups && g.happens(40):
			add(was.At+g.between(0, gap), Backup, was.Spec, g.newValue())
		}
	}
}

// part adds disturbances of a part.
func (g *generator) part(p Part) {
	for at := g.between(0, g.Length/2); at < g.Length; at += g.between(g.Length/8, g.Length/2) {
		step := Step{At: at, Action: oneOf(g, p.can()), Tenant: -1, Part: p}
		if p.OfTenant() {
			step.Tenant = g.random.IntN(g.Tenants)
		}
		switch step.Action {
		case Pause:
			step.For = g.between(shortest, longestIdle)
		case Slow:
			step.For = g.between(shortest, longestSlow)
		default:
		}
		at += step.For
		if at <= g.Length {
			g.steps = append(g.steps, step)
		}
	}
}
