//go:build e2e

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	// gitopsExample is a folder of the repository, and the folder's path in it.
	gitopsExample     = "examples/gitops"
	gitopsRepository  = "https://github.com/virtual-argocd/virtual-argocd.git"
	gitopsNamespace   = "e2e-gitops"
	customersPath     = gitopsExample + "/customers"
	notPermitted      = "is not permitted in project"
	applicationSyncIn = 4 * time.Minute
)

// formerApplication has all customers' folders in project default, which allows everything.
const formerApplication = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: customers, namespace: argocd}
spec:
  project: default
  source:
    repoURL: ` + gitopsRepository + `
    targetRevision: main
    path: ` + customersPath + `
    directory: {recurse: true, exclude: "{overrides/*,hook/claim.yaml}"}
  destination: {server: https://kubernetes.default.svc, namespace: customer-acme}
  syncPolicy: {automated: {}}
`

// A commit is what somebody commits to the folder of their customer, which has the commit's name.
type commit struct {
	reason, manifest string
	// refusal is what the Application then says; without one, that the project doesn't permit it.
	refusal string
	// others are further files of the folder.
	others map[string]string
}

// commits are attacks of those who may commit to one customer's folder. TestCustomersInGit tries each.
var commits = map[string]commit{
	"binding": {reason: "Cluster-admin on the host.", manifest: `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: stolen-binding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`},
	"list": {reason: "The same, in a list.", manifest: `apiVersion: v1
kind: List
items:
  - apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: stolen-list}
    roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
    subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`},
	"hook": {
		reason: "The same, as a hook, beside a claim: what has hooks alone is never out of sync.",
		others: map[string]string{"claim.yaml": "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\nmetadata: {name: hook}\nspec: {}\n"},
		manifest: `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: stolen-hook, annotations: {argocd.argoproj.io/hook: PreSync}}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`,
	},
	"system": {reason: "A Secret in a namespace of the platform.", manifest: `apiVersion: v1
kind: Secret
metadata: {name: stolen-system, namespace: kube-system}
`},
	"elsewhere": {reason: "A claim in another customer's namespace, with its Secrets.", manifest: `apiVersion: virtualargocd.io/v1alpha1
kind: VirtualArgoCD
metadata: {name: stolen-elsewhere, namespace: customer-acme}
spec: {}
`},
	"application": {reason: "An Application in a project that allows everything.", manifest: `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: stolen-application, namespace: argocd}
spec:
  project: default
  source: {repoURL: "` + gitopsRepository + `", path: ` + customersPath + `/acme}
  destination: {server: "https://kubernetes.default.svc", namespace: kube-system}
`},
	"project": {reason: "More for its own project.", manifest: `apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: stolen-project, namespace: argocd}
spec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "*"}], clusterResourceWhitelist: [{group: "*", kind: "*"}]}
`},
	"secret": {reason: "A Secret that Git shows to all its readers.", manifest: `apiVersion: v1
kind: Secret
metadata: {name: stolen-secret, namespace: customer-secret}
`},
	"pod": {reason: "A pod on the host, in its own namespace.", manifest: `apiVersion: v1
kind: Pod
metadata: {name: stolen-pod, namespace: customer-pod}
spec: {containers: [{name: pause, image: "registry.k8s.io/pause:3.10"}]}
`},
	"paused": {reason: "A claim that is never deleted.", refusal: "is the platform's to set on a claim", manifest: `apiVersion: virtualargocd.io/v1alpha1
kind: VirtualArgoCD
metadata: {name: stolen-paused, namespace: customer-paused, annotations: {crossplane.io/paused: "true"}}
spec: {}
`},
	"suspension": {reason: "What only the platform says of a claim.", refusal: "spec.suspension is the platform's to set", manifest: `apiVersion: virtualargocd.io/v1alpha1
kind: VirtualArgoCD
metadata: {name: stolen-suspension, namespace: customer-suspension}
spec: {suspension: {reason: mine}}
`},
	"overrides": {
		reason: "Another tool, which Argo CD's file for overrides chooses, and other folders with it.",
		manifest: `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: stolen-overrides}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]
