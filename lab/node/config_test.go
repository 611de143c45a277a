package node

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

func TestFromEnvironment(t *testing.T) {
	cases := map[string]struct {
		reason      string
		name, index string
		wantName    string
		wantIndex   int
		wantErr     string
	}{
		"NothingSet":          {reason: "The first cluster needs no configuration.", wantName: "default"},
		"NameAndIndex":        {reason: "A second one is named.", name: "other", index: "7", wantName: "other", wantIndex: 7},
		"IndexIsNoNumber":     {reason: "A typo is not index 0.", index: "x", wantErr: "VARGO_CLUSTER_INDEX=x"},
		"IndexOutOfRange":     {reason: "It is a part of an IPv4 address.", index: "256", wantErr: "from 0 to 255"},
		"NameLeavesTheFolder": {reason: "The name is a folder that Down removes.", name: "../x", wantErr: `"../x"`},
		"NameTooLong":         {reason: "It is in names that the kernel cuts.", name: strings.Repeat("a", 31), wantErr: "30 characters"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Setenv("VARGO_CLUSTER", tc.name)
			t.Setenv("VARGO_CLUSTER_INDEX", tc.index)
			got, err := FromEnvironment(toolchain.At("/cache"))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("\n%s\nFromEnvironment(): want error with %q, got %v", tc.reason, tc.wantErr, err)
				}
				return
			}
			if err != nil || got.Name != tc.wantName || got.Index != tc.wantIndex {
				t.Errorf("\n%s\nFromEnvironment(): want %s %d, got %s %d, error %v", tc.reason, tc.wantName, tc.wantIndex, got.Name, got.Index, err)
			}
		})
	}
}

func TestClustersShareNoAddress(t *testing.T) {
	a, b := AddressesOf(0), AddressesOf(1)
	for _, pair := range [][2]string{
		{a.Machine, b.Machine}, {a.Uplink, b.Uplink}, {a.Node, b.Node}, {a.Pods, b.Pods}, {a.Services, b.Services},
		{a.DNS, b.DNS}, {a.Registry, b.Registry}, {a.Charts, b.Charts}, {a.Server, b.Server}, {a.Interface, b.Interface},
		{a.Ingress, b.Ingress}, {a.Domain, b.Domain},
	} {
		if pair[0] == pair[1] {
			t.Errorf("both clusters have %s", pair[0])
		}
	}
	if a.Registry != "10.244.0.1:5000" || a.Charts != "http://10.244.0.1:8879/" || a.Domain != "10-96-0-11.sslip.io" {
		t.Errorf("the Composition of the embedded cluster names other addresses than %s, %s and %s", a.Registry, a.Charts, a.Domain)
	}
}

func TestSameAs(t *testing.T) {
	running := &record{Name: "default", Index: 2, ArgoCDChart: "/charts/argo-cd"}
	cases := map[string]struct {
		cfg  Config
		want string
	}{
		"AsItRuns":      {cfg: Config{Index: 2, ArgoCDChart: "/charts/argo-cd"}},
		"OtherIndex":    {cfg: Config{Index: 0, ArgoCDChart: "/charts/argo-cd"}, want: "index"},
		"OtherChart":    {cfg: Config{Index: 2}, want: "ARGOCD_CHART"},
		"OtherUpstream": {cfg: Config{Index: 2, ArgoCDChart: "/charts/argo-cd", Upstream: true}, want: "UPSTREAM"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := sameAs(running, tc.cfg)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("sameAs(...): want error with %q, got %v", tc.want, err)
			}
		})
	}
}
