package values_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestUnknownValuesOfBefore: values that a chart doesn't have, and that were accepted before, or are the platform's, are named, and stop
// nothing.
func TestUnknownValuesOfBefore(t *testing.T) {
	const unknown = `{"argocd":{"chartVersion":"11.0.0","values":{"global":{"domian":"a"}}}}`
	e := crossplanetest.New(t, unknown, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"controler":{"replicas":2}}}}}`).Install()
	c := e.Condition("SpecAccepted")
	for _, want := range []string{"spec.argocd.values.global.domian: the argo-cd chart has no such value in version 10.1, the nearest one that is known here: did you mean global.domain?", "input.charts.argocd.values.controler: the argo-cd chart has no such value in"} {
		if c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), want) {
			t.Errorf("want %q, got %s: %s", want, c.GetReason(), c.GetMessage())
		}
	}
	if got := e.Status("message"); e.Status("phase") != "Ready" || !strings.Contains(got, "see the condition SpecAccepted") {
		t.Errorf("want Ready with a hint, got %s: %s", e.Status("phase"), got)
	}
	// The version is known, and the value was accepted.
	e.SetSpec(`{"argocd":{"chartVersion":"10.1.1","values":{"global":{"domian":"a"}}}}`)
	e.Cycle(2)
	if c := e.Condition("SpecAccepted"); c.GetReason() != "UnusedValues" || !strings.Contains(c.GetMessage(), "global.domian: the argo-cd chart has no such value: did you mean") {
		t.Errorf("what was accepted is refused: %v", c)
	}
	e.SetSpec(`{"argocd":{"chartVersion":"10.1.1","values":{"global":{"domian":"b"}}}}`)
	e.Cycle(2)
	if c := e.Condition("SpecAccepted"); c.GetReason() != "InvalidSpec" {
		t.Errorf("another unknown value is accepted: %v", c)
	}
	e.SetSpec(`{"argocd":{"chartVersion":"10.1.1"}}`)
	e.Cycle(2)
	if c := e.Condition("SpecAccepted"); c.GetReason() != "UnusedValues" || strings.Contains(c.GetMessage(), "domian") {
		t.Errorf("only the platform's is left: %v", c)
	}
}
