//go:build e2e

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/store"
	"github.com/virtual-argocd/virtual-argocd/tools/images"
)

// closedNetwork are customers on a cluster that reaches no registry but its own: one that has nothing but all components of the cluster's catalogue, and one
// that has other versions, is backed up and falls asleep.
type closedNetwork struct {
	plan   *installedPlan
	claims []*claim.Claim
	lives  []*claim.Live
	store  *store.Store
}

// TestClosedNetwork: what `images list` prints for an installation is what its cluster pulls, no more and no less. It runs on an embedded cluster of its own,
// since it is about all that the registry has served.
func TestClosedNetwork(t *testing.T) {
	onlyOn(t, "closed", "THIS COMPARES EVERYTHING THAT THE CLUSTER HAS PULLED")
	c := &closedNetwork{}
	testenv.Test(t, features.New("closed network").
		Setup(c.create).
		Assess("WorkflowRuns", c.workflow).
		Assess("BackedUpAndAsleep", c.everything).
		Assess("ListIsWhatWasServed", c.compare).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, c.lives...)
			c.plan.remove(ctx, t)
			c.store.Close(ctx, t)
			deleteNamespace(ctx, t, storeNamespace)
			return ctx
		}).Feature())
}

// otherArgoCDChart is the version of the argo-cd chart that the lab serves beside the input's.
const otherArgoCDChart = "9.3.6"

func (c *closedNetwork) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(storeNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	c.store = store.Run(ctx, t, host, storeNamespace)
	c.plan = installPlan(ctx, t, "small", "closed",
		with(t, []any{otherKubernetes}, "versions", "kubernetes"), with(t, []any{otherArgoCDChart}, "versions", "argocdCharts"), with(t, []any{}, "versions", "vclusterCharts"))
	c.claims = []*claim.Claim{
		newClaim("closed-plain").Set(named("rollouts", "workflows", "events"), "spec", "components"),
		newClaim("closed-rich").Set("closed", "spec", "plan").Kubernetes(otherKubernetes).Set(otherArgoCDChart, "spec", "argocd", "chartVersion").
			Set(map[string]any{"enabled": true, "schedule": "0 0 29 2 *"}, "spec", "backup"),
	}
	for _, is := range c.claims {
		c.lives = append(c.lives, claim.Create(ctx, t, host, is))
	}
	for _, l := range c.lives {
		l.AwaitReady(ctx, t, readyWithin)
	}
	return ctx
}

// workflow runs one: the image of its executor is pulled for that alone.
func (c *closedNetwork) workflow(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	plain := c.lives[0]
	for _, name := range []string{"rollouts", "workflows", "events"} {
		plain.Await(ctx, t, componentWithin, "component "+name+" Ready", func(s *claim.State) bool { return s.Component(name).State == string(v1alpha1.ComponentReady) })
	}
	virtual := open(ctx, t, plain)
	applyIn(ctx, t, virtual, example(t, "workflow.yaml", ofCluster...))
	awaitPhaseIn(ctx, t, virtual, workflowKind, "hello", "Succeeded")
	return ctx
}

func (c *closedNetwork) everything(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b := &backup{live: c.lives[1], store: c.store}
	b.succeeds(ctx, t, "1")
	c.lives[1].Patch(ctx, t, true, "spec", "hibernation", "enabled")
	sleeps(ctx, t, c.lives[1], "spec.hibernation.enabled says so")
	return ctx
}

// ofLab are the images of the cluster itself and of this test, which no installation has.
func ofLab() []string {
	return []string{artifacts.PauseImage, artifacts.NodeDNSImage, artifacts.NetworkPoliciesImage, artifacts.TraefikImage(), artifacts.VersityImage()}
}

func (c *closedNetwork) compare(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	// Before this test asks the registry and the charts' repository itself.
	served, err := artifacts.ReadServed(ctx, registry)
	if err != nil {
		t.Fatal(err)
	}
	of := images.Installation{
		Input: inputOfCluster(ctx, t),
		Platform: images.Platform{
			Paths: []string{platformManifests(t)}, CrossplaneValues: "../../examples/install/crossplane-values.yaml",
			Crossplane: strings.TrimPrefix(toolchain.Version(toolchain.Crossplane), "v"),
		},
	}
	plan, err := c.plan.client.Get(ctx, c.plan.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	of.Tenants = append(of.Tenants, plan.Object)
	for _, is := range c.claims {
		of.Tenants = append(of.Tenants, is.Set(true, "spec", "hibernation", "enabled").Object().Object)
	}
	// The lab installs Crossplane's chart from its module.
	folder := t.TempDir()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	if err := artifacts.PackageCharts(ctx, cache, "", folder); err != nil {
		t.Fatal(err)
	}
	lister := images.NewLister([]string{folder}, registry)
	list, err := lister.List(ctx, of)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(list.Notes)

	name := map[string]string{}
	var wantImages, wantCharts []string
	lab := make([]images.Item, 0, len(ofLab()))
	for _, reference := range ofLab() {
		lab = append(lab, images.Item{Kind: images.KindImage, Name: reference})
	}
	for _, items := range [][]images.Item{list.Items, lab} {
		if err := lister.Resolve(ctx, items); err != nil {
			t.Fatal(err)
		}
	}
	for _, item := range list.Items {
		if item.Chart == nil {
			wantImages = append(wantImages, pulled(item, name))
		} else if item.Chart.Name != "crossplane" {
			wantCharts = append(wantCharts, item.Chart.Name+"-"+item.Chart.Version+".tgz")
		}
	}
	own := map[string]bool{}
	for _, item := range lab {
		own[pulled(item, name)] = true
	}
	readable := func(of []string) []string {
		var out []string
		for _, is := range of {
			if !own[is] {
				out = append(out, name[is]+" "+is)
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	if diff := cmp.Diff(readable(wantImages), readable(served.Images)); diff != "" {
		t.Errorf("images: -listed +served:\n%s", diff)
	}
	slices.Sort(wantCharts)
	if diff := cmp.Diff(wantCharts, served.Charts); diff != "" {
		t.Errorf("charts: -listed +served:\n%s", diff)
	}
	return ctx
}

// pulled is what the registry says when an item was pulled, and remembers the item's name for it.
func pulled(item images.Item, name map[string]string) string {
	repository := item.Name
	if at := strings.LastIndex(repository, ":"); at > strings.LastIndex(repository, "/") {
		repository = repository[:at]
	}
	is := repository + "@" + item.Digest
	name[is] = item.Name
	return is
}

// inputOfCluster is the function's input in the Composition of tenants.
func inputOfCluster(ctx context.Context, t *testing.T) map[string]any {
	t.Helper()
	client, err := host.Resource(schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "Composition"}, "")
	if err != nil {
		t.Fatal(err)
	}
	o, err := client.Get(ctx, "virtual-argocd", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "composition.yaml")
	writeObject(t, file, o)
	input, err := images.ReadInput(file)
	if err != nil {
		t.Fatal(err)
	}
	return input
}

func writeObject(t *testing.T, file string, o *unstructured.Unstructured) {
	t.Helper()
	text, err := yaml.Marshal(o.Object)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var anyDigest = regexp.MustCompile(`@sha256:[0-9a-f]{64}`)

// platformManifests is a folder with the files of examples/install, which name images by their tags alone: what the lab builds has other digests than
// upstream's.
func platformManifests(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob("../../examples/install/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(out, filepath.Base(file)), anyDigest.ReplaceAll(text, nil), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}
