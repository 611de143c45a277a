package rollout

import (
	"container/heap"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// A simulation runs a channel and its tenants for weeks of simulated time. Tenants obey assignments
// that they see some minutes late, and the channel sees records that are minutes old. Tenants break,
// come, go, don't answer and wait for windows; the platform edits, pauses and forgets. At each call
// the promises of the package are held against what truly is (promises_test.go).
//
//	go test ./fn/channel/rollout -run 'TestSimulation$' -seed 7 -runs 1   # that one again
//	go test ./fn/channel/rollout -run 'TestSimulation$' -runs 1000        # many more
var (
	seedFlag = flag.Uint64("seed", 1, "seed of the first simulation")
	runsFlag = flag.Int("runs", 30, "how many simulations with few tenants, each with the next seed")
)

// lag is the longest that an assignment takes to be seen, and that a record does. Together they are
// what Settle allows.
const lag = Settle/2 - time.Second

// A simTenant is a tenant as it is.
type simTenant struct {
	record   Record
	shown    *Record // as the channel knows it
	assigned *Assignment
	gone     bool
	mute     bool // it doesn't act
	sick     bool // it is never Ready
	spare    bool // revisions change nothing for it
	change   int  // counts its changes
	broke    int64
	mended   int64 // the revision that it took to be mended
}

type event struct {
	at  time.Time
	n   int
	run func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any     { old := *e; x := old[len(old)-1]; *e = old[:len(old)-1]; return x }

type simulation struct {
	t       *testing.T
	random  *rand.Rand
	now     time.Time
	queue   events
	n       int
	rollout v1alpha1.ChannelRollout
	channel Channel
	state   State
	result  Result
	tenants []*simTenant
	byName  map[string]*simTenant
	// breaks is the share of tenants that a revision breaks.
	breaks map[int64]float64
	// most is how many failures each revision may have: the rollout may be edited meanwhile.
	most map[int64]int
	// forgot are the revisions with which the channel was paused or lost its state: who is well or gone by then counts no more.
	forgot map[int64]bool
	// customers is how many namespaces there are; 0 for one for each tenant.
	customers int
	edited    time.Time
	called    time.Time
	every     time.Duration
	calm      bool
	steady    bool // no workload is away for a moment
	halts     int
}

func newSimulation(t *testing.T, seed uint64, rollout v1alpha1.ChannelRollout) *simulation {
	s := &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC),
		byName: map[string]*simTenant{}, breaks: map[int64]float64{}, most: map[int64]int{}, forgot: map[int64]bool{}, every: time.Minute,
	}
	s.setRollout(rollout)
	s.channel.Revision = 1
	return s
}

func (s *simulation) setRollout(r v1alpha1.ChannelRollout) {
	strategy, err := Parse(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.rollout, s.channel.Strategy, s.edited = r, strategy, s.now
}

func (s *simulation) chance(p float64) bool { return s.random.Float64() < p }

func (s *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d) + 1)).Truncate(time.Second)
}

func (s *simulation) after(in time.Duration, run func()) {
	s.n++
	heap.Push(&s.queue, event{at: s.now.Add(in), n: s.n, run: run})
}

func (s *simulation) run(d time.Duration) {
	end := s.now.Add(d)
	for len(s.queue) > 0 && !s.queue[0].at.After(end) {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		e.run()
	}
	s.now = end
}

// call calls the channel now, unless it was called at this moment.
func (s *simulation) call() {
	c := s.channel
	c.Records, c.Assignments = make([]Record, 0, len(s.tenants)), s.result.Assignments
	for _, t := range s.tenants {
		if t.shown != nil {
			c.Records = append(c.Records, *t.shown)
		}
	}
	was := s.state
	s.forgot[c.Revision] = s.forgot[c.Revision] || c.Paused || s.state.Revision == 0
	s.most[c.Revision] = max(s.most[c.Revision], s.maxFailures())
	s.result = Next(c, was, s.now)
	s.state = s.result.State
	s.check(&c, was)
	if s.state.Halted != nil && was.Halted == nil {
		s.halts++
	}
	if s.state.Complete == c.Revision && was.Complete != c.Revision {
		for _, t := range s.tenants {
			s.after(s.upTo(lag), func() { s.look(t) })
		}
	}
	seen := map[string]bool{}
	for _, a := range s.result.Assignments {
		seen[a.Tenant] = true
		if t := s.byName[a.Tenant]; t != nil && (t.assigned == nil || *t.assigned != a) {
			s.after(s.upTo(lag), func() { t.assigned = &a; s.act(t) })
		}
	}
	for _, t := range s.tenants {
		if t.assigned != nil && !seen[t.record.Tenant] {
			s.after(s.upTo(lag), func() { t.assigned = nil })
		}
	}
	if again := s.result.Again; !again.IsZero() {
		s.after(max(time.Second, again.Sub(s.now)), s.callSoon)
	}
}

