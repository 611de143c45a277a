// Package apis holds the API of Virtual Argo CD: the Go types in v1alpha1, and
// the CompositeResourceDefinition generated from them.
package apis

//go:generate go run sigs.k8s.io/controller-tools/cmd/controller-gen object paths=./v1alpha1/...;../fn/input/...
//go:generate go run ./internal/generate
