package crossplanetest

import (
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// Status is a text in the status of the composite resource.
func (e *Engine) Status(path ...string) string {
	at := Field(e.XR(), append([]string{"status"}, path[:len(path)-1]...)...)
	return at.GetFields()[path[len(path)-1]].GetStringValue()
}

// StatusNumber is a number in the status of the composite resource.
func (e *Engine) StatusNumber(path ...string) int64 {
	at := Field(e.XR(), append([]string{"status"}, path[:len(path)-1]...)...)
	return int64(at.GetFields()[path[len(path)-1]].GetNumberValue())
}

// StatusList is a list in the status of the composite resource.
func (e *Engine) StatusList(name string) []any {
	return Field(e.XR(), "status").GetFields()[name].GetListValue().AsSlice()
}

// Condition is a condition of the last response; an empty one where there is none.
func (e *Engine) Condition(typ string) *fnv1.Condition {
	for _, c := range e.Response.GetConditions() {
		if c.GetType() == typ {
			return c
		}
	}
	return &fnv1.Condition{}
}

// Fatal returns the message of the response's fatal result, "" when there is none.
func Fatal(rsp *fnv1.RunFunctionResponse) string {
	for _, r := range rsp.GetResults() {
		if r.GetSeverity() == fnv1.Severity_SEVERITY_FATAL {
			return r.GetMessage()
		}
	}
	return ""
}

// Refusal returns why what the claim, its plan or the input says isn't in use, "" when
// it is in use: the response's fatal result, or the condition of a tenant that goes on.
func Refusal(rsp *fnv1.RunFunctionResponse) string {
	for _, c := range rsp.GetConditions() {
		if c.GetType() == v1alpha1.ConditionSpecAccepted && c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			return c.GetMessage()
		}
	}
	return Fatal(rsp)
}

// ClaimEvents are the events that reach a claim, each with its type.
func ClaimEvents(rsp *fnv1.RunFunctionResponse) []string {
	var out []string
	for _, r := range rsp.GetResults() {
		if r.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM {
			continue
		}
		typ := strings.TrimPrefix(r.GetSeverity().String(), "SEVERITY_")
		out = append(out, typ[:1]+strings.ToLower(typ[1:])+" "+r.GetReason()+": "+r.GetMessage())
	}
	return out
}
