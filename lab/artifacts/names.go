package artifacts

import (
	"strings"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Images the node itself asks for.
const (
	// PauseImage holds a pod's namespaces open: containerd's sandbox_image.
	PauseImage = "registry.k8s.io/pause:3.10"
	// NodeDNSImage is the cluster's own CoreDNS.
	NodeDNSImage = "registry.k8s.io/coredns/coredns:v1.15.0"
	// NetworkPoliciesImage enforces the cluster's NetworkPolicies.
	NetworkPoliciesImage = "registry.k8s.io/networking/kube-network-policies:v0.8.0"
)

// EtcdImage is the store of virtual clusters with several control planes, under the name
// that the vcluster chart has for it; the program is the etcd of the toolchain, which
// the cluster itself runs on.
const EtcdImage = "registry.k8s.io/etcd:3.6.8-0"

// HAProxyImage leads to the first of several redis, under the name that the redis-ha
// chart 4.38.0 has for it; the program is Debian's, of an earlier version.
const HAProxyImage = "ecr-public.aws.com/docker/library/haproxy:3.3.10-alpine"

// ServersImage has servers that stand for a customer's own in end-to-end tests: git
// with servers for https and SSH, and LDAP for the users and groups behind Dex.
const ServersImage = "docker.io/virtual-argocd/e2e-servers:1"

// TraefikImage is the ingress controller.
func TraefikImage() string {
	return "docker.io/library/traefik:" + toolchain.Version("traefik")
}

// VictoriaMetricsImage scrapes and stores metrics, in place of Prometheus.
func VictoriaMetricsImage() string {
	return "docker.io/victoriametrics/victoria-metrics:" + toolchain.Version("victoria-metrics")
}

// VMAlertImage evaluates the rules for alerts.
func VMAlertImage() string {
	return "docker.io/victoriametrics/vmalert:" + toolchain.Version("vmalert")
}

// PageImage serves the page that shows the fleet.
const PageImage = "docker.io/virtual-argocd/page:1"

// KubeStateMetricsImage makes metrics of Kubernetes' objects.
func KubeStateMetricsImage() string {
	return "registry.k8s.io/kube-state-metrics/kube-state-metrics:" + toolchain.Version("kube-state-metrics")
}

// KubectlImage runs the hooks of this project's Helm chart.
func KubectlImage() string { return "registry.k8s.io/kubectl:" + toolchain.Version("kubectl") }

// BackupKubectlImage has kubectl and a shell, for backups, under the name that the function has for it; the program is the
// kubectl of the toolchain.
const BackupKubectlImage = "docker.io/alpine/kubectl:1.36.0"

// RcloneImage stores backups.
func RcloneImage() string {
	return "docker.io/rclone/rclone:" + strings.TrimPrefix(toolchain.Version("rclone"), "v")
}

// VersityImage is a server of S3's API.
func VersityImage() string { return "docker.io/versity/versitygw:" + toolchain.Version("versitygw") }

// DexImage is an OIDC provider, for end-to-end tests.
func DexImage() string {
	return "docker.io/virtual-argocd/e2e-dex:" + toolchain.Version("dex")
}

// CrossplaneImage is what the chart of a Crossplane runs by default.
func CrossplaneImage(tool string) string {
	return "xpkg.crossplane.io/crossplane/crossplane:" + toolchain.Version(tool)
}
