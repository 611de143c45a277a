package channel

import (
	"container/heap"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/fingerprint"
	"github.com/virtual-argocd/virtual-argocd/fn/maintenance"
)

// A simulation runs a channel and its tenants for weeks of simulated time: each tenant
// acts by Gate.Decide, on what it saw of the channel some minutes ago, and the channel by
// Next, on records that are minutes old. Tenants break, come, go, don't answer, wait for
// windows; the platform edits, pauses and forgets. At each event the promises of the package
// are held against what truly is.
//
//	go test ./fn/channel -run 'TestSimulation$' -seed 7 -runs 1   # that one again
//	go test ./fn/channel -run 'TestSimulation$' -runs 1000        # many more
var (
	seedFlag = flag.Uint64("seed", 1, "seed of the first simulation")
	runsFlag = flag.Int("runs", 40, "how many simulations with few tenants, each with the next seed")
)

// The longest that a channel's state, and a tenant's record, take to be seen. Together they
// are what Settle allows.
const (
	gateLag   = Settle / 2
	recordLag = Settle/2 - time.Second
)

// A simOffer is what is offered, and what it does to tenants.
type simOffer struct {
	digest string
	// number counts the offers, and version is what the offer has of a chart or of Kubernetes: one
	// that is offered again has another number, and the same version.
	number, version int
	// firm: tenants that run this version can't go back.
	firm bool
	// breaks is the share of tenants that it breaks; late those of them that it breaks hours
	// later.
	breaks, late float64
}

type simTenant struct {
	record  Record // as the tenant knows it
	seen    int    // index of what the channel knows of it; -1 before
	shown   time.Time
	number  int // of the offer that it has
	runs    int // version
	before  int // the version with which it was Ready before
	gone    bool
	mute    bool // it doesn't act
	spare   bool // offers change nothing for it
	moves   bool // its window is moved each time before it opens
	sick    bool // it is never Ready
	change  int  // counts its changes
	changed bool // it has changed to the offer that it has
	holding bool // it takes a slot
	// out is when it left, or when an offer changed nothing for it.
	out time.Time
}

type event struct {
	at time.Time
	n  int
	do func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at.Before(e[j].at) || e[i].at.Equal(e[j].at) && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

type simulation struct {
	t      *testing.T
	random *rand.Rand
	now    time.Time
	queue  events
	n      int

	channel Channel
	offer   simOffer
	offers  map[string]simOffer
	firm    map[int]bool // versions
	state   State
	result  Result
	// rollouts returns another rollout. edited is when the rollout was edited, and isEdited says that the channel hasn't been called since.
	rollouts func(*rand.Rand) v1alpha1.ChannelRollout
	edited   time.Time
	isEdited bool
	// every is how long the channel takes to look after a record has changed, at most.
	every  time.Duration
	called bool // a call is on its way
	again  time.Time

	tenants []*simTenant
	byName  map[string]*simTenant
	records []Record     // as the channel sees them
	runs    []int        // the versions of records
	owners  []*simTenant // of records

	// calm: tenants have no trouble of their own any more, all look at once, and nobody
	// comes or goes.
	calm bool

	holding, edits, changes, halts int
	// waited has the most tenants that waited at a time.
	waited v1alpha1.ChannelTenants
	// states counts the changes of the state, each of which wakes tenants.
	states int
	// began counts, by offer, the tenants that were Ready and began to change to it, and
	// are still there.
	began map[string]int
	// most has, by offer, the highest haltAfter.degraded that the rollout had meanwhile.
	most map[string]int
	// helped counts, by offer, the tenants that weren't well with it when their authors changed the claims or took them away.
	helped map[string]int
}

// simBegins are when simulations begin: in winter, before clocks are put back, and before they are put forward.
var simBegins = []time.Time{
	time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC), time.Date(2026, 10, 12, 9, 0, 0, 0, time.UTC), time.Date(2027, 3, 8, 9, 0, 0, 0, time.UTC),
}

// simZones are the time zones of tenants' windows.
var simZones = []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo"}

