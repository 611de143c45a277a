package claim

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// watched is how long trouble looks for what is written again and again.
const watched = 10 * time.Second

// trouble says how the composite resource and the composed resources are that aren't ready, and which are being written.
func (l *Live) trouble(ctx context.Context) string {
	before, err := l.all(ctx)
	if err != nil {
		return err.Error()
	}
	time.Sleep(watched)
	after, err := l.all(ctx)
	if err != nil {
		return err.Error()
	}
	versions := map[string]string{}
	for _, o := range before {
		versions[string(o.GetUID())] = o.GetResourceVersion()
	}
	out := []string{fmt.Sprintf("claim %s: composite resource and composed resources that aren't ready or are written within %s:", l.Name, watched)}
	for _, o := range after {
		conditions, ready := conditionsOf(o)
		written := versions[string(o.GetUID())] != o.GetResourceVersion()
		if ready && !written && o.GetKind() != "Release" {
			continue
		}
		at, _, _ := unstructured.NestedMap(o.Object, "status", "atProvider")
		details, _, _ := unstructured.NestedSlice(o.Object, "spec", "connectionDetails")
		out = append(out, fmt.Sprintf("%s %s: generation %d, written: %t, state %v, revision %v, connection details %v%s",
			o.GetKind(), o.GetName(), o.GetGeneration(), written, at["state"], at["revision"], details, conditions))
	}
	return strings.Join(out, "\n  ")
}

// all reads the composite resource and every composed resource.
func (l *Live) all(ctx context.Context) ([]*unstructured.Unstructured, error) {
	xr, err := l.XR(ctx)
	if err != nil {
		return nil, err
	}
	composed, err := l.Composed(ctx)
	return append([]*unstructured.Unstructured{xr}, composed...), err
}

// conditionsOf returns the conditions of an object, one on a line, and whether all of them are True.
func conditionsOf(o *unstructured.Unstructured) (text string, ready bool) {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	ready = true
	for _, item := range list {
		c, _ := item.(map[string]any)
		ready = ready && c["status"] == string(metav1.ConditionTrue)
		text += fmt.Sprintf("\n    %v=%v %v since %v, generation %v: %v", c["type"], c["status"], c["reason"], c["lastTransitionTime"], c["observedGeneration"], c["message"])
	}
	return text, ready
}
