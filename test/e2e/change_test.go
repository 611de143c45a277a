//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// changing is a customer who changes its claim.
type changing struct {
	live *claim.Live
}

func TestChange(t *testing.T) {
	t.Parallel()
	c := &changing{}
	testenv.Test(t, features.New("changing").
		Setup(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			c.live = claim.Create(ctx, t, host, newClaim("changing"))
			c.live.AwaitReady(ctx, t, readyWithin)
			return ctx
		}).
		Assess("ChangedValuesAreRolledOut", c.rolledOut).
		Assess("DeletedInitialPasswordIsHarmless", c.deletedPassword).
		Assess("BadChartVersionIsNamedAndHarmless", c.badVersion).
		Assess("CorrectionHeals", c.corrected).
		Assess("RefusedEditIsNamedAndHarmless", c.refusedEdit).
		Assess("RefusedClaimIsDeleted", c.refusedAndDeleted).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, c.live)
			return ctx
		}).Feature())
}

func (c *changing) rolledOut(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	virtual := open(ctx, t, c.live)
	password := c.password(ctx, t)
	c.live.Patch(ctx, t, map[string]any{
		"server":  map[string]any{"replicas": 2},
		"configs": map[string]any{"cm": map[string]any{"statusbadge.enabled": "true"}},
	}, "spec", "argocd", "values")
	took := eventually.True(ctx, t, 5*time.Minute, "argocd-server has two replicas and the new setting", func(ctx context.Context) (bool, string) {
		server, err := virtual.Typed.AppsV1().Deployments("argocd").Get(ctx, "argocd-server", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		cm, err := virtual.Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		s, err := c.live.State(ctx)
		if err != nil {
			return false, err.Error()
		}
		return server.Status.AvailableReplicas == 2 && cm.Data["statusbadge.enabled"] == "true", s.String()
	})
	measured.add("change: new values to rolled out", took)
	c.live.AwaitReady(ctx, t, 5*time.Minute)
	if c.password(ctx, t) != password {
		t.Error("the admin password changed with the values")
	}
	return ctx
}

func (c *changing) password(ctx context.Context, t *testing.T) string {
	t.Helper()
	secret, err := c.live.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(secret.Data["password"])
}

// badChartVersion is a version that no chart repository has.
const badChartVersion = "99.98.97"

func (c *changing) badVersion(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	before := c.workloadIDs(ctx, t)
	c.live.Patch(ctx, t, badChartVersion, "spec", "argocd", "chartVersion")

	start := time.Now()
	c.live.Await(ctx, t, 4*time.Minute, "has a condition that names the bad chart version", func(s *claim.State) bool {
		for _, cond := range s.Conditions {
			if cond.Status == metav1.ConditionFalse && strings.Contains(cond.Message, badChartVersion) {
				return true
			}
		}
		return false
	})
	measured.add("change: bad chart version to named in a condition", time.Since(start))
	eventually.True(ctx, t, time.Minute, "the claim has an event that names the bad chart version", func(ctx context.Context) (bool, string) {
		return warned(ctx, c.live, badChartVersion)
	})
	if s, err := c.live.State(ctx); err != nil || !strings.Contains(s.Message, badChartVersion) {
		t.Errorf("status.message does not name the bad chart version: %v, %v", s, err)
	}
	if _, wrong, err := workloads(ctx, open(ctx, t, c.live)); err != nil || len(wrong) > 0 {
		t.Errorf("the running Argo CD suffers from the bad chart version: %v\n%s", err, lines(wrong))
	}
	c.unchanged(ctx, t, before)
	loggedIn(ctx, t, c.live)
	return ctx
}

func (c *changing) corrected(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	before := c.workloadIDs(ctx, t)
	c.live.Patch(ctx, t, nil, "spec", "argocd", "chartVersion")
	took := eventually.True(ctx, t, 4*time.Minute, "the claim is Ready and no longer speaks of the bad version", func(ctx context.Context) (bool, string) {
		s, err := c.live.State(ctx)
		if err != nil {
			return false, err.Error()
		}
		return s.IsReady() && s.True(claim.ArgoCDReady) && !strings.Contains(s.String(), badChartVersion), s.String()
	})
	measured.add("change: correction to Ready", took)
	c.unchanged(ctx, t, before)
	return ctx
}

// refusedEdit gives a running customer's claim a value that is not a tenant's to set.
func (c *changing) refusedEdit(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const field = "spec.vcluster.values.rbac"
	before := generations(ctx, t, c.live)
	c.live.Patch(ctx, t, map[string]any{"role": map[string]any{"enabled": false}}, "spec", "vcluster", "values", "rbac")
	s := c.live.Await(ctx, t, 2*time.Minute, "has a condition that names "+field, func(s *claim.State) bool {
		return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, field) })
	})
	t.Logf("the claim says: %s", s)
	eventually.True(ctx, t, time.Minute, "the claim has an event that names "+field, func(ctx context.Context) (bool, string) {
		return warned(ctx, c.live, field)
	})
	unchangedSince(ctx, t, c.live, before, "an edit that was refused")
	c.live.Patch(ctx, t, nil, "spec", "vcluster", "values")
	c.live.Await(ctx, t, 2*time.Minute, "is Ready and no longer speaks of "+field, func(s *claim.State) bool {
		return s.True(claim.Ready) && s.True(claim.VirtualClusterReady) && !strings.Contains(s.String(), field)
	})
	return ctx
}

