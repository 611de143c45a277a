package plan_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestPlanMistakes: a mistake in a plan is told with its path, and stops nothing
// that runs.
func TestPlanMistakes(t *testing.T) {
	for data, want := range map[string][]string{
		`{"argocdd":{"server":{"replicas":2}}}`:                                                     {`plan p: spec.argocdd: there is no such field: did you mean argocd?`},
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
			e := crossplanetest.New(t, `{}`, "")
			e.AddPlan("p", `{}`, "default-plan=true")
			e.Install()
			before := proto.Clone(e.Request.GetObserved()).(*fnv1.State)
			e.AddPlan("p", data, "default-plan=true")
			msg := crossplanetest.Refusal(e.Reconcile())
			for _, part := range want {
				if !strings.Contains(msg, part) {
					t.Errorf("error should say %q: %q", part, msg)
				}
			}
			for name, o := range before.GetResources() {
				if !proto.Equal(o, e.Request.GetObserved().GetResources()[name]) {
					t.Errorf("%s has changed", name)
				}
			}
			e.AddPlan("p", `{}`, "default-plan=true")
			e.Cycle(2)
			if e.Status("phase") != "Ready" {
				t.Errorf("mended, and %s", e.Status("phase"))
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
	e := crossplanetest.New(t, `{"plan":"p","argocd":{"values":{"server":{"dnsPolicy":"claim"}}}}`, input)
	e.AddPlan("p", plan)
	e.Install()
	got := map[string]any{
		"claim over plan":    e.ArgoCDValue("server", "dnsPolicy"),
		"plan over input":    e.ArgoCDValue("controller", "dnsPolicy"),
		"input":              e.ArgoCDValue("repoServer", "dnsPolicy"),
		"field over input":   e.ArgoCDValue("server", "replicas"),
		"quota of the plan":  quotaOf(e, "limits.cpu"),
		"quota of the input": quotaOf(e, "count/pods"),
		"quota built in":     quotaOf(e, "count/secrets"),
		"runtime class":      vclusterValues(e, "sync", "toHost", "pods", "runtimeClassName"),
		"pod security":       vclusterValues(e, "policies", "podSecurityStandard"),
		"host":               e.Status("argocd", "url"),
		"class":              e.ArgoCDValue("server", "ingress", "ingressClassName"),
		"pod security, host": crossplanetest.Field(e.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "labels").GetFields()["pod-security.kubernetes.io/enforce"].GetStringValue(),
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
		e.SetSpec(spec)
		if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, want) {
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
		e := crossplanetest.New(t, spec, "")
		e.AddPlan("p", `{"versions":{"kubernetes":["~1.34","v1.35.4"],"argocdCharts":[">=9.3.0 <10"],"vclusterCharts":["0.35.2"]}}`)
		if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, want) || want == "" && msg != "" {
			t.Errorf("%s: want %q, got %q", spec, want, msg)
		}
	}
}

// TestTenantKeepsItsVersions: a tenant goes on with the versions that it runs, when
// the plan lists them no more, and when it is of a plan that never did.
func TestTenantKeepsItsVersions(t *testing.T) {
	const spec = `"kubernetes":{"version":"v1.35.4"},"argocd":{"chartVersion":"10.1.1"},"vcluster":{"chartVersion":"0.36.1"}`
	const newer = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.2.0"},"vcluster":{"version":"0.36.2"}}}`
	e := crossplanetest.New(t, `{"plan":"p",`+spec+`}`, "")
	e.AddPlan("p", `{"versions":{"kubernetes":["1.35.4"]}}`)
	e.AddPlan("other", `{"versions":{"kubernetes":["~1.36"],"argocdCharts":["~10.2"],"vclusterCharts":["0.36.2"]}}`)
	e.Install()
	e.Request.Input = crossplanetest.JSON(newer).GetStructValue()
	e.AddPlan("p", `{}`)
	for _, plan := range []string{"p", "other"} {
		e.SetSpec(`{"plan":"` + plan + `",` + spec + `}`)
		if e.Cycle(2); e.Status("plan") != plan || e.Status("phase") != "Ready" {
			t.Errorf("plan %s: %s with plan %s: %s", plan, e.Status("phase"), e.Status("plan"), crossplanetest.Refusal(e.Response))
		}
	}
	// A forged record of Helm's runs no other version.
	e.SetDeployed(tenant.VClusterRelease, "0.25.0")
	e.SetSpec(`{"plan":"p","kubernetes":{"version":"v1.35.4"},"vcluster":{"chartVersion":"0.25.0"}}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, "spec.vcluster.chartVersion: plan p doesn't allow 0.25.0") {
		t.Errorf("a version of a forged record: %q", msg)
	}
	// Somebody else begins with what the plan has now.
	e = crossplanetest.New(t, `{"plan":"p","kubernetes":{"version":"v1.35.4"}}`, newer)
	e.AddPlan("p", `{}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, "spec.kubernetes.version: plan p doesn't allow v1.35.4: write v1.36.0 (the platform's)") {
		t.Errorf("a new tenant: %q", msg)
	}
}

// TestPlanChanges: sizes change in place, and what holds the state doesn't.
func TestPlanChanges(t *testing.T) {
	e := crossplanetest.New(t, `{"plan":"small"}`, "")
	e.AddPlan("small", `{"vcluster":{"resources":{"limits":{"memory":"1Gi"}}}}`)
	e.AddPlan("large", `{"vcluster":{"resources":{"limits":{"memory":"4Gi"}}},"argocd":{"server":{"replicas":2}}}`)
	e.AddPlan("grown", `{"vcluster":{"storage":{"size":"5Gi"}}}`)
	e.AddPlan("alike", `{"vcluster":{"storage":{"size":"1024Mi"}}}`)
	e.AddPlan("shrunk", `{"vcluster":{"storage":{"size":"512Mi"}}}`)
	e.AddPlan("fast", `{"vcluster":{"storage":{"storageClass":"fast"}}}`)
	e.AddPlan("etcd", `{"vcluster":{"backingStore":"etcd"}}`)
	e.AddPlan("etcd3", `{"vcluster":{"backingStore":"etcd","replicas":3}}`)
	e.Install()
	memory := func() any { return vclusterValues(e, "controlPlane", "statefulSet", "resources", "limits", "memory") }
	volume := func() any {
		return vclusterValues(e, "controlPlane", "statefulSet", "persistence", "volumeClaim", "size")
	}

	e.AddPlan("small", `{"vcluster":{"resources":{"limits":{"memory":"2Gi"}}}}`)
	if e.Reconcile(); memory() != "2Gi" {
		t.Errorf("a change of the plan rolls out: %v", memory())
	}
	e.SetSpec(`{"plan":"large"}`)
	if e.Reconcile(); memory() != "4Gi" || e.ArgoCDValue("server", "replicas") != 2. || e.Status("plan") != "large" {
		t.Errorf("a change of plan resizes: %v, %s", memory(), e.Status("plan"))
	}
	for plan, want := range map[string]string{
		"grown":  "spec.plan: grown has sqlite on a volume of 5Gi, and this virtual cluster was made with sqlite on a volume of 1Gi: Kubernetes can't change that in place",
		"shrunk": "spec.plan: shrunk has sqlite on a volume of 512Mi, and this virtual cluster was made with sqlite on a volume of 1Gi: Kubernetes can't change that in place",
		"fast":   "spec.plan: fast has sqlite on a volume of 1Gi, class fast, and this",
		"etcd":   "spec.plan: etcd has etcd on a volume of 1Gi, and this",
		"etcd3":  "spec.plan: etcd3 has etcd with 3 members on volumes of 1Gi, and this",
	} {
		e.SetSpec(`{"plan":"` + plan + `"}`)
		if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, want) || !strings.Contains(msg, "such as large") {
			t.Errorf("plan %s: want %q, got %q", plan, want, msg)
		}
	}
	e.SetSpec(`{"plan":"alike"}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" || e.Status("plan") != "alike" {
		t.Errorf("the same size in other words: %q, %s", msg, e.Status("plan"))
	}
	// The platform changes what new tenants get.
	e.AddPlan("alike", `{"vcluster":{"storage":{"size":"8Gi"},"backingStore":"etcd"}}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); msg != "" || vclusterValues(e, "controlPlane", "backingStore", "etcd", "deploy", "enabled") != nil {
		t.Errorf("a tenant keeps its store: %q", msg)
	}
	e.AddPlan("alike", `{"vcluster":{"replicas":3,"backingStore":"etcd"}}`)
	if msg := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(msg, "plan alike: spec.vcluster.replicas: is 3, and this virtual cluster was made with sqlite") {
		t.Errorf("several replicas on a store of one: %q", msg)
	}
	if v := volume(); v != "1Gi" && v != "1024Mi" {
		t.Errorf("the volume has changed: %v", v)
	}
	// Before anything is installed, anything may change.
	e = crossplanetest.New(t, `{"plan":"small"}`, "")
	e.AddPlan("small", `{}`)
	e.AddPlan("grown", `{"vcluster":{"storage":{"size":"5Gi"}}}`)
	e.Reconcile()
	e.SetSpec(`{"plan":"grown"}`)
	if e.Install(); volume() != "5Gi" {
		t.Errorf("volume: %v", volume())
	}
}

