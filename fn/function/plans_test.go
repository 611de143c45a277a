package function

import (
	gocmp "cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// vclusterValues is what the vcluster Release has at a path of its values.
func vclusterValues(e *engine, path ...string) any {
	return field(e.observed(tenant.VClusterRelease), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}

// quotaOf is what the tenant may have of a resource; nil when its quota doesn't say.
func quotaOf(e *engine, name string) any {
	return field(e.observed(tenant.Quota), "spec", "forProvider", "manifest", "spec", "hard").GetFields()[name].AsInterface()
}

func argocdValue(e *engine, path ...string) any {
	return field(e.observed(tenant.ArgoCDRelease), append([]string{"spec", "forProvider", "values"}, path[:len(path)-1]...)...).GetFields()[path[len(path)-1]].AsInterface()
}

// TestExamplePlans takes a tenant of each plan that users copy to Ready.
func TestExamplePlans(t *testing.T) {
	want := map[string]map[string]any{
		"small":    {"limits.cpu": "20", "replicas": nil, "ha": nil, "etcd": nil, "services.loadbalancers": "0", "services.nodeports": "0"},
		"standard": {"limits.cpu": "80", "replicas": nil, "ha": nil, "etcd": nil, "services.loadbalancers": "0", "services.nodeports": "0"},
		"large":    {"limits.cpu": "120", "replicas": 3., "ha": true, "etcd": true, "services.loadbalancers": "2", "services.nodeports": "20"},
	}
	files, err := filepath.Glob("../../examples/plans/*.yaml")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"plan":"`+name+`"}`), "")
			installExample(e, file)
			// A namespace that all of them are for.
			e.claimedIn("premium-a")
			e.install()
			got := map[string]any{
				"limits.cpu":             quotaOf(e, "limits.cpu"),
				"services.loadbalancers": quotaOf(e, "services.loadbalancers"),
				"services.nodeports":     quotaOf(e, "services.nodeports"),
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
	files, err := filepath.Glob("../../examples/plans/*.yaml")
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
		walk("spec", plan["spec"].(map[string]any))
		if limited == 0 {
			t.Errorf("%s has no limits: this shows nothing", file)
		}
	}
}

// TestTolerationsOfPlans: the admission policies let a tenant's pods tolerate what its plan has them tolerate.
func TestTolerationsOfPlans(t *testing.T) {
	const annotation = "virtualargocd.io/tolerations"
	e := newEngine(t, tenantXR(`{"plan":"dedicated"}`), "")
	e.plan("dedicated", `{"values":{"vcluster":{"sync":{"toHost":{"pods":{"enforceTolerations":["dedicated=acme:NoSchedule","gpu:NoExecute","spot","*"]}}}}}}`)
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
	e.cluster["XArgoCDPlan//"+file] = resource.MustStructJSON(string(json))
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
		"NoneIsDefault": {`{}`, func(e *engine) { e.plan("small", small) }, "standard", "80", nil},
		"NamedStandard": {`{}`, func(e *engine) { e.plan("standard", small) }, "standard", "20", nil},
		"Default": {`{}`, func(e *engine) {
			e.plan("small", small, "default-plan=true")
			e.plan("standard", huge)
		}, "small", "20", nil},
		"DefaultIsFalse": {`{}`, func(e *engine) { e.plan("small", small, "default-plan=false") }, "standard", "80", nil},
		"Named":          {`{"plan":"huge"}`, func(e *engine) { e.plan("small", small, "default-plan=true"); e.plan("huge", huge) }, "huge", "99", nil},
		"NoData":         {`{"plan":"empty"}`, func(e *engine) { e.plan("empty", `null`) }, "empty", "80", nil},
		"Unknown":        {`{"plan":"hug"}`, func(e *engine) { e.plan("small", small); e.plan("huge", huge) }, "", "", []string{`spec.plan: "hug" is unknown: write one of huge, small, standard`}},
		"UnknownOfNone":  {spec: `{"plan":"hug"}`, refused: []string{"write one of standard"}},
		"TwoDefaults": {`{}`, func(e *engine) {
			e.plan("small", small, "default-plan=true")
			e.plan("huge", huge, "default-plan=true")
		}, "", "", []string{"huge and small", "virtualargocd.io/default-plan"}},
		"TwoDefaultsNamed": {`{"plan":"huge"}`, func(e *engine) {
			e.plan("small", small, "default-plan=true")
			e.plan("huge", huge, "default-plan=true")
		}, "huge", "99", nil},
		"NotAName": {spec: `{"plan":"a/b"}`, refused: []string{"spec.plan", "a/b"}},
		"NotText":  {spec: `{"plan":1}`, refused: []string{"spec.plan", "text"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), "")
			if tc.install != nil {
				tc.install(e)
			}
			if len(tc.refused) > 0 {
				msg := refusal(e.reconcile())
				for _, want := range tc.refused {
					if !strings.Contains(msg, want) {
						t.Errorf("error should say %q: %q", want, msg)
					}
				}
				return
			}
			e.install()
			if got := []any{e.status("plan"), quotaOf(e, "limits.cpu")}; !cmp.Equal(got, []any{tc.plan, tc.quota}) {
				t.Errorf("plan and its quota: want %s, %s, got %v", tc.plan, tc.quota, got)
			}
		})
	}
}

// TestOlderCrossplane: one that looks up nothing for the function is refused.
func TestOlderCrossplane(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "")
	e.req.Meta.Capabilities = nil
	if msg := fatal(e.call()); !strings.Contains(msg, "this version of Crossplane") || !strings.Contains(msg, "upgrade Crossplane to 2.2 or later") {
		t.Errorf("got %q", msg)
	}
}

// TestPlanMistakes: a mistake in a plan is told with its path, and stops nothing
// that runs.
func TestPlanMistakes(t *testing.T) {
	for data, want := range map[string][]string{
		`{"argocd":{"server":{"replica":2}}}`:                                                       {`plan p: spec.argocd.server.replica: there is no such field`},
		`"small"`:                                                                                   {`plan p: spec: "small" is not an object`},
		`{"quota":{"limit.cpu":"1"}}`:                                                               {`plan p: spec.quota.limit.cpu: is no resource`},
		`{"limits":{"default":{"pods":"1"}}}`:                                                       {`plan p: spec.limits.default.pods: is no resource`},
		`{"argocd":{"redis":{"resources":{"limits":{"ram":"1Gi"}}}}}`:                               {`plan p: spec.argocd.redis.resources.limits.ram`},
		`{"ingress":{"domain":"` + strings.Repeat("abcdefghi.", 19) + `org"}}`:                      {`plan p: spec.ingress.domain: has 193 characters: write one of at most 189`},
		`{"ingress":{"hosts":["a.example.org","*.Example.org"]}}`:                                   {`plan p: spec.ingress.hosts[1]: "*.Example.org" is not a hostname`},
		`{"limits":{"max":{"memory":"1Gi"},"default":{"memory":"2Gi"}}}`:                            {`plan p: spec.limits.max.memory: is 1Gi, less than 2Gi of plan p: spec.limits.default.memory: write at least that`},
		`{"limits":{"default":{"memory":"16Mi"}}}`:                                                  {`plan p: spec.limits.default.memory: is 16Mi, less than 40Mi of policies.limitRange.defaultRequest.memory, built in: write at least that`},
		`{"limits":{"defaultRequest":{"memory":"2Gi"}}}`:                                            {`plan p: spec.limits.defaultRequest.memory: is 2Gi, more than 1Gi of policies.limitRange.default.memory, built in: write at most that`},
		`{"ingress":{"domain":"A.b"}}`:                                                              {`plan p: spec.ingress.domain: "A.b" is not a domain`},
		`{"ingress":{"annotations":{"a b":"c"}}}`:                                                   {`plan p: spec.ingress.annotations: "a b"`},
		`{"versions":{"kubernetes":["latest"]}}`:                                                    {`plan p: spec.versions.kubernetes[0]: "latest" is neither a version nor a range`},
		`{"values":{"vcluster":{"policies":{"networkPolicy":{"enabled":true}}}}}`:                   {`plan p: spec.values.vcluster.policies.networkPolicy.enabled is protected`, `policies add up`},
		`{"values":{"vcluster":{"plugins":{"a":{"image":"b"}}}}}`:                                   {`plan p: spec.values.vcluster.plugins.a.image is protected`, `input`},
		`{"values":{"vcluster":[]}}`:                                                                {`plan p: spec.values.vcluster: write an object of chart values`},
		`{"values":{"argocd":{"fullnameOverride":"a"}}}`:                                            {`plan p: spec.values.argocd.fullnameOverride`},
		`{"values":{"argocd":{"a":"` + strings.Repeat("x", 300<<10) + `"}}}`:                        {`plan p: spec: values are larger than 256 KiB`},
		`{"values":{"argocd":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40) + `}}`: {`plan p: spec: values are nested deeper than 32`},
	} {
		t.Run(want[0], func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "")
			e.plan("p", `{}`, "default-plan=true")
			e.install()
			before := proto.Clone(e.req.GetObserved()).(*fnv1.State)
			e.plan("p", data, "default-plan=true")
			msg := refusal(e.reconcile())
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
			e.plan("p", `{}`, "default-plan=true")
			e.cycle(2)
			if e.status("phase") != "Ready" {
				t.Errorf("mended, and %s", e.status("phase"))
			}
		})
	}
}

