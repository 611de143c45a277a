package function_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// A mistake is one that somebody makes about a tenant that runs.
type mistake struct {
	make, mend func(*crossplanetest.Engine)
	// reason of the condition, and how its message begins.
	reason, message string
}

// mistakenSpec has numbers, too, which JSON has one kind of.
const mistakenSpec = `"argocd":{"values":{"server":{"replicas":2},"dex":{"enabled":0}}},"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"git"}}]`

var mistakes = map[string]mistake{
	"Spec": {
		make: func(e *crossplanetest.Engine) {
			e.SetSpec(`{"plan":"team","kubernetes":{"version":"v1.29.0"},` + mistakenSpec + `}`)
		},
		mend:   func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"team",` + mistakenSpec + `}`) },
		reason: v1alpha1.ReasonInvalidSpec, message: "spec.kubernetes.version",
	},
	"SpecOfWrongType": {
		make:   func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"team","argocd":{"values":[]}}`) },
		mend:   func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"team",` + mistakenSpec + `}`) },
		reason: v1alpha1.ReasonInvalidSpec, message: "spec.argocd.values",
	},
	"UnknownPlan": {
		make:   func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"teem",` + mistakenSpec + `}`) },
		mend:   func(e *crossplanetest.Engine) { e.SetSpec(`{"plan":"team",` + mistakenSpec + `}`) },
		reason: v1alpha1.ReasonInvalidSpec, message: "spec.plan",
	},
	"Plan": {
		make:   func(e *crossplanetest.Engine) { e.AddPlan("team", `{"vcluster":{"quotta":{}}}`) },
		mend:   func(e *crossplanetest.Engine) { e.AddPlan("team", `{}`) },
		reason: v1alpha1.ReasonInvalidPlan, message: "plan team",
	},
	"PlanDeleted": {
		make:   func(e *crossplanetest.Engine) { delete(e.Cluster, "XArgoCDPlan//team") },
		mend:   func(e *crossplanetest.Engine) { e.AddPlan("team", `{}`) },
		reason: v1alpha1.ReasonInvalidPlan, message: "plan team: this XArgoCDPlan doesn't exist any more",
	},
	"Input": {
		make: func(e *crossplanetest.Engine) {
			e.Request.Input = resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"Input","credentials":{"label":"none"}}`)
		},
		mend:   func(e *crossplanetest.Engine) { e.Request.Input = nil },
		reason: v1alpha1.ReasonInvalidInput, message: "input",
	},
	"NewerInput": {
		make: func(e *crossplanetest.Engine) {
			e.Request.Input = resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v9","kind":"Input"}`)
		},
		mend:   func(e *crossplanetest.Engine) { e.Request.Input = nil },
		reason: v1alpha1.ReasonInvalidInput, message: "input",
	},
}

