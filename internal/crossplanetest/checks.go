package crossplanetest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// CheckRefused reconciles, and checks that the function refuses what the claim, its plan or the input says, with a message that has all of want.
func (e *Engine) CheckRefused(want ...string) {
	e.T.Helper()
	msg := Refusal(e.Reconcile())
	if msg == "" {
		e.T.Errorf("it is accepted, want a refusal that says %q", want)
	}
	for _, w := range want {
		if !strings.Contains(msg, w) {
			e.T.Errorf("the refusal should say %q: %q", w, msg)
		}
	}
}

// A Claim is the spec of a claim with an input, and parts of the message that refuses it; none for a claim that is accepted.
type Claim struct {
	Spec  string
	Want  []string
	Input string
	// Policies is a file with admission policies of the host; "" for policies without lists.
	Policies string
}

// CheckClaims checks which claims are refused, and how. Put the right form beside each wrong one.
func CheckClaims(t *testing.T, cases map[string]Claim) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := New(t, tc.Spec, tc.Input)
			if tc.Policies != "" {
				e.AddPolicies(tc.Policies)
			}
			if len(tc.Want) > 0 {
				e.CheckRefused(tc.Want...)
			} else if msg := Refusal(e.Reconcile()); msg != "" {
				t.Errorf("it is refused: %q", msg)
			}
		})
	}
}

// CheckStaysAccepted checks that a spec that earlier versions of the function accepted stays accepted, and that a later one with the same
// mistake is refused.
func CheckStaysAccepted(t *testing.T, before, later string) {
	t.Helper()
	e := New(t, `{}`, "").Install()
	e.AcceptEarlier(before)
	e.Cycle(2)
	if msg := Refusal(e.Response); msg != "" {
		t.Errorf("what was accepted is refused: %s", msg)
	}
	e.SetSpec(later)
	e.Cycle(2)
	if msg := Refusal(e.Response); msg == "" {
		t.Error("a change with the same mistake is accepted")
	}
}

// AcceptEarlier has the claim ask for a spec, of parts, values and keys of argocd-secret, as if an earlier version of the function had accepted it.
func (e *Engine) AcceptEarlier(spec string) {
	e.T.Helper()
	e.SetSpec(spec)
	of := Field(e.XR(), "spec").AsMap()
	asked := map[string]any{}
	for _, key := range []string{"sso", "bootstrap", "clusters", "repositories", "credentialTemplates", "ingress"} {
		asked[key] = of[key]
	}
	argocd, _ := of["argocd"].(map[string]any)
	asked["argocdValues"], asked["argocdChartVersion"] = argocd["values"], argocd["chartVersion"]
	asked["argocdSecretKeys"] = argocd["secretKeys"]
	kept := map[string]any{}
	if err := json.Unmarshal(Must(base64.StdEncoding.DecodeString(Field(e.Observed(tenant.AcceptedSecret), "data").Fields["accepted.json"].GetStringValue())), &kept); err != nil {
		e.T.Fatal(err)
	}
	for key, is := range asked {
		if is != nil {
			kept["spec"].(map[string]any)[key] = is
		}
	}
	raw := Must(json.Marshal(kept))
	Field(e.Observed(tenant.AcceptedSecret), "data").Fields["accepted.json"] = structpb.NewStringValue(base64.StdEncoding.EncodeToString(raw))
}

// CheckDeletable checks how Crossplane finds the composed resources when it deletes the tenant, for which it doesn't
// call the function.
func (e *Engine) CheckDeletable() {
	t := e.T
	t.Helper()
	// Its provider would wait half a minute before it believes that a namespace that it has just made is gone.
	annotations := Field(e.Observed(tenant.Namespace), "metadata", "annotations").AsMap()
	for _, key := range []string{"crossplane.io/external-create-pending", "crossplane.io/external-create-succeeded"} {
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(annotations[key])); err != nil || time.Since(at) < time.Hour {
			t.Errorf("annotation %s of the namespace's Object is %v, %v", key, annotations[key], err)
		}
	}
	for name, o := range e.Request.GetObserved().GetResources() {
		if kind := o.GetResource().GetFields()["kind"].GetStringValue(); name == tenant.Namespace || kind != "Object" && kind != "Release" {
			continue
		}
		if is := wire.Of(o.GetResource()); is.String("metadata", "annotations", "crossplane.io/paused") == "true" && len(is.Strings("metadata", "finalizers")) > 0 {
			t.Errorf("%s is paused and has a finalizer: Crossplane would never remove it", name)
		}
		policies := Field(e.Observed(name), "spec").GetFields()["managementPolicies"].GetListValue().AsSlice()
		if len(policies) == 0 || slices.Contains(policies, "Delete") || slices.Contains(policies, "*") {
			t.Errorf("%s goes with the namespace, and must not be deleted by itself: managementPolicies %v", name, policies)
		}
	}
}

// CheckReady checks that the composite resource is Ready in phase Ready and in no other, and
// that then so are the virtual cluster and Argo CD. Where the function says nothing, Crossplane
// would decide.
func CheckReady(t testing.TB, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	xr := rsp.GetDesired().GetComposite()
	phase, want := Field(xr.GetResource(), "status").GetFields()["phase"].GetStringValue(), fnv1.Ready_READY_FALSE
	if phase == string(v1alpha1.PhaseReady) {
		want = fnv1.Ready_READY_TRUE
	}
	if xr.GetReady() != want {
		t.Errorf("in phase %s the composite resource is %s", phase, xr.GetReady())
	}
	for _, c := range rsp.GetConditions() {
		if (c.GetType() == v1alpha1.ConditionVirtualClusterReady || c.GetType() == v1alpha1.ConditionArgoCDReady) &&
			want == fnv1.Ready_READY_TRUE && c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			t.Errorf("in phase Ready there is condition %v", c)
		}
	}
}