func newSimulation(t *testing.T, seed uint64, rollout v1alpha1.ChannelRollout) *simulation {
	t.Helper()
	s := &simulation{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), now: simBegins[seed%uint64(len(simBegins))],
		channel: Channel{Rollout: rollout}, offers: map[string]simOffer{}, firm: map[int]bool{}, byName: map[string]*simTenant{}, began: map[string]int{},
		helped: map[string]int{}, most: map[string]int{},
		rollouts: simRollout, every: Settle,
	}
	return s
}

func (s *simulation) String() string {
	return fmt.Sprintf("%d tenants, %d changes, %d offers, %d halts, %d states of the channel, %v: %s", len(s.tenants), s.changes, s.edits, s.halts, s.states, s.channel.Rollout, s.result.Conditions[0].Message)
}

func (s *simulation) chance(p float64) bool { return s.random.Float64() < p }

// upTo is a random time up to a longest one.
func (s *simulation) upTo(d time.Duration) time.Duration {
	return time.Duration(s.random.Int64N(int64(d) + 1))
}

func (s *simulation) after(d time.Duration, do func()) {
	s.n++
	heap.Push(&s.queue, event{s.now.Add(d), s.n, do})
}

func (s *simulation) run(d time.Duration) {
	end := s.now.Add(d)
	for len(s.queue) > 0 && !s.queue[0].at.After(end) && !s.t.Failed() {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		e.do()
	}
	s.now = end
}

func (s *simulation) failf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: %s", s.now.Format(time.RFC3339), fmt.Sprintf(format, args...))
}

