//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// rolledOutWithin is the promise for a change of a plan.
const rolledOutWithin = 2 * time.Minute

// planned is a customer of the plan small, as it is in examples/plans.
type planned struct {
	live   *claim.Live
	plan   *unstructured.Unstructured
	client dynamic.ResourceInterface
}

func TestPlans(t *testing.T) {
	t.Parallel()
	p := &planned{}
	testenv.Test(t, features.New("small").
		Setup(p.install).
		Assess("ClaimHasItsSize", p.sized).
		Assess("ChangeIsRolledOut", p.changed).
		Assess("MistakeIsNamedAndHarmless", p.mistaken).
		Assess("UnknownPlanIsNamedWithThoseThereAre", p.unknown).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, p.live)
			if t.Failed() && keep || p.client == nil {
				return ctx
			}
			if err := p.client.Delete(ctx, p.plan.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
				t.Error(err)
			}
			return ctx
		}).Feature())
}

func (p *planned) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	data, err := os.ReadFile("../../examples/plans/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p.plan = &unstructured.Unstructured{}
	if err := yaml.Unmarshal(data, &p.plan.Object); err != nil {
		t.Fatal(err)
	}
	client, err := host.Resource(p.plan.GroupVersionKind(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Create(ctx, p.plan, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	p.client = client
	p.live = claim.Create(ctx, t, host, newClaim("planned").Set("small", "spec", "plan"))
	p.live.AwaitReady(ctx, t, readyWithin)
	measured.add("planned: claim of the plan small to Ready", time.Since(p.live.Created))
	return ctx
}

// sizes are what the tenant has of its plan: pods of its quota, and the memory of Argo CD's repository server.
func (p *planned) sizes(ctx context.Context, t *testing.T) (pods, memory string, err error) {
	t.Helper()
	s, err := p.live.State(ctx)
	if err != nil {
		return "", "", err
	}
	quotas, err := host.Typed.CoreV1().ResourceQuotas(s.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(quotas.Items) != 1 {
		return "", "", fmt.Errorf("want one ResourceQuota, got %d, %w", len(quotas.Items), err)
	}
	count := quotas.Items[0].Spec.Hard["count/pods"]
	d, err := open(ctx, t, p.live).Typed.AppsV1().Deployments("argocd").Get(ctx, "argocd-repo-server", metav1.GetOptions{})
	if err != nil {
		return "", "", err
	}
	return count.String(), d.Spec.Template.Spec.Containers[0].Resources.Limits.Name(corev1.ResourceMemory, "").String(), nil
}

func (p *planned) sized(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s, err := p.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if name, _, _ := unstructured.NestedString(s.Object.Object, "status", "plan"); name != "small" {
		t.Errorf("the claim has plan %q", name)
	}
	pods, memory, err := p.sizes(ctx, t)
	if err != nil || pods != "30" || memory != "512Mi" {
		t.Errorf("the tenant has %s pods and %s of memory, not those of its plan: %v", pods, memory, err)
	}
	loggedIn(ctx, t, p.live)
	return ctx
}

// patch merges fields into the plan.
func (p *planned) patch(ctx context.Context, t *testing.T, patch string) {
	t.Helper()
	if _, err := p.client.Patch(ctx, p.plan.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (p *planned) changed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.patch(ctx, t, `{"data":{"quota":{"count/pods":"31"},"argocd":{"repoServer":{"resources":{"limits":{"memory":"640Mi"}}}}}}`)
	start := time.Now()
	eventually.True(ctx, t, rolledOutWithin, "the tenant has the plan's new sizes", func(ctx context.Context) (bool, string) {
		pods, memory, err := p.sizes(ctx, t)
		return err == nil && pods == "31" && memory == "640Mi", fmt.Sprint(pods, memory, err)
	})
	measured.add("planned: plan changed to rolled out", time.Since(start))
	p.live.AwaitReady(ctx, t, 3*time.Minute)
	return ctx
}

func (p *planned) mistaken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.patch(ctx, t, `{"data":{"argocd":{"server":{"replicas":"two"}},"quota":{"count/pods":"32"}}}`)
	p.tells(ctx, t, "plan small: data.argocd.server.replicas")
	if pods, _, err := p.sizes(ctx, t); err != nil || pods != "31" {
		t.Errorf("a plan with a mistake has changed the tenant: %s, %v", pods, err)
	}
	loggedIn(ctx, t, p.live)
	p.patch(ctx, t, `{"data":{"argocd":{"server":null}}}`)
	p.live.Await(ctx, t, rolledOutWithin, "has a plan without mistakes", func(s *claim.State) bool { return s.True(claim.Ready) && !mentions(s, "plan small: data") })
	return ctx
}

func (p *planned) unknown(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.live.Patch(ctx, t, "smal", "spec", "plan")
	p.tells(ctx, t, `spec.plan: "smal" is unknown: write one of small, standard`)
	p.live.Patch(ctx, t, "small", "spec", "plan")
	p.live.Await(ctx, t, rolledOutWithin, "has a plan that there is", func(s *claim.State) bool { return s.True(claim.Ready) && !mentions(s, "is unknown") })
	return ctx
}

// tells waits until the claim says what is wrong, in a condition and an event. What runs stays Ready.
func (p *planned) tells(ctx context.Context, t *testing.T, words string) {
	t.Helper()
	p.live.Await(ctx, t, rolledOutWithin, "has a condition that says "+words, func(s *claim.State) bool {
		return s.True(claim.Ready) && mentions(s, words)
	})
	eventually.True(ctx, t, time.Minute, "the claim has an event that says "+words, func(ctx context.Context) (bool, string) {
		return warned(ctx, p.live, words)
	})
}

// mentions looks for words in all conditions.
func mentions(s *claim.State, words string) bool {
	return slices.ContainsFunc(s.Conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, words) })
}
