//go:build e2e

package chaos

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// applyChannel writes the channel, which offers a value. The rollout has two steps, and halts at the first broken tenant. progressDeadline is long,
// because a change that is disturbed may take long and breaks no tenant.
func applyChannel(ctx context.Context, value int) error {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"offer": map[string]any{"argocd": map[string]any{"values": map[string]any{"configs": map[string]any{"params": map[string]any{
			check.OfferParameter: strconv.Itoa(value),
		}}}}},
		"rollout": map[string]any{
			"steps":          []any{map[string]any{"percent": int64(50), "minSuccessTime": "2s"}, map[string]any{"percent": int64(100)}},
			"maxConcurrency": int64(3), "maxFailures": int64(1), "progressDeadline": "30m",
		},
	}}}
	o.SetGroupVersionKind(check.Channels.GroupVersion().WithKind(v1alpha1.ChannelKind))
	o.SetName(schedule.Channel)
	_, err := host.Dynamic.Resource(check.Channels).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: "chaos", Force: true})
	return err
}

// offer offers another value.
func (r *chaosRun) offer(ctx context.Context, value int) error {
	if err := applyChannel(ctx, value); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.troubles.Offered()
	return nil
}

// createChannel creates the channel, and waits until claims can name it.
func createChannel(ctx context.Context, t *testing.T, value int) {
	t.Helper()
	if err := applyChannel(ctx, value); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "the channel is accepted", func(ctx context.Context) (bool, string) {
		c, err := readChannel(ctx)
		return err == nil && meta.IsStatusConditionTrue(c.Conditions, v1alpha1.ConditionSpecAccepted), fmt.Sprint(c.Conditions, err)
	})
}

func readChannel(ctx context.Context) (check.Channel, error) {
	return check.ReadChannel(ctx, host, schedule.Channel, crossplane)
}

func removeChannel(ctx context.Context) error {
	err := host.Dynamic.Resource(check.Channels).Delete(ctx, schedule.Channel, metav1.DeleteOptions{})
	if kerrors.IsNotFound(err) {
		return nil
	}
	return err
}

// resume makes a channel go on that has halted because a tenant was broken for a while, as an operator does once the tenant is well again. It
// returns an error if there was no such tenant.
func (r *chaosRun) resume(ctx context.Context, c check.Channel) error {
	halted := c.Halted()
	r.mu.Lock()
	wrong := r.troubles.Wrong(halted)
	r.mu.Unlock()
	switch {
	case len(wrong) > 0:
		return fmt.Errorf("the channel has halted without a broken tenant: %s", wrong[0])
	case (halted != "") == c.Paused:
		return nil
	}
	r.say("The channel is paused: %t, since it has halted: %q", halted != "", halted)
	patch := fmt.Appendf(nil, `{"spec":{"paused":%t}}`, halted != "")
	_, err := host.Dynamic.Resource(check.Channels).Patch(ctx, schedule.Channel, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