// edit offers something else.
func (s *simulation) edit(breaks, late float64) {
	s.edits++
	digest, err := fingerprint.OfOffer(v1alpha1.ChannelOffer{Kubernetes: v1alpha1.ChannelKubernetes{Version: fmt.Sprintf("v1.36.%d", s.edits)}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.firm[s.edits] = s.chance(0.3)
	s.set(simOffer{digest: digest, number: s.edits, version: s.edits, firm: s.firm[s.edits], breaks: breaks, late: late})
}

// back offers again what was complete last, or something else where there is nothing or it is
// bad.
func (s *simulation) back() {
	offer, ok := s.offers[s.state.Complete]
	if !ok || offer.breaks > 0 || offer.digest == s.offer.digest {
		s.edit(0, 0)
		return
	}
	s.edits++
	offer.number = s.edits
	s.set(offer)
}

func (s *simulation) set(offer simOffer) {
	s.offer, s.offers[offer.digest], s.channel.Offer = offer, offer, offer.digest
	s.most[offer.digest] = max(s.most[offer.digest], s.degraded())
	s.call(0)
	for _, t := range s.tenants {
		if t.spare || t.runs > offer.version {
			s.wake(t, s.upTo(2*gateLag))
		}
	}
}

// editRollout replaces the rollout.
func (s *simulation) editRollout() {
	before := s.channel.Rollout.First
	s.channel.Rollout = s.rollouts(s.random)
	s.edited, s.isEdited = s.now, true
	s.most[s.offer.digest] = max(s.most[s.offer.digest], s.degraded())
	if (before == nil) != (s.channel.Rollout.First == nil) {
		// Other labels of claims are needed in records.
		s.channel.Unread = true
		s.after(Settle, func() {
			if s.now.Sub(s.edited) >= Settle {
				s.channel.Unread = false
				s.call(0)
			}
		})
	}
	s.call(0)
}

// call has the channel looked at.
func (s *simulation) call(in time.Duration) {
	if s.called {
		return
	}
	s.called = true
	s.after(in, func() {
		s.called = false
		s.next()
	})
}

// next is a call of the channel.
func (s *simulation) next() {
	was := s.state
	result, err := Next(s.channel, was, s.records, s.now)
	if err != nil {
		s.t.Fatal(err)
	}
	s.checkResult(was, result)
	s.isEdited = false
	raw, err := json.Marshal(result.State)
	if err != nil {
		s.t.Fatal(err)
	}
	s.result, s.state = result, State{}
	if err := json.Unmarshal(raw, &s.state); err != nil {
		s.t.Fatal(err)
	}
	if before, _ := json.Marshal(was); string(before) != string(raw) {
		s.states++
	}
	if s.state.Halted != nil && was.Halted == nil {
		s.halts++
	}
	s.waited.WaitingForWindow = max(s.waited.WaitingForWindow, result.Tenants.WaitingForWindow)
	s.waited.Frozen = max(s.waited.Frozen, result.Tenants.Frozen)
	for _, a := range newIn(was, s.state, s.now) {
		// A tenant that looks at once sees it, and may act on it though it changes meanwhile.
		t := s.byName[a.Tenant]
		delay := s.upTo(gateLag)
		if !s.calm && s.chance(0.02) {
			// It looks later, also when it is too late.
			delay = s.upTo(inForce + 10*time.Minute)
		}
		s.wake(t, delay)
	}
	if again := result.Again; !again.IsZero() {
		if again.Before(s.now) {
			s.failf("look again at %s, which is past", again)
		}
		if !again.Equal(s.again) || again.Equal(s.now) {
			s.again = again
			s.after(max(again.Sub(s.now), time.Second), func() {
				if s.again.Equal(again) {
					s.call(0)
				}
			})
		}
	}
}

// newIn are the admissions that a call of the channel has made.
func newIn(was, is State, now time.Time) []Admission {
	old := map[Admission]bool{}
	for _, a := range was.Admitted {
		old[a] = true
	}
	var out []Admission
	for _, a := range is.Admitted {
		if !old[a] && a.Valid(is.Offer, now) {
			out = append(out, a)
		}
	}
	return out
}

// wake has a tenant look at the channel: at the state that there is some time before it
// acts.
func (s *simulation) wake(t *simTenant, in time.Duration) {
	stale := min(in, s.upTo(gateLag))
	s.after(in-stale, func() {
		seen, gate := s.state, s.state.Gate(t.record.Tenant, s.channel.Paused)
		if gate.Admission != nil {
			a := *gate.Admission
			gate.Admission = &a
		}
		s.after(stale, func() { s.act(t, seen, gate) })
	})
}

func (s *simulation) act(t *simTenant, seen State, gate Gate) {
	if t.gone || t.mute || gate.Offer == "" {
		return
	}
	isNew := t.record.Phase == ""
	version := max(s.offers[gate.Offer].version, s.lowest(t))
	unaffected := t.spare || version == t.runs
	v := gate.Decide(Facts{New: isNew, Accepted: t.record.Accepted, Unaffected: unaffected, Schedule: t.record.Schedule}, s.now)
	if v.Offer == t.record.Accepted && !isNew {
		return
	}
	offer := s.offers[v.Offer]
	s.checkBegin(t, offer, seen, isNew || unaffected)
	t.number, t.changed = offer.number, !isNew && !unaffected
	if unaffected {
		t.out = s.now
	}
	if t.record.Phase == v1alpha1.PhaseReady {
		t.before = t.runs
	}
	if gate.Admission != nil && gate.Admission.Broken && !unaffected && t.record.Phase == v1alpha1.PhaseReady {
		t.record.Phase = v1alpha1.PhaseDegraded
	}
	t.record = t.record.Accept(v.Offer, unaffected, !t.spare, s.now)
	s.changes++
	switch {
	case isNew:
		t.runs = offer.version
		t.record = t.record.See(v1alpha1.PhaseProvisioning, "", s.now)
		phase := v1alpha1.PhaseReady
		if t.sick {
			phase = v1alpha1.PhaseFailing
		}
		s.later(t, s.upTo(time.Hour), phase)
	case !unaffected:
		if t.record.Before == v1alpha1.PhaseReady {
			s.began[v.Offer]++
		}
		t.runs = version
		s.begin(t, offer)
	}
	s.show(t)
}

// lowest is the lowest version to which a tenant can go.
func (s *simulation) lowest(t *simTenant) int {
	if t.record.Unproved(Proved(s.channel.Rollout)) && !s.firm[t.runs] {
		return min(t.runs, t.before)
	}
	return t.runs
}

// begin is a tenant's change to an offer.
func (s *simulation) begin(t *simTenant, offer simOffer) {
	s.hold(t, true)
	t.change++
	change := t.change
	s.after(s.stuckFor(), func() {
		if t.change == change && t.record.Ready.IsZero() {
			s.hold(t, false)
		}
	})
	took := time.Minute + s.upTo(15*time.Minute)
	switch {
	case t.sick:
		s.later(t, took, v1alpha1.PhaseDegraded)
	case s.chance(offer.breaks) && s.chance(offer.late):
		s.later(t, took, v1alpha1.PhaseReady)
		took += time.Hour + s.upTo(10*time.Hour)
		s.later(t, took, v1alpha1.PhaseDegraded)
		s.help(t, took)
	case s.chance(offer.breaks) && offer.late == 0 || offer.breaks == 1 && offer.late == 0:
		if s.chance(0.5) {
			s.later(t, took, v1alpha1.PhaseDegraded)
		} // Else it is stuck.
		s.help(t, max(took, s.stuckFor()))
	case s.chance(0.001):
		s.later(t, s.stuckFor()+took, v1alpha1.PhaseReady)
	case s.chance(0.1):
		// A workload is away for some seconds: while its pods are replaced, or later.
		away := took
		if s.chance(0.5) {
			s.later(t, took, v1alpha1.PhaseReady)
			away += s.upTo(time.Hour)
		}
		s.later(t, away, v1alpha1.PhaseDegraded)
		s.later(t, away+s.upTo(55*time.Second), v1alpha1.PhaseReady)
	default:
		s.later(t, took, v1alpha1.PhaseReady)
	}
}

func (s *simulation) stuckFor() time.Duration {
	u, err := rulesOf(s.channel.Rollout)
	if err != nil {
		s.t.Fatal(err)
	}
	return u.stuckFor
}

func (s *simulation) hold(t *simTenant, is bool) {
	switch {
	case is && !t.holding:
		s.holding++
	case !is && t.holding:
		s.holding--
	}
	t.holding = is
}

// later has a tenant seen in a phase, unless it changes again before.
func (s *simulation) later(t *simTenant, in time.Duration, phase v1alpha1.Phase) {
	change := t.change
	s.after(in, func() {
		if t.gone || t.change != change {
			return
		}
		s.hold(t, false)
		t.record = t.record.See(phase, "", s.now)
		s.show(t)
	})
}

// show sends a tenant's record to the channel.
func (s *simulation) show(t *simTenant) {
	record, runs, gone := t.record, t.runs, t.gone
	at := s.now.Add(s.upTo(recordLag))
	if at.Before(t.shown) {
		at = t.shown
	}
	t.shown = at
	s.after(at.Sub(s.now), func() {
		switch {
		case gone && t.seen < 0:
		case gone:
			last := len(s.records) - 1
			s.records[t.seen], s.runs[t.seen], s.owners[t.seen] = s.records[last], s.runs[last], s.owners[last]
			s.owners[t.seen].seen = t.seen
			s.records, s.runs, s.owners = s.records[:last], s.runs[:last], s.owners[:last]
			t.seen = -1
		case t.seen < 0:
			t.seen = len(s.records)
			s.records, s.runs, s.owners = append(s.records, record), append(s.runs, runs), append(s.owners, t)
		default:
			s.records[t.seen], s.runs[t.seen] = record, runs
		}
		s.call(s.upTo(s.every))
	})
}

// add adds a tenant: one that runs, with what it has of another channel or of none, or a new
// one.
func (s *simulation) add(isNew bool) {
	name := fmt.Sprintf("tenant-%d", len(s.tenants))
	t := &simTenant{seen: -1, record: Record{Tenant: name, Claim: "acme/" + name, Joined: s.now, Schedule: s.schedule()}}
	if s.chance(0.03) {
		t.record.Labels = map[string]string{"tier": "internal"}
		t.record.Schedule = maintenance.Schedule{}
	}
	t.mute, t.spare, t.sick, t.moves = s.chance(0.01), s.chance(0.05), s.chance(0.02), s.chance(0.01)
	s.tenants = append(s.tenants, t)
	s.byName[name] = t
	if t.moves {
		s.move(t)
	}
	if isNew {
		t.mute, t.record.Created = false, s.now
		s.act(t, s.state, s.state.Gate(name, s.channel.Paused))
		return
	}
	phase := v1alpha1.PhaseReady
	if t.sick {
		phase = v1alpha1.PhaseDegraded
	}
	if s.chance(0.5) {
		t.record = t.record.Accept("elsewhere", false, false, s.now)
	}
	t.record = t.record.See(phase, "", s.now)
	s.show(t)
	if t.spare {
		s.wake(t, s.upTo(2*gateLag))
	}
}

// move moves a tenant's window to the next day, and once a day again.
func (s *simulation) move(t *simTenant) {
	if t.gone {
		return
	}
	opens := s.now.Add(36 * time.Hour)
	t.record.Moved = s.now
	t.record.Schedule.Window = maintenance.Window{Begin: int64(opens.Hour() * 3600), Open: 1800, Days: 1 << opens.Weekday()}
	if t.seen >= 0 {
		s.show(t)
	}
	s.after(24*time.Hour, func() { s.move(t) })
}

// help has the author of a claim that an offer has broken help itself, some time after the channel knows it: the claim names the
// version before, or it is taken away.
func (s *simulation) help(t *simTenant, broken time.Duration) {
	change := t.change
	s.after(broken+Grace+4*Settle+s.upTo(2*time.Hour), func() {
		switch offer := t.record.Accepted; {
		case s.calm || t.gone || t.change != change || t.record.Phase == v1alpha1.PhaseReady || s.chance(0.5):
		case s.chance(0.5):
			s.remove(t)
			// The channel remembers it, but not while it is paused.
			if t.record.Before == v1alpha1.PhaseReady && !s.channel.Paused {
				s.began[offer]++
			}
		default:
			s.helped[offer]++
			if t.record.Before == v1alpha1.PhaseReady && s.channel.Paused {
				s.began[offer]--
			}
			t.record = t.record.Edit()
			t.runs, t.spare = t.before, true
			s.show(t)
			s.later(t, s.upTo(10*time.Minute), v1alpha1.PhaseReady)
		}
	})
}

// forgive has the channel forget whom its offer has broken and who is well now, or gone.
func (s *simulation) forgive() {
	s.began[s.state.Offer] -= s.helped[s.state.Offer]
	s.helped[s.state.Offer] = 0
}

func (s *simulation) remove(t *simTenant) {
	if t.record.Phase != v1alpha1.PhaseReady {
		s.helped[t.record.Accepted]++
	}
	t.gone, t.out = true, s.now
	if t.record.Before == v1alpha1.PhaseReady {
		s.began[t.record.Accepted]--
	}
	s.hold(t, false)
	s.show(t)
}

// schedule is that of a random tenant: most have none.
func (s *simulation) schedule() maintenance.Schedule {
	spec := v1alpha1.MaintenanceSpec{}
	if s.chance(0.3) {
		offset := s.random.IntN(25) - 11
		spec.TimeWindow = &v1alpha1.TimeWindow{
			Begin: fmt.Sprintf("%02d0000%+03d00", s.random.IntN(24), offset),
			End:   fmt.Sprintf("%02d3000%+03d00", s.random.IntN(24), offset),
		}
		if w := spec.TimeWindow; s.chance(0.5) {
			// Clocks change at night.
			w.Begin, w.End = fmt.Sprintf("%02d0000", s.random.IntN(4)), fmt.Sprintf("%02d3000", s.random.IntN(4))
			w.TimeZone = simZones[s.random.IntN(len(simZones))]
		}
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

// trouble has tenants break for other reasons than an offer, and change what is theirs.
func (s *simulation) trouble(each time.Duration) {
	s.after(s.upTo(2*each), func() {
		if s.calm {
			return
		}
		t := s.tenants[s.random.IntN(len(s.tenants))]
		if !t.gone && !t.mute && t.record.Phase == v1alpha1.PhaseReady {
			phase := v1alpha1.PhaseUpdating
			if s.chance(0.3) {
				phase = v1alpha1.PhaseDegraded
			}
			t.record = t.record.See(phase, "", s.now)
			s.show(t)
			s.later(t, s.upTo(6*time.Hour), v1alpha1.PhaseReady)
		}
		s.trouble(each)
	})
}

// people come and go.
func (s *simulation) people(each time.Duration) {
	s.after(s.upTo(2*each), func() {
		if s.calm {
			return
		}
		switch t := s.tenants[s.random.IntN(len(s.tenants))]; {
		case s.chance(0.4):
			s.add(true)
		case s.chance(0.5):
			s.add(false)
		case !t.gone:
			s.remove(t)
		}
		s.people(each)
	})
}

// operator mends what halts: a bad offer by another or by the one before, and what isn't the
// offer's fault by going on.
func (s *simulation) operator() {
	// Sometimes it is quick.
	s.after([]time.Duration{5 * time.Minute, 12 * time.Hour}[s.random.IntN(2)]+s.upTo(time.Hour), func() {
		switch {
		case s.channel.Paused:
			s.channel.Paused = false
			s.call(0)
		case s.state.Halted == nil:
		case s.offer.breaks > 0 && s.chance(0.5):
			s.edit(0, 0)
		case s.offer.breaks > 0:
			s.back()
		default:
			s.forgive()
			s.channel.Paused = true
			s.call(0)
		}
		s.operator()
	})
}

// platform does something at random to the channel: it offers something good or bad, or what was complete last, edits the rollout, pauses, or
// forgets.
func (s *simulation) platform() {
	switch s.random.IntN(9) {
	case 0:
		s.edit(1, 0)
	case 1:
		s.edit(0.3, 0)
	case 2:
		s.edit(0.5, 1)
	case 3:
		s.edit(0, 0)
	case 4:
		s.back()
	case 5:
		s.forgive()
		s.channel.Paused = true
		s.call(0)
	case 6:
		s.forgive()
		s.state = State{}
		s.call(0)
	default:
		s.editRollout()
	}
}

func simRollout(random *rand.Rand) v1alpha1.ChannelRollout {
	pick := func(of ...int32) int32 { return of[random.IntN(len(of))] }
	r := v1alpha1.ChannelRollout{MaxUpdating: pick(0, 1, 2, 5, 30), HaltAfter: v1alpha1.ChannelHalt{Degraded: pick(0, 1, 2, 3)}}
	for _, percent := range []int32{0, 1, 10, 50, 100} {
		if percent == 100 || random.IntN(3) > 0 {
			r.Steps = append(r.Steps, v1alpha1.ChannelStep{Percent: percent, Soak: []v1alpha1.Duration{"", "1h", "24h"}[random.IntN(3)]})
		}
	}
	if random.IntN(4) == 0 {
		r.Steps = nil
	}
	if random.IntN(2) == 0 {
		r.First = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}}
	}
	return r
}

// largeRollout is fast enough for thousands of tenants.
func largeRollout(random *rand.Rand) v1alpha1.ChannelRollout {
	r := simRollout(random)
	r.MaxUpdating, r.HaltAfter.Degraded = 100+random.Int32N(100), 8+random.Int32N(8)
	return r
}

// TestSimulation runs many channels of few tenants.
func TestSimulation(t *testing.T) {
	for i := range *runsFlag {
		seed := *seedFlag + uint64(i)
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			s := newSimulation(t, seed, simRollout(rand.New(rand.NewPCG(seed, 2))))
			s.every = []time.Duration{0, time.Minute, Settle}[s.random.IntN(3)]
			for range 3 + s.random.IntN(120) {
				s.add(false)
			}
			s.trouble(6 * time.Hour)
			s.people(24 * time.Hour)
			s.operator()
			s.edit(0, 0)
			for range s.random.IntN(6) {
				s.run(s.upTo(4 * 24 * time.Hour))
				s.platform()
			}
			s.run(4 * 24 * time.Hour)
			if s.offer.breaks > 0 {
				s.edit(0, 0)
			}
			s.run(10 * 24 * time.Hour)
			s.calm = true
			// Each time that the channel goes on after a halt, tenants may wait eight days for one that comes first.
			s.run(120 * 24 * time.Hour)
			s.checkEnd()
			t.Log(s)
		})
	}
}