`,
		others: map[string]string{".argocd-source.yaml": "directory: null\nkustomize: {}\n", "kustomization.yaml": "resources: [manifest.yaml]\n"},
	},
}

// program is a file in the folder of acme that has Argo CD's repo-server tell what is in the folder of another customer, and override has Argo CD run
// it. What is outside of the repository, such as /proc/self/environ, Argo CD itself refuses to such programs since versions 3.3.15 and 3.4.10.
const (
	program  = `{apiVersion: "virtualargocd.io/v1alpha1", kind: "VirtualArgoCD", metadata: {name: "program", namespace: "customer-acme", annotations: {told: importstr "../list/manifest.yaml"}}, spec: {}}`
	override = `directory: {include: "*"}`
)

// TestCustomersInGit has the Argo CD of a tenant play the one on the host, with the GitOps example: who may commit to one
// customer's folder gets a claim in its own namespace, and nothing else. In project default all of it is applied.
func TestCustomersInGit(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	t.Parallel()
	g := &gitops{}
	testenv.Test(t, features.New("customers in Git").
		Setup(g.create).
		Assess("ProjectDefaultAppliesEverything", g.former).
		Assess("OwnProjectsApplyClaimsAlone", g.current).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, g.live)
			if t.Failed() && keep {
				return ctx
			}
			deleteNamespace(ctx, t, gitopsNamespace)
			return ctx
		}).Feature())
}

// gitops is a cluster with an Argo CD that deploys the GitOps example: a virtual one.
type gitops struct {
	live    *claim.Live
	cluster *kube.Cluster
	repo    string
}

func (g *gitops) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.live = claim.Create(ctx, t, host, newClaim("gitops"))
	g.live.AwaitReady(ctx, t, readyWithin)
	g.cluster = open(ctx, t, g.live)

	files := map[string]string{customersPath + "/acme/claim.yaml": "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\nmetadata: {name: acme}\nspec: {}\n"}
	files[customersPath+"/acme/program.jsonnet"], files[customersPath+"/acme/.argocd-source.yaml"] = program, override
	for name, c := range commits {
		files[customersPath+"/"+name+"/manifest.yaml"] = c.manifest
		for path, content := range c.others {
			files[customersPath+"/"+name+"/"+path] = content
		}
	}
	for _, path := range []string{"Chart.yaml", "values.yaml", "templates/customer.yaml"} {
		files[gitopsExample+"/customer/"+path] = exampleFile(t, "customer/"+path)
	}
	if _, err := createNamespace(gitopsNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	g.repo = gitserver.RunPublic(ctx, t, host, gitopsNamespace, artifacts.ServersImage, files)

	// The kind of claims, with no Crossplane behind it.
	crds := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	from, err := host.Resource(crds, "")
	if err != nil {
		t.Fatal(err)
	}
	crd, err := from.Get(ctx, "virtualargocds.virtualargocd.io", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kind := &unstructured.Unstructured{Object: map[string]any{"spec": crd.Object["spec"]}}
	kind.SetGroupVersionKind(crds)
	kind.SetName(crd.GetName())
	g.apply(ctx, t, kind)
	for _, o := range examplesOf(t, "install/claims.yaml") {
		g.apply(ctx, t, o)
	}
	for _, name := range []string{"customer-acme", "customer-secret", "customer-pod", "customer-paused", "customer-suspension"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := g.cluster.Typed.CoreV1().Namespaces().Create(ctx, ns, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return ctx
}

// former shows that each attack is one: it deploys all folders as the example did at first.
func (g *gitops) former(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.apply(ctx, t, g.parse(t, formerApplication))
	for name, c := range commits {
		if name == "overrides" {
			continue
		}
		stolen := g.stolen(t, c)
		eventually.True(ctx, t, applicationSyncIn, "the commit to folder "+name+" is applied", func(ctx context.Context) (bool, string) {
			return g.exists(ctx, stolen), g.application(ctx, "customers")
		})
	}
	eventually.True(ctx, t, applicationSyncIn, "another customer's file is in a claim", func(ctx context.Context) (bool, string) {
		return strings.Contains(g.told(ctx), "kind: List"), g.application(ctx, "customers")
	})
	g.remove(ctx, t, g.parse(t, formerApplication))
	g.remove(ctx, t, g.parse(t, "apiVersion: virtualargocd.io/v1alpha1\nkind: VirtualArgoCD\nmetadata: {name: program, namespace: customer-acme}\n"))
	for _, c := range commits {
		g.remove(ctx, t, g.stolen(t, c))
	}
	return ctx
}

func (g *gitops) current(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	g.apply(ctx, t, g.parse(t, exampleFile(t, "apps/30-customers.yaml")))
	own := &unstructured.Unstructured{}
	own.SetGroupVersionKind(claim.GVK)
	own.SetNamespace("customer-acme")
	own.SetName("acme")
	eventually.True(ctx, t, applicationSyncIn, "the claim in folder acme is applied", func(ctx context.Context) (bool, string) {
		return g.exists(ctx, own), g.application(ctx, "claims-acme")
	})
	t.Run("jsonnet", func(t *testing.T) {
		eventually.True(ctx, t, applicationSyncIn, "the folder acme is synced", func(ctx context.Context) (bool, string) {
			status := g.application(ctx, "claims-acme")
			return strings.Contains(status, `"status":"Synced"`), status
		})
		if told := g.told(ctx); told != "" {
			t.Errorf("who may commit to folder acme reads other folders: %.80q", told)
		}
	})
	for name, c := range commits {
		t.Run(name, func(t *testing.T) {
			eventually.True(ctx, t, applicationSyncIn, "the Application of folder "+name+" is refused", func(ctx context.Context) (bool, string) {
				status := g.application(ctx, "claims-"+name)
				return strings.Contains(status, cmp.Or(c.refusal, notPermitted)), status
			})
			if g.exists(ctx, g.stolen(t, c)) {
				t.Errorf("\n%s\nwhat is in folder %s was applied", c.reason, name)
			}
		})
	}
	return ctx
}

// stolen is the object that a commit is to bring.
func (g *gitops) stolen(t *testing.T, c commit) *unstructured.Unstructured {
	t.Helper()
	o := g.parse(t, c.manifest)
	if o.GetKind() == "List" {
		list, err := o.ToList()
		if err != nil {
			t.Fatal(err)
		}
		return &list.Items[0]
	}
	return o
}

// told is what the claim that program makes tells; "" if there is none.
func (g *gitops) told(ctx context.Context) string {
	claims, err := g.cluster.Resource(claim.GVK, "customer-acme")
	if err != nil {
		g.cluster.Forget()
		return ""
	}
	o, err := claims.Get(ctx, "program", metav1.GetOptions{})
	if err != nil {
		return ""
	}
	return o.GetAnnotations()["told"]
}

// application is the status of an Application, as JSON.
func (g *gitops) application(ctx context.Context, name string) string {
	applications, err := g.cluster.Resource(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}, "argocd")
	if err != nil {
		return err.Error()
	}
	o, err := applications.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	text, err := json.Marshal(o.Object["status"])
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// parse reads a manifest of the example, with the test's repository in place of the project's.
func (g *gitops) parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(manifest, gitopsRepository, g.repo)), &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func (g *gitops) apply(ctx context.Context, t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	resource, err := g.cluster.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err == nil {
		_, err = resource.Create(ctx, o, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatalf("cannot create %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func (g *gitops) remove(ctx context.Context, t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	resource, err := g.cluster.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err == nil {
		err = resource.Delete(ctx, o.GetName(), metav1.DeleteOptions{})
	}
	if err != nil && !kerrors.IsNotFound(err) {
		t.Fatalf("cannot delete %s %s: %v", o.GetKind(), o.GetName(), err)
	}
}

func (g *gitops) exists(ctx context.Context, o *unstructured.Unstructured) bool {
	resource, err := g.cluster.Resource(o.GroupVersionKind(), o.GetNamespace())
	if err != nil {
		// The kind of claims was added a moment ago.
		g.cluster.Forget()
		return false
	}
	_, err = resource.Get(ctx, o.GetName(), metav1.GetOptions{})
	return err == nil
}

func exampleFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", gitopsExample, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
