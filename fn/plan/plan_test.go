package plan

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestTenantIDs: names are stable, bounded, valid, and never shared.
func TestTenantIDs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[string]string{}
	check := func(xr string) {
		t.Helper()
		id := TenantID(xr)
		if len(id) > maxTenantID || !dnsLabel.MatchString(id) {
			t.Fatalf("TenantID(%q) = %q: not a DNS label of %d characters or less", xr, id, maxTenantID)
		}
		if other, ok := seen[id]; ok && other != xr {
			t.Fatalf("XRs %q and %q are both tenant %q", other, xr, id)
		}
		seen[id] = xr
		n := NewNames(xr, "")
		for _, name := range []string{n.Namespace, n.KubeconfigSecret, n.PasswordSecret, n.ValuesSecret} {
			if len(name) > 63 || !dnsLabel.MatchString(name) {
				t.Fatalf("XR %q: name %q isn't a DNS label", xr, name)
			}
		}
	}
	const alphabet = "abx09-."
	for range 20000 {
		b := make([]byte, 1+r.IntN(80))
		for i := range b {
			b[i] = alphabet[r.IntN(len(alphabet))]
		}
		check(string(b))
		// What a hash makes of one name must not be the name of another XR.
		check(TenantID(string(b)))
	}
	if got := TenantID("customer1-7rw8j"); got != "customer1-7rw8j" {
		t.Errorf("a name that fits is kept: got %q", got)
	}
}

// TestEmptyMapsReplaceNothing: a claim's values are checked by what is in them, so that nothing may come of a map
// without.
func TestEmptyMapsReplaceNothing(t *testing.T) {
	under := values.Values{"a": "text", "b": values.Values{"c": true}}
	got := values.Merge(under, values.Values{"a": values.Values{"x": values.Values{}}, "b": values.Values{}, "d": values.Values{"emptyDir": values.Values{}}})
	if want := (values.Values{"a": "text", "b": values.Values{"c": true}, "d": values.Values{"emptyDir": values.Values{}}}); !reflect.DeepEqual(got, want) {
		t.Errorf("want %v, got %v", want, got)
	}
}

