package schedule

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

var options = Options{
	Tenants: 6, Length: 75 * time.Second, Plans: []string{"a", "b"},
	ArgoCD: []string{"9.3.6", "9.3.7"}, Kubernetes: []string{"v1.35.4", "v1.36.0"},
}

// each calls a function for the schedules of 100 seeds. In half of them, tenants sleep, and in half of these they are backed up.
func each(t *testing.T, see func(t *testing.T, s Schedule)) {
	t.Helper()
	for seed := range uint64(100) {
		with := options
		with.Sleeps, with.Backups = seed%2 == 1, seed%4 == 1
		see(t, New(seed, with))
		if t.Failed() {
			t.Fatalf("by seed %d", seed)
		}
	}
}

func TestSameSeed(t *testing.T) {
	if a, b := New(7, options), New(7, options); !reflect.DeepEqual(a, b) {
		t.Errorf("the same seed has another schedule:\n%s\n%s", a, b)
	}
	if a, b := New(7, options), New(8, options); reflect.DeepEqual(a.Steps, b.Steps) {
		t.Error("two seeds have the same schedule")
	}
}

// TestNapsChangeNothingElse: with sleep and backups, everything else of a seed's schedule happens as without.
func TestNapsChangeNothingElse(t *testing.T) {
	without := func(s Schedule) (out []Step) {
		for _, step := range s.Steps {
			if step.Action != Sleep && step.Action != Wake && step.Action != Backup {
				step.Spec.BackedUp = false
				out = append(out, step)
			}
		}
		return out
	}
	for seed := range uint64(20) {
		with := options
		with.Sleeps, with.Backups = true, true
		if a, b := New(seed, options), New(seed, with); !reflect.DeepEqual(without(a), without(b)) || len(a.Steps) == len(b.Steps) {
			t.Errorf("by seed %d:\n%s\n%s", seed, a, b)
		}
	}
}

// TestEverythingHappens: each action occurs, and each way to disturb a part.
func TestEverythingHappens(t *testing.T) {
	seen := map[string]int{}
	each(t, func(_ *testing.T, s Schedule) {
		before := map[int]Spec{}
		for _, step := range s.Steps {
			seen[strings.TrimSpace(string(step.Action)+" "+string(step.Part))]++
			is, was := step.Spec, before[step.Tenant]
			if step.Action == Create {
				seen[map[bool]string{true: "create in the channel", false: "create without the channel"}[is.InChannel]]++
			}
			if step.Action == Change {
				for what, differs := range map[string]bool{
					"value": is.Value != was.Value, "plan": is.Plan != was.Plan,
					"chart": is.ArgoCD != was.ArgoCD, "Kubernetes": is.Kubernetes != was.Kubernetes,
					"to the channel": is.InChannel && !was.InChannel, "from the channel": was.InChannel && !is.InChannel,
				} {
					if differs {
						seen["change "+what]++
					}
				}
			}
			if !step.Disturbs() {
				before[step.Tenant] = is
			}
		}
	})
	want := []string{
		"create", "change value", "change plan", "change chart", "change Kubernetes", "make a mistake in", "correct", "break", "mend", "delete", "edit plan", "edit offer",
		"change to the channel", "change from the channel", "create in the channel", "create without the channel",
		"put to sleep", "wake", "back up",
		"pause volume", "slow volume",
	}
	for _, part := range Parts {
		if part != Volume {
			want = append(want, "kill "+string(part), "pause "+string(part), "slow "+string(part))
		}
	}
	for _, what := range want {
		if seen[what] < 10 {
			t.Errorf("%q occurs %d times in 100 runs", what, seen[what])
		}
	}
	if seen["kill volume"] > 0 {
		t.Error("a volume is killed")
	}
}

// TestEnds: whatever is disturbed, broken or mistaken is as it was before the run ends.
func TestEnds(t *testing.T) {
	each(t, func(t *testing.T, s Schedule) {
		open := map[int]Action{}
		for _, step := range s.Steps {
			if step.At+step.For > options.Length || step.At < 0 {
				t.Errorf("not within the run: %s", step)
			}
			if (step.Action == Pause || step.Action == Slow) != (step.For > 0) {
				t.Errorf("not for some time: %s", step)
			}
			switch step.Action {
			case Break, Mistake, Sleep:
				open[step.Tenant] = step.Action
			case Mend, Correct, Wake, Delete:
				delete(open, step.Tenant)
			default:
			}
		}
		if len(open) > 0 {
			t.Errorf("left in disorder: %v", open)
		}
	})
}

// TestOrder: what one does comes one after the other, so that nothing is done to a tenant that isn't there, and no part is disturbed
// twice at a time.
func TestOrder(t *testing.T) {
	each(t, func(t *testing.T, s Schedule) {
		if !slices.IsSortedFunc(s.Steps, func(a, b Step) int { return int(a.At - b.At) }) {
			t.Errorf("not in order:\n%s", s)
		}
		n := 0
		for _, steps := range s.Of() {
			n += len(steps)
			exists := false
			for i, step := range steps {
				if i > 0 && step.At < steps[i-1].At+steps[i-1].For {
					t.Errorf("before %s has ended: %s", steps[i-1], step)
				}
				if step.Disturbs() || step.Tenant < 0 {
					continue
				}
				if exists == (step.Action == Create) {
					t.Errorf("exists: %t: %s", exists, step)
				}
				exists = step.Action != Delete
			}
		}
		if n != len(s.Steps) {
			t.Errorf("%d of %d steps are taken", n, len(s.Steps))
		}
	})
}

