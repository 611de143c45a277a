package external

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func TestForms(t *testing.T) {
	const ca = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
	e := &Cluster{Server: "https://10.96.0.9:443", ca: []byte(ca), token: "secret"}

	kubeconfig, err := e.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(kubeconfig["kubeconfig"]))
	if err != nil {
		t.Fatalf("the kubeconfig is unusable: %v", err)
	}
	if config.Host != e.Server || config.BearerToken != e.token || string(config.CAData) != ca {
		t.Errorf("the kubeconfig opens another cluster: %v", config)
	}

	declarative, err := e.Declarative()
	if err != nil {
		t.Fatal(err)
	}
	got := struct {
		BearerToken     string
		TLSClientConfig struct{ CAData []byte }
	}{}
	if err := json.Unmarshal([]byte(declarative["config"]), &got); err != nil {
		t.Fatal(err)
	}
	if declarative["server"] != e.Server || got.BearerToken != e.token || string(got.TLSClientConfig.CAData) != ca {
		t.Errorf("Argo CD's cluster Secret opens another cluster: %v", declarative)
	}

	if diff := cmp.Diff(map[string]string{"token": "secret", "ca.crt": ca}, e.ServiceAccountToken()); diff != "" {
		t.Errorf("ServiceAccountToken(): -want, +got:\n%s", diff)
	}
}
