package gitserver

import (
	"context"
	"fmt"
	"net"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	registryName = "registry"
	registryPort = 5000
)

// forward is a configuration of lighttpd's that hands all requests to another server.
const forward = `server.modules = ("mod_proxy")
server.port = %d
server.document-root = "/tmp"
proxy.server = ("" => (("host" => "%s", "port" => %s)))
`

// RunRegistry starts a server in a namespace that hands all on to an OCI registry elsewhere, given as host and port,
// which pods in virtual clusters may not reach themselves. It returns its own host and port.
func RunRegistry(ctx context.Context, t testing.TB, host *kube.Cluster, namespace, registry string) string {
	t.Helper()
	at, port, err := net.SplitHostPort(registry)
	if err != nil {
		t.Fatalf("the registry %s is no host and port: %v", registry, err)
	}
	meta := metav1.ObjectMeta{Name: registryName, Namespace: namespace, Labels: map[string]string{"app": registryName}}
	runServer(ctx, t, host, meta, registryPort, map[string]string{"lighttpd.conf": fmt.Sprintf(forward, registryPort, at, port)}, false)
	return net.JoinHostPort(address(ctx, t, host, namespace, registryName), fmt.Sprint(registryPort))
}
