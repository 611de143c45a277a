//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/extension"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

// extensionNamespace is the customer's. The customer's Git server is there, and the server of the extension.
const extensionNamespace = "e2e-extension"

// extended is a customer whose platform has Rollouts with a UI extension, by a Composition of its own.
type extended struct {
	staging

	host, repo string
}

// TestExtension: a Rollout in the web interface of the tenant's Argo CD, with a UI extension that comes with the component. The extension is the lab's own
// around the component of Argo Rollouts' dashboard; the way to the browser is that of any extension.
func TestExtension(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	t.Parallel()
	e := &extended{host: "extension." + ingress.Domain}
	testenv.Test(t, features.New("extension").
		Setup(e.install).
		Assess("APIServerHasIt", e.served).
		Assess("BrowserShowsTheRollout", e.browse).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			e.remove(ctx, t)
			if !t.Failed() || !keep {
				deleteNamespace(ctx, t, extensionNamespace)
			}
			return ctx
		}).Feature())
}

func (e *extended) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	// One that may choose a Composition.
	of := examplesOf(t, "staging/namespace.yaml")[0]
	of.SetName(extensionNamespace)
	of.SetLabels(map[string]string{reachable: "true"})
	createObject(ctx, t, of)
	if _, err := createNamespace(extensionNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	e.repo = gitserver.RunHTTP(ctx, t, host, extensionNamespace, map[string]string{"shop/rollout.yaml": example(t, "rollout.yaml", ofCluster...)})
	url := extension.Run(ctx, t, host, extensionNamespace)

	input := platformInput(ctx, t)
	components, _ := input["components"].([]any)
	for _, c := range components {
		if entry := c.(map[string]any); entry["name"] == "rollouts" {
			entry["argocdValues"] = extension.ArgoCDValues(t, "../../examples/install/components.yaml", url)
		}
	}
	e.composition = examplesOf(t, "staging/composition.yaml")[0]
	e.composition.SetName("virtual-argocd-full-with-a-tab")
	e.composition.SetLabels(map[string]string{"stage": "extended", "release": "1"})
	e.set(t, input)
	createObject(ctx, t, e.composition)
	e.awaitRevision(ctx, t, "extended", "1")
	e.up = claim.Create(ctx, t, host, newClaim("tabbed").In(extensionNamespace).
		Set(e.composition.GetName(), "spec", "compositionRef", "name").
		Set(e.host, "spec", "ingress", "host").Set(named("rollouts"), "spec", "components"))
	return ctx
}

// served looks at the API server in the virtual cluster.
func (e *extended) served(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	e.up.AwaitReady(ctx, t, readyWithin)
	e.up.Await(ctx, t, componentWithin, "component rollouts Ready", func(s *claim.State) bool { return s.Component("rollouts").State == string(v1alpha1.ComponentReady) })
	server, err := open(ctx, t, e.up).Typed.AppsV1().Deployments(given.ArgoCDNamespace).Get(ctx, "argocd-server", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first := server.Spec.Template.Spec.InitContainers; len(first) != 1 || first[0].Image != artifacts.ExtensionInstallerImage {
		t.Errorf("the API server has the init containers %v", first)
	}
	return ctx
}

// browse has Argo CD deploy a Rollout, and opens its tab.
func (e *extended) browse(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	e.up.Patch(ctx, t, map[string]any{"repoURL": e.repo, "path": "shop"}, "spec", "bootstrap")
	e.up.Await(ctx, t, 6*time.Minute, "has a bootstrap Application that is Synced and Healthy", func(s *claim.State) bool { return s.True(claim.BootstrapSynced) })

	b := browser.Open(t, browser.Options{Hosts: map[string]string{ingress.Domain: ingress.Address}, Width: 1280, Height: 680})
	url := "https://" + e.host
	b.LogIn(t, url, "admin", connectionDetails(ctx, t, e.up)["password"])
	start := time.Now()
	b.Visit(t, url+"/applications/argocd/bootstrap?view=tree&node=argoproj.io%2FRollout%2Fdefault%2Fshop%2F0&tab=extension-0", pageWithin,
		"CANARY", "Set Weight: 50% Pause: 5s", "Step 2/2", "Revision 1")
	measured.add("extension: page opened to the Rollout's tab", time.Since(start))
	return ctx
}
