package policy

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestTemplates: provider-helm renders nothing of a claim's own.
func TestTemplates(t *testing.T) {
	const template = `{{ repeat 1099511627776 "a" }}`
	cases := map[string]struct {
		path string
		to   any
		free bool
	}{
		"Object":              {"extraObjects", []any{values.Values{"kind": "ConfigMap", "data": values.Values{"a": template}}}, false},
		"ObjectAsText":        {"extraObjects", []any{template}, false},
		"Key":                 {"extraObjects", []any{values.Values{template: "a"}}, false},
		"KeyOfTheChart":       {"server.podAnnotations." + template, "a", false},
		"Container":           {"server.extraContainers", []any{values.Values{"name": "a", "args": []any{template}}}, false},
		"SubchartsTemplate":   {"redis-ha.haproxy.customConfig", template, false},
		"NotificationsInits":  {"notifications.initContainers", []any{template}, false},
		"MessageOfArgoCD":     {"notifications.templates.app", "{{ .app.metadata.name }}", true},
		"SettingOfArgoCD":     {"configs.cm.help", "{{ x }}", true},
		"OneBrace":            {"server.podAnnotations.a", "{ {x} }", true},
		"LookalikeOfSettings": {"configsx.cm", template, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := values.Values{}
			path := strings.SplitN(tc.path, ".", 3)
			values.Insert(v, tc.to, path...)
			err := Templates(tenant.Given{Spec: tenant.Ask{ArgoCDValues: v}}, nil)
			if (err == nil) != tc.free {
				t.Fatalf("want possible: %v, got %v", tc.free, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "spec.argocd.values."+path[0]) {
				t.Errorf("the error doesn't begin with the path: %v", err)
			}
		})
	}
}

// TestReplicasOfClaims: a claim's numbers take no memory of the process that renders
// for all tenants.
func TestReplicasOfClaims(t *testing.T) {
	for name, tc := range map[string]struct {
		values values.Values
		want   string
	}{
		"Usual":        {values.Values{"server": values.Values{"replicas": 3., "autoscaling": values.Values{"maxReplicas": 10.}}, "redis-ha": values.Values{"enabled": true}}, ""},
		"None":         {values.Values{"dex": values.Values{"replicas": nil}}, ""},
		"NotTheCharts": {values.Values{"configs": values.Values{"cm": values.Values{"replicas": "many"}}}, ""},
		"TooMany":      {values.Values{"redis-ha": values.Values{"enabled": true, "replicas": 2e9}}, "spec.argocd.values.redis-ha.replicas: "},
		"TooManyText":  {values.Values{"redis-ha": values.Values{"replicas": "2000000000"}}, "write a number from 0 to 200"},
		"Hexadecimal":  {values.Values{"redis-ha": values.Values{"replicas": "0x7fffffff"}}, "write a number from 0 to 200"},
		"NoNumber":     {values.Values{"redis-ha": values.Values{"replicas": "NaN"}}, "write a number from 0 to 200"},
		"Proxies":      {values.Values{"redis-ha": values.Values{"haproxy": values.Values{"replicas": 1e6}}}, "spec.argocd.values.redis-ha.haproxy.replicas"},
		"Autoscaled":   {values.Values{"server": values.Values{"autoscaling": values.Values{"maxReplicas": 1e9}}}, "maxReplicas"},
		"NoSwitch":     {values.Values{"redis-ha": values.Values{"enabled": 0.}}, "redis-ha.enabled: \"0\" is neither true nor false"},
		"NullSwitch":   {values.Values{"redis-ha": values.Values{"enabled": nil}}, "neither true nor false"},
		"EmptySwitch":  {values.Values{"redis-ha": values.Values{"enabled": ""}}, "neither true nor false"},
	} {
		t.Run(name, func(t *testing.T) {
			err := replicas(tenant.Given{Spec: tenant.Ask{ArgoCDValues: tc.values}})
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

// TestClaimsAddNoManifest: nothing that a claim sets ends the manifest that the chart
// writes it into.
func TestClaimsAddNoManifest(t *testing.T) {
	const injected = "console\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: kube-system}\n---\n"
	for _, row := range values.VCluster.Rows {
		if row.Class != values.OfTenant {
			continue
		}
		path := strings.Split(row.Path, ".")
		for name, to := range map[string]any{"a text": injected, "a key": values.Values{injected: "1"}, "a text below": values.Values{"x": injected}, "a list": []any{injected}, "texts in a list": values.Values{"x": []any{values.Values{"y": injected}}}} {
			v := values.Values{}
			values.Insert(v, to, path...)
			if err := plainValues(tenant.Given{Spec: tenant.Ask{VClusterValues: v}}); err == nil || !strings.HasPrefix(err.Error(), "spec.vcluster.values."+row.Path) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %s with line breaks is not refused as it should be: %v", row.Path, name, err)
			}
		}
	}
	for encoding, possible := range map[any]bool{"json": true, "console": true, "": false, "xml": false, true: false} {
		spec := tenant.Ask{VClusterValues: values.Values{"logging": values.Values{"encoding": encoding}}}
		if err := plainValues(tenant.Given{Spec: spec}); (err == nil) != possible {
			t.Errorf("encoding %v: want possible: %v, got %v", encoding, possible, err)
		}
	}
}
