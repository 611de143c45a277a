package vcluster

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestSetDNS: whom a virtual cluster's DNS asks.
func TestSetDNS(t *testing.T) {
	of := func(address string) tenant.Given {
		return tenant.Given{HostResolver: tenant.HostResolver{Read: true, Address: address}}
	}
	platform := func(path string, v string) *values.Stack {
		set := values.Values{}
		values.Insert(set, v, strings.Split(path, ".")...)
		s, err := values.NewStack(values.VCluster, nil, []values.Layer{{Field: mistakes.Field{Owner: values.Input, Path: "input.charts.vcluster.values"}, Values: set}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	own := of("10.96.0.53")
	own.Platform.Network.DNS = &v1alpha1.DNS{Address: "10.0.0.2"}
	had := of("")
	had.Running = tenant.Running{Installed: true, Corefile: "before"}
	had2 := of("10.96.0.53")
	had2.Running = had.Running
	old := of("")
	old.Running = tenant.Running{Installed: true}
	upgraded := of("fd00::53")
	upgraded.Running = old.Running
	cases := map[string]struct {
		given tenant.Given
		set   *values.Stack
		// want is in the Corefile; "" for none.
		want  string
		keeps bool
	}{
		"Resolver":                  {given: of("10.96.0.53"), want: "forward . 10.96.0.53\n"},
		"OwnResolver":               {given: own, want: "forward . 10.0.0.2\n"},
		"None":                      {given: of("")},
		"KeepsWhatItHas":            {given: had, want: "before"},
		"AddressChanges":            {given: had2, want: "forward . 10.96.0.53\n"},
		"OldTenantWithoutResolver":  {given: old, keeps: true},
		"OldTenantGetsTheResolver":  {given: upgraded, want: "forward . fd00::53\n", keeps: true},
		"PlatformsOwnConfiguration": {given: of("10.96.0.53"), set: platform("controlPlane.coredns.overwriteConfig", "own"), want: "own"},
		"PlatformsOwnDomain":        {given: of("10.96.0.53"), set: platform("networking.advanced.clusterDomain", "corp.test"), want: "kubernetes corp.test cluster.local in-addr.arpa"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := &tenant.Decision{}
			if tc.set == nil {
				tc.set = &values.Stack{}
			}
			SetDNS(d, tc.given, tc.set)
			if d.KeepsHostDNS != tc.keeps || !strings.Contains(d.Corefile, tc.want) || tc.want == "" && d.Corefile != "" {
				t.Errorf("want %q, keeps the host's DNS: %t; got %t, %s", tc.want, tc.keeps, d.KeepsHostDNS, d.Corefile)
			}
			if strings.Contains(d.Corefile, "RESOLVER") || strings.Contains(d.Corefile, "DOMAINS") || strings.Contains(d.Corefile, "resolv.conf") {
				t.Errorf("not filled in, or asks the node's resolvers: %s", d.Corefile)
			}
		})
	}
}