// TestPlanIsGone: a tenant whose plan was deleted keeps what it has, also if there is a built-in plan of that name.
func TestPlanIsGone(t *testing.T) {
	for name, tc := range map[string]struct {
		spec, plan string
		labels     []string
	}{
		"Standard": {`{}`, "standard", nil},
		"ByName":   {`{"plan":"standard"}`, "standard", nil},
		"Default":  {`{}`, "small", []string{"default-plan=true"}},
		"Named":    {`{"plan":"small"}`, "small", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), "")
			e.plan(tc.plan, `{"quota":{"limits.cpu":"20"}}`, tc.labels...)
			e.install()
			delete(e.cluster, "XArgoCDPlan//"+tc.plan)
			e.cycle(3)
			if is := wire.Of(e.xr()).Condition(v1alpha1.ConditionSpecAccepted); is.Reason != v1alpha1.ReasonInvalidPlan || !strings.HasPrefix(is.Message, "plan "+tc.plan+": this XArgoCDPlan doesn't exist any more: create it") {
				t.Errorf("got %s, %s", is.Reason, is.Message)
			}
			if got := []any{e.status("plan"), quotaOf(e, "limits.cpu"), e.status("phase")}; !cmp.Equal(got, []any{tc.plan, "20", "Ready"}) {
				t.Errorf("got %v", got)
			}
			// The claim may ask for another plan, and so for the built-in one.
			e.spec(`{"plan":"standard","deletionProtection":true}`)
			if tc.spec == `{"plan":"standard"}` {
				e.spec(`{}`)
			}
			e.cycle(3)
			if got := []any{e.status("plan"), quotaOf(e, "limits.cpu")}; !cmp.Equal(got, []any{"standard", "80"}) {
				t.Errorf("with another plan in the claim, got %v", got)
			}
		})
	}
}

