// Package certificates is the part of a claim with the certificates that its Argo CD trusts.
package certificates

import (
	"fmt"
	"net/netip"
	"strings"
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
		switch address, err := netip.ParseAddr(e.Server); {
		case err == nil && address.Is6():
			// It becomes the key of a ConfigMap, without which Helm installs nothing of Argo CD.
			found = append(found, fmt.Errorf("%s.server: %.80q is an address with colons, which Argo CD has no certificates for: write the server's name, here and in the repository's URL", at, e.Server))
		case err != nil && len(validation.IsDNS1123Subdomain(e.Server)) > 0:
			found = append(found, fmt.Errorf("%s.server: %.80q is not the name of a server: write it without scheme and port, such as git.example.org", at, e.Server))
		}
		if seen[e.Server] {
			found = append(found, fmt.Errorf("%s.server: %q is that of another entry, too: write all certificates into one", at, e.Server))
		}
		seen[e.Server] = true
		ends, err := credentials.CheckCertificates(at+".certificates", e.Certificates)
		found = append(found, err)
		if err == nil {
			found = append(found, checkReadable(at+".certificates", e.Certificates))
		}
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

// Bounds of what Argo CD reads (3.2 to 3.6, util/cert/cert.go). With more, it reads none of them.
const (
	maxCertificates = 256
	maxLines        = 128
)

// checkReadable refuses certificates that Argo CD doesn't read.
func checkReadable(at, text string) error {
	n, lines := 0, 0
	for line := range strings.Lines(text) {
		switch lines++; {
		case strings.HasPrefix(line, "-----BEGIN"):
			n, lines = n+1, 1
		case strings.HasPrefix(line, "-----END"):
			if lines > maxLines {
				return fmt.Errorf("%s: certificate %d has %d lines, and Argo CD reads none of a server that has one with more than %d: write it with 64 characters in a line", at, n, lines, maxLines)
			}
		}
	}
	if n > maxCertificates {
		return fmt.Errorf("%s: has %d certificates, and Argo CD reads none of a server that has more than %d: write those that have signed the server's", at, n, maxCertificates)
	}
	return nil
}
