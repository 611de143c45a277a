// Package apis holds the API of Virtual Argo CD: the Go types in v1alpha1, and
// the CompositeResourceDefinition generated from them.
package apis

//go:generate go run -C ../tools ./cmd/generate