// callSoon calls the channel, at most once in each s.every.
func (s *simulation) callSoon() {
	if s.called.After(s.now) {
		return
	}
	in := max(0, s.called.Add(s.every).Sub(s.now))
	s.called = s.now.Add(in)
	s.after(in, s.call)
}

// act has a tenant take its assigned revision, if it may.
func (s *simulation) act(t *simTenant) {
	revision := s.channel.Revision
	if t.gone || t.mute || t.record.Revision >= revision || !t.assigned.Allows(revision, s.now) {
		return
	}
	if state, next := t.record.Schedule.At(s.now); state != maintenance.Open {
		s.after(next.Sub(s.now), func() { s.act(t) })
		return
	}
	s.checkBegin(t)
	if t.mended = 0; t.record.WasReady && t.record.Phase != v1alpha1.PhaseReady {
		t.mended = revision
	}
	t.record = t.record.Take(revision, !t.spare, "", s.channel.Proved, s.now)
	if t.spare {
		s.show(t)
		return
	}
	t.change++
	took := time.Minute + s.upTo(15*time.Minute)
	switch {
	case t.sick:
		s.later(t, took, v1alpha1.PhaseDegraded)
	case s.chance(s.breaks[revision]):
		if t.record.WasReady {
			t.broke = revision
		}
		if s.chance(0.5) {
			s.later(t, took, v1alpha1.PhaseDegraded)
		} // Else it is stuck.
		s.help(t)
	case !s.steady && s.chance(0.1):
		// A workload is away for some seconds, while its pods are replaced.
		s.later(t, took, v1alpha1.PhaseDegraded)
		s.later(t, took+30*time.Second, v1alpha1.PhaseReady)
	default:
		s.later(t, took, v1alpha1.PhaseReady)
	}
	s.show(t)
}

// look has a tenant see what the newest revision would change. One that it changes nothing for takes it once it is complete.
func (s *simulation) look(t *simTenant) {
	revision := s.channel.Revision
	switch {
	case t.gone || t.mute || t.record.Revision >= revision:
		return
	case t.spare && s.state.Complete == revision:
		t.record = t.record.Take(revision, false, "", s.channel.Proved, s.now)
	case t.record.Looked == revision:
		return
	default:
		effect := Changes
		if t.spare {
			effect = None
		}
		t.record = t.record.Look(revision, effect, s.now)
	}
	s.show(t)
}

// later has a tenant seen in a phase, unless it changes again before.
func (s *simulation) later(t *simTenant, in time.Duration, phase v1alpha1.Phase) {
	change := t.change
	s.after(in, func() {
		if t.gone || t.change != change {
			return
		}
		t.record = t.record.See(phase, "", s.now)
		s.show(t)
	})
}

// help has the author of a broken claim help itself, some time after the channel has seen it broken: the claim is changed, or taken away.
func (s *simulation) help(t *simTenant) {
	change := t.change
	s.after(s.every+time.Hour+s.upTo(2*time.Hour), func() {
		switch {
		case s.calm || t.gone || t.change != change || s.chance(0.5):
		case s.chance(0.5):
			s.remove(t)
		default:
			t.record = t.record.Edit(t.record.Spec+"+", s.now)
			s.later(t, time.Minute, v1alpha1.PhaseReady)
		}
	})
}

// show sends a tenant's record to the channel.
func (s *simulation) show(t *simTenant) {
	record, gone := t.record, t.gone
	s.after(lag, func() {
		if t.shown = &record; gone {
			t.shown = nil
		}
		s.callSoon()
	})
}

func (s *simulation) remove(t *simTenant) {
	t.gone = true
	s.show(t)
}

// add adds a tenant that runs, or a new one.
func (s *simulation) add(isNew bool) *simTenant {
	name := fmt.Sprintf("tenant-%d", len(s.tenants))
	claim := name + "/argocd"
	if s.customers > 0 {
		claim = fmt.Sprintf("customer-%d/%s", s.random.IntN(s.customers), name)
	}
	t := &simTenant{record: Record{Tenant: name, Claim: claim, Schedule: s.schedule(), Spec: "a"}, mute: s.chance(0.01), sick: s.chance(0.02), spare: s.chance(0.3)}
	if s.chance(0.03) {
		t.record.Labels, t.record.Schedule = map[string]string{"tier": "internal"}, maintenance.Schedule{}
	}
	s.tenants = append(s.tenants, t)
	s.byName[name] = t
	phase := v1alpha1.PhaseReady
	if t.sick {
		phase = v1alpha1.PhaseDegraded
	}
	if isNew {
		t.record.Revision = s.state.Complete
		s.later(t, time.Minute+s.upTo(5*time.Minute), phase)
	}
	if isNew {
		t.record.Created = s.now
	}
	t.record = t.record.See(map[bool]v1alpha1.Phase{true: v1alpha1.PhaseProvisioning, false: phase}[isNew], "", s.now)
	s.show(t)
	s.after(s.upTo(lag), func() { s.look(t) })
	return t
}