// TestRefusedTenantGoesOn: under each mistake the tenant is as it was accepted. What is seen of it is told, its credentials
// are rotated and its certificates are renewed, as without. Crossplane deletes it without calling the function.
func TestRefusedTenantGoesOn(t *testing.T) {
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"team",`+mistakenSpec+`}`, "")
			e.AddPlan("team", `{}`)
			credential := func(password string) {
				e.AddSecret("git", "kubernetes.io/basic-auth", map[string]string{"username": "argocd", "password": password})
			}
			credential("first-password")
			e.Install()
			before, conditions := desiredOf(e), conditionsOf(e)

			m.make(e)
			e.Events = nil
			e.Reconcile()
			c := e.Condition(v1alpha1.ConditionSpecAccepted)
			if c.GetReason() != m.reason || !strings.HasPrefix(c.GetMessage(), m.message) {
				t.Errorf("want SpecAccepted False with reason %s and a message that begins with %q, got %v", m.reason, m.message, c)
			}
			if want := []string{m.reason + ": " + c.GetMessage()}; !slices.Equal(e.Events, want) {
				t.Errorf("events: want %v, got %v", want, e.Events)
			}
			if msg := e.Status("message"); e.Status("phase") != "Ready" || !strings.Contains(msg, c.GetMessage()) {
				t.Errorf("want phase Ready with the mistake in the message, got %s: %s", e.Status("phase"), msg)
			}
			if diff := cmp.Diff(before, desiredOf(e)); diff != "" {
				t.Errorf("the mistake changes what is composed: -before, +now:\n%s", diff)
			}
			if diff := cmp.Diff(conditions, conditionsOf(e)); diff != "" {
				t.Errorf("the mistake changes conditions: -before, +now:\n%s", diff)
			}
			if e.Reconcile(); len(e.Events) != 1 {
				t.Errorf("the same is told again: %v", e.Events)
			}
			e.CheckDeletable()

			// What somebody has deleted or scaled down would be brought back: see TestDrift.
			e.SetWorkload(tenant.ArgoCDServer, func(w *proxy.Workload) { w.Available = false })
			delete(e.Cluster, "ValidatingAdmissionPolicy//virtual-argocd-pods")
			if e.Reconcile(); e.Status("phase") != "Degraded" || e.Condition(v1alpha1.ConditionArgoCDReady).GetReason() != v1alpha1.ReasonWorkloadsUnavailable {
				t.Errorf("a workload breaks, and the tenant is %s: %v", e.Status("phase"), e.Condition(v1alpha1.ConditionArgoCDReady))
			}
			conditions[v1alpha1.ConditionArgoCDReady], conditions[v1alpha1.ConditionHostProtected] = false, false
			if diff := cmp.Diff(conditions, conditionsOf(e)); diff != "" {
				t.Errorf("a workload breaks, and a policy is gone: conditions: -want, +got:\n%s", diff)
			}
			e.ProtectHost()
			e.RunProviders()
			if e.Reconcile(); e.Status("phase") != "Ready" {
				t.Errorf("it recovers, and the tenant is %s: %s", e.Status("phase"), e.Status("message"))
			}

			release := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec")
			credential("second-password")
			e.Cycle(2)
			if now := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec"); !proto.Equal(release, now) {
				t.Errorf("a rotated credential makes the Release one that is rolled out: it was %v and is %v", release, now)
			}
			if raw, err := base64.StdEncoding.DecodeString(crossplanetest.Field(e.Observed(tenant.ValuesSecret), "data").GetFields()["values.yaml"].GetStringValue()); err != nil || !strings.Contains(string(raw), "second-password") {
				t.Errorf("the credential isn't rotated: %v", err)
			}
			kubeconfig := string(e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey))
			e.PublishKubeconfig(crossplanetest.VirtualKubeconfig(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
				c.CertificateAuthorityData = slices.Concat(c.CertificateAuthorityData, c.CertificateAuthorityData)
			}))
			if e.Reconcile(); string(e.SecretKey(tenant.KubeconfigSecret, tenant.KubeconfigKey)) == kubeconfig {
				t.Error("the virtual cluster's new certificate isn't used")
			}
			e.PublishKubeconfig(crossplanetest.Kubeconfig)
			credential("first-password")
			e.Cycle(2)

			m.mend(e)
			e.Reconcile()
			if c := e.Condition(v1alpha1.ConditionSpecAccepted); c.GetReason() != v1alpha1.ReasonAccepted {
				t.Errorf("the mistake is mended: %v", c)
			}
			e.Cycle(2)
			if diff := cmp.Diff(before, desiredOf(e)); diff != "" || e.Status("phase") != "Ready" {
				t.Errorf("after all of it the tenant is %s, and composed otherwise: -before, +now:\n%s", e.Status("phase"), diff)
			}
		})
	}
}

// A claim with a mistake is held to what the platform says now, as far as that can be used.
func TestRefusedTenantFollowsThePlatform(t *testing.T) {
	e := crossplanetest.New(t, `{"plan":"team"}`, "")
	e.AddPlan("team", `{"quota":{"count/pods":"30"}}`)
	e.Install()
	pods := func() string {
		return crossplanetest.Field(e.Observed(tenant.Quota), "spec", "forProvider", "manifest", "spec", "hard").GetFields()["count/pods"].GetStringValue()
	}
	for _, step := range []struct{ reason, spec, plan, want string }{
		{"The claim has a mistake.", `{"plan":"team","kubernetes":{"version":"v1.29.0"}}`, `{"quota":{"count/pods":"30"}}`, "30"},
		{"The platform takes some pods away.", `{"plan":"team","kubernetes":{"version":"v1.29.0"}}`, `{"quota":{"count/pods":"25"}}`, "25"},
		{"The platform makes a mistake, too.", `{"plan":"team","kubernetes":{"version":"v1.29.0"}}`, `{"vcluster":{"quotta":{}}}`, "25"},
		{"The claim asks for a plan that isn't there.", `{"plan":"huge"}`, `{"quota":{"count/pods":"20"}}`, "20"},
		{"It can't be decoded.", `{"plan":"huge","argocd":{"values":{"x":["` + strings.Repeat(`","`, 6000) + `"]}}}`, `{"quota":{"count/pods":"18"}}`, "18"},
		{"All is well.", `{"plan":"team"}`, `{"quota":{"count/pods":"20"}}`, "20"},
	} {
		e.SetSpec(step.spec)
		e.AddPlan("team", step.plan)
		e.Reconcile()
		if got := pods(); got != step.want || crossplanetest.Fatal(e.Response) != "" {
			t.Errorf("\n%s\nwant %s pods, got %s; %s", step.reason, step.want, got, crossplanetest.Fatal(e.Response))
		}
	}
}

// The largest values that are accepted can be kept.
func TestLargestIsAccepted(t *testing.T) {
	values := `{"configs":{"cm":{"x":"` + strings.Repeat("<", 200_000) + `"}}}`
	e := crossplanetest.New(t, `{"argocd":{"values":`+values+`}}`, "")
	if e.Reconcile(); crossplanetest.Refusal(e.Response) != "" {
		t.Errorf("values within the bounds are refused: %.200s", crossplanetest.Refusal(e.Response))
	}
}

// What is accepted is lost, or can't be read: then it is as if nothing had been, and nothing changes.
func TestAcceptedIsLost(t *testing.T) {
	for name, data := range map[string]string{
		"Lost": "", "Damaged": `{"spec":`, "Empty": `{}`, "Null": `null`, "OfANewerFunction": `{"version":99,"spec":{},"plan":{"name":"standard","spec":{}},"input":{}}`, "WithAFieldOfANewerFunction": `{"version":3,"spec":{"backup":{}},"plan":{"name":"standard","spec":{}},"input":{}}`,
	} {
		data := base64.StdEncoding.EncodeToString([]byte(data))
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "").Install()
			lose := func() {
				crossplanetest.Field(e.Observed(tenant.AcceptedSecret), "data").Fields["accepted.json"] = structpb.NewStringValue(data)
			}
			lose()
			if e.Reconcile(); crossplanetest.Refusal(e.Response) != "" || e.Status("phase") != "Ready" {
				t.Errorf("a claim without a mistake is %s: %s", e.Status("phase"), crossplanetest.Refusal(e.Response))
			}
			// What somebody has deleted or scaled down would be brought back: see TestDrift.
			e.SetWorkload(tenant.ArgoCDServer, func(w *proxy.Workload) { w.Available = false })
			delete(e.Cluster, "ValidatingAdmissionPolicy//virtual-argocd-pods")
			e.Reconcile()
			conditions := conditionsOf(e)
			lose()
			e.SetSpec(`{"kubernetes":{"version":"v1.29.0"}}`)
			if e.Reconcile(); !strings.HasPrefix(crossplanetest.Fatal(e.Response), "spec.kubernetes.version") {
				t.Errorf("want the mistake as a fatal result, by which Crossplane changes nothing, got %q", crossplanetest.Fatal(e.Response))
			}
			if diff := cmp.Diff(conditions, conditionsOf(e)); diff != "" || conditions[v1alpha1.ConditionArgoCDReady] || conditions[v1alpha1.ConditionHostProtected] {
				t.Errorf("conditions: -before, +now:\n%s", diff)
			}
		})
	}
}

// TestAcceptedOfAnOlderFunction: a tenant with a mistake goes on by what an older function has accepted.
func TestAcceptedOfAnOlderFunction(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "").Install()
	older := base64.StdEncoding.EncodeToString([]byte(`{"Spec":{"ArgoCDValues":{"server":{"replicas":2}}},"Plan":{"Name":"standard","Data":{}},"Input":{}}`))
	crossplanetest.Field(e.Observed(tenant.AcceptedSecret), "data").Fields["accepted.json"] = structpb.NewStringValue(older)
	e.SetSpec(`{"kubernetes":{"version":"v1.29.0"}}`)
	if e.Reconcile(); crossplanetest.Fatal(e.Response) != "" || e.ArgoCDValue("server", "replicas") != 2. {
		t.Errorf("want the values that were accepted, got %v; %s", e.ArgoCDValue("server", "replicas"), crossplanetest.Fatal(e.Response))
	}
}

// conditionsOf are those that were told last, but SpecAccepted, and whether they are True.
func conditionsOf(e *crossplanetest.Engine) map[string]bool {
	out := map[string]bool{}
	for _, c := range e.Response.GetConditions() {
		if c.GetType() != v1alpha1.ConditionSpecAccepted {
			out[c.GetType()] = c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE
		}
	}
	return out
}

// desiredOf is what is composed, by name.
func desiredOf(e *crossplanetest.Engine) map[string]string {
	out := map[string]string{}
	for name, d := range e.Response.GetDesired().GetResources() {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(d.GetResource())
		if err != nil {
			e.T.Fatal(err)
		}
		out[name] = string(raw)
	}
	return maps.Clone(out)
}
