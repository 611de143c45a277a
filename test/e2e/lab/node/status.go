package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Status is what can be said about a cluster from outside.
type Status struct {
	// Config of the cluster, as far as it is known.
	Config Config
	// Running is false when there is no cluster; nothing else is set then.
	Running bool
	// PID of the cluster's first process, and when it was started.
	PID     int
	Started time.Time
	// Processes are the names of its processes, and how many there are of each.
	Processes map[string]int
	// Problem says why the cluster is not ready; nil when it is.
	Problem error
	// Pods counts pods by phase.
	Pods map[corev1.PodPhase]int
	// Inotify is how many inotify instances root has on the machine, and
	// InotifyLimit how many it may have.
	Inotify, InotifyLimit int
}

// Inspect looks at a cluster.
func Inspect(ctx context.Context, cfg Config) (Status, error) {
	r, err := readRecord(cfg.dir().record())
	if err != nil || !r.running() {
		return Status{Config: cfg}, err
	}
	// Whoever asks need not have named the index.
	cfg = r.config()
	s := Status{Config: cfg, Running: true, PID: r.PID, Started: r.Started, Processes: map[string]int{}, Pods: map[corev1.PodPhase]int{}}
	s.countProcesses()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := newClient(cfg)
	if err != nil {
		s.Problem = err
		return s, nil
	}
	for _, check := range checks(cfg, clientOnce(cfg)) {
		if check.changes {
			continue
		}
		if err := check.do(ctx); err != nil {
			s.Problem = fmt.Errorf("cannot tell that %s: %w", check.what, err)
			return s, nil
		}
	}
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods); err != nil {
		s.Problem = err
		return s, nil
	}
	for _, p := range pods.Items {
		s.Pods[p.Status.Phase]++
	}
	return s, nil
}

// countProcesses counts processes in the namespace of the cluster's first one.
func (s *Status) countProcesses() {
	own, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid_for_children", s.PID))
	all, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range all {
		if ns, _ := os.Readlink(filepath.Join(dir, "ns/pid")); ns == own && own != "" {
			s.Processes[programName(dir)]++
		}
	}
	s.Inotify, s.InotifyLimit = inotify()
}

// programName is what a process was started as.
func programName(dir string) string {
	cmdline, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	name, _, _ := strings.Cut(string(cmdline), "\x00")
	// Some programs write their title there, with more words.
	name, _, _ = strings.Cut(filepath.Base(name), " ")
	return strings.TrimSuffix(name, ":")
}

// Lines say it to a person.
func (s Status) Lines() []string {
	cfg := s.Config
	if !s.Running {
		return []string{fmt.Sprintf("cluster %s does not run: start it with `lab up`", cfg.Name)}
	}
	a := cfg.Addresses()
	state := "ready"
	if s.Problem != nil {
		state = "NOT READY: " + s.Problem.Error()
	}
	return []string{
		fmt.Sprintf("cluster     %s, process %d, up for %s, %s", cfg.Name, s.PID, time.Since(s.Started).Round(time.Second), state),
		fmt.Sprintf("kubeconfig  %s", cfg.Kubeconfig()),
		fmt.Sprintf("API server  %s", a.Server),
		fmt.Sprintf("images      %s", a.Registry),
		fmt.Sprintf("charts      %s", a.Charts),
		fmt.Sprintf("addresses   pods %s, services %s", a.Pods, a.Services),
		fmt.Sprintf("processes   %s", counts(s.Processes)),
		fmt.Sprintf("pods        %s", counts(s.Pods)),
		fmt.Sprintf("inotify     %d instances of %d that root may have (sysctl fs.inotify.max_user_instances)", s.Inotify, s.InotifyLimit),
		fmt.Sprintf("logs        %s", cfg.Logs()),
	}
}

// counts lists names with their counts, most first.
func counts[K ~string](m map[K]int) string {
	var names []K
	for n := range m {
		names = append(names, n)
	}
	slices.SortFunc(names, func(a, b K) int {
		if m[a] != m[b] {
			return m[b] - m[a]
		}
		return strings.Compare(string(a), string(b))
	})
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%d %s", m[n], n))
	}
	return strings.Join(out, ", ")
}
