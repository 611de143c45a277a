package components_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

const two = `{"components":[{"name":"workflows","values":{"controller":{"resources":{"limits":{"memory":"1Gi"}}}}},{"name":"sealed"}]}`

var workflows, rollouts = tenant.ComponentResource("workflows"), tenant.ComponentResource("rollouts")

// states returns name, version and state of each component in the status.
func states(e *crossplanetest.Engine) []string {
	var out []string
	for _, c := range wire.Of(e.XR()).List("status", "components") {
		out = append(out, strings.Join([]string{c.String("name"), c.String("version"), c.String("state")}, " "))
	}
	return out
}

func message(e *crossplanetest.Engine, name string) string {
	return tenant.WasComponent(tenant.Observed{XR: wire.Of(e.XR())}, name).Message
}

func exists(e *crossplanetest.Engine, name string) bool {
	return e.Request.GetObserved().GetResources()[name] != nil
}

// TestComponentsInstalled: a claim's components are installed in the virtual cluster, each by a Release of its own.
func TestComponentsInstalled(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue)
	e.Reconcile()
	if got := states(e); !slices.Equal(got, []string{"sealed  Waiting", "workflows  Waiting"}) {
		t.Errorf("at first: %q", got)
	}
	e.AwaitVCluster()
	if exists(e, workflows) {
		t.Error("a component is installed before the virtual cluster answers")
	}
	for e.RunProviders(); !exists(e, tenant.ArgoCDRelease); e.RunProviders() {
		e.Reconcile()
	}
	if exists(e, workflows) {
		t.Error("a component is installed before Argo CD's chart")
	}
	e.Install()
	is := wire.Of(e.Observed(workflows))
	got := map[string]any{
		"config": is.String("spec", "providerConfigRef", "name"), "namespace": is.String("spec", "forProvider", "namespace"), "helm": is.String("metadata", "annotations", "crossplane.io/external-name"),
		"chart": is.Get("spec", "forProvider", "chart"), "values": is.Value("spec", "forProvider", "values").AsInterface(), "policies": is.Strings("spec", "managementPolicies"),
		"states": states(e), "condition": e.Condition(v1alpha1.ConditionComponentsReady).GetReason(),
	}
	chart, _ := got["chart"].(wire.Struct)
	got["chart"] = []string{chart.String("repository"), chart.String("name"), chart.String("version")}
	want := map[string]any{
		"config": "vargo-customer1-7rw8j", "namespace": "argo", "helm": "workflows", "chart": []string{"https://argoproj.github.io/argo-helm", "argo-workflows", "1.0.18"},
		"values":   map[string]any{"crds": map[string]any{"full": false}, "controller": map[string]any{"replicas": 1., "resources": map[string]any{"limits": map[string]any{"memory": "1Gi"}}}},
		"policies": []string{"Observe", "Create", "Update", "LateInitialize"},
		"states":   []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Ready"}, "condition": v1alpha1.ReasonAvailable,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if summary := wire.Of(e.Observed(tenant.ComponentWorkloads)).String("spec", "forProvider", "manifest", "metadata", "name"); summary != "virtual-argocd-components:deployment.argo.argo-workflows-server,deployment.argo.argo-workflows-workflow-controller" {
		t.Errorf("the proxy is asked for %s", summary)
	}
	if exists(e, rollouts) || e.ArgoCDValue("server", "extensions") != nil {
		t.Error("it has a component that it doesn't ask for")
	}
	e.CheckDeletable()
}

// TestClaimWithoutComponents: a catalogue costs a tenant nothing that names none of it.
func TestClaimWithoutComponents(t *testing.T) {
	e := crossplanetest.New(t, `{}`, crossplanetest.Catalogue).Install()
	for name := range e.Request.GetObserved().GetResources() {
		if strings.HasPrefix(name, "component") || strings.HasPrefix(name, tenant.ComponentPrefix) {
			t.Errorf("it has %s", name)
		}
	}
	if c := e.Condition(v1alpha1.ConditionComponentsReady); c.GetReason() != "" || len(states(e)) > 0 {
		t.Errorf("it has %v, %q", c, states(e))
	}
}

