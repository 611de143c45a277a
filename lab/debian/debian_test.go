package debian

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMissing(t *testing.T) {
	here, gone := t.TempDir(), filepath.Join(t.TempDir(), "gone")
	got := Missing(map[string]string{here: "a", gone: "c", gone + "2": "b", gone + "3": "b"})
	if want := []string{"b", "c"}; !slices.Equal(want, got) {
		t.Errorf("Missing(...): want %q, got %q", want, got)
	}
}

func TestInstall(t *testing.T) {
	cases := map[string]struct {
		reason string
		script string
		want   string
		err    string
	}{
		"Works":     {"The list of packages must be of today.", "echo $1 >>\"$0.log\"", "update install", ""},
		"Fails":     {"What apt-get says is why.", "echo E: no such package; exit 100", "", "E: no such package"},
		"NoProgram": {"Other systems have other programs.", "", "", "install these packages yourself"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			program := filepath.Join(dir, "apt-get")
			if tc.script != "" {
				if err := os.WriteFile(program, []byte("#!/bin/sh\n"+tc.script+"\n"), 0o700); err != nil { //nolint:gosec // It is a program.
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", dir)
			err := Install(t.Context(), func(string) {}, "hello")
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("\n%s\nInstall(...): want an error with %q, got %v", tc.reason, tc.err, err)
			}
			log, _ := os.ReadFile(program + ".log")
			if got := strings.Join(strings.Fields(string(log)), " "); got != tc.want {
				t.Errorf("\n%s\nInstall(...): want apt-get called with %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}

func TestNothingToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if err := Install(t.Context(), nil); err != nil {
		t.Errorf("want no program asked for, got %v", err)
	}
}