// TestSimulationOfTenThousand runs a channel of ten thousand tenants for at least thirty days in which tenants break, come and go, and then until
// all has come to its end.
func TestSimulationOfTenThousand(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TRIED WITH -short: TEN THOUSAND TENANTS TAKE SECONDS")
	}
	seed := *seedFlag
	s := newSimulation(t, seed, v1alpha1.ChannelRollout{
		First:       &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}},
		Steps:       []v1alpha1.ChannelStep{{Percent: 1, Soak: "24h"}, {Percent: 10, Soak: "24h"}, {Percent: 50, Soak: "24h"}, {Percent: 100}},
		MaxUpdating: 100, HaltAfter: v1alpha1.ChannelHalt{Degraded: 8},
	})
	s.rollouts = largeRollout
	s.every = 2 * Settle
	const size, day = 10_000, 24 * time.Hour
	began := s.now
	for range size {
		s.add(false)
	}
	s.trouble(2 * time.Hour)
	s.people(4 * time.Hour)
	s.operator()
	s.edit(0, 0)
	s.run(3 * day)
	s.edit(1, 0)
	for s.now.Sub(began) < 18*day {
		s.run(day + s.upTo(3*day))
		s.platform()
	}
	s.run(2 * day)
	s.edit(0, 0)
	s.run(10 * day)
	s.calm = true
	// A week until all windows have been open and one for those that have joined since, after the steps and their soaks.
	s.run(25 * day)
	s.checkEnd()
	t.Logf("seed %d: %s", seed, s)
	if s.halts == 0 || s.waited.WaitingForWindow == 0 || s.waited.Frozen == 0 {
		t.Errorf("seed %d: %d halts, and at most %d tenants waited for their windows and %d for the end of a freeze", seed, s.halts, s.waited.WaitingForWindow, s.waited.Frozen)
	}
	if s.states > s.changes/10 {
		t.Errorf("seed %d: the state changed %d times for %d changes of tenants", seed, s.states, s.changes)
	}
}

