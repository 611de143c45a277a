// Package condition makes the conditions of a tenant.
package condition

import (
	"cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// A Condition of the XR and of its claim.
type Condition struct {
	Type    string
	True    bool
	Reason  string
	Message string
}

// Problem is what a provider says is wrong with a resource, "" when it says
// nothing.
func Problem(c wire.Composed) string {
	if synced := c.Condition("Synced"); synced.False() {
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

// Of is the type of a condition to return.
type Of string

// Yes returns the condition as one that holds.
func (typ Of) Yes(message string) Condition {
	return Condition{Type: string(typ), True: true, Reason: v1alpha1.ReasonAvailable, Message: message}
}

// No returns the condition as one that does not hold, with a detail behind the message.
func (typ Of) No(reason, message, detail string) Condition {
	if detail != "" {
		message += ": " + detail
	}
	return Condition{Type: string(typ), Reason: reason, Message: message}
}