// TestRefusedComponents: what a claim, a plan, a channel or the platform may not write is named, with what to write instead.
func TestRefusedComponents(t *testing.T) {
	catalogue := func(entry string) string {
		return `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","components":[` + entry + `]}`
	}
	updater := catalogue(`{"name":"updater","chart":{"repository":"https://argoproj.github.io/argo-helm","name":"argocd-image-updater","version":"1.2.4"},"claimValues":["config.git.user"]}`)
	const chart = `"chart":{"repository":"https://charts.example.org","name":"a","version":"1.2.3"}`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Right":         {Spec: two, Input: crossplanetest.Catalogue},
		"Unknown":       {Spec: `{"components":[{"name":"workflow"}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].name: "workflow" is unknown: did you mean workflows? Otherwise write one of rollouts, sealed, workflows`}},
		"Twice":         {Spec: `{"components":[{"name":"sealed"},{"name":"sealed"}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[1].name: "sealed" is that of another entry, too`}},
		"Far":           {Spec: `{"components":[{"name":"sealed"},{"name":"kafka"}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[1].name: "kafka" is unknown: write one of rollouts, sealed, workflows`}},
		"BuiltIn":       {Spec: `{"components":[{"name":"workflows"}]}`},
		"None":          {Spec: `{"components":[{"name":"workflows"}]}`, Input: catalogue(""), Want: []string{`spec.components[0].name: "workflows" is unknown, because the platform has no components`}},
		"Path":          {Spec: `{"components":[{"name":"workflows","values":{"controller":{"image":{"tag":"evil"}}}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values.controller.image.tag is the platform's to set: leave it out; claims may set values of workflows at and below controller.resources, server`}},
		"NoPath":        {Spec: `{"components":[{"name":"sealed","values":{"a":1}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values.a is the platform's to set: leave it out; claims may set no values of sealed`}},
		"AllPaths":      {Spec: `{"components":[{"name":"rollouts","values":{"controller":{"replicas":2}}}]}`, Input: crossplanetest.Catalogue},
		"NoSuchValue":   {Spec: `{"components":[{"name":"workflows","values":{"server":{"authModez":["sso"]}}}]}`, Input: crossplanetest.Catalogue, Want: []string{"spec.components[0].values.server.authModez: the argo-workflows chart has no such value: did you mean server.authMode or server.authModes?"}},
		"DottedKey":     {Spec: `{"components":[{"name":"workflows","values":{"controller.resources":{"limits":{"memory":"1Gi"}}}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values."controller.resources": the argo-workflows chart has no such value: a key with dots is one key; write controller: {resources: ...}`}},
		"DotsOfChart":   {Spec: `{"components":[{"name":"updater","values":{"config":{"git.user":"a"}}}]}`, Input: updater},
		"NoDots":        {Spec: `{"components":[{"name":"updater","values":{"config":{"git":{"user":"a"}}}}]}`, Input: updater, Want: []string{`spec.components[0].values.config.git.user is the platform's to set: leave it out; claims may set values of updater at and below config."git.user"`}},
		"Kind":          {Spec: `{"components":[{"name":"workflows","values":{"server":{"ingress":true}}}]}`, Input: crossplanetest.Catalogue, Want: []string{"spec.components[0].values.server.ingress: true is no object, as the chart has there"}},
		"Resources":     {Spec: `{"components":[{"name":"workflows","values":{"controller":{"resources":{"limit":{"memory":"1Gi"}}}}}]}`, Input: crossplanetest.Catalogue, Want: []string{"spec.components[0].values.controller.resources.limit"}},
		"OtherVersion":  {Spec: `{"components":[{"name":"workflows","values":{"server":{"authModez":["sso"]}}}]}`, Input: strings.Replace(crossplanetest.Catalogue, "1.0.18", "2.0.0", 1)},
		"Template":      {Spec: `{"components":[{"name":"sealed","values":{"a":"{{ repeat 1000000000 \"x\" }}"}}]}`, Input: strings.Replace(crossplanetest.Catalogue, `"version":"2.18.0"`, `"version":"2.18.0"},"claimValues":["*"],"argocdValues":{`, 1), Want: []string{`spec.components[0].values.a: templates ({{ }}) aren't rendered for claims`}},
		"TemplateOf":    {Spec: `{"components":[{"name":"rollouts","values":{"extraObjects":["{{ repeat 1000000000 \"x\" }}"]}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values.extraObjects: templates ({{ }}) aren't rendered for claims`}},
		"TemplateLater": {Spec: `{"components":[{"name":"rollouts","values":{"notifications":{"templates":{"a":"{{ b }}"}}}}]}`, Input: strings.Replace(crossplanetest.Catalogue, "2.41.0", "2.41.9", 1), Want: []string{`spec.components[0].values.notifications.templates.a: templates ({{ }}) aren't rendered for claims`}},
		"ArgosTemplate": {Spec: `{"components":[{"name":"rollouts","values":{"notifications":{"templates":{"template.a":"message: {{.rollout.metadata.name}}\n"}}}}]}`, Input: crossplanetest.Catalogue},
		"Amount":        {Spec: `{"components":[{"name":"rollouts","values":{"a":"1e99999"}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values.a: "1e99999" is too large`}},
		"ManyValues":    {Spec: `{"components":[{"name":"rollouts","values":{"a":[` + strings.Repeat(`"a",`, 300) + `"a"]}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values: has 303 values, and a component 300 at most`}},
		"LargeValues":   {Spec: `{"components":[{"name":"rollouts","values":{"a":"` + strings.Repeat("a", 33<<10) + `"}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values: its texts have 33793 bytes, and those of a component 32768 at most`}},
		"ManySigns":     {Spec: `{"components":[{"name":"rollouts","values":{"a":"` + strings.Repeat("[],", 2000) + `"}}]}`, Input: crossplanetest.Catalogue, Want: []string{`spec.components[0].values: its texts have 4000 lines and signs of YAML`}},
		"Both":          {Spec: `{"components":[{"name":"workflow"},{"name":"sealed","values":{"a":1}}]}`, Input: crossplanetest.Catalogue, Want: []string{"spec.components[0].name", "; (2) spec.components[1].values.a"}},
		"InputRight":    {Spec: `{}`, Input: catalogue(`{"name":"a",` + chart + `}`)},
		"InputName":     {Spec: `{}`, Input: catalogue(`{"name":"A_b",` + chart + `}`), Want: []string{`input.components[0].name: "A_b" is not a name: write a DNS label of at most 16 characters`}},
		"InputLong":     {Spec: `{}`, Input: catalogue(`{"name":"a2345678901234567",` + chart + `}`), Want: []string{`input.components[0].name: "a2345678901234567" is not a name`}},
		"InputTwice":    {Spec: `{}`, Input: catalogue(`{"name":"a",` + chart + `},{"name":"a",` + chart + `}`), Want: []string{`input.components[1].name: "a" is that of an entry before, too`}},
		"InputOwn":      {Spec: `{}`, Input: catalogue(`{"name":"argocd",` + chart + `}`), Want: []string{`input.components[0].name: "argocd" is the name of Argo CD's own Helm release`}},
		"InputChart":    {Spec: `{}`, Input: catalogue(`{"name":"a","chart":{"repository":"https://charts.example.org","name":"a","version":"~1"}}`), Want: []string{`input.components[0].chart.version: "~1" is not a version`}},
		"InputNoChart":  {Spec: `{}`, Input: catalogue(`{"name":"a","chart":{"name":"a","version":"1.2.3"}}`), Want: []string{`input.components[0].chart.repository: is missing`}},
		"InputDigest":   {Spec: `{}`, Input: catalogue(`{"name":"a","chart":{"repository":"https://charts.example.org","name":"a","version":"1.2.3","digests":{"1.2.3":"x"}}}`), Want: []string{`input.components[0].chart.digests: charts of repository https://charts.example.org can't be installed by digest`}},
		"InputKind":     {Spec: `{}`, Input: catalogue(`{"name":"a",` + chart + `,"workloads":[{"kind":"DaemonSet","name":"a"}]}`), Want: []string{`input.components[0].workloads[0].kind: "DaemonSet" is unknown: write Deployment or StatefulSet`}},
		"InputNames":    {Spec: `{}`, Input: catalogue(`{"name":"a",` + chart + `,"workloads":[{"kind":"Deployment","name":"a.b"}]}`), Want: []string{`input.components[0].workloads[0].name: "a.b" is not the name of a workload`}},
		"InputMany":     {Spec: `{}`, Input: catalogue(`{"name":"a",` + chart + `,"workloads":[{"kind":"Deployment","name":"a"},{"kind":"Deployment","name":"b"},{"kind":"Deployment","name":"c"},{"kind":"Deployment","name":"d"},{"kind":"Deployment","name":"e"}]}`), Want: []string{`input.components[0].workloads: has 5 entries: write 4 at most`}},
		"InputWebhooks": {Spec: `{}`, Input: catalogue(`{"name":"a","namespace":"argocd","webhooks":true,` + chart + `}`), Want: []string{`input.components[0].webhooks: is not possible in namespace argocd`}},
		"InputSpace":    {Spec: `{}`, Input: catalogue(`{"name":"a","namespace":"a/b",` + chart + `}`), Want: []string{`input.components[0].namespace: "a/b" is not a namespace`}},
	})
}