// schedule is that of a random tenant: most have none. A window is long enough for the channel to be called in it.
func (s *simulation) schedule() maintenance.Schedule {
	spec := v1alpha1.MaintenanceSpec{}
	if s.chance(0.3) {
		begin := time.Date(2026, 3, 1, s.random.IntN(24), 0, 0, 0, time.UTC)
		end := begin.Add(2*s.every + 30*time.Minute + s.upTo(12*time.Hour))
		spec.TimeWindow = &v1alpha1.TimeWindow{Begin: begin.Format("150405"), End: end.Format("150405"), TimeZone: "Europe/Berlin"}
		for _, day := range []v1alpha1.Weekday{"Mon", "Wed", "Sat", "Sun"} {
			if s.chance(0.3) {
				spec.Days = append(spec.Days, day)
			}
		}
	}
	if s.chance(0.05) {
		spec.Freeze = &v1alpha1.Freeze{Until: s.now.Add(s.upTo(20 * 24 * time.Hour)).Format(time.DateOnly)}
	}
	schedule, err := maintenance.Parse("spec.maintenance", &spec)
	if err != nil {
		s.t.Fatal(err)
	}
	return schedule
}

// edit makes another revision, which breaks a share of the tenants.
func (s *simulation) edit(breaks float64) {
	s.channel.Revision++
	s.breaks[s.channel.Revision], s.edited = breaks, s.now
	for _, t := range s.tenants {
		s.after(s.upTo(lag), func() { s.look(t) })
	}
	s.call()
}

// trouble has tenants break for other reasons, and people come and go.
func (s *simulation) trouble(each time.Duration) {
	s.after(s.upTo(2*each), func() {
		if s.calm {
			return
		}
		switch t := s.tenants[s.random.IntN(len(s.tenants))]; {
		case s.chance(0.1):
			s.add(s.chance(0.5))
		case t.gone || t.mute:
		case s.chance(0.11):
			s.remove(t)
		case t.record.Phase == v1alpha1.PhaseReady && !t.record.Unproved(s.channel.Proved) && s.now.After(t.record.Ready.Add(s.channel.Proved)):
			t.record = t.record.See(v1alpha1.PhaseDegraded, "", s.now)
			s.show(t)
			s.later(t, s.upTo(6*time.Hour), v1alpha1.PhaseReady)
		}
		s.trouble(each)
	})
}

// operator mends what halts: a bad revision by another, and what isn't its fault by going on.
func (s *simulation) operator() {
	s.after(time.Hour+s.upTo(12*time.Hour), func() {
		switch {
		case s.channel.Paused:
			s.channel.Paused = false
			s.call()
		case s.state.Halted == nil:
		case s.breaks[s.channel.Revision] > 0:
			s.edit(0)
		default:
			s.channel.Paused = true
			s.call()
		}
		s.operator()
	})
}

// platform does something at random to the channel.
func (s *simulation) platform() {
	switch s.random.IntN(7) {
	case 0:
		s.edit(1)
	case 1:
		s.edit(0.3)
	case 2, 3:
		s.edit(0)
	case 4:
		s.channel.Paused = true
		s.call()
	case 5:
		s.state = State{}
		s.call()
	default:
		s.setRollout(simRollout(s.random))
		s.call()
	}
}

func simRollout(random *rand.Rand) v1alpha1.ChannelRollout {
	pick := func(of ...int32) int32 { return of[random.IntN(len(of))] }
	r := v1alpha1.ChannelRollout{MaxConcurrency: pick(0, 1, 2, 5, 30), MaxFailures: pick(0, 1, 2, 3)}
	for _, percent := range []int32{0, 1, 10, 50, 100} {
		if percent == 100 || random.IntN(3) > 0 {
			r.Steps = append(r.Steps, v1alpha1.ChannelStep{Percent: percent, MinSuccessTime: []v1alpha1.Duration{"", "1h", "24h"}[random.IntN(3)]})
		}
	}
	if random.IntN(4) == 0 {
		r.Steps = nil
	}
	if random.IntN(2) == 0 {
		r.MandatoryGroup = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}}
	}
	return r
}

