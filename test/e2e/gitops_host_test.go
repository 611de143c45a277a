//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const (
	// installExample is a folder of the repository that the GitOps example installs.
	installExample = "examples/install"
	// crossplaneCharts is the repository of Crossplane's chart.
	crossplaneCharts = "https://charts.crossplane.io/stable"
	// platformWithin is how long Crossplane and all packages may take, on a cluster that has nothing.
	platformWithin = 15 * time.Minute
	// unconfirmed is how long a deletion is watched that nobody has confirmed.
	unconfirmed = 45 * time.Second
)

var applications = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}

// TestGitOps: on a cluster without Crossplane, an Argo CD gets the example's settings and its one Application, as its README says. All that it
// needs comes from a Git repository, up to Ready claims. Then one commit upgrades, one removes customers by mistake, and one brings one of
// them back.
func TestGitOps(t *testing.T) {
	onlyOn(t, "gitops", "THIS INSTALLS EVERYTHING FROM GIT")
	g := &hostGitOps{}
	testenv.Test(t, features.New("GitOps on the host").
		Setup(g.start).
		Assess("OneApplicationInstallsAll", g.installs).
		Assess("OneCommitUpgrades", g.upgrades).
		Assess("ARemovedFolderDeletesNothing", g.deletesNothing).
		Assess("AFolderThatComesBackIsTheSameCustomer", g.comesBack).
		Assess("WhatIsConfirmedIsDeleted", g.deletes).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t)
			return ctx
		}).Feature())
}

// hostGitOps is a host whose Argo CD syncs the GitOps example.
type hostGitOps struct {
	url string
	// files are those of the repository, by their paths.
	files        map[string]string
	acme, globex *claim.Live
	// next is the next version, and proxy its function.
	next  stagedFunction
	proxy xpkg.Pushed
}

