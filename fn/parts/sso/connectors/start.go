package connectors

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// required are the fields without which Dex can't use a connector (Dex 2.45, connector/*, Open), with an example of each.
var required = map[string][]struct{ path, example string }{
	"atlassian-crowd": {{"baseURL", "https://crowd.example.org/crowd"}},
	"keystone":        {{"keystoneHost", "https://keystone.example.org:5000"}},
	"ldap":            {{"host", "ldap.example.org:636"}, {"userSearch.baseDN", "ou=people,dc=example,dc=org"}, {"userSearch.username", "uid"}},
	"mockPassword":    {{"username", "a"}},
	"oauth":           {{"authorizationURL", "https://id.example.org/authorize"}, {"tokenURL", "https://id.example.org/token"}, {"userInfoURL", "https://id.example.org/userinfo"}},
	"oidc":            {{"issuer", "https://id.example.org"}},
	"openshift":       {{"issuer", "https://api.openshift.example.org:6443"}},
	"saml":            ofSAML, "samlExperimental": ofSAML,
}

var ofSAML = []struct{ path, example string }{{"ssoURL", "https://id.example.org/saml"}, {"usernameAttr", "name"}, {"emailAttr", "email"}}

// enums are the texts that Dex takes in a field.
var enums = []struct {
	types  []string
	path   string
	values []string
}{
	{[]string{"github"}, "teamNameField", []string{"name", "slug", "both"}},
	{[]string{"ldap"}, "userSearch.scope", []string{"sub", "one"}},
	{[]string{"ldap"}, "groupSearch.scope", []string{"sub", "one"}},
	{[]string{"microsoft"}, "groupNameFormat", []string{"name", "id"}},
}

// nameIDs are the ends of the formats of names that Dex takes from a provider of SAML.
var nameIDs = []string{"emailAddress", "unspecified", "X509SubjectName", "WindowsDomainQualifiedName", "encrypted", "entity", "kerberos", "persistent", "transient"}

// urls are the fields that begin with https:// or http://.
var urls = map[string][]string{
	"atlassian-crowd": {"baseURL"}, "gitea": {"baseURL"}, "gitlab": {"baseURL"}, "keystone": {"keystoneHost"}, "oauth": {"authorizationURL", "tokenURL", "userInfoURL"}, "oidc": {"issuer"}, "openshift": {"issuer"},
}

// files are the fields that name a file of Dex's pod, with the field that has the same as data; "" for none.
var files = map[string][]struct{ path, data string }{
	"google": {{"serviceAccountFilePath", ""}},
	"ldap":   {{"rootCA", "rootCAData"}, {"clientCert", ""}, {"clientKey", ""}},
	"saml":   {{"ca", "caData"}}, "samlExperimental": {{"ca", "caData"}},
}

// certificates are the fields with certificates in base64.
var certificates = map[string]string{"gitlab": "rootCAData", "ldap": "rootCAData", "saml": "caData", "samlExperimental": "caData"}

// orFiles are the fields that name files of Dex's pod, or are certificates.
var orFiles = map[string]string{"github": "rootCA", "oauth": "rootCAs", "oidc": "rootCAs", "openshift": "rootCA"}

// ofImage is where Dex's image has files.
const ofImage = "/etc/ssl/"

// cantStart refuses configurations that Dex takes, and with which it can't use the connector: by default it then doesn't start. hasFiles reports
// whether Dex's pod may have files that aren't known here.
func cantStart(at, name string, config map[string]any, hasFiles bool) error {
	var found []error
	refuse := func(field, format string, args ...any) {
		found = append(found, fmt.Errorf("%s.%s: "+format, append([]any{at, field}, args...)...))
	}
	for _, r := range required[name] {
		if key, v := lookup(config, r.path); isEmpty(v) {
			refuse(key, "is missing, and Dex needs it: write it, such as %s", r.example)
		}
	}
	for _, e := range enums {
		if key, text := textAt(config, e.path); slices.Contains(e.types, name) && text != "" && !slices.Contains(e.values, text) {
			refuse(key, "%.40q is unknown to Dex: %s", text, known.Instead(text, e.values, "write one of "+strings.Join(e.values, ", ")))
		}
	}
	for _, path := range urls[name] {
		if key, text := textAt(config, path); text != "" && !strings.HasPrefix(text, "https://") && !strings.HasPrefix(text, "http://") {
			refuse(key, "%.80q is no URL: write one that begins with https://", text)
		}
	}
	for _, f := range files[name] {
		if key, text := textAt(config, f.path); text != "" && !hasFiles && !strings.HasPrefix(text, ofImage) {
			instead := "mount it by spec.argocd.values.dex.volumes and dex.volumeMounts"
			if f.data != "" {
				instead = "write " + f.data + " in its place, with the certificates in base64"
			}
			refuse(key, "Dex's pod has no such file, and Dex can't use the connector: %s", instead)
		}
	}
	if path := certificates[name]; path != "" {
		if key, text := textAt(config, path); text != "" {
			if message := wrongCertificates(text); message != "" {
				refuse(key, "%s", message)
			}
		}
	}
	if path := orFiles[name]; path != "" {
		key, v := Get(config, path)
		list, _ := v.([]any)
		for _, v := range append(list, v) {
			if text, _ := v.(string); strings.HasPrefix(text, "/") && !hasFiles && !strings.HasPrefix(text, ofImage) {
				refuse(key, "Dex's pod has no file %.80q, and Dex can't use the connector: write the certificate itself, in PEM, or mount the file by spec.argocd.values.dex.volumes and dex.volumeMounts", text)
			}
		}
	}
	return mistakes.Join(append(found, special(at, name, config))...)
}