// TestClaimsThatComeAndGo: whoever deletes claims and creates them again, all the time, holds up nobody for ever.
func TestClaimsThatComeAndGo(t *testing.T) {
	rollout := v1alpha1.ChannelRollout{
		First: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}},
		Steps: []v1alpha1.ChannelStep{{Percent: 10, Soak: "24h"}, {Percent: 100, Soak: "1h"}},
	}
	for name, labels := range map[string]map[string]string{"Selected": rollout.First.MatchLabels, "Others": nil} {
		t.Run(name, func(t *testing.T) {
			s := newSimulation(t, *seedFlag, rollout)
			for range 20 {
				s.add(false)
			}
			s.edit(0, 0)
			s.run(30 * 24 * time.Hour)
			first := s.state.Complete
			var come func()
			come = func() {
				s.add(true)
				is := s.tenants[len(s.tenants)-1]
				// It is never Ready.
				is.sick, is.record.Labels, is.change = true, labels, is.change+1
				s.show(is)
				s.after(25*time.Minute, func() { s.remove(is) })
				s.after(15*time.Minute, come)
			}
			come()
			s.run(2 * time.Hour)
			s.edit(0, 0)
			s.run(30 * 24 * time.Hour)
			if first == "" || s.state.Complete != s.offer.digest {
				t.Errorf("not complete: %+v\n%+v", s.state, s.result.Conditions)
			}
		})
	}
}

