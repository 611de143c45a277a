package plan

import (
	"fmt"
	"path"
	"regexp"
	"slices"
)

// maxNamespaces is how many entries a plan's list of namespaces may have.
const maxNamespaces = 256

// namespacePattern is a namespace in which each * stands for any characters.
var namespacePattern = regexp.MustCompile(`^[a-z0-9*]([-a-z0-9*]{0,61}[a-z0-9*])?$`)

// IsFor reports whether claims of a namespace may have the plan. An XR without a
// claim has no namespace, and may have any plan.
func (c Plan) IsFor(namespace string) (bool, error) {
	if err := c.CheckNamespaces(); err != nil {
		return false, err
	}
	return namespace == "" || len(c.Data.Namespaces) == 0 || slices.ContainsFunc(c.Data.Namespaces, func(pattern string) bool {
		// A pattern that has been checked has nothing special but *, and a namespace no slash.
		ok, err := path.Match(pattern, namespace)
		return ok && err == nil
	}), nil
}

// CheckNamespaces refuses what no namespace can be.
func (c Plan) CheckNamespaces() error {
	if n := len(c.Data.Namespaces); n > maxNamespaces {
		return fmt.Errorf("%s: has %d entries: write %d at most", c.At("namespaces"), n, maxNamespaces)
	}
	for i, pattern := range c.Data.Namespaces {
		if !namespacePattern.MatchString(pattern) {
			return fmt.Errorf("%s: %.80q is neither a namespace nor a pattern: write one such as team-a or premium-*, in lower case letters, digits, dashes and *", c.At(fmt.Sprintf("namespaces[%d]", i)), pattern)
		}
	}
	return nil
}
