// Package claim builds claims for the tests and follows them through their life.
package claim

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// GVK is the product's claim kind.
var GVK = schema.GroupVersionKind{Group: "virtualargocd.io", Version: "v1alpha1", Kind: "VirtualArgoCD"}

// Claim is a claim to be created. It is built on an unstructured object, so that wrong ones can be built too.
type Claim struct {
	object *unstructured.Unstructured
}

// New is the smallest claim: no field of its spec is set.
func New(name string) *Claim {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	o.SetGroupVersionKind(GVK)
	o.SetName(name)
	return &Claim{object: o}
}

// FromFile reads a claim from a YAML file with exactly one object, such as those under examples/.
func FromFile(path string) (*Claim, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read claim: %w", err)
	}
	o := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &o.Object); err != nil {
		return nil, fmt.Errorf("cannot parse claim %s: %w", path, err)
	}
	return &Claim{object: o}, nil
}

// FromObject is a claim that was read from somewhere.
func FromObject(o *unstructured.Unstructured) *Claim { return &Claim{object: o.DeepCopy()} }

// In puts the claim in a namespace.
func (c *Claim) In(namespace string) *Claim {
	c.object.SetNamespace(namespace)
	return c
}

// OfGroup makes the claim one of another API group.
func (c *Claim) OfGroup(group string) *Claim {
	gvk := c.object.GroupVersionKind()
	gvk.Group = group
	c.object.SetGroupVersionKind(gvk)
	return c
}

// Set gives a field its value: Set("v1.36.0", "spec", "kubernetes", "version"). The value must be of the types that
// JSON has: string, bool, int64, float64, map[string]any, []any.
func (c *Claim) Set(value any, path ...string) *Claim {
	if err := unstructured.SetNestedField(c.object.Object, value, path...); err != nil {
		panic(fmt.Sprintf("the test sets a field inside something that is no object: %v", err))
	}
	return c
}

// Kubernetes asks for a Kubernetes version of the virtual cluster.
func (c *Claim) Kubernetes(version string) *Claim {
	return c.Set(version, "spec", "kubernetes", "version")
}

// ArgoCDValue sets one value of the argo-cd chart.
func (c *Claim) ArgoCDValue(value any, path ...string) *Claim {
	return c.Set(value, append([]string{"spec", "argocd", "values"}, path...)...)
}

// VClusterValue sets one value of the vcluster chart.
func (c *Claim) VClusterValue(value any, path ...string) *Claim {
	return c.Set(value, append([]string{"spec", "vcluster", "values"}, path...)...)
}

// Name of the claim.
func (c *Claim) Name() string { return c.object.GetName() }

// Object is a copy of what will be created.
func (c *Claim) Object() *unstructured.Unstructured { return c.object.DeepCopy() }
