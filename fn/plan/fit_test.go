package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// TestFits: what bounds a tenant leaves its own pods what they need, or is told to
// whose mistake it is.
func TestFits(t *testing.T) {
	cases := map[string]struct {
		plan             string
		vcluster, argocd string // the platform's values
		claimed          string // the claim's, of the vcluster chart
		claimedOfArgoCD  string
		want             string // beginning of the error, "" for none
	}{
		"BuiltIn": {},
		"ControlPlaneOverMax": {
			plan: `{"limits":{"max":{"memory":"1Gi"}}}`,
			want: "plan p: data.limits.max.memory: is 1Gi, and data.vcluster.resources.limits.memory, built in, is 2Gi: write at least 2Gi here, or at most 1Gi there",
		},
		"MaxWithSmallerControlPlane": {plan: `{"limits":{"max":{"memory":"1Gi"}},"vcluster":{"resources":{"limits":{"memory":"1Gi"}}}}`},
		"ControlPlaneOverMaxBoth": {
			plan: `{"limits":{"max":{"memory":"1Gi"}},"vcluster":{"resources":{"limits":{"memory":"3Gi"}}}}`,
			want: "plan p: data.limits.max.memory: is 1Gi, and data.vcluster.resources.limits.memory is 3Gi: write at least 3Gi here, or at most 1Gi there",
		},
		"InitContainerOverMax": {
			plan: `{"limits":{"max":{"cpu":"1"}},"vcluster":{"resources":{"limits":{"cpu":"1"}}}}`,
			want: "plan p: data.limits.max.cpu: is 1, and data.values.vcluster.controlPlane.distro.k8s.resources.limits.cpu, built in, is 2: write at least 2",
		},
		"DNSOverMax": {
			plan: `{"limits":{"max":{"cpu":"500m"},"default":{"cpu":"500m"}},"vcluster":{"resources":{"limits":{"cpu":"500m"}}},
				"values":{"vcluster":{"controlPlane":{"distro":{"k8s":{"resources":{"limits":{"cpu":"500m"}}}}}}}}`,
			want: "plan p: data.limits.max.cpu: is 500m, and data.values.vcluster.controlPlane.coredns.deployment.resources.limits.cpu, built in, is 1:",
		},
		"EtcdOverDefault": {
			plan: `{"vcluster":{"backingStore":"etcd"},"limits":{"default":{"memory":"128Mi"}}}`,
			want: "plan p: data.limits.default.memory: is 128Mi, and data.values.vcluster.controlPlane.backingStore.etcd.deploy.statefulSet.resources.requests.memory, built in, is 150Mi: write at least 150Mi",
		},
		"NoEtcd": {plan: `{"limits":{"default":{"memory":"128Mi"}}}`},
		"EtcdOverMax": {
			plan: `{"vcluster":{"backingStore":"etcd"},"limits":{"max":{"memory":"2Gi"}},"values":{"vcluster":{"controlPlane":{"backingStore":{"etcd":{"deploy":{"statefulSet":{"resources":{"limits":{"memory":"4Gi"}}}}}}}}}}`,
			want: "plan p: data.limits.max.memory: is 2Gi, and data.values.vcluster.controlPlane.backingStore.etcd.deploy.statefulSet.resources.limits.memory is 4Gi:",
		},
		"ArgoCDOverMax": {
			plan: `{"limits":{"max":{"memory":"2Gi"}},"argocd":{"controller":{"resources":{"limits":{"memory":"3Gi"}}}}}`,
			want: "plan p: data.limits.max.memory: is 2Gi, and data.argocd.controller.resources.limits.memory is 3Gi:",
		},
		"RedisOverMax": {
			plan: `{"limits":{"max":{"memory":"2Gi"}},"argocd":{"ha":true,"redis":{"resources":{"limits":{"memory":"3Gi"}}}}}`,
			want: "plan p: data.limits.max.memory: is 2Gi, and data.argocd.redis.resources.limits.memory is 3Gi:",
		},
		"ArgoCDRequestOverLimit": {
			plan: `{"argocd":{"server":{"resources":{"requests":{"cpu":"2"},"limits":{"cpu":"1"}}}}}`,
			want: "plan p: data.argocd.server.resources.limits.cpu: is 1, and data.argocd.server.resources.requests.cpu is 2: write at least 2 here, or at most 1 there",
		},
		"ArgoCDRequestOverDefault": {
			plan: `{"argocd":{"server":{"resources":{"requests":{"memory":"2Gi"}}}}}`,
			want: "plan p: data.argocd.server.resources.requests.memory: is 2Gi, and data.limits.default.memory, built in, is 1Gi: write at most 1Gi here, or at least 2Gi there",
		},
		"ControlPlaneRequestOverLimit": {
			plan: `{"vcluster":{"resources":{"requests":{"memory":"3Gi"}}}}`,
			want: "plan p: data.vcluster.resources.requests.memory: is 3Gi, and data.vcluster.resources.limits.memory, built in, is 2Gi: write at most 2Gi here, or at least 3Gi there",
		},
		"MaxUnderDefault": {
			plan: `{"limits":{"max":{"cpu":"500m"}}}`,
			want: "plan p: data.limits.max.cpu: is 500m, and data.limits.default.cpu, built in, is 1: write at least 1 here, or at most 500m there",
		},
		"DefaultUnderDefaultRequest": {
			plan: `{"limits":{"default":{"memory":"32Mi"}}}`,
			want: "plan p: data.limits.default.memory: is 32Mi, and data.limits.defaultRequest.memory, built in, is 64Mi: write at least 64Mi here, or at most 32Mi there",
		},
		"DefaultRequestOverDefault": {
			plan: `{"limits":{"defaultRequest":{"memory":"2Gi"}}}`,
			want: "plan p: data.limits.defaultRequest.memory: is 2Gi, and data.limits.default.memory, built in, is 1Gi: write at most 1Gi here, or at least 2Gi there",
		},
		"MinOverDefaultRequest": {
			plan: `{"values":{"vcluster":{"policies":{"limitRange":{"min":{"memory":"128Mi"}}}}}}`,
			want: "plan p: data.values.vcluster.policies.limitRange.min.memory: is 128Mi, and data.limits.defaultRequest.memory, built in, is 64Mi: write at most 64Mi here, or at least 128Mi there",
		},
		"MinOverWhatThePolicyGives": {
			plan: `{"limits":{"defaultRequest":{"cpu":"20m"}},"values":{"vcluster":{"policies":{"limitRange":{"min":{"cpu":"20m"}}}}}}`,
			want: "plan p: data.values.vcluster.policies.limitRange.min.cpu: is 20m, and what the virtual cluster has containers request that name nothing is 10m: write at most 10m",
		},
		"DefaultUnderWhatThePolicyGives": {
			plan: `{"limits":{"default":{"cpu":"5m"},"defaultRequest":{"cpu":"5m"}}}`,
			want: "plan p: data.limits.default.cpu: is 5m, and what the virtual cluster has containers request that name nothing is 10m: write at least 10m",
		},
		"OtherResource": {
			plan: `{"limits":{"default":{"example.org/gpu":"2"},"max":{"example.org/gpu":"1"}}}`,
			want: "plan p: data.limits.max.example.org/gpu: is 1, and data.limits.default.example.org/gpu is 2",
		},
		"NotAnAmount": {
			plan: `{"values":{"vcluster":{"policies":{"resourceQuota":{"quota":{"limits.cpu":"many"}}}}}}`,
			want: `plan p: data.values.vcluster.policies.resourceQuota.quota.limits.cpu: "many" is not an amount: write one such as 500m or 2Gi`,
		},

		"QuotaOfMemory": {
			plan: `{"quota":{"limits.memory":"1Gi"}}`,
			want: "plan p: data.quota.limits.memory: is 1Gi, and Argo CD and its virtual cluster take 9386Mi: the control plane 2Gi, DNS 170Mi, Argo CD 7Gi: write at least 9386Mi",
		},
		"QuotaOfCPU": {
			plan: `{"quota":{"limits.cpu":"2"}}`,
			want: "plan p: data.quota.limits.cpu: is 2, and Argo CD and its virtual cluster take 12: the control plane 4, DNS 1, Argo CD 7: write at least 12",
		},
		"QuotaExactly":     {plan: `{"quota":{"limits.cpu":12,"limits.memory":"9386Mi","count/pods":9,"requests.storage":"1Gi"}}`},
		"QuotaOfPods":      {plan: `{"quota":{"count/pods":8}}`, want: "plan p: data.quota.count/pods: is 8, and Argo CD and its virtual cluster take 9:"},
		"QuotaOfPodsShort": {plan: `{"quota":{"pods":8}}`, want: "plan p: data.quota.pods: is 8"},
		"QuotaOfRequests":  {plan: `{"quota":{"requests.memory":"1Gi"}}`, want: "plan p: data.quota.requests.memory: is 1Gi"},
		"QuotaShort":       {plan: `{"quota":{"memory":"1Gi"}}`, want: "plan p: data.quota.memory: is 1Gi"},
		"QuotaOfStorage": {
			plan: `{"quota":{"requests.storage":"1Gi"},"vcluster":{"storage":{"size":"2Gi"}}}`,
			want: "plan p: data.quota.requests.storage: is 1Gi, and Argo CD and its virtual cluster take 2Gi: the store 2Gi: write at least 2Gi",
		},
		"QuotaInValues": {
			plan: `{"values":{"vcluster":{"policies":{"resourceQuota":{"quota":{"limits.cpu":"2"}}}}}}`,
			want: "plan p: data.values.vcluster.policies.resourceQuota.quota.limits.cpu: is 2",
		},
		"Surge": {
			plan: `{"vcluster":{"backingStore":"etcd","replicas":3},"quota":{"limits.cpu":"26"}}`,
			want: "plan p: data.quota.limits.cpu: is 26, and Argo CD and its virtual cluster take 27: the control plane 16, etcd 3, DNS 1, Argo CD 7: write at least 27",
		},
		"SurgeFits": {plan: `{"vcluster":{"backingStore":"etcd","replicas":3},"quota":{"limits.cpu":"27"}}`},
		"Replicas": {
			plan: `{"argocd":{"server":{"replicas":50},"repoServer":{"replicas":50}}}`,
			want: "plan p: data.quota.count/pods: is 60, and Argo CD and its virtual cluster take 107:",
		},
		"HighAvailability": {
			plan: `{"argocd":{"ha":true},"quota":{"count/pods":16}}`,
			want: "plan p: data.quota.count/pods: is 16, and Argo CD and its virtual cluster take 17: the control plane 1, DNS 1, Argo CD 15",
		},
		"FewerWorkloads": {plan: `{"quota":{"count/pods":7},"values":{"argocd":{"dex":{"enabled":false},"notifications":{"enabled":false}}}}`},

		"InputOverMax": {
			vcluster: `{"policies":{"limitRange":{"max":{"memory":"1Gi"}}}}`,
			want:     "input.charts.vcluster.values.policies.limitRange.max.memory: is 1Gi, and data.vcluster.resources.limits.memory, built in, is 2Gi",
		},
		"PlanUnderInput": {
			plan: `{"limits":{"max":{"memory":"2Gi"}}}`, argocd: `{"controller":{"resources":{"limits":{"memory":"3Gi"}}}}`,
			want: "plan p: data.limits.max.memory: is 2Gi, and input.charts.argocd.values.controller.resources.limits.memory is 3Gi: write at least 3Gi",
		},
		"InputOverQuota": {
			argocd: `{"server":{"replicas":90}}`,
			want:   "input.charts.vcluster.values.policies.resourceQuota.quota.count/pods: is 60",
		},
		"ReplicasOfInput": {argocd: `{"server":{"replicas":"two"}}`, want: `input.charts.argocd.values.server.replicas: "two" is not a number of replicas`},

		"ClaimOverMax": {
			plan: `{"limits":{"max":{"memory":"2Gi"}}}`, claimed: `{"controlPlane":{"statefulSet":{"resources":{"limits":{"memory":"3Gi"}}}}}`,
			want: "spec.vcluster.values.controlPlane.statefulSet.resources.limits.memory: is 3Gi, and plan p: data.limits.max.memory is 2Gi: write at most 2Gi",
		},
		"ClaimOverLimit": {
			claimed: `{"controlPlane":{"statefulSet":{"resources":{"requests":{"memory":"3Gi"}}}}}`,
			want:    "spec.vcluster.values.controlPlane.statefulSet.resources.requests.memory: is 3Gi, and data.vcluster.resources.limits.memory, built in, is 2Gi: write at most 2Gi",
		},
		"ClaimOverQuota": {
			claimed: `{"controlPlane":{"statefulSet":{"resources":{"limits":{"memory":"60Gi"}}}}}`,
			want:    "spec.vcluster.values.controlPlane.statefulSet.resources.limits.memory: what Argo CD and its virtual cluster take of limits.memory comes to 68778Mi: ",
		},
		"ClaimOfArgoCD": {
			plan: `{"limits":{"max":{"memory":"2Gi"}}}`, claimedOfArgoCD: `{"server":{"resources":{"limits":{"memory":"3Gi"}}}}`,
			want: "spec.argocd.values.server.resources.limits.memory: is 3Gi, and plan p: data.limits.max.memory is 2Gi: write at most 2Gi",
		},
		"PlansMistakeBesideTheClaims": {
			plan: `{"quota":{"limits.cpu":"2"}}`, claimed: `{"controlPlane":{"statefulSet":{"resources":{"limits":{"cpu":"3"}}}}}`,
			want: "plan p: data.quota.limits.cpu: is 2, and Argo CD and its virtual cluster take 12",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := Request{XRName: "a", Plan: Chosen{Name: "p"}}
			read(t, tc.plan, &r.Plan.Data)
			read(t, tc.claimed, &r.Spec.VClusterValues)
			read(t, tc.claimedOfArgoCD, &r.Spec.ArgoCDValues)
			r.Input.Charts.VCluster.Values, r.Input.Charts.ArgoCD.Values = raw(tc.vcluster), raw(tc.argocd)
			_, err := New(r)
			if got := errorText(err); !strings.HasPrefix(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("want %q\n got %q", tc.want, got)
			}
		})
	}
}

