package dnsquery

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestResults(t *testing.T) {
	a, b := Question{"alice.svc", "A"}, Reverse(netip.MustParseAddr("10.96.0.1"))
	const whole = "result of A/alice.svc: answered (1).\nresult of PTR/1.0.96.10.in-addr.arpa: no such name.\n"
	cases := map[string]struct {
		output string
		want   map[Question]string // nil for incomplete
	}{
		"Whole":     {whole, map[Question]string{a: "answered (1)", b: NoSuchName}},
		"Empty":     {"", nil},
		"OneIsLost": {"result of A/alice.svc: answered (1).\n", nil},
		"CutShort":  {whole[:len(whole)-3], nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Results(tc.output, a, b)
			if (err == nil) != (tc.want != nil) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