// refusedAndDeleted deletes a claim whose last edit was refused.
func (c *changing) refusedAndDeleted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.Patch(ctx, t, "no-such-plan", "spec", "plan")
	tells(ctx, t, c.live, `spec.plan: "no-such-plan" is unknown`)
	deletePromptly(ctx, t, c.live)
	return ctx
}

// deletedPassword deletes the Secret of the initial password, as Argo CD's documentation tells its users.
func (c *changing) deletedPassword(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	password := c.password(ctx, t)
	secrets := open(ctx, t, c.live).Typed.CoreV1().Secrets("argocd")
	if err := secrets.Delete(ctx, "argocd-initial-admin-secret", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	xr, err := c.live.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	releases, release := all(t, schema.GroupVersionKind{Group: "helm.crossplane.io", Version: "v1beta1", Kind: "Release"}), xr.GetName()+"-argocd"
	nudge(ctx, t, releases, release)
	eventually.True(ctx, t, 2*time.Minute, "provider-helm no longer looks for the Secret, and is content", func(ctx context.Context) (bool, string) {
		r, err := releases.Get(ctx, release, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		synced := condition(r, "Synced")
		_, reads, _ := unstructured.NestedSlice(r.Object, "spec", "connectionDetails")
		return !reads && synced.Status == metav1.ConditionTrue && synced.ObservedGeneration == r.GetGeneration(),
			fmt.Sprintf("reads it: %v, Synced=%s %s", reads, synced.Status, synced.Message)
	})
	c.live.AwaitReady(ctx, t, 2*time.Minute)
	if c.password(ctx, t) != password {
		t.Error("the published password went with the Secret")
	}
	return ctx
}

// workloadIDs are the UIDs of Argo CD's Deployments.
func (c *changing) workloadIDs(ctx context.Context, t *testing.T) map[string]types.UID {
	t.Helper()
	list, err := open(ctx, t, c.live).Typed.AppsV1().Deployments("argocd").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]types.UID{}
	for _, d := range list.Items {
		out[d.Name] = d.UID
	}
	return out
}

func (c *changing) unchanged(ctx context.Context, t *testing.T, before map[string]types.UID) {
	t.Helper()
	after := c.workloadIDs(ctx, t)
	for name, uid := range before {
		if after[name] != uid {
			t.Errorf("Deployment %s was deleted or replaced", name)
		}
	}
}
