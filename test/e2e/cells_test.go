//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/store"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const (
	cellsExample = "examples/cells"
	// secondCell is the embedded cluster that is the second cell, with its number. The first one is that of all tests.
	secondCell, secondCellIndex = "cells-2", 13
	// cellsSettings are those of the Argo CD above all cells, beside hostSettings.
	cellsSettings = "../../examples/cells/argocd/argocd-cmd-params-cm.yaml"
	// stays is how long a cell is watched that is to stay as it is.
	stays = 2 * time.Minute
)

var applicationSetKind = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "ApplicationSet"}

// cells are two clusters with the platform, and an Argo CD on the first that brings packages and customers to both, with examples/cells.
type cells struct {
	hostGitOps

	second        *kube.Cluster
	secondConfig  node.Config
	lost          bool
	store         *store.Store
	before, after string
	// had is what has to come back of each customer: the admin's password, the URL, and the names of Applications.
	had map[string]cellsCustomer
}

type cellsCustomer struct {
	password, url string
	applications  map[string]bool
}

// TestCells has a cluster of its own, and starts another: it kills that one in the end.
func TestCells(t *testing.T) {
	onlyOn(t, "cells", "THIS STARTS A SECOND CLUSTER, AND KILLS IT")
	c := &cells{had: map[string]cellsCustomer{}}
	clusterEnds = true
	t.Cleanup(func() {
		if c.secondConfig.Name != "" && !keep {
			if err := node.Down(context.Background(), c.secondConfig); err != nil {
				t.Error(err)
			}
		}
	})
	testenv.Test(t, features.New("cells").
		Setup(c.start).
		Assess("CustomersAreInTheCellOfTheirFolder", c.customers).
		Assess("AReleaseComesToTheCanaryFirst", c.release).
		Assess("ABadReleaseStopsAtTheCanary", c.badRelease).
		Assess("ACustomerMoves", c.moves).
		Assess("CustomersOfALostCellComeBack", c.lostCell).
		Assess("TheirFoldersTakeThemOver", c.handsOver).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			if t.Failed() {
				cleanUp(ctx, t)
			}
			return ctx
		}).Feature())
}