// TestMistakesOfCatalogue come in the same order in each call: another message would be another event.
func TestMistakesOfCatalogue(t *testing.T) {
	for range 20 {
		e := crossplanetest.New(t, `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","components":[{"name":"a","chart":{"version":"1.2.3"}}]}`)
		const missing = "is missing: write where the chart is, such as repository https://argoproj.github.io/argo-helm and name argo-workflows"
		e.CheckRefused("input.components[0].chart.repository: " + missing + "; (2) input.components[0].chart.name: " + missing)
	}
}

// TestComponentsOfPlan: a plan says which components its tenants may have, and which they always have.
func TestComponentsOfPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		plan, spec string
		want       []string
		refused    string
	}{
		"All":           {`{}`, `{"plan":"p","components":[{"name":"sealed"}]}`, []string{"sealed"}, ""},
		"Allowed":       {`{"components":{"allowed":["sealed"]}}`, `{"plan":"p","components":[{"name":"sealed"}]}`, []string{"sealed"}, ""},
		"NotAllowed":    {`{"components":{"allowed":["sealed"],"always":["rollouts"]}}`, `{"plan":"p","components":[{"name":"workflows"}]}`, nil, "spec.components[0].name: plan p doesn't allow workflows: write one of rollouts, sealed, or choose another plan"},
		"NoneAllowed":   {`{"components":{"allowed":[]}}`, `{"plan":"p","components":[{"name":"workflows"}]}`, nil, "spec.components[0].name: plan p allows no components: leave workflows out, or choose another plan"},
		"UnknownOfFew":  {`{"components":{"allowed":["sealed"]}}`, `{"plan":"p","components":[{"name":"workflow"}]}`, nil, `spec.components[0].name: "workflow" is unknown: write one of sealed`},
		"UnknownOfNone": {`{"components":{"allowed":[]}}`, `{"plan":"p","components":[{"name":"workflow"}]}`, nil, `spec.components[0].name: "workflow" is unknown, and plan p allows no components`},
		"Always":        {`{"components":{"allowed":[],"always":["workflows"]}}`, `{"plan":"p"}`, []string{"workflows"}, ""},
		"AlwaysNamed":   {`{"components":{"allowed":[],"always":["workflows"]}}`, `{"plan":"p","components":[{"name":"workflows","values":{"server":{"replicas":2}}}]}`, []string{"workflows"}, ""},
		"PlansMistake":  {`{"components":{"allowed":["workflow"]}}`, `{"plan":"p"}`, nil, `plan p: spec.components.allowed[0]: "workflow" is unknown: did you mean workflows?`},
		"AlwaysMistake": {`{"components":{"always":["kafka"]}}`, `{"plan":"p"}`, nil, `plan p: spec.components.always[0]: "kafka" is unknown: write one of rollouts, sealed, workflows`},
		"ValuesMistake": {`{"values":{"components":[{"name":"kafka"}]}}`, `{"plan":"p"}`, nil, `plan p: spec.values.components[0].name: "kafka" is unknown`},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, crossplanetest.Catalogue)
			e.AddPlan("p", tc.plan)
			if tc.refused != "" {
				e.CheckRefused(tc.refused)
				return
			}
			e.Install()
			var got []string
			for _, c := range wire.Of(e.XR()).List("status", "components") {
				got = append(got, c.String("name"))
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
	// A tenant keeps a component that the plan lists no more.
	e := crossplanetest.New(t, `{"plan":"p","components":[{"name":"sealed"}]}`, crossplanetest.Catalogue)
	e.AddPlan("p", `{}`)
	e.Install()
	e.AddPlan("p", `{"components":{"allowed":["rollouts"]}}`)
	if e.Cycle(2); !slices.Equal(states(e), []string{"sealed 2.18.0 Ready"}) || crossplanetest.Refusal(e.Response) != "" {
		t.Errorf("%q, %s", states(e), crossplanetest.Refusal(e.Response))
	}
}

