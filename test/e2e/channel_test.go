//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	channelName = "e2e-careful"
	channelPlan = "e2e-careful"
	// haltedWithin is longer than progressDeadline of the channel.
	haltedWithin = 10 * time.Minute
	// offeredWithin is how long a good offer may take to reach four tenants, one after the other at first.
	offeredWithin = 15 * time.Minute
)

// channelTenants are four customers in a channel, with a plan of their own.
type channelTenants struct {
	channel dynamic.ResourceInterface
	plan    *installedPlan
	lives   []*claim.Live
	// written is what is composed for a claim before the bad offer, and ids what that and the pods are.
	written map[string]map[string]string
	ids     map[string]map[string]types.UID
	broken  string
}

// TestChannel offers four tenants a broken image, and then a mended offer, and deletes the channel. It has the cluster to itself: each plan
// that another test installs is another offer.
func TestChannel(t *testing.T) {
	onlyInFull(t)
	c := &channelTenants{written: map[string]map[string]string{}, ids: map[string]map[string]types.UID{}}
	t.Cleanup(func() {
		ctx := context.Background()
		cleanUp(ctx, t, c.lives...)
		c.plan.remove(ctx, t)
		c.remove(ctx, t)
	})
	testenv.Test(t, features.New("channel").
		Setup(c.install).
		Assess("PausedSaysWhomTheOfferWouldChange", c.paused).
		Assess("ABadOfferBreaksOneAndHalts", c.halts).
		Assess("TheOthersAreUntouched", c.untouched).
		Assess("AMendedOfferReachesAll", c.mended).
		Assess("ADeletedChannelLeavesThemAsTheyAre", c.deleted).
		Feature())
}

func (c *channelTenants) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.plan = installPlan(ctx, t, "standard", channelPlan)
	c.create(ctx, t, map[string]any{
		"steps":       []any{map[string]any{"percent": int64(25), "minSuccessTime": "20s"}, map[string]any{"percent": int64(100)}},
		"maxFailures": int64(1), "progressDeadline": "4m",
	})
	for i := range 4 {
		c.lives = append(c.lives, claim.Create(ctx, t, host, newClaim(fmt.Sprintf("channel-%d", i)).
			Set(channelName, "spec", "channel").Set(channelPlan, "spec", "plan")))
	}
	for _, l := range c.lives {
		l.AwaitReady(ctx, t, readyWithin)
	}
	c.await(ctx, t, 5*time.Minute, v1alpha1.ConditionComplete, "True", "all 4 tenants")
	for _, l := range c.lives {
		settles(ctx, t, l)
		c.written[l.Name], c.ids[l.Name] = writtenFor(ctx, t, l), identities(ctx, t, l)
	}
	return ctx
}

// create creates the channel, with an empty offer.
func (c *channelTenants) create(ctx context.Context, t *testing.T, rollout map[string]any) {
	t.Helper()
	channel := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"offer": map[string]any{}, "rollout": rollout}}}
	channel.SetGroupVersionKind(channels)
	channel.SetName(channelName)
	c.channel = all(t, channels)
	createObject(ctx, t, channel)
	c.await(ctx, t, 2*time.Minute, v1alpha1.ConditionSpecAccepted, "True", "")
}

// remove deletes the channel, if it was created.
func (c *channelTenants) remove(ctx context.Context, t *testing.T) {
	t.Helper()
	if c.channel == nil || t.Failed() && keep {
		return
	}
	if err := c.channel.Delete(ctx, channelName, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Error(err)
	}
}