func (c *cells) start(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	first, second := startAnother(ctx, t, secondCell, secondCellIndex, &c.secondConfig, func(*platform.Options) {})
	c.second = second
	if err := node.Join(first, c.secondConfig); err != nil {
		t.Fatal(err)
	}
	if _, err := createNamespace(storeNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	c.store = store.Run(ctx, t, host, storeNamespace)
	c.shareStore(ctx, t, first.Addresses().Services)
	c.repository(ctx, t)
	runHelm(ctx, t, testenv.EnvConf().KubeconfigFile(), "install", "argocd", "argo-cd", "--repo", chartsURL,
		"--namespace", "argocd", "--create-namespace", "--set", "dex.enabled=false", "--wait", "--timeout", "10m")
	kubectl(ctx, t, "", "-n", "argocd", "patch", "configmap", "argocd-cm", "--patch-file", hostSettings)
	kubectl(ctx, t, "", "-n", "argocd", "patch", "configmap", "argocd-cmd-params-cm", "--patch-file", cellsSettings)
	for _, workload := range []string{"deployment/argocd-applicationset-controller", "statefulset/argocd-application-controller"} {
		kubectl(ctx, t, "", "-n", "argocd", "rollout", "restart", workload)
		kubectl(ctx, t, "", "-n", "argocd", "rollout", "status", workload, "--timeout=5m")
	}
	c.register(ctx, t)
	kubectl(ctx, t, c.files[cellsExample+"/bootstrap/root.yaml"], "apply", "-f", "-")
	return ctx
}

// shareStore gives the second cell the store of the first, and the way to it.
func (c *cells) shareStore(ctx context.Context, t *testing.T, services string) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: store.SecretName, Namespace: crossplane},
		StringData: map[string]string{"rclone.conf": c.store.Config(c.store.Secret())},
	}
	policy := &networkingv1.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "e2e-store", Namespace: crossplane},
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"virtualargocd.io/package": "backup"}},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
			Egress:      []networkingv1.NetworkPolicyEgressRule{{To: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: services}}}}},
		},
	}
	_, err := c.second.Typed.CoreV1().Secrets(crossplane).Create(ctx, secret, metav1.CreateOptions{})
	if err == nil {
		_, err = c.second.Typed.NetworkingV1().NetworkPolicies(crossplane).Create(ctx, policy, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// repository serves the example as somebody would copy it, with three customers in the second cell, and one restored at a time. Both clusters have the
// platform already, so of examples/install there is what is the same in all cells.
func (c *cells) repository(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := createNamespace(gitopsNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	c.files = exampleFiles(t, cellsExample)
	c.files[installExample+"/configuration.yaml"] = contentOf(t, projectRoot, installExample+"/configuration.yaml")
	c.files[installExample+"/kustomization.yaml"] = "resources: [configuration.yaml]\n"
	c.files[gitopsExample+"/packages/kustomization.yaml"] = contentOf(t, projectRoot, gitopsExample+"/packages/kustomization.yaml")
	for file := range maps.Clone(c.files) {
		if strings.HasPrefix(file, cellsExample+"/customers/") {
			delete(c.files, file)
		}
	}
	for _, name := range []string{"acme", "beta", "gamma"} {
		c.files[c.claimFile("cell-2", name)] = c.manifest(name)
	}
	c.url = gitserver.RunHTTP(ctx, t, host, gitopsNamespace, c.files)

	change := gitserver.Change{Files: map[string]string{}}
	replaced := strings.NewReplacer(gitopsRepository, c.url, crossplaneCharts, chartsURL, "maxUpdate: 10", "maxUpdate: 1")
	for file, content := range c.files {
		if after := replaced.Replace(content); after != content {
			change.Files[file] = after
		}
	}
	c.before = c.commits(ctx, t, change)
	c.releases(ctx, t, c.before)
}

// manifest is the claim of a customer. Nothing is backed up by the schedule while the test runs.
func (c *cells) manifest(name string) string {
	return fmt.Sprintf(`apiVersion: virtualargocd.io/v1alpha1
kind: VirtualArgoCD
metadata: {name: %[1]s, namespace: customer-%[1]s}
spec:
  ingress: {host: %[1]s.example.org}
  backup: {enabled: true, schedule: "0 0 29 2 *"}
  writeConnectionSecretToRef: {name: %[1]s-argocd}
`, name)
}

func (c *cells) claimFile(cell, name string) string {
	return path.Join(cellsExample, "customers", cell, name, "virtual-argocd.yaml")
}

// commits changes the repository, and returns the commit.
func (c *cells) commits(ctx context.Context, t *testing.T, change gitserver.Change) string {
	t.Helper()
	maps.Copy(c.files, change.Files)
	return gitserver.Commit(ctx, t, host, gitopsNamespace, change)
}

// releases writes a commit into release.yaml, as the docs say, and has Argo CD look.
func (c *cells) releases(ctx context.Context, t *testing.T, revision string) {
	t.Helper()
	file := cellsExample + "/platform/release.yaml"
	lines := strings.Split(c.files[file], "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  revision: ") {
			lines[i] = "  revision: " + revision
		}
	}
	c.commits(ctx, t, gitserver.Change{Files: map[string]string{file: strings.Join(lines, "\n")}})
}

// looks has Argo CD look at the repository now.
func (c *cells) looks(ctx context.Context, t *testing.T) {
	t.Helper()
	c.refresh(ctx, t, "cells-platform", "cells-tenants")
	for _, name := range []string{"customers", "moves"} {
		eventually.True(ctx, t, applicationSyncIn, "there is ApplicationSet "+name, func(ctx context.Context) (bool, string) {
			_, err := c.get(ctx, applicationSetKind, name)
			return err == nil, fmt.Sprint(err)
		})
		kubectl(ctx, t, "", "-n", "argocd", "annotate", "--overwrite", "applicationset", name, "argocd.argoproj.io/application-set-refresh=true")
	}
}

// register makes both clusters cells: the first by the account that Argo CD has there, the second by one of its own.
func (c *cells) register(ctx context.Context, t *testing.T) {
	t.Helper()
	forms := map[string]map[string]string{
		"cell-1": {"name": "cell-1", "server": "https://kubernetes.default.svc", "config": `{"tlsClientConfig":{"insecure":false}}`},
	}
	second, err := external.Prepare(ctx, t, c.second, c.secondConfig.Addresses().Server).Declarative()
	if err != nil {
		t.Fatal(err)
	}
	second["name"] = "cell-2"
	forms["cell-2"] = second
	for name, label := range map[string]string{"cell-1": "canary", "cell-2": "member"} {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "argocd", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster", "virtualargocd.io/cell": label}},
			StringData: forms[name],
		}
		if _, err := host.Typed.CoreV1().Secrets("argocd").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// in is the cluster of a cell.
func (c *cells) in(cell string) *kube.Cluster {
	if cell == "cell-2" {
		return c.second
	}
	return host
}

// live is a customer's claim in a cell.
func (c *cells) live(t *testing.T, cell, name string) *claim.Live {
	t.Helper()
	l, err := claim.Find(c.in(cell), "customer-"+name, name)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// virtual is a customer's virtual cluster in a cell.
func (c *cells) virtual(ctx context.Context, t *testing.T, cell, name string) *kube.Cluster {
	t.Helper()
	config := connectionConfig(ctx, t, c.live(t, cell, name))
	config.Dial = kube.NewDialer(c.in(cell)).DialContext
	out, err := kube.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// applicationNames are the Applications of a customer in a cell.
func (c *cells) applicationNames(ctx context.Context, t *testing.T, cell, name string) map[string]bool {
	t.Helper()
	apps, err := c.virtual(ctx, t, cell, name).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	list, err := apps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, a := range list.Items {
		out[a.GetName()] = true
	}
	return out
}

// customers waits for both parts of the platform, and for the customers in the second cell. Each gets Applications, and a backup of them.
func (c *cells) customers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	c.looks(ctx, t)
	for _, name := range []string{"crossplane-canary", "packages-canary", "cells-platform", "crossplane-cell-2", "packages-cell-2"} {
		c.awaitSynced(ctx, t, name, platformWithin)
	}
	measured.add("cells: a release from Git to both cells", time.Since(start))
	for _, name := range []string{"acme", "beta", "gamma"} {
		l := c.live(t, "cell-2", name)
		l.AwaitReady(ctx, t, readyWithin)
		if _, err := c.live(t, "cell-1", name).State(ctx); !kerrors.IsNotFound(err) {
			t.Errorf("%s is in the other cell, too: %v", name, err)
		}
		c.furnish(ctx, t, l)
	}
	return ctx
}

// furnish gives a customer of the second cell an Application that nobody syncs, has it backed up, and remembers it.
func (c *cells) furnish(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	apps, err := c.virtual(ctx, t, "cell-2", l.Name).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := apps.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "of-" + l.Name},
		"spec": map[string]any{
			"project": "default", "source": map[string]any{"repoURL": "https://git.example.org/a", "path": "."},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "default"},
		},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.backUp(ctx, t, l, "furnished")
	details := connectionDetails(ctx, t, l)
	c.had[l.Name] = cellsCustomer{password: details["password"], url: details["url"], applications: c.applicationNames(ctx, t, "cell-2", l.Name)}
}

func (c *cells) backUp(ctx context.Context, t *testing.T, l *claim.Live, value string) {
	t.Helper()
	state, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	was := state.Backup.Name
	l.Patch(ctx, t, value, "metadata", "annotations", "virtualargocd.io/backup")
	l.Await(ctx, t, backedUpWithin, "has another backup", func(s *claim.State) bool {
		return s.Backup.Name != "" && s.Backup.Name != was && s.True(claim.BackedUp)
	})
}

// release brings an object more to all cells.
func (c *cells) release(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if c.had["gamma"].url == "" {
		t.Fatal("nothing is installed")
	}
	packages := cellsExample + "/packages/"
	c.after = c.commits(ctx, t, gitserver.Change{Files: map[string]string{
		packages + "more.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: e2e-more, namespace: crossplane-system}\ndata: {release: second}\n",
		packages + "kustomization.yaml": strings.Replace(c.files[packages+"kustomization.yaml"],
			"  - probe.yaml\n", "  - probe.yaml\n  - more.yaml\n", 1),
	}})
	start := time.Now()
	c.releases(ctx, t, c.after)
	c.looks(ctx, t)
	var made [2]time.Time
	for i, cell := range []string{"cell-1", "cell-2"} {
		eventually.True(ctx, t, platformWithin, "the release is in "+cell, func(ctx context.Context) (bool, string) {
			more, err := c.in(cell).Typed.CoreV1().ConfigMaps(crossplane).Get(ctx, "e2e-more", metav1.GetOptions{})
			if err != nil {
				return false, err.Error() + summary(c.maybe(ctx, "packages-canary")) + summary(c.maybe(ctx, "packages-cell-2"))
			}
			made[i] = more.CreationTimestamp.Time
			return true, ""
		})
	}
	measured.add("cells: a commit to the last cell, with a probe in each", time.Since(start))
	finished, _, _ := unstructured.NestedString(c.application(ctx, t, "packages-canary").Object, "status", "operationState", "finishedAt")
	if at, err := time.Parse(time.RFC3339, finished); err != nil || made[1].Before(at) {
		t.Errorf("the second cell has the release since %s, and the canary's sync, with the probe, ended at %s: %v", made[1], finished, err)
	}
	c.awaitSynced(ctx, t, "packages-cell-2", platformWithin)
	return ctx
}

// maybe is an Application, or nil.
func (c *cells) maybe(ctx context.Context, name string) *unstructured.Unstructured {
	a, err := c.get(ctx, applications, name)
	if err != nil {
		return nil
	}
	return a
}

// badRelease names a function that no registry has, and takes it back.
func (c *cells) badRelease(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if c.after == "" {
		t.Fatal("nothing was released")
	}
	file := installExample + "/configuration.yaml"
	good := c.files[file]
	bad := strings.Replace(good, xpkg.FunctionName+":v", xpkg.FunctionName+":v9", 1)
	if bad == good {
		t.Fatalf("%s names no version of the function:\n%s", file, good)
	}
	was := c.functionIn(ctx, t, "cell-2")
	revision := c.commits(ctx, t, gitserver.Change{Files: map[string]string{file: bad}})
	c.commits(ctx, t, gitserver.Change{Files: map[string]string{file: good}})
	c.releases(ctx, t, revision)
	c.looks(ctx, t)
	eventually.True(ctx, t, platformWithin, "the canary cell has the bad function, and isn't Healthy", func(ctx context.Context) (bool, string) {
		a := c.maybe(ctx, "packages-canary")
		return strings.Contains(c.functionIn(ctx, t, "cell-1"), ":v9") && a != nil && !synced(a), summary(a)
	})
	for end := time.Now().Add(stays); time.Now().Before(end); time.Sleep(2 * time.Second) {
		if is := c.functionIn(ctx, t, "cell-2"); is != was {
			t.Fatalf("the second cell has the function %s, and had %s", is, was)
		}
		if a := c.application(ctx, t, "packages-cell-2"); !strings.Contains(fmt.Sprint(a.Object["spec"]), c.after) {
			t.Fatalf("the second cell is to have another release: %s", summary(a))
		}
	}
	c.releases(ctx, t, c.after)
	// What `argocd app terminate-op` does: these wait for what the commit has taken back.
	for _, name := range []string{"cells-platform", "packages-canary"} {
		if phase, _, _ := unstructured.NestedString(c.application(ctx, t, name).Object, "status", "operationState", "phase"); phase == "Running" {
			kubectl(ctx, t, "", "-n", "argocd", "patch", "application", name, "--type", "merge", "--patch", `{"status":{"operationState":{"phase":"Terminating"}}}`)
		}
	}
	c.looks(ctx, t)
	for _, name := range []string{"packages-canary", "cells-platform", "packages-cell-2"} {
		c.awaitSynced(ctx, t, name, platformWithin)
	}
	if is := c.functionIn(ctx, t, "cell-1"); is != was {
		t.Errorf("the canary cell has the function %s, want %s", is, was)
	}
	return ctx
}

// functionIn is the package of the function in a cell.
func (c *cells) functionIn(ctx context.Context, t *testing.T, cell string) string {
	t.Helper()
	client, err := c.in(cell).Resource(functions, "")
	if err != nil {
		t.Fatal(err)
	}
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list.Items {
		if p, _, _ := unstructured.NestedString(f.Object, "spec", "package"); strings.Contains(p, xpkg.FunctionName) {
			return p
		}
	}
	t.Fatalf("there is no function in %s", cell)
	return ""
}

// moves moves acme from the second cell to the first, as docs/cells.md says.
func (c *cells) moves(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if c.had["gamma"].url == "" {
		t.Fatal("nothing is installed")
	}
	from := c.live(t, "cell-2", "acme")
	c.backUp(ctx, t, from, "before the move")
	start := time.Now()
	from.Patch(ctx, t, "moves to cell-1", "spec", "suspension", "reason")
	from.Await(ctx, t, readyWithin, "sleeps", func(s *claim.State) bool { return s.Phase == "Hibernated" })
	measured.add("cells: a suspension, until the customer sleeps", time.Since(start))
	file := cellsExample + "/moves/acme.yaml"
	c.commits(ctx, t, gitserver.Change{Files: map[string]string{file: "from: cell-2\nto: cell-1\ncustomers: acme\n"}})
	c.looks(ctx, t)
	c.comesBack(ctx, t, "acme")
	measured.add("cells: a move, from the suspension to a Ready claim in the other cell", time.Since(start))

	had := c.live(t, "cell-1", "acme").AwaitReady(ctx, t, readyWithin).Object.GetUID()
	c.commits(ctx, t, gitserver.Change{
		Remove: []string{path.Dir(c.claimFile("cell-2", "acme")), file},
		Files:  map[string]string{c.claimFile("cell-1", "acme"): c.manifest("acme")},
	})
	c.takesOver(ctx, t, "acme", had)
	// Where it was, it sleeps, until the platform deletes it.
	if s, err := from.State(ctx); err != nil || s.Phase != "Hibernated" {
		t.Errorf("where acme was: %v, %v", s, err)
	}
	from.Delete(ctx, t)
	eventually.True(ctx, t, goneWithin, "acme is gone where it was", func(ctx context.Context) (bool, string) {
		_, err := from.State(ctx)
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
	return ctx
}

// comesBack waits until a customer is back in the first cell, with all that it had.
func (c *cells) comesBack(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	eventually.True(ctx, t, applicationSyncIn, name+" has a claim in the first cell", func(ctx context.Context) (bool, string) {
		_, err := c.live(t, "cell-1", name).State(ctx)
		return err == nil, fmt.Sprint(err) + summary(c.maybe(ctx, "move-"+name))
	})
	l := c.live(t, "cell-1", name)
	l.Await(ctx, t, readyWithin, "is back, and acts", func(s *claim.State) bool { return s.True(claim.Restored) && s.IsReady() })
	details, had := connectionDetails(ctx, t, l), c.had[name]
	if details["password"] != had.password || details["url"] != had.url {
		t.Errorf("%s has another password, or the URL %s in place of %s", name, details["url"], had.url)
	}
	if is := c.applicationNames(ctx, t, "cell-1", name); !maps.Equal(is, had.applications) {
		t.Errorf("%s had the Applications %v, and has %v", name, had.applications, is)
	}
}

// takesOver waits until the Application of a customer's folder has the claim that a move has made.
func (c *cells) takesOver(ctx context.Context, t *testing.T, name string, had types.UID) {
	t.Helper()
	c.looks(ctx, t)
	eventually.True(ctx, t, applicationSyncIn, "the folder of "+name+" is that of the first cell", func(ctx context.Context) (bool, string) {
		a := c.maybe(ctx, "claims-"+name)
		if a == nil || !synced(a) {
			return false, summary(a)
		}
		at, _, _ := unstructured.NestedString(a.Object, "status", "sync", "comparedTo", "destination", "name")
		_, err := c.get(ctx, applications, "move-"+name)
		return at == "cell-1" && kerrors.IsNotFound(err), at + " " + fmt.Sprint(err)
	})
	s := c.live(t, "cell-1", name).AwaitReady(ctx, t, readyWithin)
	if is := s.Object.GetUID(); is != had || s.Object.GetDeletionTimestamp() != nil {
		t.Errorf("claim %s was %s, and is %s", name, had, is)
	}
	if _, left, _ := unstructured.NestedMap(s.Object.Object, "spec", "restoreFrom"); left {
		t.Errorf("claim %s still has restoreFrom, which isn't in Git", name)
	}
}

// lostCell kills the second cell, and brings its customers back in the first by one commit: gamma before beta.
func (c *cells) lostCell(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if c.had["gamma"].url == "" {
		t.Fatal("nothing is installed")
	}
	if err := node.Down(ctx, c.secondConfig); err != nil {
		t.Fatal(err)
	}
	c.lost = true
	start := time.Now()
	c.commits(ctx, t, gitserver.Change{Files: map[string]string{cellsExample + "/moves/cell-2.yaml": "from: cell-2\nto: cell-1\nfirst: [gamma]\n"}})
	c.looks(ctx, t)
	c.comesBack(ctx, t, "gamma")
	c.comesBack(ctx, t, "beta")
	measured.add("cells: a commit after the loss of a cell, until two customers are back, one after the other", time.Since(start))
	states := map[string]*claim.State{}
	for _, name := range []string{"beta", "gamma"} {
		s, err := c.live(t, "cell-1", name).State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		states[name] = s
	}
	ready, _, _ := unstructured.NestedString(states["gamma"].Object.Object, "status", "readyAt")
	at, err := time.Parse(time.RFC3339, ready)
	if created := states["beta"].Object.GetCreationTimestamp().Time; err != nil || created.Before(at) {
		t.Errorf("beta began to come back at %s, and gamma was Ready at %s: one comes back at a time, gamma first: %v", created, ready, err)
	}
	return ctx
}

// handsOver moves the folders of the lost cell, and takes the cell from Argo CD.
func (c *cells) handsOver(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if !c.lost {
		t.Fatal("no cell was lost")
	}
	had := map[string]types.UID{}
	change := gitserver.Change{Remove: []string{cellsExample + "/customers/cell-2", cellsExample + "/moves/cell-2.yaml"}, Files: map[string]string{}}
	for _, name := range []string{"beta", "gamma"} {
		s, err := c.live(t, "cell-1", name).State(ctx)
		if err != nil {
			t.Fatal(err)
		}
		had[name] = s.Object.GetUID()
		change.Files[c.claimFile("cell-1", name)] = c.manifest(name)
	}
	c.commits(ctx, t, change)
	for name, uid := range had {
		c.takesOver(ctx, t, name, uid)
	}
	if err := host.Typed.CoreV1().Secrets("argocd").Delete(ctx, "cell-2", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	eventually.True(ctx, t, applicationSyncIn, "nothing is to be in the lost cell any more", func(ctx context.Context) (bool, string) {
		_, err := c.get(ctx, applications, "packages-cell-2")
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
	return ctx
}
