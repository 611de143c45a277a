//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// claimTakesOver tries, as somebody who may write claims, to have what Crossplane has made for another one.
func claimTakesOver(ctx context.Context, t *testing.T, i *intrusion) {
	const role = "e2e-claimers"
	_, err := host.Typed.RbacV1().Roles(claims).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{claim.GVK.Group}, Resources: []string{"virtualargocds"},
			Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"},
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err1 := host.Typed.RbacV1().Roles(claims).Delete(ctx, role, metav1.DeleteOptions{})
		err2 := host.Typed.RbacV1().RoleBindings(claims).Delete(ctx, role, metav1.DeleteOptions{})
		if err1 != nil || err2 != nil {
			t.Error(err1, err2)
		}
	})
	_, err = host.Typed.RbacV1().RoleBindings(claims).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: role}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mallory, err := asMember(t, role).Resource(claim.GVK, claims)
	if err != nil {
		t.Fatal(err)
	}
	dry := []string{metav1.DryRunAll}
	eventually.True(ctx, t, time.Minute, "mallory may make claims", func(ctx context.Context) (bool, string) {
		_, err := mallory.Create(ctx, newClaim("taker").Object(), metav1.CreateOptions{DryRun: dry})
		return err == nil, fmt.Sprint(err)
	})

	victim, err := i.alice.live.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ref := map[string]any{"apiVersion": victim.GetAPIVersion(), "kind": victim.GetKind(), "name": victim.GetName()}
	for field, test := range map[string]struct {
		value any
		words string
	}{
		"resourceRef":             {ref, "spec.resourceRef is Crossplane's to write"},
		"compositionUpdatePolicy": {"Manual", "spec.compositionUpdatePolicy must be Automatic"},
		"compositionRef":          {map[string]any{"name": "another"}, "spec.compositionRef is the platform's to choose"},
		"compositionRevisionRef":  {map[string]any{"name": "another"}, "spec.compositionRevisionRef is the platform's to choose"},
	} {
		if _, err := mallory.Create(ctx, newClaim("taker").Set(test.value, "spec", field).Object(), metav1.CreateOptions{}); !says(err, test.words) {
			t.Errorf("a claim with spec.%s: want %q, got %v", field, test.words, err)
		}
		patch, err := json.Marshal(map[string]any{"spec": map[string]any{field: test.value}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mallory.Patch(ctx, i.mallory.live.Name, types.MergePatchType, patch, metav1.PatchOptions{}); !says(err, test.words) {
			t.Errorf("a claim that gets spec.%s: want %q, got %v", field, test.words, err)
		}
	}
	if _, err := mallory.Get(ctx, "taker", metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("a claim is there that was refused: %v", err)
	}
	after, err := i.alice.live.XR(ctx)
	if err != nil || after.GetUID() != victim.GetUID() || after.GetGeneration() != victim.GetGeneration() {
		t.Errorf("alice's composite resource has changed: %v, %v", after, err)
	}

	// What was read may be sent back, with a change and without what Crossplane keeps to itself.
	eventually.True(ctx, t, 30*time.Second, "mallory's claim is updated as a whole", func(ctx context.Context) (bool, string) {
		o, err := mallory.Get(ctx, i.mallory.live.Name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		o.SetLabels(map[string]string{"example.org/applied": "true"})
		_, err = mallory.Update(ctx, o, metav1.UpdateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	applied, err := mallory.Get(ctx, i.mallory.live.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	applied.SetManagedFields(nil)
	applied.SetResourceVersion("")
	unstructured.RemoveNestedField(applied.Object, "status")
	if _, err := mallory.Apply(ctx, applied.GetName(), applied, metav1.ApplyOptions{FieldManager: "kubectl", Force: true, DryRun: dry}); err != nil {
		t.Errorf("a claim can't be applied as it was read: %v", err)
	}
}

// An overreach is something that an account may not do, and the words that say so.
type overreach struct {
	what  string
	try   func(kubernetes.Interface) error
	words string
}

// installerCannot tries, as the accounts that the providers act as, what a hostile virtual cluster would have them do.
func installerCannot(ctx context.Context, t *testing.T, i *intrusion) {
	own, others := i.mallory.namespace, i.alice.namespace
	dry := []string{metav1.DryRunAll}
	create, remove := metav1.CreateOptions{DryRun: dry}, metav1.DeleteOptions{DryRun: dry}
	pod := func(in string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Pods(in).Create(ctx, hostPod(forged), create)
			return err
		}
	}
	read := func(in string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets(in).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		}
	}
	secret := func(in string, s *corev1.Secret) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			s.Name = forged
			_, err := c.CoreV1().Secrets(in).Create(ctx, s, create)
			return err
		}
	}
	token := func(account string) *corev1.Secret {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}, Type: corev1.SecretTypeServiceAccountToken,
		}
	}
	service := func(in string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Services(in).Create(ctx, plainService(forged), create)
			return err
		}
	}
	enter := func(c kubernetes.Interface) error {
		return c.CoreV1().RESTClient().Post().Resource("pods").Namespace(own).Name("vcluster-0").SubResource("exec").
			VersionedParams(&corev1.PodExecOptions{Command: []string{"true"}, Stdout: true}, scheme.ParameterCodec).Do(ctx).Error()
	}
	bind := func(c kubernetes.Interface) error {
		_, err := c.RbacV1().RoleBindings(own).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: forged}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "admin"},
		}, create)
		return err
	}
	role := func(c kubernetes.Interface) error {
		_, err := c.RbacV1().Roles(own).Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: forged}}, create)
		return err
	}
	policy := func(c kubernetes.Interface) error {
		_, err := c.NetworkingV1().NetworkPolicies(own).Create(ctx, &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: forged}}, create)
		return err
	}
	open := func(c kubernetes.Interface) error {
		return c.NetworkingV1().NetworkPolicies(own).Delete(ctx, "virtual-argocd-tenant", remove)
	}
	unbound := func(c kubernetes.Interface) error {
		return c.CoreV1().ResourceQuotas(own).Delete(ctx, "virtual-argocd", remove)
	}
	ask := func(account string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().ServiceAccounts(own).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, create)
			return err
		}
	}

	const rbac = "is forbidden: User"
	// Two policies refuse it, and either may be the first to say so.
	const unlisted = "ValidatingAdmissionPolicy 'virtual-argocd-"
	installer := serviceAccount(t, own)
	if _, err := installer.CoreV1().Secrets(own).Get(ctx, "vc-vcluster", metav1.GetOptions{}); err != nil {
		t.Fatalf("the installer can't do what it is for, so that this shows nothing: %v", err)
	}
	cannot(t, installer, own, []overreach{
		{"a pod", pod(own), rbac},
		{"a command in the control plane", enter, rbac},
		{"a NetworkPolicy", policy, rbac},
		{"no NetworkPolicy", open, rbac},
		{"no quota", unbound, rbac},
		{"a Role", role, rbac},
		{"a RoleBinding", bind, rbac},
		{"a token of the control plane's account", ask("vc-vcluster"), rbac},
		{"a Secret that Kubernetes writes a token to", secret(own, token("vc-vcluster")), unlisted},
		{"a Secret", secret(own, &corev1.Secret{}), unlisted},
		{"a Service", service(own), unlisted},
		{"Secrets of alice's", read(others), rbac},
		{"Secrets of Crossplane's", read(crossplane), rbac},
		{"Secrets of all", read(metav1.NamespaceAll), rbac},
		{"a Secret of alice's", secret(others, &corev1.Secret{}), rbac},
		{"a Service of alice's", service(others), rbac},
	})

	confined := "the providers of virtual-argocd write Secrets, ConfigMaps and Leases in " + crossplane
	for _, name := range []string{"virtual-argocd-provider-helm", "virtual-argocd-provider-kubernetes"} {
		provider := serviceAccount(t, name)
		if err := secret(crossplane, &corev1.Secret{})(provider); err != nil {
			t.Fatalf("%s can't do what it is for, so that this shows nothing: %v", name, err)
		}
		cannot(t, provider, name, []overreach{
			{"a pod of the tenant's", pod(own), rbac},
			{"a pod of Crossplane's", pod(crossplane), rbac},
			{"a Service of Crossplane's", service(crossplane), rbac},
			{"a command in the control plane", enter, rbac},
			{"a NetworkPolicy", policy, rbac},
			{"a RoleBinding", bind, rbac},
			{"a token of the control plane's account", ask("vc-vcluster"), rbac},
			{"no quota", unbound, rbac},
			{"a Secret that Kubernetes writes Crossplane's token to", secret(crossplane, token("crossplane")), "the providers of virtual-argocd ask for no tokens"},
			{"a Secret of the tenant's", secret(own, &corev1.Secret{}), confined},
			{"a Secret of the host's", secret("kube-system", &corev1.Secret{}), confined},
			{"the host's pods", func(c kubernetes.Interface) error {
				_, err := c.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{Limit: 1})
				return err
			}, rbac},
			{"the host's nodes", func(c kubernetes.Interface) error {
				_, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
				return err
			}, rbac},
		})
		// Crossplane's RBAC manager lets each provider read these everywhere, which no admission policy sees.
		t.Logf("%s reads all Secrets: %v", name, read(metav1.NamespaceAll)(provider) == nil)
	}
}

// serviceAccount is the host as an account of Crossplane's namespace sees it.
func serviceAccount(t *testing.T, name string) kubernetes.Interface {
	t.Helper()
	return as(t, "system:serviceaccount:"+crossplane+":"+name, "system:serviceaccounts", "system:serviceaccounts:"+crossplane).Typed
}

func cannot(t *testing.T, c kubernetes.Interface, who string, all []overreach) {
	t.Helper()
	for _, o := range all {
		if err := o.try(c); !says(err, "forbidden", o.words) {
			t.Errorf("%s, %s: want it forbidden with %q, got %v", who, o.what, o.words, err)
		}
	}
}
