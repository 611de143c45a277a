package claim

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// Step is a state that a claim was seen in, and when.
type Step struct {
	At time.Duration
	*State
}

// Follow watches the claim from its creation on, and calls see for each state, without gaps, until see returns false.
func (l *Live) Follow(ctx context.Context, within time.Duration, see func(Step) bool) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	w, err := l.client.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + l.Name})
	if err != nil {
		return fmt.Errorf("cannot watch claim %s: %w", l.Name, err)
	}
	defer w.Stop()
	last := "nothing"
	for e := range w.ResultChan() {
		o, ok := e.Object.(*unstructured.Unstructured)
		if !ok || e.Type == watch.Error || e.Type == watch.Deleted {
			return fmt.Errorf("watch of claim %s ended by %s\nlast seen: %s", l.Name, e.Type, last)
		}
		s, err := stateOf(o)
		if err != nil {
			return err
		}
		last = s.String()
		if !see(Step{At: time.Since(l.Created).Round(100 * time.Millisecond), State: s}) {
			return nil
		}
	}
	return fmt.Errorf("claim %s: not within %s\nlast seen: %s", l.Name, within, last)
}
