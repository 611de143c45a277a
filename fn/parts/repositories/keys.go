package repositories

import (
	"strconv"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// knownHostsKey is a key of our own.
const knownHostsKey = "knownHosts"

const (
	noIdentity = "a pod of a virtual cluster has no identity in Azure: write azureServicePrincipalClientId, azureServicePrincipalTenantId and azureServicePrincipalClientSecret, or username and password"
	ofEach     = "Argo CD reads it in the Secret of a repository only: write it there"
)

// Keys are those of the Secret of a repository: Argo CD's own (3.6, util/db/repository_secrets.go), and knownHosts.
var Keys = []credentials.Key{
	{Name: "type", Use: credentials.Compared, Why: "the entry's type, where that has none: git, helm or oci"},
	{Name: "url", Use: credentials.Compared, Why: "must be the entry's url, without regard to oci://, .git and a slash at the end"},
	{Name: "enableOCI", Use: credentials.Compared, Is: isBool, Why: "must fit the entry's url, which begins with oci://"},
	{Name: "username", Use: credentials.Taken},
	{Name: "password", Use: credentials.Taken},
	{Name: "bearerToken", Use: credentials.Taken, Since: "3.0"},
	{Name: "sshPrivateKey", Use: credentials.Taken, Is: isPrivateKey, Why: "without a passphrase; also `ssh-privatekey`"},
	{Name: "githubAppID", Use: credentials.Taken, Is: isID},
	{Name: "githubAppInstallationID", Use: credentials.Taken, Is: isID, Why: "Argo CD 3.3 and later find it themselves"},
	{Name: "githubAppPrivateKey", Use: credentials.Taken, Is: isPrivateKey},
	{Name: "githubAppEnterpriseBaseUrl", Use: credentials.Taken},
	{Name: "tlsClientCertData", Use: credentials.Taken, Why: "also `tls.crt`"},
	{Name: "tlsClientCertKey", Use: credentials.Taken, Why: "also `tls.key`"},
	{Name: "gcpServiceAccountKey", Use: credentials.Taken, Is: isServiceAccount, Why: "the key of a service account in JSON; a configuration of workload identity federation is not possible"},
	{Name: "azureServicePrincipalClientId", Use: credentials.Taken, Since: "3.5"},
	{Name: "azureServicePrincipalClientSecret", Use: credentials.Taken, Since: "3.5"},
	{Name: "azureServicePrincipalTenantId", Use: credentials.Taken, Since: "3.5"},
	{Name: "azureActiveDirectoryEndpoint", Use: credentials.Taken, Since: "3.5"},
	{Name: "useAzureWorkloadIdentity", Use: credentials.Impossible, Is: isBool, Why: noIdentity},
	{Name: "insecure", Use: credentials.Taken, Is: isBool},
	{Name: "insecureIgnoreHostKey", Use: credentials.Taken, Is: isBool, Why: "`insecure` has replaced it"},
	{Name: "enableLfs", Use: credentials.Taken, Is: isBool},
	{Name: "forceHttpBasicAuth", Use: credentials.Taken, Is: isBool},
	{Name: "insecureOCIForceHttp", Use: credentials.Taken, Is: isBool, Since: "3.1"},
	{Name: "depth", Use: credentials.Taken, Is: isNumber, Since: "3.3"},
	{Name: "webhookManifestCacheWarmDisabled", Use: credentials.Taken, Is: isBool, Since: "3.5"},
	{Name: "proxy", Use: credentials.Taken},
	{Name: "noProxy", Use: credentials.Taken, Since: "2.13"},
	{Name: "name", Use: credentials.Taken, Why: "the name that Argo CD shows, in place of the entry's"},
	{Name: "project", Use: credentials.Taken, Is: isProject, Why: "the entry's project, where that has one, must be the same"},
	{Name: knownHostsKey, Use: credentials.Taken, Why: "not a key of Argo CD's: lines of a known_hosts file, for SSH servers that it doesn't know"},
}

// TemplateKeys are those of the Secret of a credential template. Argo CD reads fewer there.
var TemplateKeys = templateKeys()

// ofRepositories are the keys that Argo CD doesn't read in a credential template.
var ofRepositories = map[string]string{
	"name": "a credential template has no name in Argo CD", "project": "every project may use a credential template",
	"insecure": ofEach, "insecureIgnoreHostKey": ofEach, "enableLfs": ofEach, "depth": ofEach, "webhookManifestCacheWarmDisabled": ofEach,
}

// renamed are the keys that Argo CD reads under another name in a credential template.
var renamed = map[string]string{
	"azureServicePrincipalClientId": "azureServicePrincipalClientID", "azureServicePrincipalTenantId": "azureServicePrincipalTenantID",
}

func templateKeys() []credentials.Key {
	var out []credentials.Key
	for _, k := range Keys {
		if why := ofRepositories[k.Name]; why != "" {
			k.Use, k.Why = credentials.NoEffect, why
		}
		if name := renamed[k.Name]; name != "" {
			k.Name = name
		}
		out = append(out, k)
	}
	return out
}

// otherNames are further names of keys: those that Kubernetes' own types of Secrets have, and the other spelling of some.
var otherNames = map[string]string{
	"sshPrivateKey": "ssh-privatekey", "tlsClientCertData": "tls.crt", "tlsClientCertKey": "tls.key",
	"azureServicePrincipalClientId": "azureServicePrincipalClientID", "azureServicePrincipalClientID": "azureServicePrincipalClientId",
	"azureServicePrincipalTenantId": "azureServicePrincipalTenantID", "azureServicePrincipalTenantID": "azureServicePrincipalTenantId",
}

// addedByOthers is a certificate authority as cert-manager adds it: no fault of the Secret's author.
const addedByOthers = "ca.crt"

// isBool returns a switch as Argo CD's own files write it. Argo CD stumbles over another when it reads all of its repositories, the
// good ones too.
func isBool(s *credentials.Reader, key, value string) string {
	on, err := strconv.ParseBool(value)
	if err != nil {
		s.Fail("%s is neither true nor false: write one of them", key)
	}
	return strconv.FormatBool(on)
}

func isNumber(s *credentials.Reader, key, value string) string {
	if _, err := strconv.ParseUint(value, 10, 31); err != nil {
		s.Fail("%s is not a number: write one such as 1, or leave it out", key)
	}
	return value
}

func isID(s *credentials.Reader, key, value string) string {
	if _, err := strconv.ParseInt(value, 10, 64); err != nil {
		s.Fail("%s is not a number: write the one that GitHub shows", key)
	}
	return value
}

func isProject(s *credentials.Reader, key, value string) string {
	if credentials.CheckProject("", value) != nil {
		s.Fail("key %s is not the name of a project: write lower case letters, digits, dots and dashes", key)
	}
	return value
}

func isServiceAccount(s *credentials.Reader, key, value string) string {
	var account struct {
		Type string `json:"type"`
	}
	switch err := text.JSON([]byte(value), &account); {
	case err != nil || account.Type == "":
		s.Fail("%s is not the key of a service account: write the JSON file that Google Cloud has made", key)
	case account.Type != "service_account" && account.Type != "authorized_user":
		s.Fail("%s needs an identity of the pod or files beside it, which Argo CD doesn't have here: write the key of a service account", key)
	}
	return value
}