// TestPlanOrder: built-in < input < plan < claim, but for what the plan decides.
func TestPlanOrder(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input",
		"charts":{"argocd":{"values":{"server":{"dnsPolicy":"info","replicas":1},"controller":{"dnsPolicy":"info"},"repoServer":{"dnsPolicy":"info"}}},
			"vcluster":{"values":{"policies":{"resourceQuota":{"quota":{"count/pods":"11","limits.cpu":"11"}}}}}},
		"ingress":{"domain":"input.example.org","className":"input"}}`
	const plan = `{"argocd":{"server":{"replicas":2}},"quota":{"limits.cpu":"22"},"ingress":{"domain":"plan.example.org"},"runtimeClass":"gvisor","podSecurity":"restricted",
		"values":{"argocd":{"server":{"dnsPolicy":"plan"},"controller":{"dnsPolicy":"plan"}}}}`
	e := newEngine(t, tenantXR(`{"plan":"p","argocd":{"values":{"server":{"dnsPolicy":"claim"}}}}`), input)
	e.plan("p", plan)
	e.install()
	got := map[string]any{
		"claim over plan":    argocdValue(e, "server", "dnsPolicy"),
		"plan over input":    argocdValue(e, "controller", "dnsPolicy"),
		"input":              argocdValue(e, "repoServer", "dnsPolicy"),
		"field over input":   argocdValue(e, "server", "replicas"),
		"quota of the plan":  quotaOf(e, "limits.cpu"),
		"quota of the input": quotaOf(e, "count/pods"),
		"quota built in":     quotaOf(e, "count/secrets"),
		"runtime class":      vclusterValues(e, "sync", "toHost", "pods", "runtimeClassName"),
		"pod security":       vclusterValues(e, "policies", "podSecurityStandard"),
		"host":               e.status("argocd", "url"),
		"class":              argocdValue(e, "server", "ingress", "ingressClassName"),
		"pod security, host": field(e.observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "labels").GetFields()["pod-security.kubernetes.io/enforce"].GetStringValue(),
	}
	want := map[string]any{
		"claim over plan": "claim", "plan over input": "plan", "input": "info", "field over input": 2., "quota of the plan": "22", "quota of the input": "11",
		"quota built in": "100", "runtime class": "gvisor", "pod security": "restricted", "host": "https://customer1--team-a.plan.example.org", "class": "input",
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
		if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, want) {
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
		`{"plan":"p","kubernetes":{"version":"v1.33.0"}}`:   "spec.kubernetes.version: plan p doesn't allow v1.33.0: write a version of ~1.34, v1.35.4 or v1.36.0 (the platform's), or choose another plan",
		`{"plan":"p","argocd":{"chartVersion":"v9.3.7"}}`:   "",
		`{"plan":"p","argocd":{"chartVersion":"10.2.0"}}`:   "spec.argocd.chartVersion: plan p doesn't allow 10.2.0",
		`{"plan":"p","vcluster":{"chartVersion":"0.36.0"}}`: "spec.vcluster.chartVersion: plan p doesn't allow 0.36.0",
	} {
		e := newEngine(t, tenantXR(spec), "")
		e.plan("p", `{"versions":{"kubernetes":["~1.34","v1.35.4"],"argocdCharts":[">=9.3.0 <10"],"vclusterCharts":["0.35.2"]}}`)
		if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, want) || want == "" && msg != "" {
			t.Errorf("%s: want %q, got %q", spec, want, msg)
		}
	}
}

// TestTenantKeepsItsVersions: a tenant goes on with the versions that it runs, when
// the plan lists them no more, and when it is of a plan that never did.
func TestTenantKeepsItsVersions(t *testing.T) {
	const spec = `"kubernetes":{"version":"v1.35.4"},"argocd":{"chartVersion":"10.1.1"},"vcluster":{"chartVersion":"0.36.1"}`
	const newer = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"},"vcluster":{"version":"0.36.2"}}}`
	e := newEngine(t, tenantXR(`{"plan":"p",`+spec+`}`), "")
	e.plan("p", `{"versions":{"kubernetes":["1.35.4"]}}`)
	e.plan("other", `{"versions":{"kubernetes":["~1.36"],"argocdCharts":["~10.2"],"vclusterCharts":["0.36.2"]}}`)
	e.install()
	e.req.Input = jsonValue(newer).GetStructValue()
	e.plan("p", `{}`)
	for _, plan := range []string{"p", "other"} {
		e.spec(`{"plan":"` + plan + `",` + spec + `}`)
		if e.cycle(2); e.status("plan") != plan || e.status("phase") != "Ready" {
			t.Errorf("plan %s: %s with plan %s: %s", plan, e.status("phase"), e.status("plan"), refusal(e.rsp))
		}
	}
	// A forged record of Helm's runs no other version.
	e.setRecord(tenant.VClusterRelease, "0.25.0")
	e.spec(`{"plan":"p","kubernetes":{"version":"v1.35.4"},"vcluster":{"chartVersion":"0.25.0"}}`)
	if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, "spec.vcluster.chartVersion: plan p doesn't allow 0.25.0") {
		t.Errorf("a version of a forged record: %q", msg)
	}
	// Somebody else begins with what the plan has now.
	e = newEngine(t, tenantXR(`{"plan":"p","kubernetes":{"version":"v1.35.4"}}`), newer)
	e.plan("p", `{}`)
	if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, "spec.kubernetes.version: plan p doesn't allow v1.35.4: write v1.36.0 (the platform's)") {
		t.Errorf("a new tenant: %q", msg)
	}
}

