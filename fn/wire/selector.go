package wire

import (
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
)

// Selectors are what is required from Crossplane, by the name of the requirement. It reads all of
// them, and calls the function again.
type Selectors map[string]*fnv1.ResourceSelector

// Named requires an object by its namespace and name. The namespace is empty for an object that has
// none.
func (s Selectors) Named(requirement, apiVersion, kind, namespace, name string) {
	s[requirement] = &fnv1.ResourceSelector{ApiVersion: apiVersion, Kind: kind, Match: &fnv1.ResourceSelector_MatchName{MatchName: name}}
	s.in(requirement, namespace)
}

// Labelled requires all objects that have labels; without labels, all of their kind. The namespace is
// empty for objects that have none.
func (s Selectors) Labelled(requirement, apiVersion, kind, namespace string, labels map[string]string) {
	s[requirement] = &fnv1.ResourceSelector{
		ApiVersion: apiVersion, Kind: kind,
		Match: &fnv1.ResourceSelector_MatchLabels{MatchLabels: &fnv1.MatchLabels{Labels: labels}},
	}
	s.in(requirement, namespace)
}

func (s Selectors) in(requirement, namespace string) {
	if namespace != "" {
		s[requirement].Namespace = &namespace
	}
}
