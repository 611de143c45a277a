//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

// TestFleetPicture makes the picture of a fleet in the README, with E2E_PICTURE=docs/fleet.png: seven tenants of six customers, of which
// one is broken, one comes up, and three are in a channel.
func TestFleetPicture(t *testing.T) {
	file := os.Getenv("E2E_PICTURE")
	if file == "" {
		t.Skip("THIS MAKES A PICTURE, AND IS FOR E2E_PICTURE=docs/fleet.png")
	}
	needsEmbedded(t)
	ctx := t.Context()
	c, err := client.New(host.Config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	channel := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"offer":   map[string]any{},
		"rollout": map[string]any{"steps": []any{map[string]any{"percent": int64(34), "minSuccessTime": "24h"}, map[string]any{"percent": int64(100)}}},
	}}}
	channel.SetGroupVersionKind(channels)
	channel.SetName("stable")
	channels, err := host.Resource(channel.GroupVersionKind(), "")
	if err != nil {
		t.Fatal(err)
	}
	customers := []string{"acme", "globex", "hooli", "initech", "umbrella", "wonka"}
	var lives []*claim.Live
	var plans []*installedPlan
	t.Cleanup(func() {
		ctx := context.Background()
		cleanUp(ctx, t, lives...)
		if t.Failed() && keep {
			return
		}
		for _, plan := range plans {
			plan.remove(ctx, t)
		}
		if err := channels.Delete(ctx, channel.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
		for _, name := range customers {
			deleteNamespace(ctx, t, name)
		}
		if err := platform.RemoveMonitoring(ctx, c, project); err != nil {
			t.Error(err)
		}
	})
	createObject(ctx, t, channel)
	for _, name := range []string{"small", "standard"} {
		plans = append(plans, installPlan(ctx, t, name, name))
	}
	for _, name := range customers {
		if _, err := createNamespace(name)(ctx, nil); err != nil {
			t.Fatal(err)
		}
	}
	address, err := platform.InstallMonitoring(ctx, c, project, func(name, content string) string {
		if name == platform.ScrapeConfigsFile {
			return hurried(name, content)
		}
		return content
	}, func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	metrics := metricsAPI(address)

	create := func(namespace, name, plan string) *claim.Claim {
		return claim.New(name).In(namespace).Set(plan, "spec", "plan").Set(name+"-argocd", "spec", "writeConnectionSecretToRef", "name")
	}
	for _, claimed := range []*claim.Claim{
		create("acme", "shop", "small").Set("stable", "spec", "channel"),
		create("acme", "ci", "small"),
		create("globex", "main", "standard").Set("stable", "spec", "channel"),
		create("hooli", "search", "small"),
		create("initech", "billing", "small").Set("stable", "spec", "channel"),
		create("umbrella", "research", "standard").Kubernetes(otherKubernetes),
	} {
		lives = append(lives, claim.Create(ctx, t, host, claimed))
		// Two at a time.
		if n := len(lives); n > 1 {
			lives[n-2].AwaitReady(ctx, t, 2*readyWithin)
		}
	}
	lives[len(lives)-1].AwaitReady(ctx, t, 2*readyWithin)
	shop, broken := lives[0], lives[3]
	image := deployment(ctx, t, open(ctx, t, shop), "argocd-repo-server").Spec.Template.Spec.Containers[0].Image
	repo := gitserver.RunPublic(ctx, t, host, "acme", image, map[string]string{"deployment.yaml": webManifest})
	for _, l := range lives[:3] {
		createApp(ctx, t, loggedIn(ctx, t, l), "web", wholeOf(repo), argocd.InCluster)
	}
	// A change that takes no time: what is in the picture is who has it.
	if _, err := channels.Patch(ctx, channel.GetName(), types.MergePatchType, []byte(`{"spec":{"offer":{"argocd":{"values":{"configs":{"cm":{"timeout.reconciliation":"180s"}}}}}}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	patchDeployment(ctx, t, open(ctx, t, broken).Typed.AppsV1().Deployments("argocd"), "argocd-server", stopped)
	const alert = `ALERTS{alertname="VirtualArgoCDDegraded", alertstate="firing", claim_namespace="hooli"}`
	// It waits five minutes.
	eventually.True(ctx, t, 10*time.Minute, "the alert fires", func(ctx context.Context) (bool, string) {
		got, err := metrics.query(ctx, alert)
		return len(got) == 1, fmt.Sprint(got, err)
	})
	lives = append(lives, claim.Create(ctx, t, host, create("wonka", "factory", "small")))
	metrics.await(ctx, t, `virtualargocd_claim_phase{claim_namespace="wonka", phase="Provisioning"} == 1`, 1)

	b := browser.Open(t, browser.Options{Width: 1280, Height: 1004})
	b.Visit(t, string(metrics)+"/?minutes=6", pageWithin, "Phases", "VirtualArgoCDDegraded", "factory")
	b.Picture(t, filepath.Join(project, file))
}