// TestPlansAreGiven: a claim has the plans that are for its namespace, and learns of
// no other.
func TestPlansAreGiven(t *testing.T) {
	const large = `{"namespaces":["premium-*","team-x"],"quota":{"limits.cpu":"99"}}`
	cases := map[string]struct {
		spec, namespace string
		// data of the plan large, which is the default one where labels say so.
		data   string
		labels []string
		plan   string
		want   string
	}{
		"Name":           {spec: `{"plan":"large"}`, namespace: "team-x", plan: "large"},
		"Pattern":        {spec: `{"plan":"large"}`, namespace: "premium-a", plan: "large"},
		"PatternIsWhole": {spec: `{"plan":"large"}`, namespace: "my-premium-a", want: `spec.plan: "large" is not for claims of namespace my-premium-a: write one of small, standard`},
		"NameIsWhole":    {spec: `{"plan":"large"}`, namespace: "team-xy", want: `spec.plan: "large" is not for claims of namespace team-xy: write one of small, standard`},
		"Star":           {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":["*"]}`, plan: "large"},
		"StarsWithin":    {spec: `{"plan":"large"}`, namespace: "a-team-b", data: `{"namespaces":["a*-*b"]}`, plan: "large"},
		"Empty":          {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":[]}`, plan: "large"},
		"NoClaim":        {spec: `{"plan":"large"}`, plan: "large"},
		// Who may have a plan is told of it, among others, and nobody else is.
		"UnknownToOthers": {spec: `{"plan":"larg"}`, namespace: "any", want: `spec.plan: "larg" is unknown: write one of small, standard`},
		"UnknownToIts":    {spec: `{"plan":"larg"}`, namespace: "team-x", want: `spec.plan: "larg" is unknown: write one of large, small, standard`},
		"UnknownNoClaim":  {spec: `{"plan":"larg"}`, want: `spec.plan: "larg" is unknown: write one of large, small, standard, zone`},
		// Nor of the mistakes in it.
		"MistakeOfAnothers": {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":["team-x"],"quota":{"limits.cpu":"many"}}`, want: `spec.plan: "large" is not for claims of namespace any: write one of small, standard`},
		// The default plan.
		"DefaultOfIts":       {spec: `{}`, namespace: "team-x", labels: []string{"default-plan=true"}, plan: "large"},
		"DefaultOfOthers":    {spec: `{}`, namespace: "any", labels: []string{"default-plan=true"}, want: `spec.plan: is missing, and the platform's default plan is not for claims of namespace any: write one of small, standard`},
		"NotTheDefault":      {spec: `{}`, namespace: "any", plan: "standard"},
		"NamedInPlaceOfIt":   {spec: `{"plan":"small"}`, namespace: "any", labels: []string{"default-plan=true"}, plan: "small"},
		"PlatformsMistake":   {spec: `{"plan":"large"}`, namespace: "any", data: `{"namespaces":["premium_*"]}`, want: `plan large: spec.namespaces[0]: "premium_*" is neither a namespace nor a pattern: write one such as team-a or premium-*`},
		"MistakeOfTheOthers": {spec: `{"plan":"larg"}`, namespace: "any", data: `{"namespaces":"*"}`, want: `spec.plan: "larg" is unknown: write one of small, standard`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), "")
			e.claimedIn(tc.namespace)
			e.plan("large", gocmp.Or(tc.data, large), tc.labels...)
			e.plan("small", `{}`)
			e.plan("zone", `{"namespaces":["nobodys"]}`)
			if tc.want != "" {
				if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, tc.want) || strings.Contains(msg, "nobodys") {
					t.Errorf("want %q, got %q", tc.want, msg)
				}
				return
			}
			if e.install(); e.status("plan") != tc.plan {
				t.Errorf("want plan %s, got %s", tc.plan, e.status("plan"))
			}
		})
	}
	// Where the platform has a plan standard of its own, and for others, there may be none.
	e := newEngine(t, tenantXR(`{}`), "")
	e.plan("standard", large)
	for spec, want := range map[string]string{
		`{}`:                  "spec.plan: is missing, and the platform's default plan is not for claims of namespace team-a: there is no plan for claims of namespace team-a: ask whoever runs the platform for one",
		`{"plan":"standard"}`: `spec.plan: "standard" is not for claims of namespace team-a: there is no plan`,
		`{"plan":"other"}`:    `spec.plan: "other" is unknown: there is no plan`,
	} {
		e.spec(spec)
		if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, want) {
			t.Errorf("%s: want %q, got %q", spec, want, msg)
		}
	}
}