// TestSimulation runs many channels of few tenants.
func TestSimulation(t *testing.T) {
	for i := range *runsFlag {
		seed := *seedFlag + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSimulation(t, seed, simRollout(rand.New(rand.NewPCG(seed, 2))))
			s.customers = []int{0, 0, 2, 10}[s.random.IntN(4)]
			for range 3 + s.random.IntN(120) {
				s.add(false)
			}
			s.trouble(6 * time.Hour)
			s.operator()
			s.edit(0)
			for range s.random.IntN(6) {
				s.run(s.upTo(4 * 24 * time.Hour))
				s.platform()
			}
			s.run(4 * 24 * time.Hour)
			s.edit(0)
			s.calm = true
			s.run(60 * 24 * time.Hour)
			s.checkEnd()
			t.Logf("%d tenants, %d halts, revision %d", len(s.tenants), s.halts, s.channel.Revision)
		})
	}
}

// TestSimulationOfTenThousand runs a channel of ten thousand tenants for 47 days.
func TestSimulationOfTenThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED WITH -short: TEN THOUSAND TENANTS TAKE SECONDS")
	}
	s := newSimulation(t, *seedFlag, v1alpha1.ChannelRollout{
		MandatoryGroup: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}},
		Steps:          []v1alpha1.ChannelStep{{Percent: 1, MinSuccessTime: "24h"}, {Percent: 10, MinSuccessTime: "24h"}, {Percent: 50, MinSuccessTime: "24h"}, {Percent: 100}},
		MaxConcurrency: 200, MaxFailures: 8,
	})
	s.every = 2 * time.Hour
	const size, day = 10_000, 24 * time.Hour
	for range size {
		s.add(false)
	}
	s.trouble(2 * time.Hour)
	s.operator()
	s.edit(0)
	s.run(3 * day)
	s.edit(1)
	s.run(2 * day)
	s.edit(0)
	s.run(10 * day)
	s.edit(0.01)
	s.run(2 * day)
	s.edit(0)
	s.calm = true
	s.run(30 * day)
	s.checkEnd()
	if s.halts == 0 {
		t.Error("nothing halted")
	}
}

// TestClaimsThatComeAndGo: whoever creates claims and deletes them, all the time, keeps no revision from the others, although one of these
// never says what it would change, and another can use it now and then.
func TestClaimsThatComeAndGo(t *testing.T) {
	s := newSimulation(t, *seedFlag, v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 10, MinSuccessTime: "24h"}, {Percent: 100, MinSuccessTime: "1h"}}})
	for range 20 {
		s.add(false)
	}
	s.tenants[0].mute, s.tenants[1].mute = true, true
	var come, turn func()
	can := true
	turn = func() {
		is, effect := s.tenants[1], Changes
		if can = !can; !can {
			effect = ""
		}
		is.record = is.record.Look(s.channel.Revision, effect, s.now)
		s.show(is)
		s.after(20*time.Minute, turn)
	}
	come = func() {
		is := s.add(true)
		is.sick, is.mute, is.record.Schedule = true, false, maintenance.Schedule{}
		s.after(25*time.Minute, func() { s.remove(is) })
		s.after(15*time.Minute, come)
	}
	s.operator()
	s.edit(0)
	come()
	turn()
	s.run(30 * 24 * time.Hour)
	for _, is := range s.tenants[:20] {
		if !is.mute && !is.gone && is.record.Revision != s.channel.Revision && s.now.After(is.record.Schedule.Thaws) {
			t.Errorf("%s doesn't have the revision: %+v", is.record.Tenant, s.result.Conditions)
		}
	}
}

// TestClaimsThatComeAndStay: a channel that grows all the time completes its revisions as one that doesn't.
func TestClaimsThatComeAndStay(t *testing.T) {
	for _, each := range []time.Duration{10 * time.Minute, 2 * time.Hour, 20 * time.Hour} {
		s := newSimulation(t, *seedFlag, v1alpha1.ChannelRollout{Steps: []v1alpha1.ChannelStep{{Percent: 10, MinSuccessTime: "24h"}, {Percent: 100, MinSuccessTime: "24h"}}})
		s.calm, s.steady = true, true
		plain := func(isNew bool) {
			is := s.add(isNew)
			is.sick, is.mute, is.spare, is.record.Schedule = false, false, false, maintenance.Schedule{}
		}
		for range 20 {
			plain(false)
		}
		s.tenants[0].mute = true
		s.edit(0)
		s.run(4 * 24 * time.Hour)
		s.edit(0)
		var come func()
		come = func() {
			plain(len(s.tenants)%2 == 0)
			s.after(each, come)
		}
		come()
		s.run(4 * 24 * time.Hour)
		if s.state.Complete != s.channel.Revision {
			t.Errorf("with a claim each %s, revision %d isn't complete after four days, and it should be after two and some hours: %+v, %+v", each, s.channel.Revision, s.state, s.result.Conditions)
		}
	}
}