// TestClaimsThatAlternate: a customer's claims name the versions that run, so that the offer changes nothing for them, and then again something
// with which they can't use it. They hold up nobody for ever.
func TestClaimsThatAlternate(t *testing.T) {
	rollout := v1alpha1.ChannelRollout{
		First: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "internal"}},
		Steps: []v1alpha1.ChannelStep{{Percent: 10, Soak: "1h"}, {Percent: 100, Soak: "1h"}},
	}
	for name, labels := range map[string]map[string]string{"Selected": rollout.First.MatchLabels, "Others": nil} {
		t.Run(name, func(t *testing.T) {
			s := newSimulation(t, *seedFlag, rollout)
			for range 40 {
				s.add(false)
			}
			s.operator()
			s.edit(0, 0)
			s.run(30 * 24 * time.Hour)
			for i := range 3 {
				s.add(false)
				is := s.tenants[len(s.tenants)-1]
				is.record.Labels, is.record.Schedule, is.spare, is.mute = labels, maintenance.Schedule{}, true, false
				var had string
				var alternate func()
				alternate = func() {
					if is.spare, is.mute = !is.spare, !is.mute; is.spare {
						had = is.record.Accepted
						s.wake(is, 0)
					} else if is.record.Accepted != had {
						// What package rollout does when a claim gives an offer back.
						is.record.Accepted, is.record.Returned = had, s.now
						s.show(is)
					}
					s.after(30*time.Minute, alternate)
				}
				s.after(time.Duration(i)*20*time.Minute, alternate)
			}
			s.run(24 * time.Hour)
			s.edit(0, 0)
			s.run(30 * 24 * time.Hour)
			if s.state.Complete != s.offer.digest {
				t.Errorf("not complete: %+v\n%+v", s.state, s.result.Conditions)
			}
		})
	}
}
