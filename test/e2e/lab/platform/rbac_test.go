package platform

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/charts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
)

// What the vcluster chart installs is what provider-helm needs rights for, with
// all that a claim, a plan or the function may switch on: this fails when another
// version of the chart needs more.
func TestProviderHelmMayInstallVCluster(t *testing.T) {
	rules := clusterRole(t, "virtual-argocd:provider-helm")
	on := map[string]any{"enabled": true}
	most := plan.Values{"sync": plan.Values{"toHost": plan.Values{"ingresses": on}}}
	for _, row := range plan.VClusterValues() {
		kind, ok := strings.CutPrefix(row.Path, "sync.toHost.")
		if kind, isSwitch := strings.CutSuffix(kind, ".enabled"); ok && isSwitch && row.Class != plan.Protected {
			most = plan.Merge(most, plan.Values{"sync": plan.Values{"toHost": plan.Values{kind: on}}})
		}
	}
	var all []*unstructured.Unstructured
	for _, data := range []v1alpha1.PlanData{{}, {VCluster: v1alpha1.PlanVCluster{Replicas: 3, BackingStore: plan.StoreEtcd}}} {
		p, err := plan.New(plan.Request{XRName: "x", Plan: plan.Chosen{Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, renderVCluster(t, plan.Merge(p.VCluster.Values, most))...)
	}
	for _, o := range all {
		group := o.GroupVersionKind().Group
		resource := strings.TrimSuffix(strings.ToLower(o.GetKind())+"s", "ys")
		if resource != strings.ToLower(o.GetKind())+"s" {
			resource += "ies"
		}
		for _, verb := range []string{"create", "get", "patch", "delete"} {
			if !allowed(rules, group, resource, o.GetName(), verb) {
				t.Errorf("%s %s: the provider may not %s %s", o.GetKind(), o.GetName(), verb, resource)
			}
		}
		if o.GetKind() != "Role" {
			continue
		}
		role := &rbacv1.Role{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, role); err != nil {
			t.Fatal(err)
		}
		for _, r := range role.Rules {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					for _, verb := range r.Verbs {
						if !allowed(rules, group, resource, "", verb) {
							t.Errorf("the provider can't create Role %s, which grants what it does not hold: %s %s.%s", o.GetName(), verb, resource, group)
						}
					}
				}
			}
		}
	}
}

// No rule is so wide that reading it tells nothing.
func TestNoWildcards(t *testing.T) {
	for _, name := range []string{"virtual-argocd:provider-helm", "virtual-argocd:provider-kubernetes"} {
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
// who may edit them may write.
func TestRolesOfTeams(t *testing.T) {
	objects, err := readManifests("../../../../examples/install/claim-roles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	read := []string{"get", "list", "watch"}
	want := map[string]struct {
		verbs []string
		// into are Kubernetes' roles that get the rules.
		into []string
	}{
		"virtual-argocd-view": {read, []string{"admin", "edit", "view"}},
		"virtual-argocd-edit": {append(slices.Clone(read), "create", "update", "patch", "delete", "deletecollection"), []string{"admin", "edit"}},
	}
	if len(objects) != len(want) {
		t.Errorf("there are %d objects", len(objects))
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
		rule := rbacv1.PolicyRule{APIGroups: []string{"virtualargocd.io"}, Resources: []string{"virtualargocds"}, Verbs: want[role.Name].verbs}
		if !reflect.DeepEqual(role.Rules, []rbacv1.PolicyRule{rule}) || !slices.Equal(into, want[role.Name].into) {
			t.Errorf("%s grants %v, aggregated to %v", role.Name, role.Rules, into)
		}
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
	objects, err := readManifests("../../../../examples/install/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
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

func renderVCluster(t *testing.T, of plan.Values) []*unstructured.Unstructured {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	chart, err := charts.VCluster(t.Context(), cache)
	if err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(chart, of,
		chartutil.ReleaseOptions{Name: "vcluster", Namespace: "vargo-x", IsInstall: true},
		&chartutil.Capabilities{KubeVersion: chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}})
	if err != nil {
		t.Fatal(err)
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for name, content := range files {
		for _, doc := range strings.Split(content, "\n---\n") {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(doc), &o.Object); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if o.GetKind() != "" {
				out = append(out, o)
			}
		}
	}
	if len(out) < 5 {
		t.Fatalf("the vcluster chart renders %d objects: want its control plane", len(out))
	}
	return out
}
