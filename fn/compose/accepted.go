package compose

import (
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
)

// acceptedType is the type of the Secret with what was accepted.
const acceptedType = "virtualargocd.io/accepted"

// accepted composes the Secret with what was accepted. It is no ConfigMap, since a claim
// may have values that its author should have kept in a Secret.
func accepted(t Tenant) (Object, error) {
	s := secret(t, t.Names.AcceptedSecret, acceptedType)
	s.Data = map[string][]byte{decode.AcceptedKey: t.Accepted}
	return Object{Typed: s}, nil
}