// special refuses what one type alone can't start with.
func special(at, name string, config map[string]any) error {
	var found []error
	refuse := func(is bool, field, format string, args ...any) {
		if is {
			found = append(found, fmt.Errorf("%s.%s: "+format, append([]any{at, field}, args...)...))
		}
	}
	has := func(path string) bool { _, v := lookup(config, path); return !isEmpty(v) && v != false }
	switch name {
	case "github":
		key, hostname := textAt(config, "hostName")
		refuse(strings.Contains(hostname, "/"), key, "%.80q is no hostname: write one without https:// and without a path, such as github.example.org", hostname)
		refuse(has("org") && has("orgs"), "org", "Dex takes only one of org and orgs: leave it out, and write it in orgs")
		refuse(has("rootCA") && !has("hostName"), "rootCA", "Dex takes it only with hostName: write that of your GitHub, too")
		key, domain := textAt(config, "preferredEmailDomain")
		refuse(strings.HasSuffix(domain, "*"), key, "%.80q ends with *, which Dex doesn't take: write one such as *.example.org", domain)
	case "google":
		refuse(has("serviceAccountFilePath") && !givesGroups(name, config), "serviceAccountFilePath", "Dex doesn't start with it alone: write domainToAdminEmail, too")
	case "ldap":
		key, host := textAt(config, "host")
		refuse(strings.Contains(host, "://"), key, "%.80q is a URL: write only the host and the port, such as ldap.example.org:636; insecureNoSSL or startTLS say how Dex connects", host)
		refuse(has("clientCert") != has("clientKey"), "clientCert", "Dex ignores one of clientCert and clientKey without the other: write both, or neither")
	case "mockPassword":
		if !has("password") {
			// A colon would have the next word taken for the password, and redacted.
			found = append(found, fmt.Errorf("%s.password is missing, and Dex needs it: write $<name>:<key>, with the name of a Secret", at))
		}
	case "oidc":
		key, filter := textAt(config, "claimModifications.filterGroupClaims.groupsFilter")
		_, err := regexp.Compile(filter)
		refuse(err != nil, key, "%.80q is no regular expression, and Dex would ignore it: write one such as ^argocd-", filter)
	case "saml", "samlExperimental":
		refuse(has("ca") && has("caData"), "caData", "Dex takes only one of ca and caData: leave one of them out")
		refuse(!has("ca") && !has("caData") && !has("insecureSkipSignatureValidation"), "caData", "is missing, and Dex needs it: write the provider's certificate in PEM, in base64")
		key, format := textAt(config, "nameIDPolicyFormat")
		refuse(format != "" && !slices.Contains(nameIDs, format[strings.LastIndex(format, ":")+1:]), key, "%.80q is unknown to Dex: write one of %s", format, strings.Join(nameIDs, ", "))
	}
	return mistakes.Join(found...)
}

// lookup returns a field and its value, at a path of fields of objects.
func lookup(config map[string]any, path string) (key string, v any) {
	var keys []string
	of := config
	for _, name := range strings.Split(path, ".") {
		key, v = Get(of, name)
		if key == "" {
			key = name
		}
		keys = append(keys, key)
		of, _ = v.(map[string]any)
	}
	return strings.Join(keys, "."), v
}

// textAt returns a field and its text; "" for a value of another kind, and for one that refers to a secret, which may be anything.
func textAt(config map[string]any, path string) (key, text string) {
	key, v := lookup(config, path)
	if text, _ = v.(string); strings.HasPrefix(text, "$") {
		text = ""
	}
	return key, text
}

// wrongCertificates returns what is wrong with certificates in base64; "" for nothing.
func wrongCertificates(text string) string {
	raw, err := base64.StdEncoding.DecodeString(text)
	switch {
	case strings.Contains(text, "-----BEGIN"):
		return "is PEM as it is, and Dex takes it in base64, once more: write what base64 -w0 prints of the file"
	case err != nil:
		// The kind says so already.
		return ""
	}
	for n := 0; ; n++ {
		block, rest := pem.Decode(raw)
		if block == nil {
			if n == 0 {
				return "has no certificate in PEM in it, and Dex can't use the connector: write what base64 -w0 prints of a file that begins with -----BEGIN CERTIFICATE-----"
			}
			return ""
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return "has something other than certificates in it, and Dex can't use the connector: write what base64 -w0 prints of a file with certificates in PEM"
		}
		raw = rest
	}
}
