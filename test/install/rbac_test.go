package install

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// everything is what the vcluster chart installs with all that a claim, a plan or the
// function may switch on, by the values of the function and those of more.
func everything(t *testing.T, more values.Values) []*unstructured.Unstructured {
	t.Helper()
	on := map[string]any{"enabled": true}
	most := values.Values{}
	for _, row := range values.VCluster.Rows {
		kind, ok := strings.CutPrefix(row.Path, "sync.toHost.")
		if kind, isSwitch := strings.CutSuffix(kind, ".enabled"); ok && isSwitch && row.Class != values.Protected {
			most = values.Merge(most, values.Values{"sync": values.Values{"toHost": values.Values{kind: on}}})
		}
	}
	var all []*unstructured.Unstructured
	for _, data := range []v1alpha1.PlanSpec{{}, {VCluster: v1alpha1.PlanVCluster{Replicas: 3, BackingStore: plan.StoreEtcd}}} {
		p, err := resolve.Tenant(tenant.Given{XRName: "x", Plan: plan.Plan{Spec: data}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, renderVCluster(t, values.Merge(p.VirtualCluster.Values, most, more))...)
	}
	return all
}

// TestInstallerMayInstallVCluster: what the vcluster chart installs is what a
// customer's installer needs rights for. This fails when another version of the chart
// needs more.
func TestInstallerMayInstallVCluster(t *testing.T) {
	rules := clusterRole(t, "virtual-argocd:installer")
	for _, o := range everything(t, nil) {
		group := o.GroupVersionKind().Group
		resource := strings.ToLower(o.GetKind()) + "s"
		if group == rbacv1.GroupName || o.GetNamespace() != "vargo-x" {
			t.Errorf("the chart makes %s %s in namespace %q: the installer may make no role, and nothing outside of its namespace", o.GetKind(), o.GetName(), o.GetNamespace())
		}
		for _, verb := range []string{"create", "get", "patch", "delete"} {
			if !allowed(rules, group, resource, o.GetName(), verb) {
				t.Errorf("%s %s: the installer may not %s %s", o.GetKind(), o.GetName(), verb, resource)
			}
		}
	}
	for _, resource := range []string{"pods", "pods/exec", "roles", "rolebindings", "networkpolicies", "limitranges"} {
		for _, group := range []string{"", rbacv1.GroupName, "networking.k8s.io"} {
			if allowed(rules, group, resource, "x", "create") || allowed(rules, group, resource, "x", "patch") || allowed(rules, group, resource, "x", "delete") {
				t.Errorf("the installer may write %s", resource)
			}
		}
	}
}

// TestControlPlaneMayDoItsWork: the control plane has all that the vcluster chart's own
// Role would give it.
func TestControlPlaneMayDoItsWork(t *testing.T) {
	rules := slices.Concat(clusterRole(t, "virtual-argocd:control-plane"), clusterRole(t, "virtual-argocd:control-plane-ingresses"), clusterRole(t, "virtual-argocd:control-plane-disruption-budgets"))
	roles := 0
	for _, o := range everything(t, values.Values{"rbac": values.Values{"role": values.Values{"enabled": true}}}) {
		if o.GetKind() != "Role" {
			continue
		}
		roles++
		role := &rbacv1.Role{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						if !allowed(rules, group, resource, "", verb) {
							t.Errorf("the control plane may not %s %s.%s", verb, resource, group)
						}
					}
				}
			}
		}
	}
	if roles != 2 {
		t.Errorf("the chart makes %d Roles: want one for each store", roles)
	}
	// vcluster waits for these before it does anything. Ingresses it may write with a role of their own.
	always := clusterRole(t, "virtual-argocd:control-plane")
	for group, resource := range map[string]string{"": "endpoints", "discovery.k8s.io": "endpointslices", "networking.k8s.io": "ingresses"} {
		for verb, want := range map[string]bool{"get": true, "list": true, "watch": true, "create": false, "update": false, "patch": false, "delete": false, "deletecollection": false} {
			if got := allowed(always, group, resource, "", verb); got != want {
				t.Errorf("%s %s: every control plane may is %t, want %t", verb, resource, got, want)
			}
		}
	}
	for group, resource := range map[string]string{"networking.k8s.io": "networkpolicies", "": "serviceaccounts", rbacv1.GroupName: "rolebindings", "policy": "podsecuritypolicies"} {
		if allowed(rules, group, resource, "", "create") {
			t.Errorf("the control plane may create %s", resource)
		}
	}
}

