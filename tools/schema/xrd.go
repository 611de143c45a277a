package schema

import (
	"maps"
	"strconv"
	"strings"

	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// xrd is Crossplane's CompositeResourceDefinition, with the fields that are
// used here. apiextensions.crossplane.io/v1 alone offers claims.
type xrd struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   metadata `json:"metadata"`
	Spec       xrdSpec  `json:"spec"`
}

type metadata struct {
	Name string `json:"name"`
}

type xrdSpec struct {
	Group                        string                               `json:"group"`
	Names                        extv1.CustomResourceDefinitionNames  `json:"names"`
	ClaimNames                   *extv1.CustomResourceDefinitionNames `json:"claimNames,omitempty"`
	Scope                        string                               `json:"scope,omitempty"`
	DefaultCompositionRef        *metadata                            `json:"defaultCompositionRef,omitempty"`
	EnforcedCompositionRef       *metadata                            `json:"enforcedCompositionRef,omitempty"`
	DefaultCompositeDeletePolicy string                               `json:"defaultCompositeDeletePolicy,omitempty"`
	Versions                     []xrdVersion                         `json:"versions"`
}

type xrdVersion struct {
	Name           string                                 `json:"name"`
	Served         bool                                   `json:"served"`
	Referenceable  bool                                   `json:"referenceable"`
	PrinterColumns []extv1.CustomResourceColumnDefinition `json:"additionalPrinterColumns"`
	Schema         openAPI                                `json:"schema"`
}

type openAPI struct {
	Schema extv1.JSONSchemaProps `json:"openAPIV3Schema"`
}

// definition makes the XRD of a CRD. Crossplane adds what is its own: the
// metadata, its part of spec and status, and the columns SYNCED, READY and AGE.
func definition(c *extv1.CustomResourceDefinition, short, composition string) xrd {
	version := c.Spec.Versions[0]
	schema := *version.Schema.OpenAPIV3Schema
	schema.Properties = map[string]extv1.JSONSchemaProps{
		"spec":   schema.Properties["spec"],
		"status": schema.Properties["status"],
	}
	schema.Required = nil
	// The same schema describes the claim, so the sentence about the Go type begins without its name.
	if about, ok := strings.CutPrefix(schema.Description, c.Spec.Names.Kind+" is "); ok {
		schema.Description = strings.ToUpper(about[:1]) + about[1:]
	}

	return xrd{
		APIVersion: "apiextensions.crossplane.io/v1",
		Kind:       "CompositeResourceDefinition",
		Metadata:   metadata{Name: c.Spec.Names.Plural + "." + c.Spec.Group},
		Spec: xrdSpec{
			Group: c.Spec.Group,
			Names: extv1.CustomResourceDefinitionNames{
				Kind: c.Spec.Names.Kind, Plural: c.Spec.Names.Plural, Singular: c.Spec.Names.Singular,
				ListKind: c.Spec.Names.ListKind, ShortNames: []string{short},
			},
			DefaultCompositionRef: &metadata{Name: composition},
			Versions: []xrdVersion{{
				Name: version.Name, Served: true, Referenceable: true,
				PrinterColumns: version.AdditionalPrinterColumns,
				Schema:         openAPI{schema},
			}},
		},
	}
}

// tenants makes the XRD of tenants, which people claim.
func tenants(c *extv1.CustomResourceDefinition) xrd {
	x := definition(c, "xvargo", "virtual-argocd")
	x.Spec.ClaimNames = &extv1.CustomResourceDefinitionNames{
		Kind: v1alpha1.ClaimKind, Plural: "virtualargocds", Singular: "virtualargocd",
		ListKind: v1alpha1.ClaimKind + "List", ShortNames: []string{"vargo"},
		// Crossplane adds the category "claim".
		Categories: []string{"crossplane"},
	}
	// In the background the garbage collector can leave a tenant's namespace
	// alone until its virtual cluster is uninstalled; foreground deletion
	// marks both at once, and the Usage of the namespace then costs half a
	// minute.
	x.Spec.DefaultCompositeDeletePolicy = "Background"
	return x
}