// TestArgoCDValuesOfComponents: an entry brings values of the argo-cd chart, for tenants that have it alone. Others override them.
func TestArgoCDValuesOfComponents(t *testing.T) {
	e := crossplanetest.New(t, `{"components":[{"name":"rollouts"}],"argocd":{"values":{"server":{"extensions":{"resources":{"limits":{"memory":"64Mi"}}}}}}}`, crossplanetest.Catalogue).Install()
	if got := e.ArgoCDValue("server", "extensions", "enabled"); got != true {
		t.Errorf("the extension: %v", got)
	}
	if got := e.ArgoCDValue("server", "extensions", "resources", "limits", "memory"); got != "64Mi" {
		t.Errorf("the claim's own: %v", got)
	}
	e.SetSpec(`{"components":[{"name":"rollouts"}],"argocd":{"values":{"server":{"extensions":{"enabled":false}}}}}`)
	if e.Cycle(1); e.ArgoCDValue("server", "extensions", "enabled") != false {
		t.Error("a claim can't switch the extension off")
	}
}

// TestComponentFails: a component that fails holds up neither Argo CD nor another component, and the claim says what is wrong.
func TestComponentFails(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	e.SetComponentWorkload("argo-workflows-server", func(w *proxy.Workload) { w.Available, w.Why = false, "pod a: no image" })
	e.Reconcile()
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Unavailable"}) || e.Status("phase") != "Ready" {
		t.Errorf("a workload stops: %q, phase %s", got, e.Status("phase"))
	}
	if c := e.Condition(v1alpha1.ConditionComponentsReady); c.GetReason() != v1alpha1.ReasonWorkloadsUnavailable || !strings.Contains(c.GetMessage(), "workflows: Deployment argo-workflows-server is not fully available, replicas wanted: 1: pod a: no image") {
		t.Errorf("got %v", c)
	}
	if got := e.Status("message"); got != "Argo CD is ready, but these conditions are False: ComponentsReady" {
		t.Errorf("the claim says %q", got)
	}
	e.RunProviders()
	if e.Reconcile(); e.Condition(v1alpha1.ConditionComponentsReady).GetReason() != v1alpha1.ReasonAvailable {
		t.Errorf("it runs again: %v", e.Condition(v1alpha1.ConditionComponentsReady))
	}
	// One that can't be installed at all.
	e = crossplanetest.New(t, two, crossplanetest.Catalogue)
	for range 12 {
		e.Reconcile()
		e.RunProviders()
		if exists(e, workflows) {
			crossplanetest.SetAtProvider(e.Observed(workflows), `{"state":"failed","releaseDescription":"chart requires kubeVersion >= 9"}`)
			crossplanetest.SetCondition(e.Observed(workflows), "Ready", "False", "Unavailable", "")
		}
	}
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows  Failed"}) || e.Status("phase") != "Ready" || !strings.Contains(message(e, "workflows"), "chart requires kubeVersion >= 9") {
		t.Errorf("a chart fails: %q, phase %s, %s", got, e.Status("phase"), message(e, "workflows"))
	}
	// Nor if there is no other, and Argo CD was Ready before.
	e = crossplanetest.New(t, `{}`, crossplanetest.Catalogue).Install()
	e.SetSpec(`{"components":[{"name":"workflows"}]}`)
	for range 6 {
		e.Reconcile()
		e.RunProviders()
		crossplanetest.SetAtProvider(e.Observed(workflows), `{"state":"failed","releaseDescription":"chart requires kubeVersion >= 9"}`)
		crossplanetest.SetCondition(e.Observed(workflows), "Ready", "False", "Unavailable", "")
	}
	if got := states(e); !slices.Equal(got, []string{"workflows  Failed"}) || e.Status("phase") != "Ready" {
		t.Errorf("the only component fails: %q, phase %s: %s", got, e.Status("phase"), e.Status("message"))
	}
	// Nor does Argo CD's installation hold up components for long.
	e = crossplanetest.New(t, two, crossplanetest.Catalogue)
	for range 14 {
		e.Reconcile()
		e.RunProviders()
		if exists(e, tenant.ArgoCDRelease) {
			crossplanetest.SetAtProvider(e.Observed(tenant.ArgoCDRelease), `{"state":"failed","releaseDescription":"no"}`)
			e.SetAge(tenant.ArgoCDRelease, time.Minute)
		}
	}
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Ready"}) || e.Status("phase") == "Ready" {
		t.Errorf("Argo CD fails: %q, phase %s: %s", got, e.Status("phase"), message(e, "workflows"))
	}
}

