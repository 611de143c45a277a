//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// frontNamespace is a namespace that is deleted with a tenant's VirtualArgoCD in it.
const frontNamespace = "e2e-front"

// Kinds that a namespaced VirtualArgoCD has to do with.
var (
	frontGVK        = schema.GroupVersionKind{Group: v1alpha1.FrontGroup, Version: v1alpha1.Version, Kind: v1alpha1.ClaimKind}
	frontObject     = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "Object"}
	frontCollection = schema.GroupVersionKind{Group: "kubernetes.m.crossplane.io", Version: "v1alpha1", Kind: "ObservedObjectCollection"}
)

// fronted is a namespaced VirtualArgoCD, and one that was a claim.
type fronted struct {
	live, adopted *claim.Live
	// was is what the adopted tenant had as a claim.
	was inUse
}

// inUse is what of a tenant stays the same whoever it belongs to: the UIDs of its composite resource and of what that composes, its pods,
// and the revisions of its Helm releases.
type inUse struct {
	objects, pods map[string]string
	secret        string
}

// TestFront: a VirtualArgoCD of Crossplane 2's namespaced kind is a tenant as that of a claim, a claim becomes one and back without a restart,
// and nobody reaches another tenant by it.
func TestFront(t *testing.T) {
	t.Parallel()
	f := &fronted{}
	testenv.Test(t, features.New("front").
		Assess("ComesUp", f.comesUp).
		Assess("RefusalIsTold", f.refusal).
		Assess("EditsArrive", f.edits).
		Assess("DegradationIsTold", f.degraded).
		Assess("HostileObjectsAreRefused", f.hostile).
		Assess("ProtectedIsNotDeleted", f.protected).
		Assess("ClaimIsAdopted", f.adopts).
		Assess("AndGoesBack", f.goesBack).
		Assess("GoesWithItsNamespace", f.namespaceGoes).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			f.unprotect(ctx, t)
			cleanUp(ctx, t, f.live, f.adopted)
			return ctx
		}).Feature())
}

func newFront(name, namespace string) *claim.Claim {
	return newClaim(name).In(namespace).OfGroup(v1alpha1.FrontGroup)
}

func (f *fronted) comesUp(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	f.live = claim.Create(ctx, t, host, newFront("fronted", claims))
	start := time.Now()
	s := f.live.AwaitReady(ctx, t, readyWithin)
	measured.add("front: created to Ready", time.Since(start))
	if c := s.Condition(v1alpha1.ConditionTenantBound); c.Status != metav1.ConditionTrue {
		t.Errorf("TenantBound: %v", c)
	}
	details := connectionDetails(ctx, t, f.live)
	if details["password"] == "" || details["kubeconfig"] == "" {
		t.Errorf("the connection Secret lacks a key: %d keys", len(details))
	}
	loggedIn(ctx, t, f.live)
	events, err := f.live.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, e := range events {
		told = told || e.Reason == v1alpha1.ReasonWaitingForNamespace
	}
	if !told {
		t.Error("the events of the tenant don't reach the VirtualArgoCD")
	}
	return ctx
}

func (f *fronted) refusal(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	f.live.Patch(ctx, t, "v1.12.0", "spec", "kubernetes", "version")
	s := f.live.Await(ctx, t, time.Minute, "the refusal is told", func(s *claim.State) bool {
		return s.Condition(claim.SpecAccepted).Reason == v1alpha1.ReasonInvalidSpec
	})
	if !strings.Contains(s.Condition(claim.SpecAccepted).Message, "spec.kubernetes.version") || !s.IsReady() {
		t.Errorf("want the field named, and the tenant as it was: %s", s)
	}
	f.live.Patch(ctx, t, nil, "spec", "kubernetes")
	f.live.Await(ctx, t, time.Minute, "it is accepted again", func(s *claim.State) bool { return s.True(claim.SpecAccepted) })
	return ctx
}

