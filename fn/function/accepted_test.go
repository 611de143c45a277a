package function

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
)

// A mistake is one that somebody makes about a tenant that runs.
type mistake struct {
	make, mend func(*engine)
	// reason of the condition, and how its message begins.
	reason, message string
}

// mistakenSpec has numbers, too, which JSON has one kind of.
const mistakenSpec = `"argocd":{"values":{"server":{"replicas":2},"dex":{"enabled":0}}},"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"git"}}]`

var mistakes = map[string]mistake{
	"Spec": {
		make:   func(e *engine) { e.spec(`{"plan":"team","kubernetes":{"version":"v1.29.0"},` + mistakenSpec + `}`) },
		mend:   func(e *engine) { e.spec(`{"plan":"team",` + mistakenSpec + `}`) },
		reason: v1alpha1.ReasonInvalidSpec, message: "spec.kubernetes.version",
	},
	"SpecOfWrongType": {
		make:   func(e *engine) { e.spec(`{"plan":"team","argocd":{"values":[]}}`) },
		mend:   func(e *engine) { e.spec(`{"plan":"team",` + mistakenSpec + `}`) },
		reason: v1alpha1.ReasonInvalidSpec, message: "spec.argocd.values",
	},
	"UnknownPlan": {
		make:   func(e *engine) { e.spec(`{"plan":"teem",` + mistakenSpec + `}`) },
		mend:   func(e *engine) { e.spec(`{"plan":"team",` + mistakenSpec + `}`) },
		reason: v1alpha1.ReasonInvalidSpec, message: "spec.plan",
	},
	"Plan": {
		make:   func(e *engine) { e.plan("team", `{"vcluster":{"quotta":{}}}`) },
		mend:   func(e *engine) { e.plan("team", `{}`) },
		reason: v1alpha1.ReasonInvalidPlan, message: "plan team",
	},
	"PlanDeleted": {
		make:   func(e *engine) { delete(e.cluster, "XArgoCDPlan//team") },
		mend:   func(e *engine) { e.plan("team", `{}`) },
		reason: v1alpha1.ReasonInvalidPlan, message: "plan team: this XArgoCDPlan doesn't exist any more",
	},
	"Input": {
		make: func(e *engine) {
			e.req.Input = resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"Input","credentials":{"label":"none"}}`)
		},
		mend:   func(e *engine) { e.req.Input = nil },
		reason: v1alpha1.ReasonInvalidInput, message: "input",
	},
	"NewerInput": {
		make: func(e *engine) {
			e.req.Input = resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v9","kind":"Input"}`)
		},
		mend:   func(e *engine) { e.req.Input = nil },
		reason: v1alpha1.ReasonInvalidInput, message: "input",
	},
}

