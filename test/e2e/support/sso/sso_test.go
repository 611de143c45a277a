package sso

import (
	"crypto/tls"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestFiles(t *testing.T) {
	p := &Provider{
		Issuer: "https://10.96.0.7/dex", ClientSecret: "client-secret",
		Ada: User{"ada", "ada-secret", []string{Admins}}, Olga: User{"olga", "olga-secret", []string{Observers}}, Nemo: User{Name: "nemo", Password: "nemo-secret"},
		argocds: []string{"https://a.example.org", "https://b.example.org"},
	}
	files, err := p.files("10.96.0.7")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair([]byte(files["tls.crt"]), []byte(files["tls.key"]))
	if err != nil || pair.Leaf.VerifyHostname("10.96.0.7") != nil {
		t.Errorf("the certificate must be for the provider's address: %v", err)
	}
	dex := struct {
		Issuer        string
		StaticClients []struct {
			ID, Secret   string
			RedirectURIs []string `json:"redirectURIs"`
		}
	}{}
	if err := yaml.Unmarshal([]byte(files["dex.yaml"]), &dex); err != nil {
		t.Fatal(err)
	}
	if c := dex.StaticClients; dex.Issuer != p.Issuer || len(c) != 1 || c[0].Secret != "client-secret" ||
		strings.Join(c[0].RedirectURIs, " ") != "https://a.example.org/auth/callback https://a.example.org/api/dex/callback https://b.example.org/auth/callback https://b.example.org/api/dex/callback" {
		t.Errorf("Dex's configuration is not for these Argo CDs:\n%s", files["dex.yaml"])
	}
	// An LDIF file's entries are divided by one empty line.
	entries := strings.Split(strings.TrimSpace(files["users.ldif"]), "\n\n")
	if len(entries) != 3+3+2 {
		t.Errorf("want 8 entries, got %d:\n%s", len(entries), files["users.ldif"])
	}
	for _, e := range entries {
		if !strings.HasPrefix(e, "dn: ") {
			t.Errorf("an entry has no name: %q", e)
		}
	}
	for _, want := range []string{"userPassword: ada-secret", "dn: cn=platform-admins,ou=groups,dc=example,dc=org\nobjectClass: groupOfNames\nmember: uid=ada,ou=people,dc=example,dc=org"} {
		if !strings.Contains(files["users.ldif"], want) {
			t.Errorf("the directory lacks %q:\n%s", want, files["users.ldif"])
		}
	}
}