// TestComponentChangeFails: a change of a component that doesn't become ready is tried three times and taken back, and the claim says so.
func TestComponentChangeFails(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	release := func() *structpb.Struct { return e.Observed(workflows) }
	if wire.Of(release()).Bool("spec", "forProvider", "wait") {
		t.Error("Helm waits for the first installation of a component")
	}
	e.SetSpec(strings.Replace(two, "1Gi", "2Gi", 1))
	tried := 0
	for range 6 {
		e.Reconcile()
		crossplanetest.SetCondition(release(), "Ready", "False", "Unavailable", "")
		if !slices.Contains(wire.Of(release()).Strings("spec", "managementPolicies"), "Update") {
			e.DeployComponent(workflows)
			crossplanetest.SetCondition(release(), "Ready", "True", "Available", "")
			continue
		}
		if !wire.Of(release()).Bool("spec", "forProvider", "wait") {
			t.Error("Helm doesn't wait for a change of a component")
		}
		tried++
		crossplanetest.SetAtProvider(release(), `{"state":"failed","releaseDescription":"Upgrade failed: no","version":"1.0.18"}`)
		crossplanetest.Field(release(), "status").Fields["failed"] = structpb.NewNumberValue(float64(tried))
	}
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionSpecAccepted); tried != 3 || c.GetReason() != v1alpha1.ReasonUpgradeFailed || !strings.Contains(c.GetMessage(), "chart argo-workflows 1.0.18 has failed 3 times") {
		t.Errorf("tried %d times: %v", tried, c)
	}
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Failed"}) || e.Status("phase") != "Ready" {
		t.Errorf("%q, phase %s", got, e.Status("phase"))
	}
}

