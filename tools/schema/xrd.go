package schema

import (
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
	DefaultCompositionRef        metadata                             `json:"defaultCompositionRef"`
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
			DefaultCompositionRef: metadata{Name: composition},
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

// channels makes the XRD of channels, which are the platform's own.
func channels(c *extv1.CustomResourceDefinition) xrd {
	return definition(c, "vargochannel", "virtual-argocd-channel")
}

// plans makes the XRD of plans, which are the platform's own.
func plans(c *extv1.CustomResourceDefinition) xrd {
	return definition(c, "vargoplan", "virtual-argocd-plan")
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