// TestAtOnce: what no revision of a plan has takes effect at once, and the page about channels names it.
func TestAtOnce(t *testing.T) {
	page, err := os.ReadFile("../../docs/channels.md")
	if err != nil {
		t.Fatal(err)
	}
	_, said, _ := strings.Cut(string(page), "only `namespaces`")
	said, _, _ = strings.Cut(said, "take effect at once")
	for i := range reflect.TypeFor[v1alpha1.PlanSpec]().NumField() {
		field := reflect.TypeFor[v1alpha1.PlanSpec]().Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		p := plan.Plan{}
		is := reflect.ValueOf(&p.Spec).Elem().Field(i)
		switch is.Kind() {
		case reflect.Pointer:
			is.Set(reflect.New(is.Type().Elem()))
		case reflect.String:
			is.SetString("x")
		case reflect.Slice:
			is.Set(reflect.MakeSlice(is.Type(), 1, 1))
		case reflect.Map:
			is.Set(reflect.MakeMap(is.Type()))
		default:
			// No field at once is of another kind, as the list on the page shows.
			continue
		}
		atOnce := !reflect.DeepEqual(p.Content(), p)
		if taken := !reflect.DeepEqual(plan.Plan{}.Now(p), plan.Plan{}); taken != atOnce {
			t.Errorf("%s is in no revision: %t, and takes effect at once: %t", name, atOnce, taken)
		}
		if named := strings.Contains("`namespaces`"+said, "`"+name+"`"); named != atOnce {
			t.Errorf("%s takes effect at once: %t, and the page says so: %t", name, atOnce, named)
		}
	}
}
