package platform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const pollEvery = 300 * time.Millisecond

// of returns an empty object of a kind.
func of(kind schema.GroupVersionKind) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	return o
}

// waitFor waits until every named condition of an object is True. When time is
// up, the error holds the conditions that the object has.
func waitFor(ctx context.Context, c client.Client, gvk schema.GroupVersionKind, key client.ObjectKey, note func(string), conditions ...string) error {
	o := of(gvk)
	missing := ""
	for {
		err := c.Get(ctx, key, o)
		switch {
		case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
			missing = "it does not exist yet"
		case err != nil && ctx.Err() == nil:
			missing = err.Error()
		case err == nil:
			if missing = unmet(o, conditions); missing == "" {
				return nil
			}
		}
		note(fmt.Sprintf("%s %s: %s", gvk.Kind, key.Name, missing))
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s does not become %s: %s: %w", gvk.Kind, key.Name, strings.Join(conditions, " and "), missing, timedOut(ctx))
		case <-time.After(pollEvery):
		}
	}
}

// timedOut words the error of a context for people.
func timedOut(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("gave up waiting")
	}
	return ctx.Err()
}

// unmet describes the conditions that are not True, with reason and message.
// It is empty when all are.
func unmet(o *unstructured.Unstructured, wanted []string) string {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	found := map[string]map[string]any{}
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			found[fmt.Sprint(c["type"])] = c
		}
	}
	var out []string
	for _, w := range wanted {
		c, ok := found[w]
		switch {
		case !ok:
			out = append(out, "no condition "+w+" yet")
		case c["status"] != "True":
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s=%v %v %v", w, c["status"], text(c["reason"]), text(c["message"]))))
		}
	}
	return strings.Join(out, "; ")
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return strings.Join(strings.Fields(fmt.Sprint(v)), " ")
}