// TestTenantKeepsItsPlan: one that has a plan keeps it, whoever the plan is for now;
// once it has left it, it can't go back.
func TestTenantKeepsItsPlan(t *testing.T) {
	for _, spec := range []string{`{"plan":"large"}`, `{}`} {
		e := newEngine(t, tenantXR(spec), "")
		e.plan("large", `{"quota":{"limits.cpu":"90"}}`, "default-plan=true")
		e.plan("small", `{}`)
		e.install()
		e.plan("large", `{"namespaces":["others"],"quota":{"limits.cpu":"99"}}`, "default-plan=true")
		e.cycle(2)
		if got := quotaOf(e, "limits.cpu"); got != "99" || e.status("plan") != "large" || e.status("phase") != "Ready" {
			t.Errorf("%s: %s with plan %s and a quota of %v: %s", spec, e.status("phase"), e.status("plan"), got, refusal(e.rsp))
		}
		e.spec(`{"plan":"larg"}`)
		if msg := refusal(e.reconcile()); msg != `spec.plan: "larg" is unknown: write one of large, small, standard` {
			t.Errorf("what it may write: %q", msg)
		}
		e.spec(`{"plan":"small"}`)
		e.cycle(2)
		e.spec(spec)
		if msg := refusal(e.reconcile()); !strings.Contains(msg, "is not for claims of namespace team-a: write one of small, standard") {
			t.Errorf("%s: it has left the plan, and goes back: %q", spec, msg)
		}
	}
}

