// Package certificates is the part of a claim with the certificates that its Argo CD trusts.
package certificates

import (
	"fmt"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

const field = "spec.trustedCertificates"

// Part is spec.trustedCertificates.
var Part = part.Part{Field: field, Resolve: resolve}

// resolve sets the values that become Argo CD's ConfigMap argocd-tls-certs-cm, which its repo server, API server and notifications controller
// read without a restart.
func resolve(c part.Candidate) error {
	own := values.Values{}
	rules := []values.Rule{values.Be(true, "configs", "tls", "create")}
	seen := map[string]bool{}
	var found []error
	for i, e := range c.Spec.TrustedCertificates {
		at := fmt.Sprintf("%s[%d]", field, i)
		if _, err := netip.ParseAddr(e.Server); err != nil && len(validation.IsDNS1123Subdomain(e.Server)) > 0 {
			found = append(found, fmt.Errorf("%s.server: %.80q is not the name of a server: write it without scheme and port, such as git.example.org", at, e.Server))
		}
		if seen[e.Server] {
			found = append(found, fmt.Errorf("%s.server: %q is that of another entry, too: write all certificates into one", at, e.Server))
		}
		seen[e.Server] = true
		ends, err := credentials.CheckCertificates(at+".certificates", e.Certificates)
		found = append(found, err)
		if err == nil && !ends.IsZero() && c.Now.After(ends) {
			c.Decision.NoEffect = append(c.Decision.NoEffect, fmt.Sprintf("%s.certificates: all of them have expired, the last one at %s: write those that are valid", at, ends.UTC().Format(time.RFC3339)))
		}
		path := []string{"configs", "tls", "certificates", e.Server}
		rules = append(rules, values.Not(path...))
		values.Insert(own, e.Certificates, path...)
	}
	if len(seen) == 0 {
		return nil
	}
	if err := mistakes.Join(append(found, c.ArgoCD.Reserve(values.Claim, field, rules...))...); err != nil {
		return err
	}
	c.Decision.ArgoCD.Values = values.Merge(c.Decision.ArgoCD.Values, own)
	return nil
}
