package redact

import (
	"encoding/base64"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// publicKey is a key of a Secret, or a field of what stands in one, that holds no
// secret. Hiding it would take from a message what makes it worth reading.
var publicKey = regexp.MustCompile(`(?i)^(server|name|namespaces?|project|shard|clusterResources|url|type|username|insecure.*|enable.*|force.*|noProxy|githubApp(ID|InstallationID|EnterpriseBaseUrl)|.*ca\.crt|tls\.crt|tlsClientCertData|ca-?data|certificate-authority.*|cert-?data|client-certificate.*|known_?hosts|apiVersion|kind|current-context|context|cluster|user|issuer|clientID|serverName)$`)

// fromSpec is a key of the values under which stands what the claim itself says. A
// label is often the name of what it labels, and names make a message worth reading.
var fromSpec = regexp.MustCompile(`^(labels|annotations)$`)

// secrets are the texts to hide: the values that the function took out of Secrets for Argo CD, the credentials that it uses and
// publishes. What else stands in the claim's Secrets is in no message, unless somebody guesses it.
func secrets(o tenant.Observed) *index {
	x := &index{}
	x.addValues("", o.ValuesInUse())
	if p := o.Published; p != nil {
		x.addLines(string(p.Key))
	}
	x.addLines(string(o.Composed[tenant.InstallerCredentials].SecretValue(corev1.ServiceAccountTokenKey)))
	for _, name := range []string{tenant.InstallerCredentials, tenant.KubeconfigSecret} {
		for _, key := range []string{tenant.KubeconfigKey, tenant.ProxiedKey} {
			x.addKubeconfig(o.Composed[name].SecretValue(key))
		}
	}
	x.addDetails(o.XRConnection)
	x.addLines(base64.StdEncoding.EncodeToString(o.Kept().Key))
	for _, v := range o.AccountsInUse() {
		x.addValues("", v)
	}
	for _, c := range o.Composed {
		x.addDetails(c.Connection)
	}
	x.sort()
	return x
}

func (x *index) addDetails(details map[string][]byte) {
	for key, value := range details {
		switch {
		case key == tenant.KubeconfigKey:
			x.addKubeconfig(value)
		case strings.HasPrefix(key, tenant.TunnelPrefix):
			x.addPrivateKey(string(value))
		default:
			x.addField(key, string(value))
		}
	}
}

// addPrivateKey adds the lines of a private key in a longer text.
func (x *index) addPrivateKey(text string) {
	_, key, _ := strings.Cut(text, "-----BEGIN PRIVATE KEY-----")
	key, _, _ = strings.Cut(key, "-----END PRIVATE KEY-----")
	x.addLines(key)
}

// addField adds what stands at a key, unless it is public. A URL may have a password in it.
func (x *index) addField(key, value string) {
	if !publicKey.MatchString(key) || strings.Contains(value, "://") && strings.Contains(value, "@") {
		x.addLines(value)
	}
}

// addValues adds what stands in chart values that came from Secrets.
func (x *index) addValues(key string, v any) {
	switch v := v.(type) {
	case values.Values:
		if kind, _ := v["kind"].(string); key == credentials.ExtraObjects && kind != "" && kind != "Secret" {
			// What other objects say is no secret: the claim has written it, or the function.
			return
		}
		if data, ok := v["data"].(values.Values); ok && v["kind"] == "Secret" {
			for key, at := range data {
				x.addEncoded(key, at)
			}
		}
		for key, at := range v {
			if !fromSpec.MatchString(key) {
				x.addValues(key, at)
			}
		}
	case []any:
		for _, at := range v {
			x.addValues(key, at)
		}
	case string:
		x.addField(key, v)
	}
}

// addEncoded adds a value of a Secret that the argo-cd chart creates, such as the configuration of a cluster, in JSON.
func (x *index) addEncoded(key string, at any) {
	encoded, _ := at.(string)
	plain, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return
	}
	var object values.Values
	if text.JSON(plain, &object) == nil {
		x.addValues("", object)
	}
	x.addField(key, string(plain))
}

// addKubeconfig adds the credentials in a kubeconfig, and all of it.
func (x *index) addKubeconfig(raw []byte) {
	x.add(strings.TrimSpace(string(raw)))
	file, err := text.Kubeconfig(raw)
	if err != nil {
		return
	}
	for _, user := range file.AuthInfos {
		for _, secret := range []string{user.Token, user.Password, string(user.ClientKeyData)} {
			x.addLines(secret)
		}
	}
}
