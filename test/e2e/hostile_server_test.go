//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/virtual-argocd/virtual-argocd/lab/certs"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// A hostileServer is a server of a tenant's that answers for its virtual API, instead of the API server there.
type hostileServer struct {
	// program is a CGI program in Perl. It answers each request for a kind. For discovery of an API version, such as apps/v1, it has
	// the file /files/v1.apps. What it knows nothing of is an error with the words notToday.
	program string
	// files are more of /files, by their names.
	files map[string][]byte
	// kinds are those that it answers for: all of their API versions.
	kinds []schema.GroupVersionKind
}

var workloadKinds = []schema.GroupVersionKind{appsv1.SchemeGroupVersion.WithKind("Deployment"), appsv1.SchemeGroupVersion.WithKind("StatefulSet")}

const notToday = "not today"

const hostileServerConf = `server.modules = ("mod_openssl", "mod_alias", "mod_cgi")
server.port = 8443
server.document-root = "/srv"
server.stream-response-body = 2
ssl.engine = "enable"
ssl.pemfile = "/files/tls.pem"
alias.url = ("/" => "/files/api.pl/")
cgi.assign = ("api.pl" => "/usr/bin/perl")
`

var apiServices = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}

// versions returns the discovery documents of what the server answers for, by the names of their APIServices.
func (s hostileServer) versions() map[string]metav1.APIResourceList {
	out := map[string]metav1.APIResourceList{}
	for _, kind := range s.kinds {
		name := kind.Version + "." + kind.Group
		list := out[name]
		list.TypeMeta, list.GroupVersion = metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, kind.GroupVersion().String()
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: plural(kind), SingularName: strings.ToLower(kind.Kind), Namespaced: true, Kind: kind.Kind,
			Verbs: metav1.Verbs{"get", "list"},
		})
		out[name] = list
	}
	return out
}

// plural is the name of the resource of a kind, such as ingresses.
func plural(kind schema.GroupVersionKind) string {
	out := strings.ToLower(kind.Kind)
	if strings.HasSuffix(out, "s") {
		out += "e"
	}
	return out + "s"
}

// hijack has the API server of the virtual cluster pass requests on to a server of the tenant's, and returns where that runs.
func (n *tenant) hijack(ctx context.Context, t *testing.T, s hostileServer) place {
	t.Helper()
	const name, namespace = "hostile-api", metav1.NamespaceDefault
	files := maps.Clone(s.files)
	if files == nil {
		files = map[string][]byte{}
	}
	files["lighttpd.conf"], files["api.pl"], files["tls.pem"] = []byte(hostileServerConf), []byte(s.program), certificate(t, name)
	versions := s.versions()
	for service, version := range versions {
		discovery, err := json.Marshal(version)
		if err != nil {
			t.Fatal(err)
		}
		files[service] = discovery
	}
	_, err := n.cluster.Typed.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: files}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod := probePod(name)
	pod.Spec.Containers[0].Command = []string{"lighttpd", "-D", "-f", "/files/lighttpd.conf"}
	pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "files", MountPath: "/files"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "files", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name}}}}
	at := runProbe(ctx, t, n.cluster, namespace, pod)
	_, err = n.cluster.Typed.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt(8443)}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	services, err := n.cluster.Resource(apiServices, "")
	if err != nil {
		t.Fatal(err)
	}
	patch := func(spec string) {
		t.Helper()
		body := fmt.Appendf(nil, `{"metadata":{"labels":{"kube-aggregator.kubernetes.io/automanaged":null}},"spec":%s}`, spec)
		for _, service := range slices.Sorted(maps.Keys(versions)) {
			if _, err := services.Patch(ctx, service, types.MergePatchType, body, metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		patch(`{"service":null,"insecureSkipTLSVerify":null}`)
		n.awaitAnswers(ctx, t, versions, "the virtual API answers for itself again", kerrors.IsNotFound)
	})
	patch(fmt.Sprintf(`{"service":{"namespace":%q,"name":%q,"port":443},"insecureSkipTLSVerify":true}`, namespace, name))
	n.awaitAnswers(ctx, t, versions, "the tenant answers for its virtual API", func(err error) bool { return says(err, notToday) })
	return at
}

// awaitAnswers waits until the virtual API answers as wanted for the first kind of each version.
func (n *tenant) awaitAnswers(ctx context.Context, t *testing.T, versions map[string]metav1.APIResourceList, what string, wanted func(error) bool) {
	t.Helper()
	for service, version := range versions {
		of, err := schema.ParseGroupVersion(version.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		resource := of.WithResource(version.APIResources[0].Name)
		eventually.True(ctx, t, 2*time.Minute, what+" of "+service, func(ctx context.Context) (bool, string) {
			_, err := n.cluster.Dynamic.Resource(resource).Namespace(metav1.NamespaceDefault).Get(ctx, "not-today", metav1.GetOptions{})
			return wanted(err), fmt.Sprint(err)
		})
	}
}

// certificate is a key with a certificate for a host that no one trusts.
func certificate(t *testing.T, host string) []byte {
	t.Helper()
	ca, err := certs.NewAuthority("e2e-" + host)
	if err != nil {
		t.Fatal(err)
	}
	server, err := ca.Sign(certs.Identity{Name: host, Hosts: []string{host}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := server.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(key, server.CertPEM())
}