// TestWhoMayWriteRoutes: of the roles that are bound in a tenant's namespace, only the installer's has rights to objects of the Gateway API, and
// those are to HTTPRoutes. Crossplane and the providers have none anywhere.
func TestWhoMayWriteRoutes(t *testing.T) {
	roles := 0
	for _, o := range examples(t, "install/rbac.yaml", "install/priorities.yaml", "install/dns.yaml") {
		if o.GetKind() != "ClusterRole" && o.GetKind() != "Role" {
			continue
		}
		roles++
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			for _, group := range r.APIGroups {
				may := group == "gateway.networking.k8s.io" && role.Name == "virtual-argocd:installer" && slices.Equal(r.Resources, []string{"httproutes"})
				if (group == "*" || strings.HasPrefix(group, "gateway.")) && !may {
					t.Errorf("%s may %v %v of %s", role.Name, r.Verbs, r.Resources, group)
				}
			}
		}
	}
	if roles < 8 {
		t.Errorf("want all roles, got %d", roles)
	}
	for verb, want := range map[string]bool{"create": true, "get": true, "patch": true, "delete": true, "list": false, "watch": false, "update": false, "deletecollection": false} {
		if got := allowed(clusterRole(t, "virtual-argocd:installer"), "gateway.networking.k8s.io", "httproutes", tenant.RouteName, verb); got != want {
			t.Errorf("the installer may %s HTTPRoutes is %t, want %t", verb, got, want)
		}
	}
	// What the platform may read of its own Gateway.
	for _, o := range examples(t, "install/gateway.yaml") {
		role := &rbacv1.Role{}
		if o.GetKind() != "Role" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		if want := []rbacv1.PolicyRule{{APIGroups: []string{"gateway.networking.k8s.io"}, Resources: []string{"gateways"}, ResourceNames: []string{"public"}, Verbs: []string{"get", "patch"}}}; !reflect.DeepEqual(role.Rules, want) {
			t.Errorf("provider-kubernetes may %v", role.Rules)
		}
	}
}

// TestCrossplaneBindsTheseRoles: Crossplane may bind the roles that the function has it
// bind, each of which is there, and no others.
func TestCrossplaneBindsTheseRoles(t *testing.T) {
	for _, r := range clusterRole(t, "virtual-argocd:crossplane") {
		if !slices.Contains(r.Verbs, "bind") {
			continue
		}
		if len(r.ResourceNames) != 6 {
			t.Errorf("it may bind %v", r.ResourceNames)
		}
		for _, name := range r.ResourceNames {
			clusterRole(t, name)
		}
	}
}

// TestCrossplaneLabelsNamespaces: Crossplane may do to a namespace what its Usages do, and no more.
func TestCrossplaneLabelsNamespaces(t *testing.T) {
	rules := clusterRole(t, "virtual-argocd:crossplane")
	for verb, want := range map[string]bool{"get": true, "update": true, "patch": true, "list": false, "watch": false, "create": false, "delete": false} {
		if got := allowed(rules, "", "namespaces", "team-a", verb); got != want {
			t.Errorf("%s namespaces: allowed is %t, want %t", verb, got, want)
		}
	}
}

// No rule is so wide that reading it tells nothing.
func TestNoWildcards(t *testing.T) {
	for _, name := range []string{"virtual-argocd:provider-kubernetes", "virtual-argocd:installer", "virtual-argocd:control-plane"} {
		for _, r := range clusterRole(t, name) {
			for _, s := range slices.Concat(r.APIGroups, r.Resources, r.Verbs) {
				if slices.Contains([]string{"*", "escalate", "bind", "impersonate"}, s) {
					t.Errorf("%s: rule %v grants %q", name, r, s)
				}
			}
		}
	}
}