// patch merges fields into the channel's spec.
func (c *channelTenants) patch(ctx context.Context, t *testing.T, spec string) {
	t.Helper()
	if _, err := c.channel.Patch(ctx, channelName, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// await waits for a condition of the channel, and returns its message.
func (c *channelTenants) await(ctx context.Context, t *testing.T, within time.Duration, typ, status, words string) (message string) {
	t.Helper()
	took := eventually.True(ctx, t, within, fmt.Sprintf("channel: %s is %s with %q", typ, status, words), func(ctx context.Context) (bool, string) {
		o, err := c.channel.Get(ctx, channelName, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, is := range conditions {
			if of := is.(map[string]any); of["type"] == typ {
				message, _ = of["message"].(string)
				return of["status"] == status && strings.Contains(message, words), fmt.Sprint(o.Object["status"])
			}
		}
		return false, fmt.Sprint(o.Object["status"])
	})
	t.Logf("after %s %s is %s: %s", took, typ, status, message)
	return message
}

func (c *channelTenants) paused(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.patch(ctx, t, `{"paused":true,"offer":{"argocd":{"values":{"redis":{"image":{"tag":"no-such-tag"}}}}}}`)
	c.await(ctx, t, 3*time.Minute, v1alpha1.ConditionProgressing, "False", "would change 4 of 4 tenants")
	for _, l := range c.lives {
		l.Await(ctx, t, 3*time.Minute, "says what would change", func(s *claim.State) bool {
			is, _, _ := unstructured.NestedString(s.Object.Object, "status", "channel", "message")
			available, _, _ := unstructured.NestedBool(s.Object.Object, "status", "channel", "updateAvailable")
			return is == "the channel is paused; would change: values of argo-cd (redis.image.tag)" && available
		})
		// Its record says so, too. Nothing else has changed, and from now on that doesn't.
		now, record := writtenFor(ctx, t, l), "ConfigMap "+l.XRName(ctx, t)+"-channel"
		if now[record] == "" || now[record] == c.written[l.Name][record] {
			t.Errorf("the record of claim %s is %q, as before the offer", l.Name, now[record])
		}
		c.written[l.Name][record] = now[record]
		if diff := cmp.Diff(c.written[l.Name], now); diff != "" {
			t.Errorf("what is composed for claim %s has changed:\n%s", l.Name, diff)
		}
	}
	return ctx
}

func (c *channelTenants) halts(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.patch(ctx, t, `{"paused":false}`)
	message := c.await(ctx, t, haltedWithin, v1alpha1.ConditionHalted, "True", "failed")
	for _, l := range c.lives {
		if strings.Contains(message, l.Namespace+"/"+l.Name+" ") {
			c.broken += l.Name
		}
	}
	if !slices.ContainsFunc(c.lives, func(l *claim.Live) bool { return l.Name == c.broken }) {
		t.Fatalf("want one tenant named, got %q: %s", c.broken, message)
	}
	// Helm still waits for the pod, and says nothing yet.
	says := func(who, what string) {
		for _, word := range []string{"Deployment argocd-redis: pod argocd-redis-", "ImagePull"} {
			if !strings.Contains(what, word) {
				t.Errorf("%s doesn't say %q: %s", who, word, what)
			}
		}
	}
	says("the channel", message)
	eventually.True(ctx, t, time.Minute, "the channel has an event of the halt", func(ctx context.Context) (bool, string) {
		events, err := claim.EventsOf(ctx, host, metav1.NamespaceAll, channels.Kind, channelName)
		return slices.ContainsFunc(events, func(e corev1.Event) bool {
			return e.Type == corev1.EventTypeWarning && e.Reason == v1alpha1.ReasonTenantsFailed && strings.Contains(e.Message, claims+"/"+c.broken+" ")
		}), fmt.Sprint(events, err)
	})
	for _, l := range c.lives {
		if l.Name != c.broken {
			continue
		}
		s, err := l.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		says("the claim "+l.Name, s.Message)
	}
	return ctx
}

// untouched looks for a while: nobody else begins.
func (c *channelTenants) untouched(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	time.Sleep(2 * time.Minute)
	for _, l := range c.lives {
		if l.Name == c.broken {
			continue
		}
		s, err := l.State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if s.Phase != "Ready" || !s.True(claim.Ready) {
			t.Errorf("claim %s is %s: %s", l.Name, s.Phase, s.Message)
		}
		if diff := cmp.Diff(c.written[l.Name], writtenFor(ctx, t, l)); diff != "" {
			t.Errorf("what is composed for claim %s has changed:\n%s", l.Name, diff)
		}
		if diff := cmp.Diff(c.ids[l.Name], identities(ctx, t, l)); diff != "" {
			t.Errorf("claim %s has other resources or pods:\n%s", l.Name, diff)
		}
	}
	return ctx
}

func (c *channelTenants) mended(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.patch(ctx, t, `{"offer":{"argocd":{"values":{"redis":null,"configs":{"cm":{"statusbadge.enabled":"true"}}}}}}`)
	c.await(ctx, t, offeredWithin, v1alpha1.ConditionComplete, "True", "all 4 tenants")
	c.await(ctx, t, time.Minute, v1alpha1.ConditionHalted, "False", "")
	for _, l := range c.lives {
		l.AwaitReady(ctx, t, readyWithin)
		badge, _, _ := unstructured.NestedString(releaseOf(ctx, t, l).Object, "spec", "forProvider", "values", "configs", "cm", "statusbadge.enabled")
		if badge != "true" {
			t.Errorf("claim %s doesn't have the offer", l.Name)
		}
	}
	return ctx
}

// deleted deletes the channel, and then edits the plan and each claim: all tenants get what their own claims say, and nothing of the plan's
// edit. A tenant gets that when it leaves the channel.
func (c *channelTenants) deleted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if err := c.channel.Delete(ctx, channelName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	want := map[*claim.Live]fromPlan{}
	for _, l := range c.lives {
		l.Await(ctx, t, 3*time.Minute, "says that its channel is gone", func(s *claim.State) bool {
			is, _, _ := unstructured.NestedString(s.Object.Object, "status", "channel", "message")
			return strings.Contains(is, "doesn't exist") && s.Phase == "Ready"
		})
		want[l] = fromPlanOf(ctx, t, l)
		if pods, processors := want[l].Pods, want[l].processors(); pods != "60" || processors != "20" {
			t.Errorf("claim %s has a quota of %s pods and %s processors, want those of its plan", l.Name, pods, processors)
		}
	}
	c.plan.patch(ctx, t, `{"spec":{"quota":{"count/pods":"61"},"values":{"argocd":{"configs":{"params":{"controller.status.processors":"21"}}}}}}`)
	for _, l := range c.lives {
		l.Patch(ctx, t, l.Name, "spec", "argocd", "values", "configs", "cm", "ui.bannercontent")
		if err := unstructured.SetNestedField(want[l].Values, l.Name, "configs", "cm", "ui.bannercontent"); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range c.lives {
		eventually.True(ctx, t, 3*time.Minute, "claim "+l.Name+" has its own change, and nothing of the plan's edit", func(ctx context.Context) (bool, string) {
			diff := cmp.Diff(want[l], fromPlanOf(ctx, t, l))
			return diff == "", diff
		})
	}
	leaves := c.lives[0]
	leaves.Patch(ctx, t, nil, "spec", "channel")
	eventually.True(ctx, t, 3*time.Minute, "claim "+leaves.Name+", which has left the channel, has the plan's edit", func(ctx context.Context) (bool, string) {
		is := fromPlanOf(ctx, t, leaves)
		return is.Pods == "61" && is.processors() == "21", fmt.Sprint(is)
	})
	for _, l := range c.lives {
		l.AwaitReady(ctx, t, readyWithin)
		if diff := cmp.Diff(want[l], fromPlanOf(ctx, t, l)); l != leaves && diff != "" {
			t.Errorf("claim %s has changed after its channel was deleted:\n%s", l.Name, diff)
		}
	}
	return ctx
}

// emptyChannel creates a channel that offers nothing yet, and waits until claims can name it.
func emptyChannel(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	channel := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"offer": map[string]any{}}}}
	channel.SetGroupVersionKind(channels)
	channel.SetName(name)
	createObject(ctx, t, channel)
	eventually.True(ctx, t, 2*time.Minute, "channel "+name+" is in use", func(ctx context.Context) (bool, string) {
		o, err := all(t, channels).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		accepted := condition(o, v1alpha1.ConditionSpecAccepted)
		return accepted.Status == metav1.ConditionTrue, fmt.Sprint(accepted)
	})
	return channel
}

// fromPlan is what edits of a plan can change: the chart of Argo CD with its values, and the pods of the quota.
type fromPlan struct {
	Version, Pods string
	Values        map[string]any
}

func fromPlanOf(ctx context.Context, t *testing.T, l *claim.Live) (out fromPlan) {
	t.Helper()
	release := releaseOf(ctx, t, l)
	out.Version, _, _ = unstructured.NestedString(release.Object, "spec", "forProvider", "chart", "version")
	out.Values, _, _ = unstructured.NestedMap(release.Object, "spec", "forProvider", "values")
	quota, err := quotaOf(ctx, tenantNamespace(ctx, l))
	if err != nil {
		t.Fatal(err)
	}
	pods := quota.Spec.Hard["count/pods"]
	out.Pods = pods.String()
	return out
}

func (f fromPlan) processors() string {
	is, _, _ := unstructured.NestedString(f.Values, "configs", "params", "controller.status.processors")
	return is
}
