package schema

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// object is a JSON object.
type object = map[string]any

// jsonSchemas writes the JSON schemas for editors and kubeconform, in the layout of the CRDs-catalog
// (https://github.com/datreeio/CRDs-catalog): <group>/<kind>_<version>.json. Rules in CEL can't be written in them.
func jsonSchemas(tenants, fronts, channels, plans, pools xrd, input *extv1.CustomResourceDefinition) (map[string][]byte, error) {
	spec := func(x xrd, more object) (object, error) {
		s, err := convert("spec", x.Spec.Versions[0].Schema.Schema.Properties["spec"])
		if err != nil {
			return nil, err
		}
		for name, p := range more {
			s["properties"].(object)[name] = p
		}
		return s, nil
	}
	claim, err := spec(tenants, crossplanesFields())
	if err != nil {
		return nil, err
	}
	front, err := spec(fronts, nil)
	if err != nil {
		return nil, err
	}
	channel, err := spec(channels, nil)
	if err != nil {
		return nil, err
	}
	in, err := convert("input", schemaOf(input))
	if err != nil {
		return nil, err
	}
	plan, err := spec(plans, nil)
	if err != nil {
		return nil, err
	}
	pool, err := spec(pools, nil)
	if err != nil {
		return nil, err
	}
	group, version := tenants.Spec.Group, tenants.Spec.Versions[0].Name
	out := map[string][]byte{}
	for _, of := range []struct {
		group, kind, version, description string
		fields                            object
		required                          []string
	}{
		{group, tenants.Spec.ClaimNames.Kind, version, tenants.Spec.Versions[0].Schema.Schema.Description, object{"spec": claim, "status": byCrossplane}, []string{"spec"}},
		{fronts.Spec.Group, fronts.Spec.Names.Kind, version, fronts.Spec.Versions[0].Schema.Schema.Description, object{"spec": front, "status": byCrossplane}, []string{"spec"}},
		{group, channels.Spec.Names.Kind, version, channels.Spec.Versions[0].Schema.Schema.Description, object{"spec": channel, "status": byCrossplane}, []string{"spec"}},
		{input.Spec.Group, input.Spec.Names.Kind, input.Spec.Versions[0].Name, schemaOf(input).Description, in["properties"].(object), nil},
		{group, plans.Spec.Names.Kind, version, plans.Spec.Versions[0].Schema.Schema.Description, object{"spec": plan, "status": byCrossplane}, []string{"spec"}},
		{group, pools.Spec.Names.Kind, version, pools.Spec.Versions[0].Schema.Schema.Description, object{"spec": pool, "status": byCrossplane}, []string{"spec"}},
	} {
		s := object{
			"$schema": "http://json-schema.org/draft-07/schema#", "description": of.description,
			"type": "object", "additionalProperties": false, "required": append([]string{"apiVersion", "kind"}, of.required...),
		}
		of.fields["apiVersion"] = object{"type": "string", "enum": []string{of.group + "/" + of.version}}
		of.fields["kind"] = object{"type": "string", "enum": []string{of.kind}}
		of.fields["metadata"] = object{"type": "object"}
		// An input is no object of its own.
		if of.kind != input.Spec.Names.Kind {
			s["required"] = append(s["required"].([]string), "metadata")
		}
		s["properties"] = of.fields
		raw, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			return nil, err
		}
		out[path.Join(SchemasDir, of.group, strings.ToLower(of.kind)+"_"+of.version+".json")] = append(raw, '\n')
	}
	return out, nil
}

// byCrossplane is the schema of what users read and don't write.
var byCrossplane = object{"type": "object", "description": "What is observed. Crossplane and the function write it."}

