// Package policy refuses what no tenant can have, as a list of named checks. The packages of
// the optional parts of a claim have checks of their own.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	netutils "k8s.io/utils/net"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// Checks of the platform's settings and of claims. Each returns an error that names the field, the value, and what to write instead.
var (
	ofPlan = []func(tenant.Given) error{
		planAmounts,
		planIngress,
		planMaintenance,
	}
	ofInput = []func(tenant.Given) error{
		credentialsLabel,
		storageSize,
		chartDigests,
		gateway,
		network,
	}
	ofClaim = []func(tenant.Given) error{
		secretsOfClaim,
		channelOfClaim,
		maintenanceOfClaim,
		plainValues,
		replicas,
	}
)

// RefusePlatform returns the errors of all checks of the platform's settings.
func RefusePlatform(g tenant.Given) error {
	var found []error
	for _, check := range ofPlan {
		found = append(found, mistakes.By(mistakes.Plan, check(g)))
	}
	for _, check := range ofInput {
		found = append(found, mistakes.By(mistakes.Input, check(g)))
	}
	return mistakes.Join(found...)
}

// RefuseClaim returns the errors of all checks of the claim.
func RefuseClaim(g tenant.Given) error {
	var found []error
	for _, check := range ofClaim {
		found = append(found, check(g))
	}
	return mistakes.Join(found...)
}

func credentialsLabel(g tenant.Given) error {
	labels := []string{tenant.CredentialsLabelRequired, tenant.CredentialsLabelIgnored}
	if is := g.Platform.Credentials.Label; !slices.Contains(labels, is) {
		return fmt.Errorf("input.credentials.label: %q is unknown: write one of %v", is, labels)
	}
	return nil
}

func storageSize(g tenant.Given) error {
	field := mistakes.Field{Owner: mistakes.Input, Path: "input.storage.size"}
	if g.Plan.Spec.VCluster.Storage.Size != "" {
		field = g.Plan.At("vcluster.storage.size")
	}
	return volumeSize(field, g.Platform.Storage.Size)
}

// secretsOfClaim refuses references to Secrets in a composite resource without a claim.
func secretsOfClaim(g tenant.Given) error {
	if len(g.SecretNames) > 0 && g.Claim.Namespace == "" {
		return fmt.Errorf("spec: Secret %s is looked for in the namespace of the claim, and this composite resource has no claim: claim it, or leave the reference out", g.SecretNames[0])
	}
	return nil
}

// maxDomain is the maximum length of a domain before which a label and a dot fit.
const maxDomain = validation.DNS1123SubdomainMaxLength - validation.DNS1123LabelMaxLength - 1

// CheckDomain refuses a domain that can't have hostnames of Argo CDs. It may be empty.
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

// IsHostname reports whether text is a hostname that an Ingress may have, which no IP address is.
func IsHostname(hostname string) bool {
	return netutils.ParseIPSloppy(hostname) == nil && len(validation.IsDNS1123Subdomain(hostname)) == 0 && !slices.ContainsFunc(strings.Split(hostname, "."), func(label string) bool {
		return len(validation.IsDNS1123Label(label)) > 0
	})
}