// TestRefusedTenantGoesOn: under each mistake the tenant is as it was accepted. What is seen of it is told, its credentials
// are rotated and its certificates are renewed, as without. Crossplane deletes it without calling the function.
func TestRefusedTenantGoesOn(t *testing.T) {
	for name, m := range mistakes {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{"plan":"team",`+mistakenSpec+`}`), "")
			e.plan("team", `{}`)
			credential := func(password string) {
				e.secret("git", "kubernetes.io/basic-auth", map[string]string{"username": "argocd", "password": password})
			}
			credential("first-password")
			e.install()
			before, conditions := e.desired(), e.conditions()

			m.make(e)
			e.events = nil
			e.reconcile()
			c := e.condition(v1alpha1.ConditionSpecAccepted)
			if c.GetReason() != m.reason || !strings.HasPrefix(c.GetMessage(), m.message) {
				t.Errorf("want SpecAccepted False with reason %s and a message that begins with %q, got %v", m.reason, m.message, c)
			}
			if want := []string{m.reason + ": " + c.GetMessage()}; !slices.Equal(e.events, want) {
				t.Errorf("events: want %v, got %v", want, e.events)
			}
			if msg := e.status("message"); e.status("phase") != "Ready" || !strings.Contains(msg, c.GetMessage()) {
				t.Errorf("want phase Ready with the mistake in the message, got %s: %s", e.status("phase"), msg)
			}
			if diff := cmp.Diff(before, e.desired()); diff != "" {
				t.Errorf("the mistake changes what is composed: -before, +now:\n%s", diff)
			}
			if diff := cmp.Diff(conditions, e.conditions()); diff != "" {
				t.Errorf("the mistake changes conditions: -before, +now:\n%s", diff)
			}
			if e.reconcile(); len(e.events) != 1 {
				t.Errorf("the same is told again: %v", e.events)
			}
			e.canBeDeleted()

			e.setReplicas("argocd-server", 0)
			delete(e.cluster, "ValidatingAdmissionPolicy//virtual-argocd-pods")
			if e.reconcile(); e.status("phase") != "Degraded" || e.condition(v1alpha1.ConditionArgoCDReady).GetReason() != v1alpha1.ReasonWorkloadsUnavailable {
				t.Errorf("a workload breaks, and the tenant is %s: %v", e.status("phase"), e.condition(v1alpha1.ConditionArgoCDReady))
			}
			conditions[v1alpha1.ConditionArgoCDReady], conditions[v1alpha1.ConditionHostProtected] = false, false
			if diff := cmp.Diff(conditions, e.conditions()); diff != "" {
				t.Errorf("a workload breaks, and a policy is gone: conditions: -want, +got:\n%s", diff)
			}
			e.protect()
			e.heal()
			if e.reconcile(); e.status("phase") != "Ready" {
				t.Errorf("it recovers, and the tenant is %s: %s", e.status("phase"), e.status("message"))
			}

			release := field(e.observed(tenant.ArgoCDRelease), "spec")
			credential("second-password")
			e.cycle(2)
			if now := field(e.observed(tenant.ArgoCDRelease), "spec"); !proto.Equal(release, now) {
				t.Errorf("a rotated credential makes the Release one that is rolled out: it was %v and is %v", release, now)
			}
			if raw, err := base64.StdEncoding.DecodeString(field(e.observed(tenant.ValuesSecret), "data").GetFields()["values.yaml"].GetStringValue()); err != nil || !strings.Contains(string(raw), "second-password") {
				t.Errorf("the credential isn't rotated: %v", err)
			}
			kubeconfig := string(e.kubeconfig())
			e.publish(virtualKubeconfig(func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
				c.CertificateAuthorityData = slices.Concat(c.CertificateAuthorityData, c.CertificateAuthorityData)
			}))
			if e.reconcile(); string(e.kubeconfig()) == kubeconfig {
				t.Error("the virtual cluster's new certificate isn't used")
			}
			e.publish(testKubeconfig)
			credential("first-password")
			e.cycle(2)

			m.mend(e)
			e.reconcile()
			if c := e.condition(v1alpha1.ConditionSpecAccepted); c.GetReason() != v1alpha1.ReasonAccepted {
				t.Errorf("the mistake is mended: %v", c)
			}
			e.cycle(2)
			if diff := cmp.Diff(before, e.desired()); diff != "" || e.status("phase") != "Ready" {
				t.Errorf("after all of it the tenant is %s, and composed otherwise: -before, +now:\n%s", e.status("phase"), diff)
			}
		})
	}
}

// A claim with a mistake is held to what the platform says now, as far as that can be used.
func TestRefusedTenantFollowsThePlatform(t *testing.T) {
	e := newEngine(t, tenantXR(`{"plan":"team"}`), "")
	e.plan("team", `{"quota":{"count/pods":"30"}}`)
	e.install()
	pods := func() string {
		return field(e.observed(tenant.Quota), "spec", "forProvider", "manifest", "spec", "hard").GetFields()["count/pods"].GetStringValue()
	}
	for _, step := range []struct{ reason, spec, plan, want string }{
		{"The claim has a mistake.", `{"plan":"team","kubernetes":{"version":"v1.29.0"}}`, `{"quota":{"count/pods":"30"}}`, "30"},
		{"The platform takes some pods away.", `{"plan":"team","kubernetes":{"version":"v1.29.0"}}`, `{"quota":{"count/pods":"25"}}`, "25"},
		{"The platform makes a mistake, too.", `{"plan":"team","kubernetes":{"version":"v1.29.0"}}`, `{"vcluster":{"quotta":{}}}`, "25"},
		{"The claim asks for a plan that isn't there.", `{"plan":"huge"}`, `{"quota":{"count/pods":"20"}}`, "25"},
		{"All is well.", `{"plan":"team"}`, `{"quota":{"count/pods":"20"}}`, "20"},
	} {
		e.spec(step.spec)
		e.plan("team", step.plan)
		e.reconcile()
		if got := pods(); got != step.want || fatal(e.rsp) != "" {
			t.Errorf("\n%s\nwant %s pods, got %s; %s", step.reason, step.want, got, fatal(e.rsp))
		}
	}
}

// What can't be kept isn't accepted.
func TestAcceptedIsTooLarge(t *testing.T) {
	values := `{"configs":{"cm":{"x":"` + strings.Repeat("<", 200_000) + `"}}}`
	e := newEngine(t, tenantXR(`{"argocd":{"values":`+values+`}}`), "")
	if e.reconcile(); refusal(e.rsp) != "" {
		t.Errorf("values within the bounds are refused: %.200s", refusal(e.rsp))
	}
}

// What is accepted is lost, or can't be read: then it is as if nothing had been, and nothing changes.
func TestAcceptedIsLost(t *testing.T) {
	for name, data := range map[string]string{
		"Lost": "", "Damaged": `{"spec":`, "Empty": `{}`, "Null": `null`, "OfANewerFunction": `{"version":3,"spec":{}}`, "WithAFieldOfANewerFunction": `{"version":1,"spec":{"backup":{}}}`,
	} {
		data := base64.StdEncoding.EncodeToString([]byte(data))
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "").install()
			lose := func() {
				field(e.observed(tenant.AcceptedSecret), "data").Fields["accepted.json"] = structpb.NewStringValue(data)
			}
			lose()
			if e.reconcile(); refusal(e.rsp) != "" || e.status("phase") != "Ready" {
				t.Errorf("a claim without a mistake is %s: %s", e.status("phase"), refusal(e.rsp))
			}
			e.setReplicas("argocd-server", 0)
			delete(e.cluster, "ValidatingAdmissionPolicy//virtual-argocd-pods")
			e.reconcile()
			conditions := e.conditions()
			lose()
			e.spec(`{"kubernetes":{"version":"v1.29.0"}}`)
			if e.reconcile(); !strings.HasPrefix(fatal(e.rsp), "spec.kubernetes.version") {
				t.Errorf("want the mistake as a fatal result, by which Crossplane changes nothing, got %q", fatal(e.rsp))
			}
			if diff := cmp.Diff(conditions, e.conditions()); diff != "" || conditions[v1alpha1.ConditionArgoCDReady] || conditions[v1alpha1.ConditionHostProtected] {
				t.Errorf("conditions: -before, +now:\n%s", diff)
			}
		})
	}
}

// TestAcceptedOfAnOlderFunction: a tenant with a mistake goes on by what an older function has accepted.
func TestAcceptedOfAnOlderFunction(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	older := base64.StdEncoding.EncodeToString([]byte(`{"Spec":{"ArgoCDValues":{"server":{"replicas":2}}},"Plan":{"Name":"standard","Data":{}},"Input":{}}`))
	field(e.observed(tenant.AcceptedSecret), "data").Fields["accepted.json"] = structpb.NewStringValue(older)
	e.spec(`{"kubernetes":{"version":"v1.29.0"}}`)
	if e.reconcile(); fatal(e.rsp) != "" || argocdValue(e, "server", "replicas") != 2. {
		t.Errorf("want the values that were accepted, got %v; %s", argocdValue(e, "server", "replicas"), fatal(e.rsp))
	}
}

// TestProtectionBesideAMistake: deletion protection is switched on and off whatever else is wrong with a claim.
func TestProtectionBesideAMistake(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	for _, step := range []struct {
		reason, spec string
		want         bool
	}{
		{"Who asks for protection relies on it.", `{"deletionProtection":true,"kubernetes":{"version":"v1.29.0"}}`, true},
		{"It stays while the claim has another mistake.", `{"deletionProtection":true,"argocd":{"values":[]}}`, true},
		{"The protection itself can't be read.", `{"deletionProtection":"yes"}`, true},
		{"The spec can't be read.", `"all"`, true},
		{"Who ends it wants to delete.", `{"deletionProtection":false,"plan":"none"}`, false},
		{"On again.", `{"deletionProtection":true,"plan":"none"}`, true},
		{"It is left out.", `{"plan":"none"}`, false},
	} {
		e.spec(step.spec)
		e.cycle(2)
		if got := e.req.GetObserved().GetResources()[tenant.DeletionProtection] != nil; got != step.want || fatal(e.rsp) != "" || e.condition(v1alpha1.ConditionSpecAccepted).GetReason() != v1alpha1.ReasonInvalidSpec {
			t.Errorf("\n%s\n%s: want protected: %v, got %v; %v", step.reason, step.spec, step.want, got, e.condition(v1alpha1.ConditionSpecAccepted))
		}
	}
}

// conditions are those that were told last, but SpecAccepted, and whether they are True.
func (e *engine) conditions() map[string]bool {
	out := map[string]bool{}
	for _, c := range e.rsp.GetConditions() {
		if c.GetType() != v1alpha1.ConditionSpecAccepted {
			out[c.GetType()] = c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE
		}
	}
	return out
}

// desired is what is composed, by name.
func (e *engine) desired() map[string]string {
	out := map[string]string{}
	for name, d := range e.rsp.GetDesired().GetResources() {
		raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(d.GetResource())
		if err != nil {
			e.t.Fatal(err)
		}
		out[name] = string(raw)
	}
	return maps.Clone(out)
}
