package crossplanetest

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
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

// Publish writes the Secret with the kubeconfig of the virtual cluster, as vcluster does; "" deletes it.
func (e *Engine) Publish(kubeconfig string) {
	names := tenant.NewNames(Field(e.XR(), "metadata").GetFields()["name"].GetStringValue(), "")
	key := "Secret/" + names.Namespace + "/vc-vcluster"
	if delete(e.Cluster, key); kubeconfig != "" {
		e.Cluster[key] = resource.MustStructJSON(fmt.Sprintf(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"vc-vcluster","namespace":%q},"data":{"config":%q}}`,
			names.Namespace, base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
	}
}

// Kubeconfig is the kubeconfig in the composed Secret, with which the providers reach the virtual cluster.
func (e *Engine) Kubeconfig() []byte {
	e.T.Helper()
	raw, err := base64.StdEncoding.DecodeString(Field(e.Observed(tenant.KubeconfigSecret), "data").GetFields()["kubeconfig"].GetStringValue())
	if err != nil {
		e.T.Fatal(err)
	}
	return raw
}

// ResolverKey is the key of the Object that observes the resolver for tenants.
const ResolverKey = "Object//virtual-argocd-dns"

// SetResolver gives the host a DNS resolver for tenants, at an address.
func (e *Engine) SetResolver(address string) {
	e.Cluster[ResolverKey] = resource.MustStructJSON(`{"apiVersion":"kubernetes.crossplane.io/v1alpha2","kind":"Object","metadata":{"name":"virtual-argocd-dns"},
		"status":{"atProvider":{"manifest":{"apiVersion":"v1","kind":"Service","spec":{"clusterIP":"` + address + `"}}}}}`)
}

// Protect gives the host what the function asks for: admission policies, and a resolver.
func (e *Engine) Protect() {
	e.SetResolver("10.96.0.53")
	for _, name := range host.RequiredPolicies {
		for kind, spec := range map[string]string{
			"ValidatingAdmissionPolicy":        `{"failurePolicy":"Fail"}`,
			"ValidatingAdmissionPolicyBinding": `{"policyName":"` + name + `","validationActions":["Deny"]}`,
		} {
			e.Cluster[kind+"//"+name] = resource.MustStructJSON(`{"apiVersion":"admissionregistration.k8s.io/v1","kind":"` + kind + `","metadata":{"name":"` + name + `",
				"labels":{"app.kubernetes.io/part-of":"virtual-argocd"},"annotations":{"virtualargocd.io/policies-version":"` + strconv.Itoa(host.HostPoliciesVersion) + `"}},"spec":` + spec + `}`)
		}
	}
}

// SetToken does what Kubernetes does with the Secret of an account's token.
func (e *Engine) SetToken(name, token string) {
	o := e.Observed(name)
	if o.GetFields()["data"] == nil {
		o.Fields["data"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	cert, _ := KeyPair()
	for key, v := range map[string]string{"token": token, "ca.crt": cert, "namespace": "crossplane-system"} {
		Field(o, "data").Fields[key] = structpb.NewStringValue(base64.StdEncoding.EncodeToString([]byte(v)))
	}
}

// NamespaceAnnotation is an annotation of the tenant's namespace, by which the admission policies know what the tenant may do.
func (e *Engine) NamespaceAnnotation(annotation string) string {
	return Field(e.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations").GetFields()[annotation].GetStringValue()
}
