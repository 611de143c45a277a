package crossplanetest

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/crossplane/function-sdk-go/resource"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
)

// Kubeconfig is the kubeconfig that vcluster writes.
var Kubeconfig = VirtualKubeconfig(nil)

// KeyLine is a line of the client's key in Kubeconfig.
var KeyLine = strings.Split(string(Must(text.Kubeconfig([]byte(Kubeconfig))).AuthInfos["my-vcluster"].ClientKeyData), "\n")[1]

// VirtualKubeconfig is a kubeconfig as vcluster writes it, after a change. A nil change makes none.
func VirtualKubeconfig(change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) string {
	cert, key := KeyPair()
	cluster := &clientcmdapi.Cluster{Server: "https://vcluster.elsewhere.svc:443", CertificateAuthorityData: []byte(cert)}
	user := &clientcmdapi.AuthInfo{ClientCertificateData: []byte(cert), ClientKeyData: []byte(key)}
	if change != nil {
		change(cluster, user)
	}
	raw, err := clientcmd.Write(clientcmdapi.Config{
		CurrentContext: "my-vcluster",
		Clusters:       map[string]*clientcmdapi.Cluster{"my-vcluster": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"my-vcluster": user},
		Contexts:       map[string]*clientcmdapi.Context{"my-vcluster": {Cluster: "my-vcluster", AuthInfo: "my-vcluster"}},
	})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// PublishKubeconfig writes the Secret with the kubeconfig of the virtual cluster, as vcluster does; "" deletes it.
func (e *Engine) PublishKubeconfig(kubeconfig string) {
	names := tenant.NewNames(Field(e.XR(), "metadata").GetFields()["name"].GetStringValue(), "")
	key := "Secret/" + names.Namespace + "/vc-vcluster"
	if delete(e.Cluster, key); kubeconfig != "" {
		e.Cluster[key] = resource.MustStructJSON(fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"vc-vcluster","namespace":%q},"data":{"config":%q}}`,
			names.Namespace, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
	}
}
