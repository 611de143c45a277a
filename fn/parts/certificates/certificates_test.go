package certificates_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

func TestTrustedCertificates(t *testing.T) {
	cert, key := crossplanetest.KeyPair()
	entry := func(server, pem string) string {
		return `{"server":"` + server + `","certificates":` + string(crossplanetest.Must(json.Marshal(pem))) + `}`
	}
	e := crossplanetest.New(t, `{"trustedCertificates":[`+entry("git.example.org", cert+cert)+`,`+entry("192.0.2.7", cert)+`]}`, "").Install()
	if got := e.ArgoCDValue("configs", "tls", "certificates", "git.example.org"); got != cert+cert {
		t.Errorf("git.example.org: %v", got)
	}
	if got := e.ArgoCDValue("configs", "tls", "certificates", "192.0.2.7"); got != cert {
		t.Errorf("192.0.2.7: %v", got)
	}
	one := `{"trustedCertificates":[` + entry("git.example.org", cert) + `]`
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Port":         {Spec: `{"trustedCertificates":[` + entry("git.example.org:8443", cert) + `]}`, Want: []string{`spec.trustedCertificates[0].server: "git.example.org:8443" is not the name of a server`}},
		"IPv6":         {Spec: `{"trustedCertificates":[` + entry("2001:db8::1", cert) + `]}`, Want: []string{`spec.trustedCertificates[0].server: "2001:db8::1" is an address with colons`}},
		"Many":         {Spec: `{"trustedCertificates":[` + entry("a", strings.Repeat(cert, 257)) + `]}`, Want: []string{"spec.trustedCertificates[0].certificates: has 257 certificates, and Argo CD reads none of a server that has more than 256"}},
		"NotTooMany":   {Spec: `{"trustedCertificates":[` + entry("a", strings.Repeat(cert, 256)) + `]}`},
		"LongLines":    {Spec: `{"trustedCertificates":[` + entry("a", narrow(cert)) + `]}`, Want: []string{"spec.trustedCertificates[0].certificates: certificate 1 has", "64 characters in a line"}},
		"Twice":        {Spec: `{"trustedCertificates":[` + entry("a", cert) + `,` + entry("a", cert) + `]}`, Want: []string{`spec.trustedCertificates[1].server: "a" is that of another entry`}},
		"Key":          {Spec: `{"trustedCertificates":[` + entry("a", cert+key) + `]}`, Want: []string{"spec.trustedCertificates[0].certificates: there is a private key in the claim"}},
		"Cut":          {Spec: `{"trustedCertificates":[` + entry("a", cert+strings.TrimSpace(cert)[:200]) + `]}`, Want: []string{"spec.trustedCertificates[0].certificates: is not a PEM certificate"}},
		"NoPEM":        {Spec: `{"trustedCertificates":[` + entry("a", "x") + `]}`, Want: []string{"spec.trustedCertificates[0].certificates: is not a PEM certificate"}},
		"Values":       {Spec: one + `,"argocd":{"values":{"configs":{"tls":{"certificates":{"git.example.org":"x"}}}}}}`, Want: []string{"spec.argocd.values.configs.tls.certificates.git.example.org is set by spec.trustedCertificates"}},
		"ValuesBeside": {Spec: one + `,"argocd":{"values":{"configs":{"tls":{"certificates":{"a.example.org":"x"}}}}}}`},
		"ValuesOff":    {Spec: one + `,"argocd":{"values":{"configs":{"tls":{"create":false}}}}}`, Want: []string{"spec.argocd.values.configs.tls.create is set by spec.trustedCertificates"}},
	})
}

// TestExpiredCertificates: certificates that no client takes are named.
func TestExpiredCertificates(t *testing.T) {
	cert, _ := crossplanetest.KeyPair()
	e := crossplanetest.New(t, `{"trustedCertificates":[{"server":"a","certificates":`+string(crossplanetest.Must(json.Marshal(cert)))+`}]}`, "").Install()
	e.Now = func() time.Time { return crossplanetest.Start.AddDate(200, 0, 0) }
	e.Cycle(1)
	if c := e.Condition("SpecAccepted"); !strings.Contains(c.GetMessage(), "spec.trustedCertificates[0].certificates: all of them have expired") {
		t.Errorf("SpecAccepted: %v", c)
	}
}

// narrow returns a certificate with a few characters in a line.
func narrow(cert string) string {
	begin, rest, _ := strings.Cut(cert, "\n")
	body, end, _ := strings.Cut(rest, "-----END")
	out := begin + "\n"
	for i, r := range strings.ReplaceAll(body, "\n", "") {
		if out += string(r); i%2 == 1 {
			out += "\n"
		}
	}
	return strings.TrimSpace(out) + "\n-----END" + end
}
