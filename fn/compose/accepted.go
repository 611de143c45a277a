package compose

import (
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// acceptedType is the type of the Secret with what was accepted.
const acceptedType = "virtualargocd.io/accepted"

// accepted composes the Secret with what was accepted. It is no ConfigMap, since a claim
// may have values that its author should have kept in a Secret.
func accepted(t tenant.Tenant) (resource.Object, error) {
	s := resource.Secret(t, t.Names.AcceptedSecret, acceptedType)
	s.Data = map[string][]byte{tenant.AcceptedKey: t.Accepted}
	return resource.Object{Typed: s}, nil
}