// TestVersionsRise: Kubernetes doesn't go back.
func TestVersionsRise(t *testing.T) {
	each(t, func(t *testing.T, s Schedule) {
		before := map[int]Spec{}
		for _, step := range s.Steps {
			if step.Disturbs() || step.Tenant < 0 {
				continue
			}
			if is, was := step.Spec, before[step.Tenant]; step.Action != Create && step.Action != Delete && (is.Kubernetes < was.Kubernetes || is.ArgoCD < was.ArgoCD) {
				t.Errorf("a version falls from %s: %s", was, step)
			}
			before[step.Tenant] = step.Spec
		}
	})
}

// TestChannel: what a claim asks for between its creation and its deletion says whether it is in the channel, and only a change moves it. The
// offer is edited while tenants exist.
func TestChannel(t *testing.T) {
	each(t, func(t *testing.T, s Schedule) {
		in, edits := map[int]bool{}, 0
		for _, step := range s.Steps {
			switch {
			case step.Disturbs() || step.Action == EditPlan:
				if step.Spec.InChannel {
					t.Errorf("it is about no claim: %s", step)
				}
			case step.Action == EditOffer:
				edits++
				if step.At < (options.Length / 4).Truncate(time.Second) {
					t.Errorf("before there are tenants: %s", step)
				}
			case step.Action != Create && step.Action != Change && step.Action != Delete && step.Spec.InChannel != in[step.Tenant]:
				t.Errorf("it moves the claim: %s", step)
			default:
				in[step.Tenant] = step.Spec.InChannel
			}
		}
		if edits < 1 || edits > 3 {
			t.Errorf("the offer is edited %d times", edits)
		}
		if !s.Wanted()[Name(0)].InChannel {
			t.Error("there may be no tenant left in the channel")
		}
	})
}

// TestSeedIsKept: what a seed means besides the channel is as it was before there was one.
func TestSeedIsKept(t *testing.T) {
	sum := sha256.New()
	for _, step := range New(7, options).Steps {
		if step.Spec.InChannel = false; step.Action != EditOffer {
			_, _ = fmt.Fprintln(sum, step)
		}
	}
	const want = "b06da0b51072d7ff"
	if got := fmt.Sprintf("%x", sum.Sum(nil)[:8]); got != want {
		t.Errorf("the digest of the schedule of seed 7 is %s, want %s: seeds that were noted mean something else", got, want)
	}
}

func TestWanted(t *testing.T) {
	a, b := Spec{Plan: "a", Value: 1, InChannel: true}, Spec{Plan: "b", Value: 2}
	s := Schedule{Plans: map[string]int{"a": 1, "b": 2}, Offer: 4, Steps: []Step{
		{Action: Create, Tenant: 0, Spec: a},
		{Action: Create, Tenant: 1, Spec: a},
		{Action: Create, Tenant: 2, Spec: a},
		{Action: Kill, Tenant: 0, Part: VirtualCluster},
		{Action: Change, Tenant: 0, Spec: b},
		{Action: Mistake, Tenant: 0, Spec: b},
		{Action: EditPlan, Tenant: -1, Plan: "b", Value: 3},
		{Action: EditOffer, Tenant: -1, Value: 5},
		{Action: EditOffer, Tenant: -1, Value: 6},
		{Action: Delete, Tenant: 1},
		{Action: Delete, Tenant: 2},
		{Action: Create, Tenant: 2, Spec: b},
	}}
	if got, want := s.Wanted(), map[string]Spec{"chaos0": b, "chaos2": b}; !maps.Equal(got, want) {
		t.Errorf("wanted is %v, want %v", got, want)
	}
	if got, want := s.PlanValues(), map[string]int{"a": 1, "b": 3}; !maps.Equal(got, want) {
		t.Errorf("the plans' values are %v, want %v", got, want)
	}
	if got := s.OfferValue(); got != 6 {
		t.Errorf("the value that is offered is %d, want 6", got)
	}
	if got := (Schedule{Offer: 4}).OfferValue(); got != 4 {
		t.Errorf("the value that is offered at first is %d, want 4", got)
	}
	each(t, func(t *testing.T, s Schedule) {
		if _, ok := s.Wanted()[Name(0)]; !ok {
			t.Error("there may be no tenant left to look at")
		}
	})
}

func TestString(t *testing.T) {
	for _, c := range []struct {
		step Step
		want string
	}{
		{Step{At: 1500 * time.Millisecond, Action: Create, Tenant: 2, Spec: Spec{Plan: "a", Value: 7, ArgoCD: "9.3.6"}}, "   1.5s  create chaos2: plan a, value 7, chart 9.3.6"},
		{Step{Action: Change, Tenant: 2, Spec: Spec{Plan: "a", Value: 7, InChannel: true}}, "   0.0s  change chaos2: plan a, value 7, in the channel"},
		{Step{At: 12 * time.Second, Action: EditOffer, Tenant: -1, Value: 7}, "  12.0s  edit offer: value 7"},
		{Step{At: 12 * time.Second, Action: EditPlan, Tenant: -1, Plan: "a", Value: 7}, "  12.0s  edit plan a: value 7"},
		{Step{At: 12 * time.Second, Action: Pause, Tenant: -1, Part: Etcd, For: 2 * time.Second}, "  12.0s  pause etcd for 2.0s"},
		{Step{At: 12 * time.Second, Action: Kill, Tenant: 1, Part: VirtualCluster}, "  12.0s  kill chaos1 virtual cluster"},
		{Step{At: 12 * time.Second, Action: Delete, Tenant: 1}, "  12.0s  delete chaos1"},
	} {
		if got := c.step.String(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}
