package repositories

import (
	"slices"
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
)

// TestLongKeys: no key takes the time of the function, which is everybody's.
func TestLongKeys(t *testing.T) {
	long := "-----BEGIN RSA PRIVATE KEY-----\n" + strings.Repeat("A", credentials.MaxPrivateKey) + "\n-----END RSA PRIVATE KEY-----\n"
	s := &credentials.Reader{}
	if isPrivateKey(s, "sshPrivateKey", long); s.Problem == nil {
		t.Error("a long key is let in")
	}
}

// TestUpstreamKeys: each key that Argo CD reads is in the lists. The lists here are those of util/db/repository_secrets.go in Argo CD 3.6.
func TestUpstreamKeys(t *testing.T) {
	both := []string{
		"url", "username", "password", "bearerToken", "sshPrivateKey", "tlsClientCertData", "tlsClientCertKey", "type", "githubAppPrivateKey", "githubAppEnterpriseBaseUrl", "proxy", "noProxy",
		"gcpServiceAccountKey", "azureServicePrincipalClientSecret", "azureActiveDirectoryEndpoint", "enableOCI", "insecureOCIForceHttp", "githubAppID", "githubAppInstallationID", "forceHttpBasicAuth", "useAzureWorkloadIdentity",
	}
	for name, tc := range map[string]struct {
		keys []credentials.Key
		want []string
	}{
		"Repository": {Keys, []string{"name", "project", "azureServicePrincipalClientId", "azureServicePrincipalTenantId", "insecureIgnoreHostKey", "insecure", "enableLfs", "depth", "webhookManifestCacheWarmDisabled"}},
		"Template":   {TemplateKeys, []string{"azureServicePrincipalClientID", "azureServicePrincipalTenantID"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, want := range slices.Concat(both, tc.want) {
				if !slices.ContainsFunc(tc.keys, func(k credentials.Key) bool { return k.Name == want && k.Use != credentials.NoEffect }) {
					t.Errorf("there is no key %s", want)
				}
			}
			for _, k := range tc.keys {
				if k.Use != credentials.NoEffect && k.Name != knownHostsKey && !slices.Contains(both, k.Name) && !slices.Contains(tc.want, k.Name) {
					t.Errorf("Argo CD reads no key %s", k.Name)
				}
			}
		})
	}
}