// TestPlanChanges: sizes change in place, and what holds the state doesn't.
func TestPlanChanges(t *testing.T) {
	e := newEngine(t, tenantXR(`{"plan":"small"}`), "")
	e.plan("small", `{"vcluster":{"resources":{"limits":{"memory":"1Gi"}}}}`)
	e.plan("large", `{"vcluster":{"resources":{"limits":{"memory":"4Gi"}}},"argocd":{"server":{"replicas":2}}}`)
	e.plan("grown", `{"vcluster":{"storage":{"size":"5Gi"}}}`)
	e.plan("alike", `{"vcluster":{"storage":{"size":"1024Mi"}}}`)
	e.plan("shrunk", `{"vcluster":{"storage":{"size":"512Mi"}}}`)
	e.plan("fast", `{"vcluster":{"storage":{"storageClass":"fast"}}}`)
	e.plan("etcd", `{"vcluster":{"backingStore":"etcd"}}`)
	e.plan("etcd3", `{"vcluster":{"backingStore":"etcd","replicas":3}}`)
	e.install()
	memory := func() any { return vclusterValues(e, "controlPlane", "statefulSet", "resources", "limits", "memory") }
	volume := func() any {
		return vclusterValues(e, "controlPlane", "statefulSet", "persistence", "volumeClaim", "size")
	}

	e.plan("small", `{"vcluster":{"resources":{"limits":{"memory":"2Gi"}}}}`)
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
		if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, want) || !strings.Contains(msg, "such as large") {
			t.Errorf("plan %s: want %q, got %q", plan, want, msg)
		}
	}
	e.spec(`{"plan":"alike"}`)
	if msg := refusal(e.reconcile()); msg != "" || e.status("plan") != "alike" {
		t.Errorf("the same size in other words: %q, %s", msg, e.status("plan"))
	}
	// The platform changes what new tenants get.
	e.plan("alike", `{"vcluster":{"storage":{"size":"8Gi"},"backingStore":"etcd"}}`)
	if msg := refusal(e.reconcile()); msg != "" || vclusterValues(e, "controlPlane", "backingStore", "etcd", "deploy", "enabled") != nil {
		t.Errorf("a tenant keeps its store: %q", msg)
	}
	e.plan("alike", `{"vcluster":{"replicas":3,"backingStore":"etcd"}}`)
	if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, "plan alike: spec.vcluster.replicas: is 3, and this virtual cluster was made with sqlite") {
		t.Errorf("several replicas on a store of one: %q", msg)
	}
	if v := volume(); v != "1Gi" && v != "1024Mi" {
		t.Errorf("the volume has changed: %v", v)
	}
	// Before anything is installed, anything may change.
	e = newEngine(t, tenantXR(`{"plan":"small"}`), "")
	e.plan("small", `{}`)
	e.plan("grown", `{"vcluster":{"storage":{"size":"5Gi"}}}`)
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
			e.plan("standard", `{}`, "default-plan=true")
			e.install()
			store := func() map[string]any {
				return field(e.observed(tenant.VClusterRelease), "spec", "forProvider", "values", "controlPlane").AsMap()
			}
			before := store()
			e.plan("standard", `{}`)
			e.plan("large", data, "default-plan=true")
			for range 2 {
				if msg := refusal(e.reconcile()); msg != "" {
					t.Fatal(msg)
				}
				e.heal()
			}
			if diff := cmp.Diff(before, store()); diff != "" {
				t.Errorf("the control plane: -want, +got:\n%s", diff)
			}
			if got := quotaOf(e, "limits.cpu"); got != "99" || e.status("plan") != "large" {
				t.Errorf("plan %s with a quota of %v", e.status("plan"), got)
			}
			// A claim that names the one it was made with, and then another.
			e.spec(`{"plan":"standard"}`)
			if msg := refusal(e.reconcile()); msg != "" {
				t.Error(msg)
			}
			e.spec(`{"plan":"large"}`)
			if msg := refusal(e.reconcile()); !strings.HasPrefix(msg, "spec.plan: large has ") {
				t.Errorf("the claim names it: %q", msg)
			}
		})
	}
}
