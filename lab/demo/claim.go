package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/lab/platform"
)

// claimReady is how long a tenant may take before the demo gives up on it.
const claimReady = 10 * time.Minute

// provision applies a claim and waits until it is Ready. Notes tell what the
// claim's status says on the way.
func provision(ctx context.Context, c client.Client, file string, note func(string)) (*unstructured.Unstructured, error) {
	ctx, cancel := context.WithTimeout(ctx, claimReady)
	defer cancel()
	claim, err := platform.ApplyFile(ctx, c, file)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(claim)
	for {
		if err := c.Get(ctx, key, claim); err != nil && ctx.Err() == nil {
			return nil, fmt.Errorf("cannot get claim %s: %w", key.Name, err)
		}
		if condition(claim, "Ready") == "True" && condition(claim, "Synced") == "True" {
			return claim, nil
		}
		note(status(claim))
		select {
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, ctx.Err()
			}
			return nil, fmt.Errorf("claim %s is not Ready after %s: %s", key.Name, claimReady, status(claim))
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// status is what a claim says about itself, in a line.
func status(claim *unstructured.Unstructured) string {
	phase, _, _ := unstructured.NestedString(claim.Object, "status", "phase")
	message, _, _ := unstructured.NestedString(claim.Object, "status", "message")
	progress, _, _ := unstructured.NestedInt64(claim.Object, "status", "progress")
	if phase == "" {
		if r := problem(claim); r != "" {
			return r
		}
		return "waiting for Crossplane to take the claim up"
	}
	line := fmt.Sprintf("%s %d%%", phase, progress)
	if message != "" {
		line += ", " + message
	}
	return line
}

// problem is the message of a claim that Crossplane can't reconcile.
func problem(claim *unstructured.Unstructured) string {
	for _, c := range conditions(claim) {
		if c["type"] == "Synced" && c["status"] == "False" {
			return fmt.Sprint("Synced=False: ", c["message"])
		}
	}
	return ""
}

func condition(o *unstructured.Unstructured, kind string) string {
	for _, c := range conditions(o) {
		if c["type"] == kind {
			return fmt.Sprint(c["status"])
		}
	}
	return ""
}

func conditions(o *unstructured.Unstructured) []map[string]any {
	list, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	var out []map[string]any
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			out = append(out, c)
		}
	}
	return out
}
