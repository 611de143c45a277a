package repositories

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// repositoryKeys are the keys of a Secret with a repository's credentials: those
// of Argo CD's own repository Secrets.
var repositoryKeys = []string{
	"username", "password", "bearerToken", "sshPrivateKey",
	"githubAppID", "githubAppInstallationID", "githubAppPrivateKey", "githubAppEnterpriseBaseUrl",
	"tlsClientCertData", "tlsClientCertKey",
	"insecure", "enableLfs", "forceHttpBasicAuth", "insecureOCIForceHttp", "proxy", "noProxy",
	knownHostsKey,
}

const knownHostsKey = "knownHosts"

// otherNames are the keys that Kubernetes' own types of Secrets have for them.
var otherNames = map[string]string{
	"sshPrivateKey": "ssh-privatekey", "tlsClientCertData": "tls.crt", "tlsClientCertKey": "tls.key",
}

// ofTheEntry are the keys of Argo CD's repository Secrets that are fields of the
// spec here, and a certificate authority as cert-manager adds it: no fault of theirs.
var ofTheEntry = []string{"url", "type", "name", "project", "ca.crt"}

// readRepository reads the credentials of a repository into v. It returns the known
// hosts that stand with them.
func readRepository(s *credentials.Reader, overSSH bool, v values.Values) string {
	s.Only(slices.AppendSeq(slices.Concat(repositoryKeys, ofTheEntry), maps.Values(otherNames)), repositoryKeys)
	read := map[string]string{}
	for _, key := range repositoryKeys {
		text := s.Text(key)
		if other := otherNames[key]; other != "" && text == "" {
			text = s.Text(other)
		}
		if text != "" {
			read[key] = text
		}
	}
	if len(read) == 0 {
		s.Fail("it has no credentials: write username and password, or bearerToken, or sshPrivateKey, or githubAppID, githubAppInstallationID and githubAppPrivateKey, or tlsClientCertData and tlsClientCertKey")
	}
	checkWaysIn(s, read, overSSH)
	checkOptions(s, read)
	hosts := read[knownHostsKey]
	delete(read, knownHostsKey)
	for key, text := range read {
		v[key] = text
	}
	return readKnownHosts(s, hosts)
}

// checkWaysIn checks that there is one way in, that it is whole, and that the URL
// is one for it.
func checkWaysIn(s *credentials.Reader, read map[string]string, overSSH bool) {
	has := func(key string) bool { return read[key] != "" }
	var ways []string
	for key, way := range map[string]string{"password": "username and password", "bearerToken": "bearerToken", "sshPrivateKey": "sshPrivateKey", "githubAppPrivateKey": "githubAppPrivateKey"} {
		if has(key) {
			ways = append(ways, way)
		}
	}
	slices.Sort(ways)
	switch {
	case len(ways) > 1:
		s.Fail("it has several ways in, of which Argo CD takes one: write only one of %s", strings.Join(ways, ", "))
	case has("username") != has("password"):
		s.Fail("username and password go together: write both (beside a token, most servers take any username)")
	case overSSH && !has("sshPrivateKey"):
		s.Fail("the URL is one of SSH: write sshPrivateKey")
	case !overSSH && has("sshPrivateKey"):
		s.Fail("sshPrivateKey is for an SSH URL, such as git@git.example.org:team/apps.git, and this one isn't")
	case has("githubAppPrivateKey") != (has("githubAppID") && has("githubAppInstallationID")):
		s.Fail("githubAppID, githubAppInstallationID and githubAppPrivateKey go together: write all three")
	case has("tlsClientCertData") != has("tlsClientCertKey"):
		s.Fail("tlsClientCertData and tlsClientCertKey go together: write both")
	case has("tlsClientCertData"):
		credentials.CheckPair(s, []byte(read["tlsClientCertData"]), []byte(read["tlsClientCertKey"]))
	}
	checkPrivateKey(s, "sshPrivateKey", read)
	checkPrivateKey(s, "githubAppPrivateKey", read)
}

// checkPrivateKey checks a key, and ends it with a newline.
func checkPrivateKey(s *credentials.Reader, key string, read map[string]string) {
	if read[key] == "" {
		return
	}
	if len(read[key]) > credentials.MaxPrivateKey {
		s.Fail("%s has %d bytes: write one of at most %d", key, len(read[key]), credentials.MaxPrivateKey)
		return
	}
	read[key] = strings.ReplaceAll(read[key], "\r\n", "\n") + "\n"
	passphrase := &ssh.PassphraseMissingError{}
	switch _, err := ssh.ParseRawPrivateKey([]byte(read[key])); {
	case errors.As(err, &passphrase):
		s.Fail("%s has a passphrase, and nobody is there to type it: write a key without one", key)
	case err != nil:
		s.Fail("%s is not a private key in PEM: write one that begins with -----BEGIN", key)
	}
}

// checkOptions checks what Argo CD would stumble over when it reads all of its
// repositories, the good ones too.
func checkOptions(s *credentials.Reader, read map[string]string) {
	for _, key := range []string{"insecure", "enableLfs", "forceHttpBasicAuth", "insecureOCIForceHttp"} {
		if v := read[key]; v != "" && v != "true" && v != "false" {
			s.Fail("%s is neither true nor false: write one of them", key)
		}
	}
	for _, key := range []string{"githubAppID", "githubAppInstallationID"} {
		if _, err := strconv.ParseInt(read[key], 10, 64); err != nil && read[key] != "" {
			s.Fail("%s is not a number: write the one that GitHub shows", key)
		}
	}
}
