package host_test

import (
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestHostProtected: no new tenant comes up on a host that lacks admission policies, and one that runs goes on.
func TestHostProtected(t *testing.T) {
	const name = "virtual-argocd-pods"
	policy := func(e *crossplanetest.Engine) *structpb.Struct { return e.Cluster["ValidatingAdmissionPolicy//"+name] }
	binding := func(e *crossplanetest.Engine) *structpb.Struct {
		return e.Cluster["ValidatingAdmissionPolicyBinding//"+name]
	}
	version := func(o *structpb.Struct, v string) {
		crossplanetest.Field(o, "metadata", "annotations").Fields["virtualargocd.io/policies-version"] = structpb.NewStringValue(v)
	}
	cases := map[string]struct {
		reason string
		change func(*crossplanetest.Engine)
		want   string
	}{
		"NoPolicy":  {"It isn't there.", func(e *crossplanetest.Engine) { delete(e.Cluster, "ValidatingAdmissionPolicy//"+name) }, "missing or not in force: " + name},
		"NoBinding": {"Without a binding a policy is about nothing.", func(e *crossplanetest.Engine) { delete(e.Cluster, "ValidatingAdmissionPolicyBinding//"+name) }, "missing or not in force: " + name},
		"OnlyWarns": {"A binding may warn and let all pass.", func(e *crossplanetest.Engine) { set(binding(e), "validationActions", `["Warn","Audit"]`) }, "missing or not in force: " + name},
		"SomeNamespaces": {"A binding may be for some namespaces alone.", func(e *crossplanetest.Engine) {
			set(binding(e), "matchResources", `{"namespaceSelector":{"matchLabels":{"a":"b"}}}`)
		}, "missing or not in force: " + name},
		"WithParameters": {"A binding may let all pass where its parameters are missing.", func(e *crossplanetest.Engine) {
			set(binding(e), "paramRef", `{"name":"x","parameterNotFoundAction":"Allow"}`)
		}, "missing or not in force: " + name},
		"OneResource": {"A binding may be for some resources alone.", func(e *crossplanetest.Engine) {
			set(binding(e), "matchResources", `{"resourceRules":[{"resources":["a"]}]}`)
		}, "missing or not in force: " + name},
		"DeniesNothing": {"A binding may have no effect.", func(e *crossplanetest.Engine) { set(binding(e), "validationActions", `[]`) }, "missing or not in force: " + name},
		"OtherPolicy":   {"A binding may be of another policy.", func(e *crossplanetest.Engine) { set(binding(e), "policyName", `"x"`) }, "missing or not in force: " + name},
		"FailsOpen":     {"A policy that can't be evaluated lets all pass.", func(e *crossplanetest.Engine) { set(policy(e), "failurePolicy", `"Ignore"`) }, "missing or not in force: " + name},
		"OldPolicy":     {"The function counts on newer ones.", func(e *crossplanetest.Engine) { version(policy(e), "0") }, "older than this function needs: " + name},
		"OldBinding":    {"The function counts on newer ones.", func(e *crossplanetest.Engine) { version(binding(e), "x") }, "older than this function needs: " + name},
	}
	for of, tc := range cases {
		t.Run(of, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "")
			tc.change(e)
			e.Cycle(3)
			is := e.Condition(v1alpha1.ConditionHostProtected)
			if is.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || is.GetReason() != v1alpha1.ReasonPoliciesMissing ||
				!strings.Contains(is.GetMessage(), tc.want) || !strings.Contains(is.GetMessage(), "apply tenants.yaml") {
				t.Errorf("\n%s\nHostProtected: %v", tc.reason, is)
			}
			if n := len(e.Request.GetObserved().GetResources()); n > 0 || e.Status("phase") != "Pending" || !strings.Contains(e.Status("message"), tc.want) {
				t.Errorf("\n%s\n%d resources are composed; %s: %s", tc.reason, n, e.Status("phase"), e.Status("message"))
			}
			e.ProtectHost()
			e.Install()
			if is := e.Condition(v1alpha1.ConditionHostProtected); is.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
				t.Errorf("\n%s\nHostProtected: %v", tc.reason, is)
			}
			tc.change(e)
			e.Reconcile()
			if is := e.Condition(v1alpha1.ConditionHostProtected); is.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || e.Status("phase") != "Ready" {
				t.Errorf("\n%s\na tenant that runs is %s: %v", tc.reason, e.Status("phase"), is)
			}
		})
	}
}

func set(o *structpb.Struct, key, value string) {
	crossplanetest.Field(o, "spec").Fields[key] = crossplanetest.JSON(value)
}
