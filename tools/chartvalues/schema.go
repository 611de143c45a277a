package chartvalues

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// A schema is what is read of a JSON schema.
type schema struct {
	Ref        string            `json:"$ref"`
	Defs       map[string]schema `json:"$defs"`
	Properties map[string]schema `json:"properties"`
	// Additional is false where no other properties are possible.
	Additional any `json:"additionalProperties"`
}

// fromSchema returns the values that a schema allows. vcluster's own allows no others.
func fromSchema(raw []byte) (*known.Value, error) {
	var root schema
	if err := json.Unmarshal(raw, &root); err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	return root.value(root.Defs, nil)
}

// value returns what is at and below a part of a schema. refs are the definitions that it is in.
func (s schema) value(defs map[string]schema, refs []string) (*known.Value, error) {
	if s.Ref != "" {
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		def, ok := defs[name]
		if !ok {
			return nil, fmt.Errorf("values.schema.json: %s is not defined", s.Ref)
		}
		// A definition that has itself below it has no end.
		if slices.Contains(refs, name) {
			return &known.Value{Free: true}, nil
		}
		return def.value(defs, append(slices.Clone(refs), name))
	}
	v := &known.Value{Below: map[string]*known.Value{}, Free: s.Additional != false}
	for key, property := range s.Properties {
		below, err := property.value(defs, refs)
		if err != nil {
			return nil, err
		}
		v.Below[key] = below
	}
	return v, nil
}