// TestCatalogueLosesEntry: a tenant keeps a component that the platform has taken out of the catalogue, as it was accepted.
func TestCatalogueLosesEntry(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	var input map[string]any
	if err := json.Unmarshal([]byte(crossplanetest.Catalogue), &input); err != nil {
		t.Fatal(err)
	}
	list := input["components"].([]any)
	input["components"] = list[1:]
	raw := crossplanetest.Must(json.Marshal(input))
	e.Request.Input = resource.MustStructJSON(string(raw))
	e.Cycle(2)
	if got := states(e); !slices.Equal(got, []string{"sealed 2.18.0 Ready", "workflows 1.0.18 Ready"}) || !strings.Contains(crossplanetest.Refusal(e.Response), `spec.components[0].name: "workflows" is unknown`) {
		t.Errorf("%q, %s", got, crossplanetest.Refusal(e.Response))
	}
}

// TestComponentsAsleep: nothing is said of components of a tenant that is asleep, and what is being removed doesn't keep it from being deleted.
func TestComponentsAsleep(t *testing.T) {
	e := crossplanetest.New(t, two, crossplanetest.Catalogue).Install()
	e.SetSpec(strings.Replace(two, "{", `{"hibernation":{"enabled":true},`, 1))
	e.Cycle(3)
	if got := states(e); e.Status("phase") != "Hibernated" || !slices.Equal(got, []string{"sealed 2.18.0 Asleep", "workflows 1.0.18 Asleep"}) {
		t.Errorf("phase %s: %q", e.Status("phase"), got)
	}
	if c := e.Condition(v1alpha1.ConditionComponentsReady); c.GetReason() != v1alpha1.ReasonHibernated {
		t.Errorf("got %v", c)
	}
	e.SetSpec(`{"hibernation":{"enabled":true}}`)
	e.Cycle(2)
	e.CheckDeletable()
	e.SetSpec(`{}`)
	e.Cycle(6)
	if got := states(e); e.Status("phase") != "Ready" || len(got) > 0 {
		t.Errorf("awake, phase %s: %q", e.Status("phase"), got)
	}
}

