package vcluster

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestRequestsOfContainers: each version of Kubernetes gets what it knows, and none what another's control plane would have
// to take away.
func TestRequestsOfContainers(t *testing.T) {
	for version, want := range map[string]struct{ arguments, policies string }{
		"v1.32.9": {"", ""},
		"v1.33.1": {"InPlacePodVerticalScaling=false", ""},
		"v1.34.2": {"InPlacePodVerticalScaling=false", ""},
		"v1.35.4": {"MutatingAdmissionPolicy=true", "admissionregistration.k8s.io/v1beta1"},
		"v1.36.0": {"MutatingAdmissionPolicy=true", "admissionregistration.k8s.io/v1beta1"},
	} {
		t.Run(version, func(t *testing.T) {
			set, err := podRequests(version, &values.Stack{})
			if err != nil {
				t.Fatal(err)
			}
			arguments, _ := values.Lookup(set, "controlPlane", "distro", "k8s", "apiServer", "extraArgs")
			list, _ := arguments.([]any)
			if first := append(list, "")[0].(string); !strings.HasSuffix(first, want.arguments) || (first == "") != (want.arguments == "") {
				t.Errorf("arguments %v, want %s", list, want.arguments)
			}
			text, _ := values.Lookup(set, "experimental", "deploy", "vcluster", "manifests")
			manifests, _ := text.(string)
			// The policy requests what the host's LimitRange gives such a container.
			cpu := values.At[string](Defaults(), "policies", "limitRange", "defaultRequest", "cpu")
			if manifests != "" && (cpu == "" || !strings.Contains(manifests, `requests: {"cpu": "`+cpu+`"}`)) {
				t.Errorf("the policy doesn't request %q of CPU", cpu)
			}
			for _, manifest := range strings.Split(manifests, "---\n") {
				o := struct{ APIVersion, Kind string }{}
				if err := yaml.Unmarshal([]byte(manifest), &o); err != nil || o.APIVersion != want.policies {
					t.Errorf("a %s of %s, want %s: %v", o.Kind, o.APIVersion, want.policies, err)
				}
			}
		})
	}
}

// TestLeaderElection: where there may be two controller managers, one is elected.
func TestLeaderElection(t *testing.T) {
	own := values.Values{}
	values.Insert(own, []any{"--v=2"}, pathOfManagerArguments...)
	wrong := values.Values{}
	values.Insert(wrong, "--v=2", pathOfManagerArguments...)
	for name, tc := range map[string]struct {
		store string
		own   []values.Values
		want  []any
		fails bool
	}{
		"One":           {store: plan.StoreSQLite, want: []any{"--leader-elect=false"}},
		"PlatformsLast": {store: plan.StoreSQLite, own: []values.Values{own}, want: []any{"--leader-elect=false", "--v=2"}},
		"NotAList":      {store: plan.StoreSQLite, own: []values.Values{wrong}, fails: true},
		"Several":       {store: plan.StoreEtcd},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := leaderElection(tenant.Store{Kind: tc.store}, platforms(t, tc.own...))
			got, _ := values.Lookup(set, pathOfManagerArguments...)
			if list, _ := got.([]any); !reflect.DeepEqual(list, tc.want) || (err != nil) != tc.fails {
				t.Errorf("want %v, got %v, %v", tc.want, got, err)
			}
		})
	}
}

// TestRequestsLeaveThePlatformsOwn: what the platform has the API server do stays.
func TestRequestsLeaveThePlatformsOwn(t *testing.T) {
	there := values.Values{}
	values.Insert(there, []any{"--event-ttl=30m"}, pathOfArguments...)
	values.Insert(there, "kind: ConfigMap", pathOfManifests...)
	set, err := podRequests("v1.35.4", platforms(t, there))
	if err != nil {
		t.Fatal(err)
	}
	arguments, _ := values.Lookup(set, pathOfArguments...)
	if list, _ := arguments.([]any); len(list) != 3 || list[0] != "--event-ttl=30m" {
		t.Errorf("arguments %v", arguments)
	}
	manifests, _ := values.Lookup(set, pathOfManifests...)
	if text, _ := manifests.(string); !strings.HasPrefix(text, "kind: ConfigMap\n---\n") || !strings.Contains(text, "MutatingAdmissionPolicyBinding") {
		t.Errorf("manifests %v", manifests)
	}
	for _, path := range [][]string{pathOfArguments, pathOfManifests} {
		wrong := values.Values{}
		values.Insert(wrong, float64(1), path...)
		if _, err := podRequests("v1.35.4", platforms(t, wrong)); err == nil || !strings.Contains(err.Error(), "input."+strings.Join(path, ".")+": is not ") {
			t.Errorf("a number at %v: %v", path, err)
		}
	}
}

// platforms returns the values of a platform: those of its input, of a channel and of a plan.
func platforms(t *testing.T, of ...values.Values) *values.Stack {
	t.Helper()
	var layers []values.Layer
	for i, v := range of {
		owner := []values.Owner{values.Input, values.Channel, values.Plan}[i]
		layers = append(layers, values.Layer{Field: mistakes.Field{Owner: owner, Path: []string{"input", "channel", "plan"}[i]}, Values: v})
	}
	s, err := values.NewStack(values.VCluster, nil, layers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestEnvironment: a virtual cluster asks so much of the host and no more, unless the platform says otherwise, and has
// what the input, a channel and a plan set.
func TestEnvironment(t *testing.T) {
	variable := func(name, value string) any { return map[string]any{"name": name, "value": value} }
	own, other, more := variable("VCLUSTER_PHYSICAL_CLIENT_QPS", "10"), variable("A", "b"), variable("VCLUSTER_PHYSICAL_CLIENT_QPS", "80")
	type lists [][]any
	for name, tc := range map[string]struct {
		reason    string
		platforms lists
		want      []any
	}{
		"Nothing":      {"The function has its own.", nil, []any{own}},
		"Other":        {"It adds that to the input's.", lists{{other}}, []any{other, own}},
		"MoreRequests": {"The platform may set another number.", lists{{more}}, []any{more}},
		"Channel":      {"A channel may set what the input may.", lists{nil, {other}}, []any{other, own}},
		"Plan":         {"So may a plan.", lists{nil, nil, {other}}, []any{other, own}},
		"PlanAndInput": {"A plan that sets one doesn't undo another.", lists{{more}, nil, {other}}, []any{more, other}},
		"SameName":     {"The plan's is over the channel's, which is over the input's.", lists{{variable("A", "a"), other}, {variable("A", "c")}, {variable("A", "d")}}, []any{variable("A", "d"), own}},
	} {
		t.Run(name, func(t *testing.T) {
			var layers []values.Values
			for _, list := range tc.platforms {
				v := values.Values{}
				if list != nil {
					values.Insert(v, list, PathOfEnvironment...)
				}
				layers = append(layers, v)
			}
			got, err := environment(platforms(t, layers...))
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("%s\nwant %v, got %v, %v", tc.reason, tc.want, got, err)
			}
		})
	}
	v := values.Values{}
	values.Insert(v, "A=b", PathOfEnvironment...)
	if _, err := environment(platforms(t, nil, nil, v)); err == nil || !strings.Contains(err.Error(), "plan.controlPlane.statefulSet.env: is not a list") {
		t.Errorf("got %v", err)
	}
}
