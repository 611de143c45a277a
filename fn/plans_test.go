package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/compose"
)

// vclusterValues is what the vcluster Release has at a path of its values.
func vclusterValues(e *engine, path ...string) any {
	return field(e.observed(compose.VCluster), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}

func argocdValue(e *engine, path ...string) any {
	return field(e.observed(compose.ArgoCD), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}

// TestExamplePlans takes a tenant of each plan that users copy to Ready.
func TestExamplePlans(t *testing.T) {
	want := map[string]map[string]any{
		"small":    {"limits.cpu": "20", "replicas": nil, "ha": nil, "etcd": nil, "services.loadbalancers": "0", "services.nodeports": "0"},
		"standard": {"limits.cpu": "80", "replicas": nil, "ha": nil, "etcd": nil, "services.loadbalancers": "0", "services.nodeports": "0"},
		"large":    {"limits.cpu": "120", "replicas": 3., "ha": true, "etcd": true, "services.loadbalancers": "2", "services.nodeports": "20"},
	}
	files, err := filepath.Glob("../examples/plans/*.yaml")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"plan":"`+name+`"}`), "")
			installExample(e, file)
			e.install()
			got := map[string]any{
				"limits.cpu":             vclusterValues(e, "policies", "resourceQuota", "quota", "limits.cpu"),
				"services.loadbalancers": vclusterValues(e, "policies", "resourceQuota", "quota", "services.loadbalancers"),
				"services.nodeports":     vclusterValues(e, "policies", "resourceQuota", "quota", "services.nodeports"),
				"replicas":               vclusterValues(e, "controlPlane", "statefulSet", "highAvailability", "replicas"),
				"etcd":                   vclusterValues(e, "controlPlane", "backingStore", "etcd", "deploy", "enabled"),
				"ha":                     argocdValue(e, "redis-ha", "enabled"),
			}
			if diff := cmp.Diff(want[name], got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if e.status("plan") != name {
				t.Errorf("status.plan: %s", e.status("plan"))
			}
		})
	}
}

// TestExamplePlansRequestLittle: Kubernetes has a container that names a limit
// request as much, unless it says otherwise.
func TestExamplePlansRequestLittle(t *testing.T) {
	files, err := filepath.Glob("../examples/plans/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var plan map[string]any
		if err := yaml.Unmarshal(raw, &plan); err != nil {
			t.Fatal(err)
		}
		limited := 0
		var walk func(path string, at map[string]any)
		walk = func(path string, at map[string]any) {
			for key, v := range at {
				m, ok := v.(map[string]any)
				if !ok {
					continue
				}
				if key != "resources" {
					walk(path+"."+key, m)
					continue
				}
				limits, _ := m["limits"].(map[string]any)
				requests, _ := m["requests"].(map[string]any)
				for name := range limits {
					if limited++; requests[name] == nil {
						t.Errorf("%s: %s.resources has a limit of %s and no request", file, path, name)
					}
				}
			}
		}
		walk("data", plan["data"].(map[string]any))
		if limited == 0 {
			t.Errorf("%s has no limits: this shows nothing", file)
		}
	}
}

// TestTolerationsOfPlans: the admission policies let a tenant's pods tolerate what its plan has them tolerate.
func TestTolerationsOfPlans(t *testing.T) {
	const annotation = "virtualargocd.io/tolerations"
	e := newEngine(t, tenantXR(`{"plan":"dedicated"}`), "")
	e.plan("a", `{"values":{"vcluster":{"sync":{"toHost":{"pods":{"enforceTolerations":["dedicated=acme:NoSchedule","gpu:NoExecute","spot","*"]}}}}}}`, "plan=dedicated")
	e.install()
	if got := toldPolicies(e, annotation); got != "dedicated,gpu,spot,*" {
		t.Errorf("want the keys of the plan's tolerations, got %q", got)
	}
	e.spec(`{}`)
	e.cycle(3)
	if got := toldPolicies(e, annotation); got != "" {
		t.Errorf("the plan has none, and yet there is %q", got)
	}
}

func installExample(e *engine, file string) {
	e.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		e.t.Fatal(err)
	}
	json, err := yaml.YAMLToJSON(raw)
	if err != nil {
		e.t.Fatal(err)
	}
	e.cluster["EnvironmentConfig//"+file] = resource.MustStructJSON(string(json))
}

// TestWhichPlan: the one of the claim, the platform's default, the one named
// standard, or none.
func TestWhichPlan(t *testing.T) {
	const small, huge = `{"quota":{"limits.cpu":"20"}}`, `{"quota":{"limits.cpu":"99"}}`
	cases := map[string]struct {
		spec    string
		install func(e *engine)
		plan    string
		quota   string
		refused []string
	}{
		"None":          {spec: `{}`, plan: "standard", quota: "80"},
		"BuiltInByName": {spec: `{"plan":"standard"}`, plan: "standard", quota: "80"},
		"NoneIsDefault": {`{}`, func(e *engine) { e.plan("a", small, "plan=small") }, "standard", "80", nil},
		"NamedStandard": {`{}`, func(e *engine) { e.plan("a", small, "plan=standard") }, "standard", "20", nil},
		"Default": {`{}`, func(e *engine) {
			e.plan("a", small, "plan=small", "default-plan=true")
			e.plan("b", huge, "plan=standard")
		}, "small", "20", nil},
		"DefaultIsFalse": {`{}`, func(e *engine) { e.plan("a", small, "plan=small", "default-plan=false") }, "standard", "80", nil},
		"Named":          {`{"plan":"huge"}`, func(e *engine) { e.plan("a", small, "plan=small", "default-plan=true"); e.plan("b", huge, "plan=huge") }, "huge", "99", nil},
		"NoData":         {`{"plan":"empty"}`, func(e *engine) { e.plan("a", `null`, "plan=empty") }, "empty", "80", nil},
		"Unknown":        {`{"plan":"hug"}`, func(e *engine) { e.plan("a", small, "plan=small"); e.plan("b", huge, "plan=huge"); e.plan("c", `{}`) }, "", "", []string{`spec.plan: "hug" is unknown: write one of huge, small, standard`}},
		"UnknownOfNone":  {spec: `{"plan":"hug"}`, refused: []string{"write one of standard"}},
		"TwoDefaults": {`{}`, func(e *engine) {
			e.plan("a", small, "plan=small", "default-plan=true")
			e.plan("b", huge, "plan=huge", "default-plan=true")
		}, "", "", []string{"EnvironmentConfigs a and b", "virtualargocd.io/default-plan"}},
		"TwoDefaultsNamed": {`{"plan":"huge"}`, func(e *engine) {
			e.plan("a", small, "plan=small", "default-plan=true")
			e.plan("b", huge, "plan=huge", "default-plan=true")
		}, "huge", "99", nil},
		"TwoOfOneName":      {`{"plan":"small"}`, func(e *engine) { e.plan("a", small, "plan=small"); e.plan("b", huge, "plan=small") }, "", "", []string{"plan small: EnvironmentConfigs a and b"}},
		"DefaultWithoutOne": {`{}`, func(e *engine) { e.plan("a", small, "default-plan=true") }, "", "", []string{"EnvironmentConfig a", "virtualargocd.io/plan"}},
		"NotAName":          {spec: `{"plan":"a/b"}`, refused: []string{"spec.plan", "a/b"}},
		"NotText":           {spec: `{"plan":1}`, refused: []string{"spec.plan", "text"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), "")
			if tc.install != nil {
				tc.install(e)
			}
			if len(tc.refused) > 0 {
				msg := fatal(e.reconcile())
				for _, want := range tc.refused {
					if !strings.Contains(msg, want) {
						t.Errorf("error should say %q: %q", want, msg)
					}
				}
				return
			}
			e.install()
			if got := []any{e.status("plan"), vclusterValues(e, "policies", "resourceQuota", "quota", "limits.cpu")}; !cmp.Equal(got, []any{tc.plan, tc.quota}) {
				t.Errorf("plan and its quota: want %s, %s, got %v", tc.plan, tc.quota, got)
			}
		})
	}
}

// TestOlderCrossplane: one that doesn't say what it can do has the built-in plan
// alone, though it may find what it is asked for.
func TestOlderCrossplane(t *testing.T) {
	const refused = "spec.plan: needs Crossplane 2.2 or later, and this platform's is older: leave it out"
	for spec, want := range map[string]string{`{}`: "", `{"plan":"standard"}`: "", `{"plan":"small"}`: refused} {
		e := newEngine(t, tenantXR(spec), "")
		e.plan("a", `{"quota":{"limits.cpu":"20"}}`, "plan=small", "default-plan=true")
		e.plan("b", `{"quota":{"limits.cpu":"30"}}`, "plan=standard")
		e.req.Meta.Capabilities = nil
		rsp := e.call()
		if msg := fatal(rsp); msg != want || want == "" && len(rsp.GetDesired().GetResources()) == 0 {
			t.Errorf("%s: %q, %d resources", spec, msg, len(rsp.GetDesired().GetResources()))
		}
		for name := range rsp.GetRequirements().GetResources() {
			if strings.Contains(name, "plan") {
				t.Errorf("%s: asks for %s", spec, name)
			}
		}
		if want != "" {
			continue
		}
		if e.install(); vclusterValues(e, "policies", "resourceQuota", "quota", "limits.cpu") != "80" {
			t.Errorf("%s: has a plan that isn't built in", spec)
		}
	}
}

// TestPlanMistakes: a mistake in a plan is told with its path, and stops nothing
// that runs.
func TestPlanMistakes(t *testing.T) {
	for data, want := range map[string][]string{
		`{"argocd":{"server":{"replicas":"two"}}}`:                                {`plan p: data.argocd.server.replicas: "two" is not a whole number`},
		`{"argocd":{"server":{"replicas":1.5}}}`:                                  {`plan p: data.argocd.server.replicas: 1.5 is not a whole number`},
		`{"argocd":{"server":{"replicas":-1}}}`:                                   {`plan p: data.argocd.server.replicas: -1 is not possible: write a number from 1 to 50`},
		`{"argocd":{"server":{"replica":2}}}`:                                     {`plan p: data.argocd.server.replica: there is no such field`},
		`{"argocd":{"ha":"yes"}}`:                                                 {`plan p: data.argocd.ha: "yes" is not true or false`},
		`{"argocd":[]}`:                                                           {`plan p: data.argocd: a list is not an object`},
		`"small"`:                                                                 {`plan p: data: "small" is not an object`},
		`{"quota":{"limits.cpu":"many"}}`:                                         {`plan p: data.quota.limits.cpu: "many" is not an amount`},
		`{"quota":{"limits.cpu":true}}`:                                           {`plan p: data.quota.limits.cpu: "true" is not an amount`},
		`{"quota":{"limit.cpu":"1"}}`:                                             {`plan p: data.quota.limit.cpu: is no resource`},
		`{"quota":{"count/pods":-1}}`:                                             {`plan p: data.quota.count/pods`},
		`{"limits":{"default":{"pods":"1"}}}`:                                     {`plan p: data.limits.default.pods: is no resource`},
		`{"argocd":{"redis":{"resources":{"limits":{"ram":"1Gi"}}}}}`:             {`plan p: data.argocd.redis.resources.limits.ram`},
		`{"vcluster":{"resources":{"limits":{"memory":"256Mi"}}}}`:                {`plan p: data.vcluster.resources.limits.memory: is 256Mi, and data.vcluster.resources.requests.memory, built in, is 768Mi: write at least 768Mi here, or at most 256Mi there`},
		`{"vcluster":{"replicas":3}}`:                                             {`plan p: data.vcluster.replicas: is 3`, `vcluster.backingStore: etcd`},
		`{"vcluster":{"backingStore":"mysql"}}`:                                   {`plan p: data.vcluster.backingStore: "mysql" is unknown`},
		`{"vcluster":{"storage":{"size":"big"}}}`:                                 {`plan p: data.vcluster.storage.size: "big" is not an amount`},
		`{"argocd":{"server":{"replicas":51}}}`:                                   {`plan p: data.argocd.server.replicas: 51 is not possible: write a number from 1 to 50`},
		`{"argocd":{"server":{"replicas":0}}}`:                                    {`plan p: data.argocd.server.replicas: 0 is not possible: write 1 or more, or leave it out`},
		`{"vcluster":{"replicas":0}}`:                                             {`plan p: data.vcluster.replicas: 0 is not possible: write 1 or more, or leave it out`},
		`{"vcluster":{"replicas":-1}}`:                                            {`plan p: data.vcluster.replicas: -1 is not possible: write a number from 1 to 7`},
		`{"loadBalancers":-1}`:                                                    {`plan p: data.loadBalancers: -1 is not possible: write a number from 0 to 100`},
		`{"vcluster":{"storage":{"size":"0"}}}`:                                   {`plan p: data.vcluster.storage.size: "0" is not an amount: write one such as 2Gi`},
		`{"ingress":{"domain":"` + strings.Repeat("abcdefghi.", 19) + `org"}}`:    {`plan p: data.ingress.domain: has 193 characters: write one of at most 189`},
		`{"ingress":{"hosts":["a.example.org","*.Example.org"]}}`:                 {`plan p: data.ingress.hosts[1]: "*.Example.org" is not a host name`},
		`{"limits":{"max":{"memory":"1Gi"}}}`:                                     {`plan p: data.limits.max.memory: is 1Gi, and data.vcluster.resources.limits.memory, built in, is 2Gi`},
		`{"quota":{"limits.memory":"1Gi"}}`:                                       {`plan p: data.quota.limits.memory: is 1Gi, and Argo CD and its virtual cluster take`},
		`{"podSecurity":"privileged"}`:                                            {`plan p: data.podSecurity: "privileged" is unknown`},
		`{"loadBalancers":1000}`:                                                  {`plan p: data.loadBalancers: 1000`},
		`{"runtimeClass":"g visor"}`:                                              {`plan p: data.runtimeClass: "g visor"`},
		`{"ingress":{"domain":"A.b"}}`:                                            {`plan p: data.ingress.domain: "A.b" is not a domain`},
		`{"ingress":{"tls":{"issuer":{"kind":"Vault","name":"a"}}}}`:              {`plan p: data.ingress.tls.issuer.kind: "Vault"`},
		`{"ingress":{"annotations":{"a b":"c"}}}`:                                 {`plan p: data.ingress.annotations: "a b"`},
		`{"versions":{"kubernetes":["latest"]}}`:                                  {`plan p: data.versions.kubernetes[0]: "latest" is neither a version nor a range`},
		`{"versions":{"kubernetes":"1.35"}}`:                                      {`plan p: data.versions.kubernetes: "1.35" is not a list`},
		`{"values":{"vcluster":{"policies":{"networkPolicy":{"enabled":true}}}}}`: {`plan p: data.values.vcluster.policies.networkPolicy.enabled is protected`, `policies add up`},
		`{"values":{"vcluster":{"plugins":{"a":{"image":"b"}}}}}`:                 {`plan p: data.values.vcluster.plugins.a.image is protected`, `input`},
		`{"values":{"vcluster":[]}}`:                                              {`plan p: data.values.vcluster: write an object of chart values`},
		`{"values":{"argocd":{"fullnameOverride":"a"}}}`:                          {`plan p: data.values.argocd.fullnameOverride`},
		`{"values":{"argocd":{"a":"` + strings.Repeat("x", 300<<10) + `"}}}`:      {`plan p: data: values are larger than 256 KiB`},
		`{"values":{"argocd":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}}`: {`plan p: data: values are nested deeper than 32`},
	} {
		t.Run(want[0], func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "")
			e.plan("a", `{}`, "plan=p", "default-plan=true")
			e.install()
			before := proto.Clone(e.req.GetObserved()).(*fnv1.State)
			e.plan("a", data, "plan=p", "default-plan=true")
			msg := fatal(e.reconcile())
			for _, part := range want {
				if !strings.Contains(msg, part) {
					t.Errorf("error should say %q: %q", part, msg)
				}
			}
			for name, o := range before.GetResources() {
				if !proto.Equal(o, e.req.GetObserved().GetResources()[name]) {
					t.Errorf("%s has changed", name)
				}
			}
			e.plan("a", `{}`, "plan=p", "default-plan=true")
			e.cycle(2)
			if e.status("phase") != "Ready" {
				t.Errorf("mended, and %s", e.status("phase"))
			}
		})
	}
}

// TestPlanOrder: built-in < input < plan < claim, but for what the plan decides.
func TestPlanOrder(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input",
		"charts":{"argocd":{"values":{"server":{"logLevel":"info","replicas":1},"controller":{"logLevel":"info"},"repoServer":{"logLevel":"info"}}},
			"vcluster":{"values":{"policies":{"resourceQuota":{"quota":{"count/pods":"11","limits.cpu":"11"}}}}}},
		"ingress":{"domain":"input.example.org","className":"input"}}`
	const plan = `{"argocd":{"server":{"replicas":2}},"quota":{"limits.cpu":"22"},"ingress":{"domain":"plan.example.org"},"runtimeClass":"gvisor","podSecurity":"restricted",
		"values":{"argocd":{"server":{"logLevel":"plan"},"controller":{"logLevel":"plan"}}}}`
	e := newEngine(t, tenantXR(`{"plan":"p","argocd":{"values":{"server":{"logLevel":"claim"}}}}`), input)
	e.plan("a", plan, "plan=p")
	e.install()
	quota := []string{"policies", "resourceQuota", "quota"}
	got := map[string]any{
		"claim over plan":    argocdValue(e, "server", "logLevel"),
		"plan over input":    argocdValue(e, "controller", "logLevel"),
		"input":              argocdValue(e, "repoServer", "logLevel"),
		"field over input":   argocdValue(e, "server", "replicas"),
		"quota of the plan":  vclusterValues(e, append(quota, "limits.cpu")...),
		"quota of the input": vclusterValues(e, append(quota, "count/pods")...),
		"quota built in":     vclusterValues(e, append(quota, "count/secrets")...),
		"runtime class":      vclusterValues(e, "sync", "toHost", "pods", "runtimeClassName"),
		"pod security":       vclusterValues(e, "policies", "podSecurityStandard"),
		"host":               e.status("argocd", "url"),
		"class":              argocdValue(e, "server", "ingress", "ingressClassName"),
		"pod security, host": field(e.observed(compose.Namespace), "spec", "forProvider", "manifest", "metadata", "labels").GetFields()["pod-security.kubernetes.io/enforce"].GetStringValue(),
	}
	want := map[string]any{
		"claim over plan": "claim", "plan over input": "plan", "input": "info", "field over input": 2., "quota of the plan": "22", "quota of the input": "11",
		"quota built in": "200", "runtime class": "gvisor", "pod security": "restricted", "host": "https://customer1-team-a.plan.example.org", "class": "input",
		"pod security, host": "baseline",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	for spec, want := range map[string]string{
		`{"plan":"p","argocd":{"values":{"server":{"replicas":9}}}}`:                              "spec.argocd.values.server.replicas is set by plan p (argocd.server.replicas): leave it out, or choose another plan",
		`{"plan":"p","argocd":{"values":{"server":null}}}`:                                        "spec.argocd.values.server is set by plan p",
		`{"plan":"p","vcluster":{"values":{"sync":{"toHost":{"pods":{"runtimeClassName":""}}}}}}`: "spec.vcluster.values.sync.toHost.pods.runtimeClassName is not a tenant's to set",
	} {
		e.spec(spec)
		if msg := fatal(e.reconcile()); !strings.HasPrefix(msg, want) {
			t.Errorf("%s: want %q, got %q", spec, want, msg)
		}
	}
}

// TestVersionsOfPlan: claims choose among those that the plan allows.
func TestVersionsOfPlan(t *testing.T) {
	for spec, want := range map[string]string{
		`{"plan":"p"}`: "",
		`{"plan":"p","kubernetes":{"version":"v1.35.4"}}`:   "",
		`{"plan":"p","kubernetes":{"version":"1.34.9"}}`:    "",
		`{"plan":"p","kubernetes":{"version":"v1.33.0"}}`:   "spec.kubernetes.version: plan p doesn't allow v1.33.0: write a version of ~1.34, v1.35.4, or choose another plan",
		`{"plan":"p","argocd":{"chartVersion":"v9.3.7"}}`:   "",
		`{"plan":"p","argocd":{"chartVersion":"10.1.1"}}`:   "spec.argocd.chartVersion: plan p doesn't allow 10.1.1",
		`{"plan":"p","vcluster":{"chartVersion":"0.36.0"}}`: "spec.vcluster.chartVersion: plan p doesn't allow 0.36.0",
	} {
		e := newEngine(t, tenantXR(spec), "")
		e.plan("a", `{"versions":{"kubernetes":["~1.34","v1.35.4"],"argocdCharts":[">=9.3.0 <10"],"vclusterCharts":["0.35.2"]}}`, "plan=p")
		if msg := fatal(e.reconcile()); !strings.HasPrefix(msg, want) || want == "" && msg != "" {
			t.Errorf("%s: want %q, got %q", spec, want, msg)
		}
	}
}

// TestPlanChanges: sizes change in place, and what holds the state doesn't.
func TestPlanChanges(t *testing.T) {
	e := newEngine(t, tenantXR(`{"plan":"small"}`), "")
	e.plan("a", `{"vcluster":{"resources":{"limits":{"memory":"1Gi"}}}}`, "plan=small")
	e.plan("b", `{"vcluster":{"resources":{"limits":{"memory":"4Gi"}}},"argocd":{"server":{"replicas":2}}}`, "plan=large")
	e.plan("c", `{"vcluster":{"storage":{"size":"5Gi"}}}`, "plan=grown")
	e.plan("d", `{"vcluster":{"storage":{"size":"1024Mi"}}}`, "plan=alike")
	e.plan("h", `{"vcluster":{"storage":{"size":"512Mi"}}}`, "plan=shrunk")
	e.plan("e", `{"vcluster":{"storage":{"storageClass":"fast"}}}`, "plan=fast")
	e.plan("f", `{"vcluster":{"backingStore":"etcd"}}`, "plan=etcd")
	e.plan("g", `{"vcluster":{"backingStore":"etcd","replicas":3}}`, "plan=etcd3")
	e.install()
	memory := func() any { return vclusterValues(e, "controlPlane", "statefulSet", "resources", "limits", "memory") }
	volume := func() any {
		return vclusterValues(e, "controlPlane", "statefulSet", "persistence", "volumeClaim", "size")
	}

	e.plan("a", `{"vcluster":{"resources":{"limits":{"memory":"2Gi"}}}}`, "plan=small")
	if e.reconcile(); memory() != "2Gi" {
		t.Errorf("a change of the plan rolls out: %v", memory())
	}
	e.spec(`{"plan":"large"}`)
	if e.reconcile(); memory() != "4Gi" || argocdValue(e, "server", "replicas") != 2. || e.status("plan") != "large" {
		t.Errorf("a change of plan resizes: %v, %s", memory(), e.status("plan"))
	}
	for plan, want := range map[string]string{
		"grown":  "spec.plan: grown has sqlite on a volume of 5Gi, and this virtual cluster was made with sqlite on a volume of 1Gi: Kubernetes can't change that in place",
		"shrunk": "spec.plan: shrunk has sqlite on a volume of 512Mi, and this virtual cluster was made with sqlite on a volume of 1Gi: Kubernetes can't change that in place",
		"fast":   "spec.plan: fast has sqlite on a volume of 1Gi, class fast, and this",
		"etcd":   "spec.plan: etcd has etcd on a volume of 1Gi, and this",
		"etcd3":  "spec.plan: etcd3 has etcd with 3 members on volumes of 1Gi, and this",
	} {
		e.spec(`{"plan":"` + plan + `"}`)
		if msg := fatal(e.reconcile()); !strings.HasPrefix(msg, want) || !strings.Contains(msg, "such as large") {
			t.Errorf("plan %s: want %q, got %q", plan, want, msg)
		}
	}
	e.spec(`{"plan":"alike"}`)
	if msg := fatal(e.reconcile()); msg != "" || e.status("plan") != "alike" {
		t.Errorf("the same size in other words: %q, %s", msg, e.status("plan"))
	}
	// The platform changes what new tenants get.
	e.plan("d", `{"vcluster":{"storage":{"size":"8Gi"},"backingStore":"etcd"}}`, "plan=alike")
	if msg := fatal(e.reconcile()); msg != "" || vclusterValues(e, "controlPlane", "backingStore", "etcd", "deploy", "enabled") != nil {
		t.Errorf("a tenant keeps its store: %q", msg)
	}
	e.plan("d", `{"vcluster":{"replicas":3,"backingStore":"etcd"}}`, "plan=alike")
	if msg := fatal(e.reconcile()); !strings.HasPrefix(msg, "plan alike: data.vcluster.replicas: is 3, and this virtual cluster was made with sqlite") {
		t.Errorf("several replicas on a store of one: %q", msg)
	}
	if v := volume(); v != "1Gi" && v != "1024Mi" {
		t.Errorf("the volume has changed: %v", v)
	}
	// Before anything is installed, anything may change.
	e = newEngine(t, tenantXR(`{"plan":"small"}`), "")
	e.plan("a", `{}`, "plan=small")
	e.plan("c", `{"vcluster":{"storage":{"size":"5Gi"}}}`, "plan=grown")
	e.reconcile()
	e.spec(`{"plan":"grown"}`)
	if e.install(); volume() != "5Gi" {
		t.Errorf("volume: %v", volume())
	}
}

// TestDefaultPlanMoves: a claim that names no plan gets the sizes of the new default,
// and keeps the store that it was made with.
func TestDefaultPlanMoves(t *testing.T) {
	for name, data := range map[string]string{
		"Etcd":    `{"vcluster":{"backingStore":"etcd"},"quota":{"limits.cpu":"99"}}`,
		"Etcd3":   `{"vcluster":{"backingStore":"etcd","replicas":3},"quota":{"limits.cpu":"99"}}`,
		"Volume":  `{"vcluster":{"storage":{"size":"5Gi"}},"quota":{"limits.cpu":"99"}}`,
		"Storage": `{"vcluster":{"storage":{"storageClass":"fast"}},"quota":{"limits.cpu":"99"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "")
			e.plan("a", `{}`, "plan=standard", "default-plan=true")
			e.install()
			store := func() map[string]any {
				return field(e.observed(compose.VCluster), "spec", "forProvider", "values", "controlPlane").AsMap()
			}
			before := store()
			e.plan("a", `{}`, "plan=standard")
			e.plan("b", data, "plan=large", "default-plan=true")
			for range 2 {
				if msg := fatal(e.reconcile()); msg != "" {
					t.Fatal(msg)
				}
				e.heal()
			}
			if diff := cmp.Diff(before, store()); diff != "" {
				t.Errorf("the control plane: -want, +got:\n%s", diff)
			}
			if got := vclusterValues(e, "policies", "resourceQuota", "quota", "limits.cpu"); got != "99" || e.status("plan") != "large" {
				t.Errorf("plan %s with a quota of %v", e.status("plan"), got)
			}
			// A claim that names the one it was made with, and then another.
			e.spec(`{"plan":"standard"}`)
			if msg := fatal(e.reconcile()); msg != "" {
				t.Error(msg)
			}
			e.spec(`{"plan":"large"}`)
			if msg := fatal(e.reconcile()); !strings.HasPrefix(msg, "spec.plan: large has ") {
				t.Errorf("the claim names it: %q", msg)
			}
		})
	}
}
