package render

import (
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// proxied is the key of a tenant's kubeconfig Secret that the providers use.
const proxied = "proxied"

// checkTokens has the proxy read the tokens in Secrets, and returns how many there are. In a tenant whose token it refuses, nothing is ever
// installed.
func checkTokens(t testing.TB, where string, objects []*object) int {
	t.Helper()
	tokens := 0
	for _, o := range objects {
		encoded := text(o, "data", proxied)
		if o.GetKind() != "Secret" || encoded == "" {
			continue
		}
		tokens++
		if err := readProxied(encoded); err != nil {
			t.Errorf("%s: Secret %s, key %s: %v", where, o.GetName(), proxied, err)
		}
	}
	return tokens
}

// readProxied reads a kubeconfig as a provider and its proxy do.
func readProxied(encoded string) error {
	kubeconfig, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	// client-go's own way to a rest.Config leaves out a token for a server without TLS. The providers' doesn't.
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		return err
	}
	current := config.Contexts[config.CurrentContext]
	if current == nil || config.Clusters[current.Cluster] == nil || config.AuthInfos[current.AuthInfo] == nil {
		return errors.New("its context has no cluster or no user")
	}
	if server := config.Clusters[current.Cluster].Server; server != proxy.URL {
		return fmt.Errorf("its server is %s, want the proxy's %s", server, proxy.URL)
	}
	_, err = proxy.ReadToken(config.AuthInfos[current.AuthInfo].Token)
	return err
}
