package claim

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// watched is how long trouble waits to see what is being written.
const watched = 10 * time.Second

// trouble returns the conditions of those of the composite resource and the composed resources that aren't ready, and says which are
// being written.
func (l *Live) trouble(ctx context.Context) string {
	before, err := l.All(ctx)
	if err != nil {
		return err.Error()
	}
	time.Sleep(watched)
	after, err := l.All(ctx)
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

// conditionsOf returns the conditions of an object, one on a line, and whether all of them are True.
func conditionsOf(o *unstructured.Unstructured) (text string, ready bool) {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	is := struct {
		Conditions []metav1.Condition `json:"conditions"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &is); err != nil {
		return "\n    " + err.Error(), false
	}
	ready = true
	for _, c := range is.Conditions {
		ready = ready && c.Status == metav1.ConditionTrue
		text += fmt.Sprintf("\n    %s=%s %s since %s, generation %d: %s", c.Type, c.Status, c.Reason, c.LastTransitionTime.UTC().Format(time.TimeOnly), c.ObservedGeneration, c.Message)
	}
	return text, ready
}