// fronts makes the XRD of the namespaced kind of Crossplane 2, whose composite resources are those of tenants. Only this API version has that
// scope.
func fronts(c *extv1.CustomResourceDefinition) xrd {
	x := definition(c, "mvargo", "virtual-argocd-front")
	x.APIVersion = "apiextensions.crossplane.io/v2"
	x.Spec.Group, x.Spec.Scope = v1alpha1.FrontGroup, "Namespaced"
	x.Spec.Names.Kind, x.Spec.Names.ListKind = v1alpha1.ClaimKind, v1alpha1.ClaimKind+"List"
	x.Spec.Names.Plural, x.Spec.Names.Singular = "virtualargocds", "virtualargocd"
	x.Spec.Names.Categories = []string{"crossplane"}
	x.Metadata.Name = x.Spec.Names.Plural + "." + x.Spec.Group
	// Another Composition couldn't compose it.
	x.Spec.DefaultCompositionRef, x.Spec.EnforcedCompositionRef = nil, x.Spec.DefaultCompositionRef
	version := &x.Spec.Versions[0]
	spec := version.Schema.Schema.Properties["spec"]
	spec.Properties = maps.Clone(spec.Properties)
	for name, p := range claimsFields() {
		spec.Properties[name] = p
	}
	version.Schema.Schema.Properties["spec"] = spec
	return x
}

// claimsFields are the fields that Crossplane gives to the spec of claims, and that fronts have by their own schema, so that a claim is made a
// front by its apiVersion alone.
func claimsFields() map[string]extv1.JSONSchemaProps {
	text := extv1.JSONSchemaProps{Type: "string"}
	named := func(description string) extv1.JSONSchemaProps {
		return extv1.JSONSchemaProps{Type: "object", Description: description, Required: []string{"name"}, Properties: map[string]extv1.JSONSchemaProps{"name": {Type: "string", MinLength: new(int64(1))}}}
	}
	selected := func(description string) extv1.JSONSchemaProps {
		return extv1.JSONSchemaProps{
			Type: "object", Description: description, Required: []string{"matchLabels"},
			Properties: map[string]extv1.JSONSchemaProps{"matchLabels": {Type: "object", AdditionalProperties: &extv1.JSONSchemaPropsOrBool{Allows: true, Schema: &text}}},
		}
	}
	quoted := func(text string) extv1.JSON { return extv1.JSON{Raw: []byte(strconv.Quote(text))} }
	return map[string]extv1.JSONSchemaProps{
		"writeConnectionSecretToRef":  named("The Secret, in this namespace, that url, username, password and kubeconfig are written to."),
		"compositionRef":              named("The Composition of the tenant, where the platform lets tenants choose one."),
		"compositionSelector":         selected("Labels of the Composition of the tenant, where the platform lets tenants choose one."),
		"compositionRevisionSelector": selected("Labels of the CompositionRevision of the tenant, where the platform lets tenants choose one."),
		"compositionRevisionRef":      named("The CompositionRevision of the tenant, where the platform lets tenants choose one: with compositionUpdatePolicy Manual."),
		"compositionUpdatePolicy": {
			Type: "string", Enum: []extv1.JSON{quoted("Automatic"), quoted("Manual")},
			Description: "Automatic, so that a tenant gets the platform's changes, or Manual, where the platform lets tenants choose that.",
		},
	}
}

// channels makes the XRD of channels, which are the platform's own.
func channels(c *extv1.CustomResourceDefinition) xrd {
	return definition(c, "vargochannel", "virtual-argocd-channel")
}

// plans makes the XRD of plans, which are the platform's own.
func plans(c *extv1.CustomResourceDefinition) xrd {
	return definition(c, "vargoplan", "virtual-argocd-plan")
}

// pools makes the XRD of pools, which are the platform's own.
func pools(c *extv1.CustomResourceDefinition) xrd {
	return definition(c, "vargopool", "virtual-argocd-pool")
}

// inGroup is the same definition under another group, whose short names and
// Composition tell it apart.
func inGroup(x xrd, group, short string) xrd {
	x.Metadata.Name = x.Spec.Names.Plural + "." + group
	x.Spec.Group = group
	x.Spec.Names.ShortNames = []string{"x" + short + "argo"}
	x.Spec.ClaimNames.ShortNames = []string{short + "argo"}
	x.Spec.DefaultCompositionRef.Name += "-" + short
	return x
}
