package tenant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// Accepted is the claim's spec, the plan and the input that a tenant is composed from. It is
// kept in a Secret, and used while a later claim, plan or input has a mistake.
//
// Without it, or with one that is damaged or of a newer function, a tenant is as if nothing
// had been accepted: the Secret is written again once its claim, plan and input have no
// mistake, and until then nothing is changed.
type Accepted struct {
	// Version of the format: see acceptedVersion.
	Version int                 `json:"version"`
	Spec    Ask                 `json:"spec"`
	Plan    plan.Plan           `json:"plan"`
	Input   inputv1alpha1.Input `json:"input"`
	Offered Offered             `json:"channel,omitzero"`
}

// acceptedVersion is the newest version of the format. The function reads it and all earlier
// ones, and writes the earliest one that has all fields that are needed, so that older functions
// can go on with tenants that use nothing new. A new field needs a higher version, so that no
// older function ignores it.
const (
	acceptedVersion = 3
	withoutChannel  = 1
)

// maxAccepted is the size that a Secret may have, less some room, in bytes.
const maxAccepted = 1_000_000

// AsAsked returns what is to be accepted if the tenant gets all that is given.
func (g Given) AsAsked() Accepted {
	return Accepted{Version: acceptedVersion, Spec: g.Spec, Plan: g.Plan, Input: g.Input, Offered: g.Offered}
}

// JSON returns what is kept in the Secret.
func (a Accepted) JSON() ([]byte, error) {
	if !a.usesChannel() {
		a.Version, a.Offered = withoutChannel, Offered{}
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	// Each of the escapes for web pages takes six bytes.
	e.SetEscapeHTML(false)
	err := e.Encode(a)
	if err == nil && out.Len() > maxAccepted {
		err = a.tooLarge(out.Len())
	}
	return out.Bytes(), err
}

// tooLarge returns the error for a tenant of which too many bytes were accepted. It begins with
// the field that takes most of them: what the platform wrote is no mistake of the claim.
func (a Accepted) tooLarge(total int) error {
	type part struct {
		field mistakes.Field
		name  string
		value any
		size  int
	}
	parts := []part{
		{field: mistakes.Field{Owner: mistakes.Claim, Path: "spec"}, name: "the claim's spec", value: a.Spec},
		{field: mistakes.Field{Owner: mistakes.Plan, Path: "plan " + a.Plan.Name + ": spec"}, name: "the plan", value: a.Plan},
		{field: mistakes.Field{Owner: mistakes.Input, Path: "input"}, name: "the function's input", value: a.Input},
		{field: mistakes.Field{Owner: mistakes.Channel, Path: "channel " + a.Offered.Channel + ": spec.offer"}, name: "the channel's offer", value: a.Offered},
	}
	var sizes []string
	for i := range parts {
		// It was encoded as a part of the whole.
		raw, err := json.Marshal(parts[i].value)
		if err != nil {
			return err
		}
		parts[i].size = len(raw)
		sizes = append(sizes, fmt.Sprintf("%s %d", parts[i].name, len(raw)))
	}
	largest := slices.MaxFunc(parts, func(a, b part) int { return cmp.Compare(a.size, b.size) })
	return largest.field.Errorf("takes %d of the %d bytes of this tenant, more than the %d that a Secret can keep (%s): write shorter values",
		largest.size, total, maxAccepted, strings.Join(sizes, ", "))
}

// usesChannel reports whether a field about channels or maintenance is set, or the tenant has other
// versions than the input.
func (a Accepted) usesChannel() bool {
	return a.Offered.Channel != "" || !reflect.DeepEqual(a.Offered.Defaults, DefaultsOf(a.Input)) || a.Spec.Channel != "" || a.Plan.Spec.Channel != "" || a.Spec.Maintenance != nil || a.Plan.Spec.Maintenance != nil
}

// Accepted returns what was accepted last; nil for none that can be used.
func (o Observed) Accepted() *Accepted {
	a := &Accepted{}
	// Numbers in chart values are float64, as in requests.
	d := json.NewDecoder(bytes.NewReader(o.Composed[AcceptedSecret].SecretValue(AcceptedKey)))
	d.DisallowUnknownFields()
	// Nothing is accepted without a plan. No release has written version 2.
	if d.Decode(a) != nil || a.Version > acceptedVersion || a.Version == 2 || a.Plan.Name == "" {
		return nil
	}
	if a.Version == withoutChannel {
		a.Offered.Defaults = DefaultsOf(a.Input)
	}
	return a
}
