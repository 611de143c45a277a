package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRecordSurvivesWriting(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cluster.json")
	if got, err := readRecord(file); got != nil || err != nil {
		t.Fatalf("readRecord(...) of no file: want nothing, got %v, error %v", got, err)
	}
	want := &record{
		Name: "default", Index: 3, Cache: "/cache", PID: 4711, Began: 99, Forwarding: "0",
		Cgroups: cgroupMount{Hierarchies: map[string]string{"cpu": "cpu"}}, Started: time.Unix(1, 0).UTC(),
	}
	if err := want.write(file); err != nil {
		t.Fatal(err)
	}
	got, err := readRecord(file)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("readRecord(...): -want, +got, error %v:\n%s", err, diff)
	}
}

// beganOf returns when this process began, as a record has it.
func beganOf(t *testing.T) uint64 {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", os.Getpid()))
	if err != nil {
		t.Skip("no /proc here")
	}
	_, began, err := parseStat(stat)
	if err != nil {
		t.Fatal(err)
	}
	return began
}

func TestRunning(t *testing.T) {
	began := beganOf(t)
	cases := map[string]struct {
		reason string
		r      *record
		want   bool
	}{
		"NoRecord":              {reason: "There is no cluster.", r: nil},
		"NoProcess":             {reason: "The start failed before there was one.", r: &record{}},
		"ThisProcess":           {reason: "It is alive.", r: &record{PID: os.Getpid(), Began: began}, want: true},
		"AnotherWithThatNumber": {reason: "Numbers are given anew: what is not ours must not be killed.", r: &record{PID: os.Getpid(), Began: began + 1}},
		"TheMachinesFirst":      {reason: "Nobody's record may name process 1.", r: &record{PID: 1, Began: 1}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.r.running(); got != tc.want {
				t.Errorf("\n%s\nrunning(): want %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestHasWeb(t *testing.T) {
	began := beganOf(t)
	cases := map[string]struct {
		reason string
		r      *record
		want   bool
	}{
		"NoCluster": {reason: "There is nothing to keep.", r: nil},
		"Ended":     {reason: "The next cluster is made as it is asked for.", r: &record{PID: os.Getpid(), Began: began + 1, Web: true}},
		"Without":   {reason: "It is one of make e2e.", r: &record{PID: os.Getpid(), Began: began}},
		"With":      {reason: "It is one of make demo, and stays that when make e2e uses it.", r: &record{PID: os.Getpid(), Began: began, Web: true}, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			if tc.r != nil {
				if err := os.MkdirAll(cfg.Dir(), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := tc.r.write(cfg.dir().record()); err != nil {
					t.Fatal(err)
				}
			}
			if got, err := HasWeb(cfg); err != nil || got != tc.want {
				t.Errorf("\n%s\nHasWeb(...): want %t, got %t, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

func TestParseStat(t *testing.T) {
	line := "42 (a) b (c) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20 21"
	state, began, err := parseStat([]byte(line))
	if state != 'Z' || began != 777 || err != nil {
		t.Errorf("parseStat(%q): want Z and 777, got %c and %d, error %v", line, state, began, err)
	}
	if _, _, err := parseStat([]byte("42 (x) S 1")); err == nil {
		t.Error("parseStat of too few fields: want an error")
	}
}