// TestFitsWhatIsThere: a tenant is held to the store that it has, and its volume is
// there already.
func TestFitsWhatIsThere(t *testing.T) {
	r := Request{XRName: "a", Plan: Chosen{Name: "p"}, Running: Running{Plan: "p", Store: &Store{Kind: StoreSQLite, Size: "9Gi"}}}
	read(t, `{"vcluster":{"backingStore":"etcd"},"quota":{"requests.storage":"1Gi","count/pods":9}}`, &r.Plan.Data)
	if _, err := New(r); err != nil {
		t.Errorf("made before: %v", err)
	}
	r.Running = Running{}
	if _, err := New(r); !strings.HasPrefix(errorText(err), "plan p: data.quota.count/pods: is 9") {
		t.Errorf("new: %v", err)
	}
}

// TestFitsExamples: the plans that users copy, and those that the end-to-end tests
// make of them.
func TestFitsExamples(t *testing.T) {
	small := `"requests":{"cpu":"20m","memory":"128Mi"}`
	for name, changes := range map[string][]string{
		"small":    {`{"data":{"runtimeClass":"a","quota":{"count/pods":"31"},"argocd":{"repoServer":{"resources":{"limits":{"memory":"640Mi"}}}}}}`},
		"standard": {`{"data":{"podSecurity":"restricted"}}`},
		"large": {
			`{"data":{"vcluster":{"resources":{` + small + `}},"argocd":{"server":{"resources":{` + small + `}},"controller":{"resources":{` + small + `}},"repoServer":{"resources":{` + small + `}},"redis":{"resources":{` + small + `}}}}}`,
			`{"data":{"argocd":{"ha":false,"applicationSet":{"replicas":2}}}}`,
		},
	} {
		text, err := os.ReadFile(filepath.Join("../../examples/plans", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		example := Values{}
		if err := yaml.Unmarshal(text, &example); err != nil {
			t.Fatal(err)
		}
		for _, change := range append([]string{`{}`}, changes...) {
			over, p := Values{}, v1alpha1.Plan{}
			read(t, change, &over)
			merged, err := json.Marshal(Merge(example, over))
			if err != nil {
				t.Fatal(err)
			}
			read(t, string(merged), &p)
			if _, err := New(Request{XRName: "a", Plan: Chosen{Name: name, Data: p.Data}}); err != nil {
				t.Errorf("%s with %s: %v", name, change, err)
			}
		}
	}
}

func read(t *testing.T, text string, into any) {
	t.Helper()
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatal(err)
	}
}

func raw(text string) *runtime.RawExtension {
	if text == "" {
		return nil
	}
	return &runtime.RawExtension{Raw: []byte(text)}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