// TestPlatformWins: no claim that is accepted changes a protected value.
func TestPlatformWins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	plain, err := New(Request{XRName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ours, err := vclusterProtected(plain, withDefaults(Request{}.Input))
	if err != nil {
		t.Fatal(err)
	}
	protected := values.Leaves(ours)
	accepted := 0
	for range 20000 {
		claim := values.Values{}
		for range 1 + r.IntN(2) {
			path := strings.Split(values.VCluster.Rows[r.IntN(len(values.VCluster.Rows))].Path, ".")
			if r.IntN(2) == 0 {
				path = protected[r.IntN(len(protected))]
			}
			path = path[:1+r.IntN(len(path))]
			set(claim, path, []any{"evil", nil, []any{"evil"}, values.Values{}, values.Values{"evil": true}}[r.IntN(5)])
		}
		p, err := New(Request{XRName: "a", Spec: Spec{VClusterValues: claim}})
		if err != nil {
			if !strings.HasPrefix(err.Error(), "spec.vcluster.values.") {
				t.Fatalf("%v: the error doesn't name the path: %v", claim, err)
			}
			continue
		}
		accepted++
		for _, path := range protected {
			want, _ := values.Lookup(plain.VCluster.Values, path...)
			if got, _ := values.Lookup(p.VCluster.Values, path...); !reflect.DeepEqual(want, got) {
				t.Fatalf("claim %v changed protected %v: %v", claim, path, got)
			}
		}
	}
	if accepted == 0 {
		t.Fatal("no claim was accepted: nothing was tested")
	}
}

// TestProtectedValuesAreLast: where the platform's input has a protected value, too,
// the protected one counts.
func TestProtectedValuesAreLast(t *testing.T) {
	in := v1alpha1.Input{}
	in.Charts.VCluster.Values = &runtime.RawExtension{Raw: []byte(`{"controlPlane":{"statefulSet":{"env":[{"name":"A","value":"b"}]}}}`)}
	in.Charts.ArgoCD.Values = &runtime.RawExtension{Raw: []byte(`{"fullnameOverride":"mine"}`)}
	p, err := New(Request{XRName: "a", Input: in})
	if err != nil {
		t.Fatal(err)
	}
	env, _ := values.Lookup(p.VCluster.Values, pathOfEnvironment...)
	name, _ := values.Lookup(p.ArgoCD.Values, "fullnameOverride")
	if list, _ := env.([]any); len(list) != 2 || name != ArgoCDRelease {
		t.Errorf("want the variable of the input with the function's own, and name %s, got %v, %v", ArgoCDRelease, env, name)
	}
}

func set(v values.Values, path []string, to any) {
	for _, key := range path[:len(path)-1] {
		next, ok := v[key].(values.Values)
		if !ok {
			next = values.Values{}
			v[key] = next
		}
		v = next
	}
	v[path[len(path)-1]] = to
}

// FuzzMerge: the last layer's leaves win, and no layer is changed.
func FuzzMerge(f *testing.F) {
	f.Add(`{"a":{"b":1}}`, `{"a":{"c":2}}`)
	f.Add(`{"a":1}`, `{"a":{"b":null}}`)
	f.Add(`{"a":{"b":[1]}}`, `{"a":{"b":{}}}`)
	f.Fuzz(func(t *testing.T, under, over string) {
		var u, o values.Values
		if json.Unmarshal([]byte(under), &u) != nil || json.Unmarshal([]byte(over), &o) != nil {
			t.Skip("not objects")
		}
		before := fmt.Sprint(u, o)
		m := values.Merge(u, o)
		if fmt.Sprint(u, o) != before {
			t.Errorf("a layer was changed: %s, now %v %v", before, u, o)
		}
		for _, path := range values.Leaves(o) {
			want, _ := values.Lookup(o, path...)
			if got, ok := values.Lookup(m, path...); !ok || !reflect.DeepEqual(want, got) {
				t.Errorf("%v: want %v of the upper layer, got %v", path, want, got)
			}
		}
		if !reflect.DeepEqual(m, values.Merge(m, o)) {
			t.Error("merging the same layer again changes something")
		}
		if !reflect.DeepEqual(values.Merge(u), values.Merge(values.Values{}, u, values.Values{})) {
			t.Error("empty layers change something")
		}
	})
}

func TestWorkloads(t *testing.T) {
	base := []string{"server", "repo-server", "controller", "applicationset"}
	cases := map[string]struct {
		values string
		want   []string
	}{
		"Defaults":       {`{}`, append(base[:4:4], "notifications", "dex", "redis")},
		"SwitchedOff":    {`{"dex":{"enabled":false},"notifications":{"enabled":false},"redis":{"enabled":false}}`, base},
		"RedisHA":        {`{"redis-ha":{"enabled":true}}`, append(base[:4:4], "notifications", "dex", "redis-ha", "redis-proxy")},
		"RedisHADirect":  {`{"redis-ha":{"enabled":true,"haproxy":{"enabled":false}},"dex":{"enabled":null}}`, append(base[:4:4], "notifications", "redis-ha")},
		"CommitServer":   {`{"commitServer":{"enabled":true}}`, append(base[:4:4], "notifications", "commit-server", "dex", "redis")},
		"Idle":           {`{"applicationSet":{"replicas":0}}`, append(base[:4:4], "notifications", "dex", "redis")},
		"DynamicCluster": {`{"controller":{"dynamicClusterDistribution":true}}`, append(base[:4:4], "notifications", "dex", "redis")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := values.Values{}
			if err := json.Unmarshal([]byte(tc.values), &v); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range workloads(v) {
				got = append(got, w.Component)
				if want := name == "Idle" && w.Component == "applicationset"; w.Idle != want {
					t.Errorf("%s is idle: want %t, got %t", w.Component, want, w.Idle)
				}
				if want := name != "DynamicCluster"; w.Component == "controller" && (w.Kind == StatefulSet) != want {
					t.Errorf("the controller is a %s", w.Kind)
				}
			}
			if !reflect.DeepEqual(tc.want, got) {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}
