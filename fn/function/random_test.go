package function_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// needle stands in every secret of these tests. It is long enough that no base64 of it turns up in a certificate by
// chance, and is written otherwise in JSON, and in base64 for URLs.
const needle = "n33dle&~~~in-a-haystack"

// A testSecret is a Secret of the claim's namespace.
type testSecret struct {
	typ  string
	data map[string]string
}

// randomTenant is a spec with references of every kind, and the Secrets it names.
func randomTenant(r *rand.Rand) (spec string, secrets map[string]testSecret) {
	secrets = map[string]testSecret{}
	s := map[string]any{"clusters": randomClusters(r, secrets), "bootstrap": map[string]any{"repoURL": "https://git.example.org/apps"}, "repositories": randomRepositories(r, secrets), "credentialTemplates": []any{
		map[string]any{"name": "t", "url": "https://t.example.org", "secretRef": map[string]any{"name": "repository-0"}}}}
	if r.IntN(2) == 0 {
		s["ingress"] = map[string]any{"host": "argocd.example.org", "tls": map[string]any{"secretName": "cert"}}
		cert, _ := crossplanetest.KeyPair()
		secrets["cert"] = testSecret{"kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": secretText(r)}}
	}
	if r.IntN(2) == 0 {
		s["sso"] = map[string]any{"oidc": map[string]any{"issuer": "https://id.example.org", "clientID": "a", "clientSecretRef": map[string]any{"name": "oidc", "key": "k"}}}
		secrets["oidc"] = testSecret{"Opaque", map[string]string{"k": secretText(r), "other": secretText(r)}}
	}
	if s["sso"] == nil && r.IntN(2) == 0 {
		connector := map[string]any{"type": "ldap", "id": "a", "name": "A", "config": map[string]any{"host": "ldap.example.org", "userSearch": map[string]any{"baseDN": "ou=people", "username": "uid"}, "bindPW": "$dex:k", "usernamePrompt": "$dex:lost"}}
		s["sso"] = map[string]any{"dex": map[string]any{"connectors": []any{connector}}}
		secrets["dex"] = testSecret{"Opaque", map[string]string{"k": secretText(r), "other": secretText(r)}}
		if r.IntN(2) == 0 {
			secrets["dex"].data["lost"] = secretText(r)
		}
	}
	if r.IntN(2) == 0 {
		s["argocd"] = map[string]any{"secretKeys": []any{map[string]any{"key": "webhook.github.secret", "secretRef": map[string]any{"name": "webhook"}, "secretKey": "k"}}}
		secrets["webhook"] = testSecret{"Opaque", map[string]string{"k": secretText(r), "other": secretText(r)}}
	}
	if s["argocd"] == nil && r.IntN(2) == 0 {
		s["argocd"] = map[string]any{"accounts": []any{map[string]any{"name": "ci", "tokens": []any{map[string]any{"name": "a"}}}}}
	}
	if r.IntN(2) == 0 {
		s["notifications"] = map[string]any{"secretRef": map[string]any{"name": "services"}, "services": []any{map[string]any{"type": "slack", "config": map[string]any{"token": "$token"}}, map[string]any{"type": "github", "config": map[string]any{"appID": 1, "installationID": 2, "privateKey": "$lost"}}}}
		secrets["services"] = testSecret{"Opaque", map[string]string{"token": secretText(r), "other": secretText(r)}}
		if r.IntN(2) == 0 {
			secrets["services"].data["lost"] = secretText(r)
		}
	}
	if r.IntN(2) == 0 && s["argocd"] == nil {
		s["webhooks"] = []any{map[string]any{"provider": "azureDevOps", "secretRef": map[string]any{"name": "azure"}}, map[string]any{"provider": "gitlab", "secretRef": map[string]any{"name": "azure"}}}
		secrets["azure"] = testSecret{"kubernetes.io/basic-auth", map[string]string{"username": secretText(r), "password": secretText(r)}}
	}
	if r.IntN(2) == 0 {
		s["imagePullSecrets"] = []any{map[string]any{"name": "images"}, map[string]any{"name": "broken"}}
		secrets["images"] = testSecret{"kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": `{"auths":{"r":{"username":"u","password":"` + secretText(r) + `"}}}`}}
		secrets["broken"] = testSecret{"kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": `{"auths":{"` + secretText(r) + `":"` + secretText(r) + `"}}`}}
	}
	raw, _ := json.Marshal(s)
	return string(raw), secrets
}

// secretText is a secret that is like no other.
func secretText(r *rand.Rand) string { return fmt.Sprintf("%s-%016x", needle, r.Uint64()) }

func randomClusters(r *rand.Rand, secrets map[string]testSecret) []any {
	cert, _ := crossplanetest.KeyPair()
	clusters := []any{}
	for i := range r.IntN(4) {
		name := fmt.Sprintf("cluster-%d", i)
		c := map[string]any{"name": name, "secretRef": map[string]any{"name": name}}
		server := fmt.Sprintf("https://c%d.example.org", i)
		switch r.IntN(6) {
		case 0:
			secrets[name] = testSecret{"Opaque", map[string]string{"server": server, "config": `{"bearerToken":"` + secretText(r) + `","tlsClientConfig":{}}`}}
		case 1:
			secrets[name] = testSecret{"Opaque", map[string]string{"kubeconfig": crossplanetest.ClusterKubeconfig(map[string]any{"username": "u", "password": secretText(r)}, map[string]any{"server": server})}}
		case 2:
			c["server"] = server
			secrets[name] = testSecret{"kubernetes.io/service-account-token", map[string]string{"token": secretText(r), "ca.crt": cert}}
		case 3: // Broken in a way that a parser would show.
			secrets[name] = testSecret{"Opaque", map[string]string{"kubeconfig": "users: {token: " + secretText(r)}}
		case 4:
			secrets[name] = testSecret{"Opaque", map[string]string{"server": "https://u:" + secretText(r) + "@a.b", "config": `{"bearerToken":["` + secretText(r) + `"]}`}}
		}
		clusters = append(clusters, c)
	}
	return clusters
}

func randomRepositories(r *rand.Rand, secrets map[string]testSecret) []any {
	cert, key := crossplanetest.KeyPair()
	all := []any{}
	for i := range r.IntN(4) {
		name := fmt.Sprintf("repository-%d", i)
		e := map[string]any{"name": name, "url": fmt.Sprintf("https://r%d.example.org", i), "secretRef": map[string]any{"name": name}}
		switch r.IntN(6) {
		case 0:
			secrets[name] = testSecret{"Opaque", map[string]string{"username": "u", "password": secretText(r)}}
		case 1:
			secrets[name] = testSecret{"Opaque", map[string]string{"bearerToken": secretText(r), "proxy": "http://u:" + secretText(r) + "@proxy.example.org"}}
		case 2:
			secrets[name] = testSecret{"Opaque", map[string]string{"tls.crt": cert, "tls.key": key, "password": secretText(r)}}
		case 3:
			e["url"] = fmt.Sprintf("git@r%d.example.org:a", i)
			secrets[name] = testSecret{"Opaque", map[string]string{"sshPrivateKey": secretText(r), "knownHosts": "not a line"}}
		case 4:
			secrets[name] = testSecret{"Opaque", map[string]string{"passwort": secretText(r)}}
		}
		all = append(all, e)
	}
	return all
}