// TestWebhooksOfComponents: the ingress controllers reach the pods in the namespace of a component with webhooks, and the host's policies know of
// that namespace; for no others.
func TestWebhooksOfComponents(t *testing.T) {
	input := strings.Replace(crossplanetest.Catalogue, `"name":"sealed"`, `"name":"sealed","webhooks":true`, 1)
	for spec, want := range map[string]bool{`{}`: false, `{"components":[{"name":"workflows"}]}`: false, `{"components":[{"name":"sealed"}]}`: true} {
		e := crossplanetest.New(t, spec, input).Install()
		names := []string{}
		for name := range e.Request.GetObserved().GetResources() {
			names = append(names, name)
		}
		if got := slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(name, "virtual-argocd-webhooks") }); got != want {
			t.Errorf("%s: want %t, got %t of %q", spec, want, got, names)
		}
		if got := e.NamespaceAnnotation(tenant.AnnotationIngressNamespaces); want && got != "sealed" || !want && got != "" {
			t.Errorf("%s: the policies allow Ingresses of namespaces %q", spec, got)
		}
	}
}

// TestComponentsOfCopy: a copy of a tenant has no components before somebody lets it act: one may write to Git.
func TestComponentsOfCopy(t *testing.T) {
	input := strings.Replace(crossplanetest.Catalogue, `"components"`, `"backup":{"remote":"backup:"},"components"`, 1)
	e := crossplanetest.New(t, `{"restoreFrom":{"backup":"latest"},"components":[{"name":"sealed"}]}`, input)
	e.Cycle(10)
	if got := message(e, "sealed"); exists(e, tenant.ComponentResource("sealed")) || got != "Waiting until spec.restoreFrom.activate is true; what the backup has of it runs meanwhile" {
		t.Errorf("%q: %s", states(e), got)
	}
	other := crossplanetest.New(t, `{"restoreFrom":{"tenant":"other"},"components":[{"name":"sealed"}]}`, input)
	if other.Cycle(10); message(other, "sealed") != "Waiting until spec.restoreFrom.activate is true" {
		t.Errorf("a copy has nothing of it: %s", message(other, "sealed"))
	}
	if phase := e.Status("phase"); phase != "Ready" {
		t.Errorf("a tenant that isn't activated is %s: %s", phase, e.Status("message"))
	}
	e.SetSpec(`{"restoreFrom":{"backup":"latest","activate":true},"components":[{"name":"sealed"}]}`)
	if e.Cycle(4); !slices.Equal(states(e), []string{"sealed 2.18.0 Ready"}) {
		t.Errorf("%q: %s", states(e), message(e, "sealed"))
	}
}
