package netcheck

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResults(t *testing.T) {
	const a, b = "10.96.0.1:443", "alice.svc:80"
	const whole = "result of 10.96.0.1:443: no answer (exit status 124)\nresult of alice.svc:80: connected (exit status 0)\n"
	cases := map[string]struct {
		reason, output string
		want           map[string]string // nil for incomplete
	}{
		"Whole":           {"Each target has its result.", whole, map[string]string{a: NoAnswer, b: Connected}},
		"Empty":           {"Nothing is no result.", "", nil},
		"OneIsLost":       {"Not even of one.", "result of 10.96.0.1:443: no answer (exit status 124)\n", nil},
		"CutShort":        {"Half a line isn't one, whatever it says.", strings.TrimSuffix(whole, "ed (exit status 0)\n"), nil},
		"CutBeforeItEnds": {"Nor is one without its end.", strings.TrimSuffix(whole, "exit status 0)\n"), nil},
		"SaysNothing":     {"An attempt that says nothing shows nothing.", strings.Replace(whole, "no answer", "", 1), nil},
		"Refused":         {"What bash says may have any form.", strings.Replace(whole, "no answer (exit status 124)", "connect: Connection refused; bash: (x) (exit status 1)", 1), map[string]string{a: "connect: Connection refused; bash: (x)", b: Connected}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Results(tc.output, a, b)
			if (err == nil) != (tc.want != nil) {
				t.Fatalf("\n%s\nResults(...): %v, %v", tc.reason, got, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nResults(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCommand tries a server that is there, and one that isn't.
func TestCommand(t *testing.T) {
	there, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = there.Close() })
	was, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = was.Close()
	targets := []string{there.Addr().String(), was.Addr().String()}
	command := Command(targets...)
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Results(string(out), targets...)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []string{Connected, "Connection refused"} {
		if said := got[targets[n]]; !strings.Contains(said, want) {
			t.Errorf("%s: want %q, got %q", targets[n], want, said)
		}
	}
}
