package credentials

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
)

// APIServerURL is what the URL of an API server looks like.
var APIServerURL = regexp.MustCompile(`^https://[^\s/?#@]+[^\s/?#@:](/[^\s?#]*)?$`)

// CheckSecretRef checks the name of a Secret.
func CheckSecretRef(field string, ref v1alpha1.SecretReference) error {
	if len(validation.IsDNS1123Subdomain(ref.Name)) > 0 {
		return fmt.Errorf("%s.secretRef.name: %q is not the name of a Secret: write the name of a Secret in the namespace of the claim", field, ref.Name)
	}
	return nil
}

// CheckProject checks the name of a project of Argo CD's, where there is one.
func CheckProject(field, project string) error {
	if project != "" && len(validation.IsDNS1123Subdomain(project)) > 0 {
		return fmt.Errorf("%s.project: %q is not the name of a project: write lower case letters, digits, dots and dashes", field, project)
	}
	return nil
}

// CheckPair checks that a certificate and a key belong together.
func CheckPair(s *Reader, cert, key []byte) {
	if len(key) > MaxPrivateKey {
		s.Fail("its key has %d bytes: write one of at most %d", len(key), MaxPrivateKey)
		return
	}
	if _, err := tls.X509KeyPair(cert, key); err != nil {
		s.Fail("its certificate and key don't belong together, or aren't PEM: write both as they were issued")
	}
}

// expiresSoon is how long before its end a certificate is named.
const expiresSoon = 14 * 24 * time.Hour

// ServerProblem returns why clients refuse a certificate for hostnames; "" if they don't. soon says that it expires soon. It is for a
// certificate that CheckPair has let pass.
func ServerProblem(cert []byte, hostnames []string, now time.Time) (problem, soon string) {
	block, _ := pem.Decode(cert)
	for block != nil && block.Type != "CERTIFICATE" {
		block, cert = pem.Decode(cert)
	}
	if block == nil {
		return "", ""
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "can't be read", ""
	}
	switch ends := leaf.NotAfter.UTC().Format(time.RFC3339); {
	case now.After(leaf.NotAfter):
		return "expired at " + ends, ""
	case now.Before(leaf.NotBefore):
		return "isn't valid before " + leaf.NotBefore.UTC().Format(time.RFC3339), ""
	case leaf.NotAfter.Sub(now) < expiresSoon:
		soon = "expires at " + ends
	}
	for _, hostname := range hostnames {
		if leaf.VerifyHostname(hostname) != nil {
			return "isn't for hostname " + hostname, ""
		}
	}
	return "", soon
}

// CheckCertificates checks certificates in PEM, and returns when the last of them expires.
func CheckCertificates(at, text string) (ends time.Time, err error) {
	rest, n := []byte(text), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if strings.HasSuffix(block.Type, "PRIVATE KEY") {
			return ends, fmt.Errorf("%s: there is a private key in the claim: leave it out, and replace it, because others have seen it", at)
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil {
			return ends, fmt.Errorf("%s: has something else than a certificate: write what begins with -----BEGIN CERTIFICATE-----", at)
		}
		n++
		if certificate.NotAfter.After(ends) {
			ends = certificate.NotAfter
		}
	}
	if n == 0 || strings.Contains(string(rest), "-----BEGIN") {
		return ends, fmt.Errorf("%s: is not a PEM certificate: write one that begins with -----BEGIN CERTIFICATE-----", at)
	}
	return ends, nil
}

var (
	// SCPURL is how Git writes an SSH URL in short.
	SCPURL = regexp.MustCompile(`^[^\s/:@]+@[^\s/:@]+:?\S*$`)

	// RepositoryTypes are the types of repositories that Argo CD knows.
	RepositoryTypes = []v1alpha1.RepositoryType{v1alpha1.RepositoryGit, v1alpha1.RepositoryHelm, v1alpha1.RepositoryOCI}
)

// LabelSecretType is the label by which Argo CD tells its Secrets apart.
const LabelSecretType = "argocd.argoproj.io/secret-type"

// tokens are how the tokens of GitHub, GitLab and Bitbucket begin, which people write as the user of a URL.
var tokens = []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "ATBB", "ATCTT"}

// CheckNoToken refuses a token in a repository's URL, which isn't shown.
func CheckNoToken(field, raw string) error {
	u, err := url.Parse(raw)
	if err == nil && slices.ContainsFunc(tokens, func(begin string) bool { return strings.HasPrefix(u.User.Username(), begin) }) {
		return fmt.Errorf("%s: there is a token in the URL: write it into a Secret that spec.repositories names", field)
	}
	return nil
}

// CheckRepositoryURL checks a repository's URL. One with a password in it is not
// shown.
func CheckRepositoryURL(field, raw string, typ v1alpha1.RepositoryType) error {
	u, err := url.Parse(raw)
	if err == nil {
		if _, has := u.User.Password(); has {
			return fmt.Errorf("%s: there is a password in the URL: write it into the Secret that secretRef names", field)
		}
	}
	schemes := map[v1alpha1.RepositoryType][]string{
		v1alpha1.RepositoryGit: {"https", "http", "ssh"}, v1alpha1.RepositoryHelm: {"https", "http", "oci"}, v1alpha1.RepositoryOCI: {"oci"},
	}[typ]
	if typ == v1alpha1.RepositoryGit && SCPURL.MatchString(raw) {
		return nil
	}
	if err != nil || u.Host == "" || !slices.Contains(schemes, u.Scheme) || strings.ContainsAny(raw, " \t\r\n") {
		advice := "write one that begins with " + strings.Join(schemes, ":// or ") + "://"
		if typ == v1alpha1.RepositoryGit {
			advice += "; for Helm charts, write type: helm and a URL that begins with https:// or oci://"
		}
		return fmt.Errorf("%s: %q is not the URL of a repository of type %s: %s", field, raw, typ, advice)
	}
	return nil
}
