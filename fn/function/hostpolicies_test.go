package function

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// TestHostProtected: no new tenant comes up on a host that lacks admission policies, and one that runs goes on.
func TestHostProtected(t *testing.T) {
	const name = "virtual-argocd-pods"
	policy := func(e *engine) *structpb.Struct { return e.cluster["ValidatingAdmissionPolicy//"+name] }
	binding := func(e *engine) *structpb.Struct { return e.cluster["ValidatingAdmissionPolicyBinding//"+name] }
	version := func(o *structpb.Struct, v string) {
		field(o, "metadata", "annotations").Fields["virtualargocd.io/policies-version"] = structpb.NewStringValue(v)
	}
	cases := map[string]struct {
		reason string
		change func(*engine)
		want   string
	}{
		"NoPolicy":       {"It isn't there.", func(e *engine) { delete(e.cluster, "ValidatingAdmissionPolicy//"+name) }, "missing or not in force: " + name},
		"NoBinding":      {"Without a binding a policy is about nothing.", func(e *engine) { delete(e.cluster, "ValidatingAdmissionPolicyBinding//"+name) }, "missing or not in force: " + name},
		"OnlyWarns":      {"A binding may warn and let all pass.", func(e *engine) { set(binding(e), "validationActions", `["Warn","Audit"]`) }, "missing or not in force: " + name},
		"SomeNamespaces": {"A binding may be for some namespaces alone.", func(e *engine) { set(binding(e), "matchResources", `{"namespaceSelector":{"matchLabels":{"a":"b"}}}`) }, "missing or not in force: " + name},
		"WithParameters": {"A binding may let all pass where its parameters are missing.", func(e *engine) { set(binding(e), "paramRef", `{"name":"x","parameterNotFoundAction":"Allow"}`) }, "missing or not in force: " + name},
		"OneResource":    {"A binding may be for some resources alone.", func(e *engine) { set(binding(e), "matchResources", `{"resourceRules":[{"resources":["a"]}]}`) }, "missing or not in force: " + name},
		"DeniesNothing":  {"A binding may have no effect.", func(e *engine) { set(binding(e), "validationActions", `[]`) }, "missing or not in force: " + name},
		"OtherPolicy":    {"A binding may be of another policy.", func(e *engine) { set(binding(e), "policyName", `"x"`) }, "missing or not in force: " + name},
		"FailsOpen":      {"A policy that can't be evaluated lets all pass.", func(e *engine) { set(policy(e), "failurePolicy", `"Ignore"`) }, "missing or not in force: " + name},
		"OldPolicy":      {"The function counts on newer ones.", func(e *engine) { version(policy(e), "0") }, "older than this function needs: " + name},
		"OldBinding":     {"The function counts on newer ones.", func(e *engine) { version(binding(e), "x") }, "older than this function needs: " + name},
	}
	for of, tc := range cases {
		t.Run(of, func(t *testing.T) {
			e := newEngine(t, tenantXR(`{}`), "")
			tc.change(e)
			e.cycle(3)
			is := e.condition(v1alpha1.ConditionHostProtected)
			if is.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || is.GetReason() != v1alpha1.ReasonPoliciesMissing ||
				!strings.Contains(is.GetMessage(), tc.want) || !strings.Contains(is.GetMessage(), "apply tenants.yaml") {
				t.Errorf("\n%s\nHostProtected: %v", tc.reason, is)
			}
			if n := len(e.req.GetObserved().GetResources()); n > 0 || e.status("phase") != "Pending" || !strings.Contains(e.status("message"), tc.want) {
				t.Errorf("\n%s\n%d resources are composed; %s: %s", tc.reason, n, e.status("phase"), e.status("message"))
			}
			e.protect()
			e.install()
			if is := e.condition(v1alpha1.ConditionHostProtected); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("\n%s\nHostProtected: %v", tc.reason, is)
			}
			tc.change(e)
			e.reconcile()
			if is := e.condition(v1alpha1.ConditionHostProtected); is.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || e.status("phase") != "Ready" {
				t.Errorf("\n%s\na tenant that runs is %s: %v", tc.reason, e.status("phase"), is)
			}
		})
	}
}

func set(o *structpb.Struct, key, value string) { field(o, "spec").Fields[key] = jsonValue(value) }
