package vcluster

import (
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// given returns a stack in which the function's input has some values.
func given(t *testing.T, input values.Values) *values.Stack {
	t.Helper()
	s, err := values.NewStack(values.VCluster, []values.Layer{{Owner: values.Input, Field: "input.charts.vcluster.values", Values: input}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

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
			set, err := podRequests(version, given(t, nil))
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

// TestRequestsLeaveThePlatformsOwn: what the platform has the API server do stays.
func TestRequestsLeaveThePlatformsOwn(t *testing.T) {
	there := values.Values{}
	values.Insert(there, []any{"--event-ttl=30m"}, pathOfArguments...)
	values.Insert(there, "kind: ConfigMap", pathOfManifests...)
	set, err := podRequests("v1.35.4", given(t, there))
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
		if _, err := podRequests("v1.35.4", given(t, wrong)); err == nil || !strings.Contains(err.Error(), strings.Join(path, ".")) {
			t.Errorf("a number at %v: %v", path, err)
		}
	}
}

// TestHostRequests: a virtual cluster asks so much of the host and no more, unless the
// platform says otherwise.
func TestHostRequests(t *testing.T) {
	own := map[string]any{"name": "VCLUSTER_PHYSICAL_CLIENT_QPS", "value": "10"}
	other, more := map[string]any{"name": "A", "value": "b"}, map[string]any{"name": "VCLUSTER_PHYSICAL_CLIENT_QPS", "value": "80"}
	for name, tc := range map[string]struct{ platforms, want []any }{
		"Nothing":  {nil, []any{own}},
		"Other":    {[]any{other}, []any{other, own}},
		"MoreThan": {[]any{more}, []any{more}},
	} {
		t.Run(name, func(t *testing.T) {
			v := values.Values{}
			if tc.platforms != nil {
				values.Insert(v, tc.platforms, PathOfEnvironment...)
			}
			got, err := environment(given(t, v))
			if err != nil || !reflect.DeepEqual(got, tc.want) {
				t.Errorf("want %v, got %v, %v", tc.want, got, err)
			}
		})
	}
	v := values.Values{}
	values.Insert(v, "A=b", PathOfEnvironment...)
	if _, err := environment(given(t, v)); err == nil || !strings.Contains(err.Error(), "input.charts.vcluster.values.controlPlane.statefulSet.env: is not a list") {
		t.Errorf("got %v", err)
	}
}