func (g *hostGitOps) start(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(gitopsNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	g.files = exampleFiles(t, gitopsExample)
	for name, content := range installFiles {
		g.files[installExample+"/"+name] = content
	}
	g.files[installExample+"/kustomization.yaml"] = contentOf(t, projectRoot, installExample+"/kustomization.yaml")
	g.url = gitserver.RunHTTP(ctx, t, host, gitopsNamespace, g.files)
	g.adapt(ctx, t)

	runHelm(ctx, t, testenv.EnvConf().KubeconfigFile(), "install", "argocd", "argo-cd", "--repo", chartsURL,
		"--namespace", "argocd", "--create-namespace", "--set", "dex.enabled=false", "--wait", "--timeout", "10m")
	kubectl(ctx, t, "", "-n", "argocd", "patch", "configmap", "argocd-cm", "--patch-file", hostSettings)
	return ctx
}

// adapt does what the README says of a copy: it writes the repository's own URL wherever the project's is. This cluster gets Crossplane's chart
// and its packages from elsewhere, too.
func (g *hostGitOps) adapt(ctx context.Context, t *testing.T) {
	t.Helper()
	change := gitserver.Change{Files: map[string]string{
		gitopsExample + "/packages/cluster.yaml": installFiles["cluster.yaml"],
		gitopsExample + "/packages/kustomization.yaml": strings.Replace(g.files[gitopsExample+"/packages/kustomization.yaml"],
			"  - ../../install\n", "  - ../../install\n  - cluster.yaml\n", 1),
	}}
	replaced := strings.NewReplacer(gitopsRepository, g.url, crossplaneCharts, chartsURL)
	for path, content := range g.files {
		if after := replaced.Replace(content); after != content {
			change.Files[path] = after
		}
	}
	g.commit(ctx, t, change)
}

// commit changes the repository.
func (g *hostGitOps) commit(ctx context.Context, t *testing.T, change gitserver.Change) {
	t.Helper()
	maps.Copy(g.files, change.Files)
	gitserver.Commit(ctx, t, host, gitopsNamespace, change)
}

func (g *hostGitOps) installs(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	began := time.Now()
	kubectl(ctx, t, g.files[gitopsExample+"/bootstrap/root.yaml"], "apply", "-f", "-")
	// Meanwhile, what is built for the next step.
	g.proxy = g.next.pushFunction(ctx, t)
	for _, name := range []string{"crossplane", "virtual-argocd-packages", "virtual-argocd"} {
		g.awaitSynced(ctx, t, name, platformWithin)
	}
	// Each wave waits for the one before, so nothing is tried in vain.
	if retries, _, _ := unstructured.NestedInt64(g.application(ctx, t, "virtual-argocd-packages").Object, "status", "operationState", "retryCount"); retries > 0 {
		t.Errorf("the packages took %d retries", retries)
	}
	host.Forget()
	g.acme, g.globex = g.customer(t, "acme"), g.customer(t, "globex")
	g.acme.AwaitReady(ctx, t, readyWithin)
	g.globex.Await(ctx, t, readyWithin, "has an Argo CD", func(s *claim.State) bool { return s.Condition("ArgoCDReady").Status == metav1.ConditionTrue })
	measured.add("from an empty cluster to a Ready claim, all from Git", time.Since(began))
	g.awaitSynced(ctx, t, "customer-acme", applicationSyncIn)
	g.awaitSynced(ctx, t, "claims-acme", applicationSyncIn)
	eventually.True(ctx, t, applicationSyncIn, "the Application of globex misses the customer's Secrets", func(ctx context.Context) (bool, string) {
		health, message := argocd.NewSettings(t, hostSettings).Health(ctx, t, g.state(ctx, t, g.globex).Object)
		a := g.application(ctx, t, "claims-globex")
		shown, _, _ := unstructured.NestedString(a.Object, "status", "health", "status")
		return shown == "Degraded" && health == shown && strings.Contains(message, "globex-git"), summary(a) + message
	})
	return ctx
}

// upgrades commits the next version of the Function, the Configuration and the proxies.
func (g *hostGitOps) upgrades(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.installed(t)
	g.next.had = map[*claim.Live]map[string]types.UID{g.acme: identities(ctx, t, g.acme), g.globex: identities(ctx, t, g.globex)}
	xr, err := g.acme.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	composition, _, _ := unstructured.NestedString(xr.Object, "spec", "compositionRef", "name")
	g.next.input = inputOf(ctx, t, composition)
	g.next.pushConfiguration(ctx, t)

	change := gitserver.Change{Files: map[string]string{}}
	for _, name := range []string{xpkg.FunctionName, xpkg.ConfigurationName} {
		version := regexp.MustCompile(regexp.QuoteMeta(xpkg.PublishedRegistry+"/"+name) + `:v\S+`)
		path := installExample + "/configuration.yaml"
		g.files[path] = version.ReplaceAllString(g.files[path], published(name, g.next.version))
		change.Files[path] = g.files[path]
	}
	path := installExample + "/runtime.yaml"
	change.Files[path] = regexp.MustCompile(`image: .*`+xpkg.FunctionName+`.*`).ReplaceAllString(g.files[path], "image: "+g.proxy.String())
	g.commit(ctx, t, change)

	began := time.Now()
	g.refresh(ctx, t, "virtual-argocd-packages")
	packagesAre(ctx, t, g.next.version)
	g.awaitSynced(ctx, t, "virtual-argocd-packages", platformWithin)
	for _, l := range []*claim.Live{g.acme, g.globex} {
		look(ctx, t, l)
	}
	for _, l := range []*claim.Live{g.acme, g.globex} {
		g.next.has(ctx, t, l, "help.chatText", helpText)
		g.next.same(ctx, t, l)
	}
	measured.add("a commit with the next version, until tenants have it", time.Since(began))
	return ctx
}

// packagesAre waits until the Function and the Configuration have a version and are healthy.
func packagesAre(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	for _, gvk := range []schema.GroupVersionKind{functions, configurations} {
		eventually.True(ctx, t, platformWithin, "the package of kind "+gvk.Kind+" is "+version, func(ctx context.Context) (bool, string) {
			list, err := all(t, gvk).List(ctx, metav1.ListOptions{})
			if err != nil || len(list.Items) != 1 {
				return false, fmt.Sprint(len(list.Items), " packages, ", err)
			}
			is, _, _ := unstructured.NestedString(list.Items[0].Object, "spec", "package")
			return strings.HasSuffix(is, ":"+version), is
		})
	}
	packagesHealthy(ctx, t)
}

// deletesNothing removes the folders of all customers, as a mistake in a merge does.
func (g *hostGitOps) deletesNothing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.installed(t)
	g.next.had[g.globex] = identities(ctx, t, g.globex)
	acme := g.state(ctx, t, g.acme).Object.GetUID()
	g.commit(ctx, t, gitserver.Change{Remove: []string{customersPath + "/acme", customersPath + "/globex"}, Files: map[string]string{
		// Git has no empty folders.
		customersPath + "/README.md": "A folder for each customer.\n",
	}})
	g.refreshSet(ctx, t)
	for _, name := range []string{"customer-acme", "customer-globex"} {
		eventually.True(ctx, t, applicationSyncIn, "Application "+name+" waits for a confirmation", func(ctx context.Context) (bool, string) {
			a := g.application(ctx, t, name)
			return a.GetDeletionTimestamp() != nil, summary(a)
		})
	}
	g.refresh(ctx, t, "claims-acme", "claims-globex")
	time.Sleep(unconfirmed)
	for _, l := range []*claim.Live{g.acme, g.globex} {
		if at := g.state(ctx, t, l).Object.GetDeletionTimestamp(); at != nil {
			t.Errorf("claim %s is being deleted, which nobody has confirmed", l.Name)
		}
		if a := g.application(ctx, t, "claims-"+l.Name); a.GetDeletionTimestamp() != nil {
			t.Errorf("Application claims-%s is being deleted, which nobody has confirmed", l.Name)
		}
	}
	if is := g.state(ctx, t, g.acme).Object.GetUID(); is != acme {
		t.Errorf("claim acme was %s, and is %s", acme, is)
	}
	g.next.same(ctx, t, g.globex)
	return ctx
}

