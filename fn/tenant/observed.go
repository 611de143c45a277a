package tenant

import (
	"time"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Observed is what exists.
type Observed struct {
	// Now is the time at which it was seen: the caller sets it.
	Now time.Time
	// XR is the composite resource.
	XR wire.Struct
	// XRConnection are the connection details it has published.
	XRConnection map[string][]byte
	// Composed are the composed resources, by their name in the composition.
	Composed map[string]wire.Composed
	// Secrets are the Secrets that Crossplane has read for the function: never to
	// leave but in the composed Secret of values.
	Secrets []map[string]string
	// Published is of the kubeconfig that the virtual cluster has written, nil while
	// there is none or it can't be used; PublishedProblem is why it can't be. It comes
	// from the tenant's namespace on the host, so it is taken for the tenant's: only the
	// certificates and the key are read.
	Published        *ClientCertificate
	PublishedProblem error
}

// Credentials returns what the composed Secrets hold that the providers use.
func (o Observed) Credentials() []map[string]string {
	var out []map[string]string
	for _, name := range []string{KubeconfigSecret, InstallerCredentials} {
		out = append(out, wire.SecretData(o.Composed[name].Struct))
	}
	return out
}

// Accepted returns what was accepted last; nil where nothing was, or can be used.
func (o Observed) Accepted() *Accepted {
	return readAccepted(o.Composed[AcceptedSecret].SecretValue(AcceptedKey))
}

// ValuesData is what the composed Secret of values holds.
func (o Observed) ValuesData() map[string]string {
	return wire.SecretData(o.Composed[ValuesSecret].Struct)
}

// ValuesInUse are the chart values that the composed Secret holds.
func (o Observed) ValuesInUse() values.Values {
	v := values.Values{}
	if yaml.Unmarshal([]byte(o.ValuesData()[ValuesKey]), &v) != nil {
		return nil
	}
	return v
}