// crossplanesFields are the fields that Crossplane adds to the spec of claims:
// https://github.com/crossplane/crossplane-runtime/blob/v2.4.0/pkg/xcrd/schemas.go.
func crossplanesFields() object {
	text := object{"type": "string"}
	of := func(description string, fields object, required ...string) object {
		return object{"type": "object", "description": description, "properties": fields, "required": required, "additionalProperties": false}
	}
	named := func(description string) object { return of(description, object{"name": text}, "name") }
	selected := func(description string) object {
		return of(description, object{"matchLabels": object{"type": "object", "additionalProperties": text}}, "matchLabels")
	}
	return object{
		"writeConnectionSecretToRef":  named("The Secret, in the claim's namespace, that url, username, password and kubeconfig are written to."),
		"compositionRef":              named("The Composition, where the platform lets claims choose one."),
		"compositionSelector":         selected("Labels of the Composition, where the platform lets claims choose one."),
		"compositionRevisionRef":      named("The CompositionRevision, where the platform lets claims choose one."),
		"compositionRevisionSelector": selected("Labels of the CompositionRevision, where the platform lets claims choose one."),
		"compositionUpdatePolicy":     object{"type": "string", "enum": []string{"Automatic", "Manual"}, "description": "Automatic, so that a claim gets the platform's changes."},
		"compositeDeletePolicy":       object{"type": "string", "enum": []string{"Background", "Foreground"}, "description": "Background, so that the resources of a claim are deleted in order."},
		"resourceRef":                 of("The composite resource. Crossplane writes this.", object{"apiVersion": text, "kind": text, "name": text}, "apiVersion", "kind", "name"),
	}
}

// convert returns the JSON schema of a CRD's schema. Fields that the CRD doesn't have are errors: an API server drops them.
func convert(at string, p extv1.JSONSchemaProps) (object, error) {
	if len(p.AllOf)+len(p.OneOf) > 0 || p.Not != nil || len(p.AnyOf) > 0 && !p.XIntOrString {
		return nil, fmt.Errorf("%s: has allOf, anyOf, oneOf or not: say in jsonschema.go what becomes of it", at)
	}
	out := object{}
	types := []string{p.Type}
	if p.XIntOrString {
		types = []string{"integer", "string"}
	}
	if p.Nullable {
		types = append(types, "null")
	}
	switch {
	case len(types) > 1:
		out["type"] = types
	case p.Type != "":
		out["type"] = p.Type
	}
	set := func(key string, value any, is bool) {
		if is {
			out[key] = value
		}
	}
	set("description", p.Description, p.Description != "")
	set("pattern", p.Pattern, p.Pattern != "")
	set("format", p.Format, p.Format == "date-time")
	set("default", p.Default, p.Default != nil)
	set("enum", p.Enum, len(p.Enum) > 0)
	set("required", p.Required, len(p.Required) > 0)
	set("uniqueItems", true, p.UniqueItems || p.XListType != nil && *p.XListType == "set")
	set("minimum", p.Minimum, p.Minimum != nil)
	set("maximum", p.Maximum, p.Maximum != nil)
	set("minLength", p.MinLength, p.MinLength != nil)
	set("maxLength", p.MaxLength, p.MaxLength != nil)
	set("minItems", p.MinItems, p.MinItems != nil)
	set("maxItems", p.MaxItems, p.MaxItems != nil)
	set("minProperties", p.MinProperties, p.MinProperties != nil)
	set("maxProperties", p.MaxProperties, p.MaxProperties != nil)
	if p.Items != nil {
		items, err := convert(at+"[]", *p.Items.Schema)
		if err != nil {
			return nil, err
		}
		out["items"] = items
	}
	if p.Type != "object" {
		return out, nil
	}
	fields := object{}
	for name, of := range p.Properties {
		s, err := convert(at+"."+name, of)
		if err != nil {
			return nil, err
		}
		fields[name] = s
	}
	set("properties", fields, len(fields) > 0)
	switch {
	case p.AdditionalProperties != nil && p.AdditionalProperties.Schema != nil:
		s, err := convert(at+".*", *p.AdditionalProperties.Schema)
		if err != nil {
			return nil, err
		}
		out["additionalProperties"] = s
	case p.XPreserveUnknownFields == nil || !*p.XPreserveUnknownFields:
		out["additionalProperties"] = false
	}
	return out, nil
}
