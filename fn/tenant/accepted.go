package tenant

import (
	"bytes"
	"encoding/json"
	"fmt"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Accepted is what people have written that decides about a tenant: the claim's author,
// and the platform's. It is kept in a Secret, so that the tenant goes on by it while what
// they write later can't be used.
//
// Where it is lost, damaged or of a newer function, it is as if nothing had been accepted:
// a tenant whose claim, plan and input can be used goes on by them, and the Secret is
// written anew; of one with a mistake nothing is changed until that is corrected.
type Accepted struct {
	// Version of the format: see acceptedVersion.
	Version int                 `json:"version"`
	Spec    Ask                 `json:"spec"`
	Plan    plan.Plan           `json:"plan"`
	Input   inputv1alpha1.Input `json:"input"`
	Offer   Offer               `json:"channel,omitzero"`
}

// acceptedVersion is the newest version of the format. This function reads that one and
// those before it, and writes the first that has all that was accepted, so that older
// functions can go on with tenants that use nothing new. A field that an older function
// doesn't know needs a higher version: what decides about a tenant must not be left out in
// silence.
const (
	acceptedVersion = 2
	withoutChannel  = 1
)

// maxAccepted is the size that a Secret may have, less some room, in bytes.
const maxAccepted = 1_000_000

// Accepted returns what decides about the tenant.
func (r Given) Accepted() Accepted {
	return Accepted{Version: acceptedVersion, Spec: r.Spec, Plan: r.Plan, Input: r.Input, Offer: r.Offer}
}

// JSON returns what is accepted as it is kept.
func (a Accepted) JSON() ([]byte, error) {
	if !a.usesChannel() {
		a.Version = withoutChannel
	}
	out, err := wire.JSON(a)
	if err == nil && len(out) > maxAccepted {
		err = fmt.Errorf("spec: takes %d bytes together with the plan and the input, more than the %d that a Secret can keep: write shorter values", len(out), maxAccepted)
	}
	return out, err
}

// usesChannel reports whether there is anything of channels or maintenance in it.
func (a Accepted) usesChannel() bool {
	return a.Offer.Channel != "" || a.Spec.Channel != "" || a.Plan.Data.Channel != "" || a.Spec.Maintenance != nil || a.Plan.Data.Maintenance != nil
}

// Accepted returns what was accepted last; nil where nothing was, or can be used.
func (o Observed) Accepted() *Accepted {
	a := &Accepted{}
	// Numbers in chart values are float64, as in requests.
	d := json.NewDecoder(bytes.NewReader(o.Composed[AcceptedSecret].SecretValue(AcceptedKey)))
	d.DisallowUnknownFields()
	if d.Decode(a) != nil || a.Version > acceptedVersion {
		return nil
	}
	return a
}
