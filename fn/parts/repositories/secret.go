package repositories

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// readSecret reads the Secret of an entry into v, which Argo CD's Secret becomes. It returns the known hosts that stand with it.
func (e *repository) readSecret(s *credentials.Reader, v values.Values) string {
	keys := Keys
	if e.kind == v1alpha1.KindCredentialTemplate {
		keys = TemplateKeys
	}
	read := credentials.ReadKeys(s, keys, otherNames, addedByOthers)
	if len(s.Data) == 0 || e.kind == v1alpha1.KindCredentialTemplate && !hasCredentials(read) {
		s.Fail("it has no credentials: write username and password, or bearerToken, or sshPrivateKey, or githubAppID, githubAppInstallationID and githubAppPrivateKey, or tlsClientCertData and tlsClientCertKey")
	}
	s.CompareType(e.key)
	e.compare(s, read)
	checkWaysIn(s, read, e.overSSH())
	hosts := read[knownHostsKey]
	for _, key := range []string{knownHostsKey, "type", "url", "enableOCI"} {
		delete(read, key)
	}
	for key, text := range read {
		v[key] = text
	}
	return readKnownHosts(s, hosts)
}

// compare takes from the Secret what the entry leaves open, and refuses what contradicts it.
func (e *repository) compare(s *credentials.Reader, read map[string]string) {
	typ := v1alpha1.RepositoryType(read["type"])
	switch {
	case typ != "" && !slices.Contains(credentials.RepositoryTypes, typ):
		s.Fail("key type is none of %v: write one of them, or leave it out", credentials.RepositoryTypes)
	case typ != "" && e.typ != "" && typ != e.typ:
		s.Fail("key type is %s, and %s.type is %s: write the same in both, or leave one of the two out", typ, e.field, e.typ)
	case typ != "":
		e.typ = typ
	case e.typ == "" && read["enableOCI"] == "true":
		// Argo CD knows that switch for Helm charts alone.
		e.typ = v1alpha1.RepositoryHelm
	}
	if err := checkURL(e.field, e.url, e.typ); err != nil {
		s.Fail("%s", err)
	}
	if url := read["url"]; url != "" && sameURL(url) != sameURL(e.url) {
		s.Fail("key url is another than %s.url, %q: write the same in both, or leave the key out", e.field, e.url)
	}
	inOCI := strings.HasPrefix(e.url, "oci://")
	switch oci := read["enableOCI"]; {
	case oci == "true" && !inOCI:
		s.Fail("key enableOCI is true, and %s.url, %q, doesn't begin with oci://: write oci:// there, or leave the key out", e.field, e.url)
	case oci == "false" && inOCI && e.typ == v1alpha1.RepositoryHelm:
		s.Fail("key enableOCI is false, and %s.url, %q, begins with oci://: leave the key out, or write the https:// URL of a chart repository", e.field, e.url)
	}
	if project := read["project"]; project != "" && e.project != "" && project != e.project {
		s.Fail("key project is another than %s.project, %q: write the same in both, or leave one of the two out", e.field, e.project)
	} else if project != "" {
		e.project = project
	}
}

// sameURL is a URL without what makes no difference to Argo CD.
func sameURL(url string) string {
	if !strings.Contains(url, "://") && credentials.SCPURL.MatchString(url) {
		url = strings.Replace(url, ":", "/", 1)
	}
	url = strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(url, "oci://"), "ssh://"))
	return strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
}

// ways are the keys that say who somebody is, and what they are called.
var ways = map[string]string{
	"password": "username and password", "bearerToken": "bearerToken", "sshPrivateKey": "sshPrivateKey", "githubAppPrivateKey": "githubAppPrivateKey",
	"gcpServiceAccountKey": "gcpServiceAccountKey", "azureServicePrincipalClientSecret": "azureServicePrincipalClientSecret",
}

func hasCredentials(read map[string]string) bool {
	for key := range ways {
		if read[key] != "" {
			return true
		}
	}
	return read["username"] != "" || read["tlsClientCertData"] != "" || read["tlsClientCertKey"] != ""
}

// checkWaysIn checks that there is one way in at most, that it is whole, and that the URL is one for it.
func checkWaysIn(s *credentials.Reader, read map[string]string, overSSH bool) {
	has := func(key string) bool { return read[key] != "" }
	principal := func(id string) bool {
		return has("azureServicePrincipal"+id) || has("azureServicePrincipal"+strings.TrimSuffix(id, "d")+"D")
	}
	var found []string
	for key, way := range ways {
		// Argo CD uses a token in place of a password, and its documentation has both in one Secret.
		if has(key) && (key != "bearerToken" || !has("password")) {
			found = append(found, way)
		}
	}
	slices.Sort(found)
	switch {
	case len(found) > 1:
		s.Fail("it has several ways in, of which Argo CD takes one: write only one of %s", strings.Join(found, ", "))
	case has("username") != has("password") && !has("bearerToken"):
		s.Fail("username and password go together: write both (beside a token, most servers take any username)")
	case overSSH && hasCredentials(read) && !has("sshPrivateKey"):
		s.Fail("the URL is one of SSH: write sshPrivateKey")
	case !overSSH && has("sshPrivateKey"):
		s.Fail("sshPrivateKey is for an SSH URL, such as git@git.example.org:team/apps.git, and this one isn't")
	case has("githubAppPrivateKey") != has("githubAppID") || has("githubAppInstallationID") && !has("githubAppID"):
		s.Fail("githubAppID, githubAppInstallationID and githubAppPrivateKey go together: write all three; from Argo CD 3.3 on, githubAppInstallationID may be missing")
	case has("azureServicePrincipalClientSecret") != principal("ClientId") || has("azureServicePrincipalClientSecret") != principal("TenantId"):
		s.Fail("azureServicePrincipalClientId, azureServicePrincipalTenantId and azureServicePrincipalClientSecret go together: write all three")
	case has("tlsClientCertData") != has("tlsClientCertKey"):
		s.Fail("tlsClientCertData and tlsClientCertKey go together: write both")
	case has("tlsClientCertData"):
		credentials.CheckPair(s, []byte(read["tlsClientCertData"]), []byte(read["tlsClientCertKey"]))
	case has("githubAppID") && !has("githubAppInstallationID") && s.OlderArgoCD("3.3"):
		s.Note("githubAppInstallationID is missing: write it, because Argo CD finds it by itself from version 3.3 on only")
	}
}

// isPrivateKey checks a key, and ends it with a newline.
func isPrivateKey(s *credentials.Reader, key, text string) string {
	if len(text) > credentials.MaxPrivateKey {
		s.Fail("%s has %d bytes: write one of at most %d", key, len(text), credentials.MaxPrivateKey)
		return text
	}
	text = strings.ReplaceAll(text, "\r\n", "\n") + "\n"
	passphrase := &ssh.PassphraseMissingError{}
	switch _, err := ssh.ParseRawPrivateKey([]byte(text)); {
	case errors.As(err, &passphrase):
		s.Fail("%s has a passphrase, and nobody is there to type it: write a key without one", key)
	case err != nil:
		s.Fail("%s is not a private key in PEM: write one that begins with -----BEGIN", key)
	}
	return text
}