// TestRolesOfTeams: a customer's team may handle claims and nothing else, and only
// who may edit them may write. The same is true of the platform's team and channels, which no customer gets.
func TestRolesOfTeams(t *testing.T) {
	objects := examples(t, "install/claim-roles.yaml", "channels/roles.yaml")
	read := []string{"get", "list", "watch"}
	write := append(slices.Clone(read), "create", "update", "patch", "delete")
	want := map[string]struct {
		resource string
		verbs    []string
		// into are Kubernetes' roles that get the rules.
		into []string
	}{
		"virtual-argocd-view":          {"virtualargocds", read, []string{"admin", "edit", "view"}},
		"virtual-argocd-edit":          {"virtualargocds", append(slices.Clone(write), "deletecollection"), []string{"admin", "edit"}},
		"virtual-argocd-channels-view": {"xargocdchannels", read, nil},
		"virtual-argocd-channels-edit": {"xargocdchannels", write, nil},
	}
	for _, o := range objects {
		role := &rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		var into []string
		for label, on := range role.Labels {
			if name, ok := strings.CutPrefix(label, "rbac.authorization.k8s.io/aggregate-to-"); ok && on == "true" {
				into = append(into, name)
			}
		}
		slices.Sort(into)
		of := want[role.Name]
		delete(want, role.Name)
		groups := []string{"virtualargocd.io"}
		if of.resource == "virtualargocds" {
			groups = append(groups, "m.virtualargocd.io")
		}
		rule := rbacv1.PolicyRule{APIGroups: groups, Resources: []string{of.resource}, Verbs: of.verbs}
		if !reflect.DeepEqual(role.Rules, []rbacv1.PolicyRule{rule}) || !slices.Equal(into, of.into) {
			t.Errorf("%s grants %v, aggregated to %v", role.Name, role.Rules, into)
		}
	}
	for name := range want {
		t.Errorf("there is no ClusterRole %s", name)
	}
}

func allowed(rules []rbacv1.PolicyRule, group, resource, name, verb string) bool {
	return slices.ContainsFunc(rules, func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.APIGroups, group) && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb) &&
			(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name))
	})
}

func clusterRole(t *testing.T, name string) []rbacv1.PolicyRule {
	t.Helper()
	for _, o := range examples(t, "install/rbac.yaml", "install/priorities.yaml") {
		if o.GetKind() == "ClusterRole" && o.GetName() == name {
			role := &rbacv1.ClusterRole{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
				t.Fatal(err)
			}
			return role.Rules
		}
	}
	t.Fatalf("no ClusterRole %s", name)
	return nil
}

func renderVCluster(t *testing.T, of values.Values) []*unstructured.Unstructured {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	chart, err := charts.VCluster(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	out, err := charts.Render(chart, "vcluster", "vargo-x", of)
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 5 {
		t.Fatalf("the vcluster chart renders %d objects: want its control plane", len(out))
	}
	return out
}

// TestWhatStaysOnGoingBack: who goes back to the last release applies its rbac.yaml. Crossplane then removes from tenants what that release
// doesn't have, and must still be allowed to.
func TestWhatStaysOnGoingBack(t *testing.T) {
	for _, r := range clusterRole(t, "virtual-argocd:crossplane") {
		if slices.Contains(r.APIGroups, "flowcontrol.apiserver.k8s.io") {
			t.Errorf("v0.2.0 has a role of this name without the rule %v", r)
		}
	}
	rules := clusterRole(t, "virtual-argocd:crossplane-priorities")
	for _, resource := range []string{"flowschemas", "prioritylevelconfigurations"} {
		for _, verb := range []string{"get", "list", "watch", "update", "patch", "delete"} {
			if !allowed(rules, "flowcontrol.apiserver.k8s.io", resource, "x", verb) {
				t.Errorf("Crossplane may not %s %s", verb, resource)
			}
		}
	}
}