// comesBack reverts the mistake for acme, and does what the README says: the Application that waits is given up.
func (g *hostGitOps) comesBack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.installed(t)
	had, application := g.state(ctx, t, g.acme).Object.GetUID(), g.application(ctx, t, "customer-acme").GetUID()
	path := customersPath + "/acme/virtual-argocd.yaml"
	g.commit(ctx, t, gitserver.Change{Files: map[string]string{path: g.files[path]}})
	kubectl(ctx, t, "", "-n", "argocd", "patch", "application", "customer-acme", "--type", "json", "--patch", `[{"op":"remove","path":"/metadata/finalizers"}]`)
	g.refreshSet(ctx, t)
	eventually.True(ctx, t, applicationSyncIn, "customer acme has an Application again", func(ctx context.Context) (bool, string) {
		a, err := g.get(ctx, applications, "customer-acme")
		if err != nil {
			return false, err.Error()
		}
		return a.GetUID() != application && synced(a), summary(a)
	})
	g.refresh(ctx, t, "claims-acme")
	g.awaitSynced(ctx, t, "claims-acme", applicationSyncIn)
	if is := g.acme.AwaitReady(ctx, t, readyWithin).Object.GetUID(); is != had {
		t.Errorf("claim acme was %s, and is %s", had, is)
	}
	return ctx
}

// deletes confirms the deletion of globex.
func (g *hostGitOps) deletes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.installed(t)
	began := time.Now()
	kubectl(ctx, t, "", "-n", "argocd", "annotate", "application", "customer-globex",
		"argocd.argoproj.io/deletion-approved="+time.Now().UTC().Format(time.RFC3339))
	awaitGone(ctx, t, g.globex, readyWithin)
	measured.add("a confirmed removal, until nothing of the tenant is left", time.Since(began))
	for _, name := range []string{"customer-globex", "claims-globex"} {
		eventually.True(ctx, t, applicationSyncIn, "Application "+name+" is gone", func(ctx context.Context) (bool, string) {
			a, err := g.get(ctx, applications, name)
			return kerrors.IsNotFound(err), summary(a)
		})
	}
	if _, err := host.Typed.CoreV1().Namespaces().Get(ctx, "customer-globex", metav1.GetOptions{}); err != nil {
		t.Errorf("the namespace of globex doesn't outlive it: %v", err)
	}
	g.acme.AwaitReady(ctx, t, readyWithin)
	return ctx
}

