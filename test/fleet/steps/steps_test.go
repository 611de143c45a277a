package steps

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
)

const revision = 7

var strategy = v1alpha1.ChannelRollout{
	Steps:          []v1alpha1.ChannelStep{{Percent: 20, MinSuccessTime: "30s"}, {Percent: 50, MinSuccessTime: "1m"}, {Percent: 100}},
	MaxConcurrency: 3, MaxFailures: 2, ProgressDeadline: "5m",
}

// record is of a tenant that began so many seconds after the first one, and was Ready so many after that.
func record(name string, began, ready int) rollout.Record {
	start := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	return rollout.Record{
		Tenant: name, Claim: "a/" + name, Revision: revision, WasReady: true,
		Took: at(began), Ready: at(ready), Phase: v1alpha1.PhaseReady, Since: at(ready),
	}
}

// good are ten tenants that got the offer as the rollout allows.
func good() []rollout.Record {
	return []rollout.Record{
		record("t9", 300, 310),
		record("t0", 0, 10), record("t1", 0, 20),
		record("t2", 50, 60), record("t3", 50, 65), record("t4", 65, 80),
		record("t5", 140, 150), record("t6", 140, 155), record("t7", 140, 160), record("t8", 150, 180),
	}
}

// stuck are ten tenants of which the second is Ready only after stuckFor. The third begins so many seconds after the first one.
func stuck(third int) []rollout.Record {
	return []rollout.Record{
		record("t0", 0, 10), record("t1", 0, 400),
		record("t2", third, 340), record("t3", 341, 350), record("t4", 351, 360),
		record("t5", 420, 430), record("t6", 420, 430), record("t7", 420, 430), record("t8", 440, 450), record("t9", 440, 450),
	}
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func([]rollout.Record) []rollout.Record
		want   string
	}{
		"Good": {func(r []rollout.Record) []rollout.Record { return r }, ""},
		"WithoutTheOffer": {func(r []rollout.Record) []rollout.Record {
			r[0].Revision = 6
			return r
		}, "a/t9 has revision 6"},
		"NotReady": {func(r []rollout.Record) []rollout.Record {
			r[0].Ready, r[0].Phase, r[0].Why = time.Time{}, v1alpha1.PhaseDegraded, "broken"
			return r
		}, "a/t9 wasn't Ready since, but Degraded: broken"},
		"Unaffected": {func(r []rollout.Record) []rollout.Record {
			extra := record("t10", 1, 1)
			extra.Unchanged, extra.Ready = true, time.Time{}
			return append(r, extra)
		}, ""},
		"BeforeTheSoak": {func(r []rollout.Record) []rollout.Record {
			r[3] = record("t2", 49, 60)
			return r
		}, "a/t2 began step 2 at 12:00:49, and the last of the 2 before was Ready or stuck at 12:00:20, with a soak of 30s"},
		"MoreThanTheStepAllows": {func(r []rollout.Record) []rollout.Record {
			r[6] = record("t5", 80, 90)
			return r
		}, "a/t5 began step 3 at 12:01:20, and the last of the 5 before was Ready or stuck at 12:01:20, with a soak of 1m0s"},
		"MoreThanMaxUpdating": {func(r []rollout.Record) []rollout.Record {
			r[9] = record("t8", 145, 180)
			return r
		}, "at 12:02:25, when a/t8 began, 4 changed, and 3 may"},
		"MoreThanHaveProvedIt": {func(r []rollout.Record) []rollout.Record {
			r[5] = record("t4", 50, 80)
			return r
		}, "at 12:00:50, when a/t4 began, 3 changed, and 2 may"},
		"Stuck": {func([]rollout.Record) []rollout.Record { return stuck(330) }, ""},
		"StuckAndBeforeTheSoak": {func([]rollout.Record) []rollout.Record {
			return stuck(329)
		}, "a/t2 began step 2 at 12:05:29, and the last of the 2 before was Ready or stuck at 12:05:00, with a soak of 30s"},
		"BrokenBeforeProvesNothing": {func(r []rollout.Record) []rollout.Record {
			for i := range r[1:9] {
				r[1+i].WasReady = false
			}
			return r
		}, "at 12:02:20, when a/t7 began, 3 changed, and 2 may"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Problems(strategy, revision, c.change(good()))
			if err != nil {
				t.Fatal(err)
			}
			if all := strings.Join(got, "\n"); c.want == "" && all != "" || !strings.Contains(all, c.want) {
				t.Errorf("got %q, want %q", all, c.want)
			}
		})
	}
}

func TestWithin(t *testing.T) {
	for tenants, rounds := range map[int]int{0: 0, 2: 1, 10: 4} {
		want := 3*5*time.Minute + 90*time.Second + time.Duration(rounds)*5*time.Minute
		if got, err := Within(strategy, tenants); err != nil || got != want {
			t.Errorf("%d tenants: %s, %v; want %s", tenants, got, err, want)
		}
	}
	for name, bad := range map[string]v1alpha1.ChannelRollout{
		"minSuccessTime":   {Steps: []v1alpha1.ChannelStep{{Percent: 1, MinSuccessTime: "soon"}}, ProgressDeadline: "1m"},
		"progressDeadline": {},
	} {
		if got, err := Within(bad, 1); err == nil || !strings.Contains(fmt.Sprint(err), name) {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
