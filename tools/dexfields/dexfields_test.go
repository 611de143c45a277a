package dexfields

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRead: types of connectors with all that their configurations hold, and Dex's own configuration.
func TestRead(t *testing.T) {
	folder := t.TempDir()
	for path, text := range map[string]string{
		"server/server.go": `package server
var Other = map[string]string{"a": "b"}
// ConnectorsConfig is what Dex knows.
var ConnectorsConfig = map[string]func() ConnectorConfig{
	"ldap":   func() ConnectorConfig { return new(ldap.Config) },
	"mockID": func() ConnectorConfig { return new(mock.EmptyConfig) },
}`,
		"connector/mock/mock.go":      "package mock\ntype EmptyConfig struct{}",
		"connector/ldap/ldap_test.go": "package ldap\ntype Config struct{}",
		"connector/ldap/more.go":      "package ldap\ntype matcher struct {\nUserAttr string `json:\"userAttr\"`\n}\ntype format string",
		"connector/ldap/ldap.go": "package ldap\ntype Config struct {\n" +
			"Host string `json:\"host,omitempty\"`\nAdminEmail string\nhidden string\nLeftOut string `json:\"-\"`\nCA []byte `json:\"ca\"`\nOn *bool `json:\"on\"`\nAll []string `json:\"all\"`\nAny map[string]string `json:\"any\"`\n" +
			"Format format `json:\"format\"`\nSearch struct {\nMatchers []matcher `json:\"matchers\"`\nN int `json:\"n\"`\n} `json:\"search\"`\n}",
		"cmd/dex/config.go": "package main\ntype Config struct {\nIssuer string `json:\"issuer\"`\nStaticClients []storage.Client `json:\"staticClients\"`\n}",
	} {
		at := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	want := `ldap
 host text
 adminEmail text
 ca bytes
 on bool
 all texts
 any map
 format text
 search object
  matchers objects
   userAttr text
  n number
mockID
(configuration)
 issuer anything
 staticClients anything
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	if _, err := Read(t.TempDir()); err == nil {
		t.Error("a folder without Dex is read")
	}
}
