package mistakes

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// TestSorted: mistakes come in the order of the claim's fields, each once, and the platform's come alone.
func TestSorted(t *testing.T) {
	fields := Fields("spec", reflect.TypeFor[v1alpha1.Spec]())
	for name, tc := range map[string]struct {
		mistakes []string
		want     string
	}{
		"None": {nil, ""},
		"One":  {[]string{"spec.plan: a"}, "spec.plan: a"},
		"Order": {[]string{"spec.ingress.tls.issuer: e", "spec.repositories[10].name: d", "spec.repositories[2].url: c", "spec.argocd.values.b: b", "spec.repositories[2].name: x", "spec.argocd.values.a is a", "spec.argocd.chartVersion: z", "spec: all"},
			"spec: all; (2) spec.argocd.chartVersion: z; (3) spec.argocd.values.a is a; (4) spec.argocd.values.b: b; (5) spec.repositories[2].name: x; (6) spec.repositories[2].url: c; (7) spec.repositories[10].name: d; (8) spec.ingress.tls.issuer: e"},
		"Once":      {[]string{"spec.plan: a", "spec.plan: a"}, "spec.plan: a"},
		"Platforms": {[]string{"spec.plan: a", "plan small: data: b", "input.x: c"}, "plan small: data: b; (2) input.x: c"},
	} {
		t.Run(name, func(t *testing.T) {
			var all []error
			for _, mistake := range tc.mistakes {
				owner := map[string]Owner{"plan": Plan, "input": Input}[strings.FieldsFunc(mistake, func(r rune) bool { return r == ' ' || r == '.' })[0]]
				all = append(all, By(cmp.Or(owner, Claim), errors.New(mistake)))
			}
			got := ""
			if err := Sorted(Join(all...), fields); err != nil {
				got = err.Error()
			}
			if got != tc.want {
				t.Errorf("want\n%s\ngot\n%s", tc.want, got)
			}
		})
	}
}

// TestBounded: a message is bounded, and says how much is left out.
func TestBounded(t *testing.T) {
	var many, long []error
	for i := range 100 {
		many = append(many, fmt.Errorf("spec.clusters[%d]: a", i))
		long = append(long, fmt.Errorf("spec.clusters[%d]: %s", i, strings.Repeat("x", 1000)))
	}
	if got := Join(many...).Error(); !strings.HasPrefix(got, "spec.clusters[0]: a; ") || !strings.HasSuffix(got, "(20) spec.clusters[19]: a; and 80 more") {
		t.Error(got)
	}
	if got := Join(long...).Error(); len(got) > maxLength+50 || !strings.HasSuffix(got, " more") {
		t.Errorf("%d bytes: %s", len(got), got[len(got)-20:])
	}
}

// TestErrorf: a path is shown as it is, whatever an author has written, and an error in the text can be found.
func TestErrorf(t *testing.T) {
	cause := errors.New("a cause")
	err := Field{Owner: Plan, Path: "plan small: spec.values.argocd.a%sb%"}.Errorf("is %q: %w", "c", cause)
	if want := `plan small: spec.values.argocd.a%sb%: is "c": a cause`; err.Error() != want || OwnerOf(err) != Plan || !errors.Is(err, cause) {
		t.Errorf("want %q, got %q of owner %d", want, err, OwnerOf(err))
	}
}
