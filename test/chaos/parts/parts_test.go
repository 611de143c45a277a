package parts

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/procfs"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
)

// recorder is a part that notes what is done to it.
type recorder struct {
	kills, stops int
	stopped      time.Duration
	since        time.Time
	problem      error
}

func (r *recorder) Kill(context.Context) error {
	r.kills++
	return r.problem
}

func (r *recorder) Stop(context.Context) (func(), error) {
	if r.problem != nil {
		return nil, r.problem
	}
	r.stops++
	r.since = time.Now()
	return func() { r.stopped += time.Since(r.since) }, nil
}

// TestDisturb runs in the time of testing/synctest, which a busy machine doesn't delay.
func TestDisturb(t *testing.T) {
	const d = 900 * time.Millisecond
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		cancelled    bool
		action       schedule.Action
		problem      error
		kills, stops int
		stopped      time.Duration
	}{
		"Kill":             {false, schedule.Kill, nil, 1, 0, 0},
		"Pause":            {false, schedule.Pause, nil, 0, 1, d},
		"Slow":             {false, schedule.Slow, nil, 0, 3, 3 * stoppedFor},
		"PauseInterrupted": {true, schedule.Pause, nil, 0, 1, 0},
		"PauseFails":       {false, schedule.Pause, broken, 0, 0, 0},
		"SlowFails":        {false, schedule.Slow, broken, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancelled {
					cancel()
				}
				r := &recorder{problem: c.problem}
				if err := Disturb(ctx, r, schedule.Step{Action: c.action, For: d}); !errors.Is(err, c.problem) {
					t.Errorf("got %v, want %v", err, c.problem)
				}
				if r.kills != c.kills || r.stops != c.stops || r.stopped != c.stopped {
					t.Errorf("killed %d times, and stopped %d times for %s in all; want %d, %d, %s", r.kills, r.stops, r.stopped, c.kills, c.stops, c.stopped)
				}
			})
		})
	}
	if Disturb(t.Context(), &recorder{}, schedule.Step{Action: schedule.Delete}) == nil {
		t.Error("a part was deleted")
	}
}

func TestPodOf(t *testing.T) {
	for name, c := range map[string]struct {
		paths []string
		pod   string
		ours  bool
	}{
		"Daemon":         {[]string{"/vargo-chaos"}, "", true},
		"DaemonOfV2":     {[]string{"/vargo-chaos/daemons"}, "", true},
		"Pod":            {[]string{"/vargo-chaos/kubepods/burstable/pod12-34/56"}, "12-34", true},
		"PodElsewhere":   {[]string{"/vargo-chaos", "/vargo-chaos/kubepods/pod12-34/56", "/vargo-chaos"}, "12-34", true},
		"OtherCluster":   {[]string{"/vargo-chaos2"}, "", false},
		"PodOfOther":     {[]string{"/vargo-default/kubepods/pod12-34/56"}, "", false},
		"NobodysProcess": {[]string{"/", "/process"}, "", false},
	} {
		var groups []procfs.Cgroup
		for _, path := range c.paths {
			groups = append(groups, procfs.Cgroup{Path: path})
		}
		if pod, ours := podOf(groups, "/vargo-chaos"); pod != c.pod || ours != c.ours {
			t.Errorf("%s: pod %q, of the cluster: %t; want %q, %t", name, pod, ours, c.pod, c.ours)
		}
	}
}

// own is a machine on which the test's own processes are those of the cluster.
func own(t *testing.T) Machine {
	t.Helper()
	self, err := procfs.Self()
	if err != nil {
		t.Skip("this system has no /proc")
	}
	groups, err := self.Cgroups()
	if err != nil || len(groups) == 0 {
		t.Skip("this system has no cgroups")
	}
	for _, g := range groups {
		if g.Path != "/" {
			return Machine{cgroup: g.Path}
		}
	}
	t.Skip("the test runs in no cgroup of its own")
	return Machine{}
}

// TestProcesses stops a process, has it go on, and kills it.
func TestProcesses(t *testing.T) {
	m, program := own(t), filepath.Join(t.TempDir(), "chaos-sleeper")
	sleeper, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	// Only this process has that name.
	if err := os.Symlink(sleeper, program); err != nil {
		t.Fatal(err)
	}
	part := m.Daemon("chaos-sleeper")
	if err := part.Kill(t.Context()); !errors.Is(err, ErrNotThere) {
		t.Errorf("before it starts: %v", err)
	}
	cmd := exec.Command(program, "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	is := func(want string) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			p, err := procfs.NewProc(cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			if stat, err := p.Stat(); err == nil && stat.State == want {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("the process isn't in state %s", want)
			}
		}
	}
	is("S")
	if _, err := (Machine{cgroup: m.cgroup + "x"}).Daemon("chaos-sleeper").Stop(t.Context()); !errors.Is(err, ErrNotThere) {
		t.Errorf("the process of another cluster was stopped: %v", err)
	}
	if err := m.InPod("12-34", "").Kill(t.Context()); !errors.Is(err, ErrNotThere) {
		t.Errorf("a process that is in no pod was killed: %v", err)
	}
	goOn, err := part.Stop(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	is("T")
	goOn()
	is("S")
	if err := part.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the process wasn't killed")
	}
}

// TestPods: pods are remembered, and only those that are selected are killed.
func TestPods(t *testing.T) {
	pod := func(name string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{"of": "acme-" + name}}}
	}
	client := fake.NewClientset(pod("one"), pod("two"))
	p := NewPods(Machine{cgroup: "/no-such-cluster"}, client)
	ctx, stop := context.WithCancel(t.Context())
	go p.Follow(ctx)
	part := p.Labelled("a", "of", "one")
	for deadline := time.Now().Add(10 * time.Second); len(part.(podPart).selected()) != 1; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the pods weren't read")
		}
	}
	stop()
	for range 2 {
		if err := part.Kill(t.Context()); err != nil {
			t.Errorf("a pod, or one that is gone: %v", err)
		}
	}
	if _, err := part.Stop(t.Context()); !errors.Is(err, ErrNotThere) {
		t.Errorf("a pod without processes: %v", err)
	}
	for _, none := range []Part{p.Labelled("b", "of", "one"), p.Labelled("a", "in", "one"), p.Labelled("a", "of", "acme")} {
		if err := none.Kill(t.Context()); !errors.Is(err, ErrNotThere) {
			t.Errorf("no pod: %v", err)
		}
	}
	if list, err := client.CoreV1().Pods("a").List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) != 1 || list.Items[0].Name != "two" {
		t.Errorf("these pods are left: %v, %v", list.Items, err)
	}
}
