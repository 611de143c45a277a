package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// Accepted is what people have written that decides about a tenant: the claim's author,
// and the platform's. It is kept in a Secret, so that the tenant goes on by it while what
// they write later can't be used.
type Accepted struct {
	Spec  Spec
	Plan  Chosen
	Input inputv1alpha1.Input
}

// maxAccepted is the size that a Secret may have, less some room, in bytes.
const maxAccepted = 1_000_000

// Accepted returns what decides about the tenant, as JSON.
func (r Request) Accepted() ([]byte, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	// A Secret is no web page, and an escape takes six bytes.
	e.SetEscapeHTML(false)
	if err := e.Encode(Accepted{Spec: r.Spec, Plan: r.Plan, Input: r.Input}); err != nil {
		return nil, err
	}
	if out.Len() > maxAccepted {
		return nil, fmt.Errorf("spec: takes %d bytes together with the plan and the input, more than the %d that a Secret can keep: write shorter values", out.Len(), maxAccepted)
	}
	return out.Bytes(), nil
}

// ReadAccepted reads what Request.Accepted has written. What another version of the
// function has written with fields that this one doesn't have is an error.
func ReadAccepted(raw []byte) (Accepted, error) {
	a := Accepted{}
	if len(raw) == 0 {
		return a, errors.New("nothing has been accepted yet")
	}
	// Numbers in chart values are float64, as in requests.
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return a, d.Decode(&a)
}
