// Package condition makes the conditions of a tenant.
package condition

import (
	"cmp"
	"strings"

	xpv1 "github.com/crossplane/crossplane-runtime/v2/apis/common/v1"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/response"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/visible"
)

// A Condition of the XR and of its claim.
type Condition struct {
	Type string
	True bool
	// Unknown: it is neither True nor False.
	Unknown bool
	Reason  string
	Message string
	// Detail is the end of the message, which says what is wrong; "" if nothing is known.
	Detail string
}

// Write writes the condition into a response. The caller says whose it is.
func (c Condition) Write(rsp *fnv1.RunFunctionResponse) *response.ConditionOption {
	write := response.ConditionFalse
	switch {
	case c.True:
		write = response.ConditionTrue
	case c.Unknown:
		write = response.ConditionUnknown
	}
	return write(rsp, c.Type, c.Reason).WithMessage(c.Message)
}

// Problem is what is wrong with a resource, in plain words where its provider has only those of Go for it; "" when the provider says
// nothing.
func Problem(c wire.Composed) string {
	message, _ := plain(c, Said(c))
	return message
}

// Said is what a provider says is wrong with a resource, in its own words; "" when it says
// nothing.
func Said(c wire.Composed) string {
	if synced := c.Condition("Synced"); synced.False() && synced.Reason != string(xpv1.ReasonReconcilePaused) {
		return cmp.Or(synced.Message, synced.Reason)
	}
	at := c.Get("status", "atProvider")
	if at.String("state") == "failed" {
		return cmp.Or(at.String("releaseDescription"), "the Helm release failed")
	}
	if ready := c.Condition("Ready"); ready.False() {
		return ready.Message
	}
	return ""
}

// Of is the type of a condition to return. Its messages are on one line: strangers have written parts of some.
type Of string

// Yes returns the condition as one that holds.
func (typ Of) Yes(message string) Condition {
	return Condition{Type: string(typ), True: true, Reason: v1alpha1.ReasonAvailable, Message: visible.Line(message)}
}

// NotYet returns the condition as one of which nothing is known yet.
func (typ Of) NotYet(reason, message string) Condition {
	return Condition{Type: string(typ), Unknown: true, Reason: reason, Message: visible.Line(message)}
}

// No returns the condition as one that does not hold, with a detail behind the message.
func (typ Of) No(reason, message, detail string) Condition {
	message, detail = visible.Line(message), visible.Line(detail)
	if detail != "" {
		message += ": " + detail
	}
	return Condition{Type: string(typ), Reason: reason, Message: message, Detail: detail}
}

// Told returns the detail that follows a message in the condition of a composite resource; ""
// for none. A detail that stays the same saves events: for Crossplane's circuit breaker, each
// change of the status counts as one.
func (typ Of) Told(xr wire.Struct, message string) string {
	detail, ok := strings.CutPrefix(xr.Condition(string(typ)).Message, message+": ")
	if !ok {
		return ""
	}
	return detail
}