// installed ends a step that needs what the first one has installed.
func (g *hostGitOps) installed(t *testing.T) {
	t.Helper()
	if g.globex == nil {
		t.Fatal("nothing is installed")
	}
}

// customer is the claim of a customer's folder.
func (g *hostGitOps) customer(t *testing.T, name string) *claim.Live {
	t.Helper()
	l, err := claim.Find(host, "customer-"+name, name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (g *hostGitOps) state(ctx context.Context, t *testing.T, l *claim.Live) *claim.State {
	t.Helper()
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// awaitSynced waits until an Application is synced and healthy, with nothing that isn't finished.
func (g *hostGitOps) awaitSynced(ctx context.Context, t *testing.T, name string, within time.Duration) {
	t.Helper()
	eventually.True(ctx, t, within, "Application "+name+" is synced and healthy", func(ctx context.Context) (bool, string) {
		a, err := g.get(ctx, applications, name)
		if err != nil {
			return false, err.Error()
		}
		return synced(a), summary(a)
	})
}

func synced(a *unstructured.Unstructured) bool {
	is := func(path ...string) string {
		value, _, _ := unstructured.NestedString(a.Object, append([]string{"status"}, path...)...)
		return value
	}
	// There is no operation where there was nothing to do.
	operation := is("operationState", "phase")
	return is("sync", "status") == "Synced" && is("health", "status") == "Healthy" && (operation == "Succeeded" || operation == "")
}

// summary is what an Application says of itself, without the long list of its resources that are well.
func summary(a *unstructured.Unstructured) string {
	if a == nil {
		return "gone"
	}
	out := map[string]any{}
	for _, path := range [][]string{{"sync", "status"}, {"health"}, {"conditions"}, {"operationState", "phase"}, {"operationState", "message"}, {"operationState", "retryCount"}} {
		out[strings.Join(path, ".")], _, _ = unstructured.NestedFieldCopy(a.Object, append([]string{"status"}, path...)...)
	}
	var unwell []any
	resources, _, _ := unstructured.NestedSlice(a.Object, "status", "resources")
	for _, r := range resources {
		r, _ := r.(map[string]any)
		health, _, _ := unstructured.NestedString(r, "health", "status")
		if r["status"] != "Synced" || health != "" && health != "Healthy" {
			unwell = append(unwell, r)
		}
	}
	out["unwell"] = unwell
	text, err := json.Marshal(out)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (g *hostGitOps) application(ctx context.Context, t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	a, err := g.get(ctx, applications, name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (g *hostGitOps) get(ctx context.Context, gvk schema.GroupVersionKind, name string) (*unstructured.Unstructured, error) {
	client, err := host.Resource(gvk, "argocd")
	if err != nil {
		return nil, err
	}
	return client.Get(ctx, name, metav1.GetOptions{})
}

// refresh has Argo CD look at the repository now, as a webhook does.
func (g *hostGitOps) refresh(ctx context.Context, t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		kubectl(ctx, t, "", "-n", "argocd", "annotate", "--overwrite", "application", name, "argocd.argoproj.io/refresh=normal")
	}
}

func (g *hostGitOps) refreshSet(ctx context.Context, t *testing.T) {
	t.Helper()
	kubectl(ctx, t, "", "-n", "argocd", "annotate", "--overwrite", "applicationset", "customers", "argocd.argoproj.io/application-set-refresh=true")
}

// exampleFiles are the files in a folder of the project, by their paths in the project.
func exampleFiles(t *testing.T, folder string) map[string]string {
	t.Helper()
	root, out := os.DirFS(projectRoot), map[string]string{}
	err := fs.WalkDir(root, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, path)
		out[path] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// kubectl runs kubectl on the host, with an input.
func kubectl(ctx context.Context, t *testing.T, input string, args ...string) {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	program, err := cache.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, append(args, "--kubeconfig", testenv.EnvConf().KubeconfigFile())...)
	cmd.Stdin = strings.NewReader(input)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("cannot run kubectl %v: %v\n%s", args, err, out)
	}
}
