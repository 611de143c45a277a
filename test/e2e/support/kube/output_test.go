package kube

import (
	"os/exec"
	"testing"
)

func TestUnmarked(t *testing.T) {
	cases := map[string]struct {
		reason, output, said string
		complete             bool
	}{
		"Whole":       {"What is before the mark is all.", "a\nb\n\nend of output\n", "a\nb", true},
		"SaysNothing": {"A command may print nothing.", "\nend of output\n", "", true},
		"Empty":       {"Nothing at all isn't what it has printed.", "", "", false},
		"Half":        {"Nor is the beginning.", "a\n", "a", false},
		"HalfTheMark": {"The mark counts as a whole.", "a\n\nend of out", "a\n\nend of out", false},
		"MarkNotLast": {"And as the last line.", "a\nend of output\nb\n", "a\nend of output\nb", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if said, complete := unmarked(tc.output); said != tc.said || complete != tc.complete {
				t.Errorf("\n%s\nunmarked(...): want %q, %t, got %q, %t", tc.reason, tc.said, tc.complete, said, complete)
			}
		})
	}
}

// TestMarked runs commands as a container's shell does.
func TestMarked(t *testing.T) {
	run := func(command ...string) (string, error) {
		m := marked(command)
		out, err := exec.CommandContext(t.Context(), m[0], m[1:]...).Output()
		return string(out), err
	}
	out, err := run("printf", "%s", "it's $HOME")
	if said, complete := unmarked(out); err != nil || !complete || said != "it's $HOME" {
		t.Errorf("want the argument as it is, got %q, %v", out, err)
	}
	if out, err := run("sh", "-c", "echo a; exit 3"); err == nil {
		t.Errorf("a command that fails is no success: %q", out)
	}
}
