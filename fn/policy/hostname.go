package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// maxDomain leaves a name and a dot before a domain what a hostname may have.
const maxDomain = validation.DNS1123SubdomainMaxLength - validation.DNS1123LabelMaxLength - 1

// CheckDomain refuses a domain, where there is one, that no Argo CD can be below.
func CheckDomain(field, domain string) error {
	switch {
	case domain == "":
		return nil
	case len(domain) > maxDomain:
		return fmt.Errorf("%s: has %d characters: write one of at most %d", field, len(domain), maxDomain)
	case !IsHostname(domain):
		return fmt.Errorf("%s: %q is not a domain: write one in lower case, such as argocd.example.org", field, domain)
	}
	return nil
}

// IsHostname reports whether text is a hostname.
func IsHostname(hostname string) bool {
	return len(validation.IsDNS1123Subdomain(hostname)) == 0 && !slices.ContainsFunc(strings.Split(hostname, "."), func(label string) bool {
		return len(validation.IsDNS1123Label(label)) > 0
	})
}