// annotated waits until the Deployment of the API server has an annotation, or hasn't.
func annotated(ctx context.Context, t *testing.T, l *claim.Live, want string) {
	t.Helper()
	virtual := open(ctx, t, l)
	eventually.True(ctx, t, 3*time.Minute, fmt.Sprintf("the annotation of argocd-server is %q", want), func(ctx context.Context) (bool, string) {
		d, err := virtual.Typed.AppsV1().Deployments("argocd").Get(ctx, "argocd-server", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		return d.Annotations["e2e"] == want, d.Annotations["e2e"]
	})
}

func (f *fronted) edits(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	f.live.Patch(ctx, t, map[string]any{"server": map[string]any{"deploymentAnnotations": map[string]any{"e2e": "front"}}}, "spec", "argocd", "values")
	annotated(ctx, t, f.live, "front")
	f.live.Patch(ctx, t, nil, "spec", "argocd")
	annotated(ctx, t, f.live, "")
	f.live.AwaitReady(ctx, t, 3*time.Minute)
	return ctx
}

func (f *fronted) degraded(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	deployments := open(ctx, t, f.live).Typed.AppsV1().Deployments("argocd")
	patchDeployment(ctx, t, deployments, "argocd-repo-server", stopped)
	s := f.live.Await(ctx, t, 2*time.Minute, "the degradation is told", func(s *claim.State) bool { return s.Phase == "Degraded" && !s.True(claim.Ready) })
	if !strings.Contains(s.Condition(claim.ArgoCDReady).Message, "argocd-repo-server") {
		t.Errorf("want the workload named: %s", s)
	}
	patchDeployment(ctx, t, deployments, "argocd-repo-server", runs)
	f.live.AwaitReady(ctx, t, 3*time.Minute)
	return ctx
}

// hostile: a team that has all rights to Objects in its namespace, as no team should, reaches no tenant with them. The account by which
// provider-kubernetes writes can't, either.
func (f *fronted) hostile(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const team = "e2e-objects"
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: team}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{frontObject.Group}, Resources: []string{"*"}, Verbs: []string{"*"}}, {APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"*"}},
	}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: team}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: team},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: team}},
	}
	if _, err := host.Typed.RbacV1().Roles(claims).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := host.Typed.RbacV1().RoleBindings(claims).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = host.Typed.RbacV1().RoleBindings(claims).Delete(ctx, team, metav1.DeleteOptions{})
		_ = host.Typed.RbacV1().Roles(claims).Delete(ctx, team, metav1.DeleteOptions{})
	}()
	name := f.live.XRName(ctx, t)
	member := as(t, "somebody", team)
	client := func(c *kube.Cluster, gvk schema.GroupVersionKind, namespace string) dynamic.ResourceInterface {
		r, err := c.Resource(gvk, namespace)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	objects := client(member, frontObject, claims)
	eventually.True(ctx, t, time.Minute, "the team may read Objects", func(ctx context.Context) (bool, string) {
		_, err := objects.Get(ctx, name, metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	object := func(kind schema.GroupVersionKind, spec map[string]any) *unstructured.Unstructured {
		spec["providerConfigRef"] = map[string]any{"kind": "ClusterProviderConfig", "name": "virtual-argocd-front"}
		o := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
		o.SetGroupVersionKind(kind)
		o.SetName("hostile")
		return o
	}
	back := func(namespace string) map[string]any {
		return map[string]any{"forProvider": map[string]any{"manifest": map[string]any{
			"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.Kind, "metadata": map[string]any{"name": "hostile"},
			"spec": map[string]any{"claimRef": map[string]any{"apiVersion": v1alpha1.FrontAPIVersion, "kind": v1alpha1.ClaimKind, "namespace": namespace, "name": "hostile"}},
		}}}
	}
	_, errOwn := objects.Create(ctx, object(frontObject, back(claims)), metav1.CreateOptions{})
	_, errOther := objects.Create(ctx, object(frontObject, back("default")), metav1.CreateOptions{})
	_, errChanged := objects.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"forProvider":{"manifest":{"spec":{"claimRef":{"namespace":"default"}}}}}}`), metav1.PatchOptions{})
	_, errFinalizer := objects.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	_, errList := client(member, frontCollection, claims).Create(ctx, object(frontCollection, map[string]any{"observeObjects": map[string]any{"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.Kind, "selector": map[string]any{}}}), metav1.CreateOptions{})
	errDeleted := objects.Delete(ctx, name, metav1.DeleteOptions{})
	for what, err := range map[string]error{"create": errOwn, "create for another namespace": errOther, "change": errChanged, "remove the finalizer of": errFinalizer, "list all tenants with": errList, "delete": errDeleted} {
		if err == nil || !strings.Contains(err.Error(), "is Crossplane's to write") {
			t.Errorf("%s an Object: want a refusal that says whose it is, got %v", what, err)
		}
	}
	connection, err := f.live.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	secrets := member.Typed.CoreV1().Secrets(claims)
	_, errUnnamed := secrets.Patch(ctx, connection.Name, types.MergePatchType, []byte(`{"metadata":{"annotations":{"crossplane.io/composition-resource-name":null}}}`), metav1.PatchOptions{})
	errGone := secrets.Delete(ctx, connection.Name, metav1.DeleteOptions{})
	for what, err := range map[string]error{"take its name from": errUnnamed, "delete": errGone} {
		if err == nil || !strings.Contains(err.Error(), "connection Secret of a VirtualArgoCD") {
			t.Errorf("%s the connection Secret: want a refusal that says whose it is, got %v", what, err)
		}
	}
	front := as(t, "system:serviceaccount:"+crossplane+":virtual-argocd-front", "system:serviceaccounts", "system:serviceaccounts:"+crossplane)
	tenants := client(front, schema.GroupVersionKind{Group: v1alpha1.Group, Version: v1alpha1.Version, Kind: v1alpha1.Kind}, "")
	_, err = tenants.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"claimRef":{"namespace":"default"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil || !strings.Contains(err.Error(), "stays with its namespace") {
		t.Errorf("giving a tenant to another namespace: %v", err)
	}
	if _, err := front.Typed.CoreV1().Secrets(crossplane).List(ctx, metav1.ListOptions{}); !kerrors.IsForbidden(err) {
		t.Errorf("the account lists Secrets: %v", err)
	}
	// Whoever may write VirtualArgoCDs chooses neither its composite resource nor what is composed.
	live := client(host, frontGVK, claims)
	if _, err := live.Patch(ctx, f.live.Name, types.MergePatchType, []byte(`{"spec":{"crossplane":{"resourceRefs":[{"apiVersion":"v1","kind":"Secret","name":"a"}]}}}`), metav1.PatchOptions{}); err == nil || !strings.Contains(err.Error(), "spec.crossplane is Crossplane's") {
		t.Errorf("writing spec.crossplane: %v", err)
	}
	if s, err := f.live.State(ctx); err != nil || !s.IsReady() {
		t.Errorf("the tenant has suffered: %v, %v", s, err)
	}
	return ctx
}

func (f *fronted) protected(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	itself, composite := guard(t, "the VirtualArgoCD", frontGVK, f.live.Name), compositeOf(ctx, t, f.live)
	f.live.Patch(ctx, t, true, "spec", "deletionProtection")
	for _, g := range []guarded{itself, composite, guard(t, "the namespace", schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, claims)} {
		g.await(ctx, t, true)
	}
	f.live.Patch(ctx, t, false, "spec", "deletionProtection")
	itself.await(ctx, t, false)
	return ctx
}

// usedBy reads what of a tenant must stay.
func usedBy(ctx context.Context, t *testing.T, l *claim.Live) inUse {
	t.Helper()
	all, err := l.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u := inUse{objects: map[string]string{}}
	for _, o := range all {
		revision, _, _ := unstructured.NestedFieldNoCopy(o.Object, "status", "atProvider", "revision")
		u.objects[o.GetKind()+"/"+o.GetNamespace()+"/"+o.GetName()] = fmt.Sprint(o.GetUID(), " revision ", revision)
	}
	s, err := l.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u.pods, _ = podsOf(ctx, t, s.Namespace, nil)
	secret, err := l.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u.secret = string(secret.UID)
	return u
}

// same fails for each thing that isn't as it was.
func (u inUse) same(t *testing.T, after string, now inUse) {
	t.Helper()
	for name, was := range u.objects {
		if now.objects[name] != was {
			t.Errorf("after %s, %s is another: it was %s, and is %s", after, name, was, now.objects[name])
		}
	}
	keepsPods(t, after, u.pods, now.pods)
	if u.secret != now.secret {
		t.Errorf("after %s, the connection Secret is another", after)
	}
}

// adopt runs the script of the example.
func adopt(ctx context.Context, t *testing.T, args ...string) {
	t.Helper()
	out, err := kube.Script(ctx, t, testenv.EnvConf().KubeconfigFile(), "../../examples/adopt/adopt.sh", args...)
	t.Logf("adopt.sh %s: %v\n%s", strings.Join(args, " "), err, out)
	if err != nil {
		t.Fatal(err)
	}
}

func (f *fronted) adopts(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	spec := newClaim("adopted").Set(map[string]any{"server": map[string]any{"deploymentAnnotations": map[string]any{"e2e": "claim"}}}, "spec", "argocd", "values")
	old := claim.Create(ctx, t, host, spec)
	f.adopted = old
	old.AwaitReady(ctx, t, readyWithin)
	f.was = usedBy(ctx, t, old)

	// One that somebody creates by mistake only observes.
	early := claim.Create(ctx, t, host, newFront("adopted", claims))
	early.Await(ctx, t, time.Minute, "it observes", func(s *claim.State) bool {
		return s.Condition(v1alpha1.ConditionTenantBound).Reason == v1alpha1.ReasonClaimExists && s.Phase == "Ready"
	})
	itself := guard(t, "the claim", claim.GVK, "adopted")
	eventually.True(ctx, t, time.Minute, "the claim can't be deleted with its tenant", func(ctx context.Context) (bool, string) {
		err := itself.tried(ctx)
		return err != nil && strings.Contains(err.Error(), "would be deleted with this claim"), fmt.Sprint(err)
	})
	early.Delete(ctx, t)
	eventually.True(ctx, t, time.Minute, "the observer is gone", func(ctx context.Context) (bool, string) {
		_, err := early.State(ctx)
		return kerrors.IsNotFound(err), fmt.Sprint(err)
	})
	f.was.same(t, "an observer that came and went", usedBy(ctx, t, old))

	// Its protection goes along with the tenant.
	old.Patch(ctx, t, true, "spec", "deletionProtection")
	itself.await(ctx, t, true)
	start := time.Now()
	adopt(ctx, t, claims+"/adopted")
	measured.add("front: claim adopted", time.Since(start))
	f.adopted = early
	adopted := guard(t, "the VirtualArgoCD", frontGVK, "adopted")
	adopted.refused(t, "right after its adoption", adopted.tried(ctx))
	s := early.AwaitReady(ctx, t, time.Minute)
	if c := s.Condition(v1alpha1.ConditionTenantBound); c.Status != metav1.ConditionTrue {
		t.Errorf("TenantBound: %v", c)
	}
	if _, err := old.State(ctx); !kerrors.IsNotFound(err) {
		t.Errorf("the claim is there: %v", err)
	}
	f.was.same(t, "the adoption", usedBy(ctx, t, early))
	adopt(ctx, t, claims+"/adopted")
	// What the claim has set goes with the field.
	early.Patch(ctx, t, nil, "spec", "argocd")
	annotated(ctx, t, early, "")
	early.AwaitReady(ctx, t, 3*time.Minute)
	f.was = usedBy(ctx, t, early)
	return ctx
}

func (f *fronted) goesBack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	adopt(ctx, t, "--back", claims+"/adopted")
	measured.add("front: back to a claim", time.Since(start))
	back, err := claim.Find(host, claims, "adopted")
	if err != nil {
		t.Fatal(err)
	}
	f.adopted = back
	back.AwaitReady(ctx, t, time.Minute)
	f.was.same(t, "the way back", usedBy(ctx, t, back))
	itself := guard(t, "the claim", claim.GVK, "adopted")
	itself.refused(t, "right after the way back", itself.tried(ctx))
	back.Patch(ctx, t, false, "spec", "deletionProtection")
	itself.await(ctx, t, false)
	deleteAndAwait(ctx, t, back, goneWithin)
	f.adopted = nil
	return ctx
}

// unprotect lets a test that has failed clean up.
func (f *fronted) unprotect(ctx context.Context, t *testing.T) {
	t.Helper()
	if f.adopted == nil || t.Failed() && keep {
		return
	}
	if _, err := f.adopted.State(ctx); kerrors.IsNotFound(err) {
		return
	}
	f.adopted.Patch(ctx, t, false, "spec", "deletionProtection")
	eventually.True(ctx, t, time.Minute, "it may be deleted", func(ctx context.Context) (bool, string) {
		for _, gvk := range []schema.GroupVersionKind{claim.GVK, frontGVK} {
			if err := guard(t, "it", gvk, f.adopted.Name).tried(ctx); err != nil && !kerrors.IsNotFound(err) {
				return false, err.Error()
			}
		}
		return true, ""
	})
}

// namespaceGoes deletes a namespace with a VirtualArgoCD in it: it doesn't hang, and nothing of the tenant is left.
func (f *fronted) namespaceGoes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(frontNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	l := claim.Create(ctx, t, host, newFront("gone", frontNamespace))
	l.AwaitReady(ctx, t, readyWithin)
	start := time.Now()
	deleteNamespace(ctx, t, frontNamespace)
	measured.add("front: namespace deleted with it", time.Since(start))
	awaitGone(ctx, t, l, goneWithin)
	// The example of a claim is one of this kind with another apiVersion.
	data, err := os.ReadFile("../../examples/claims/production.yaml")
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	for _, document := range strings.Split(string(data), "\n---\n") {
		object := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if object["kind"] == v1alpha1.ClaimKind {
			o.Object = object
		}
	}
	o.SetGroupVersionKind(frontGVK)
	o.SetNamespace(claims)
	r, err := host.Resource(frontGVK, claims)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Create(ctx, o, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}); err != nil {
		text, _ := json.Marshal(o.Object)
		t.Errorf("%s: %v", text, err)
	}
	return ctx
}
