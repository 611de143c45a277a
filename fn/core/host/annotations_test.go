package host

import (
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// TestControlPlaneResources: the host's policies let a control plane have the devices that its values have, and no others.
func TestControlPlaneResources(t *testing.T) {
	const note = "virtualargocd.io/control-plane-resources"
	p := &tenant.Decision{}
	p.VirtualCluster.Values = values.Values{}
	values.Insert(p.VirtualCluster.Values, values.Values{"cpu": "2", "memory": "1Gi", "ephemeral-storage": "8Gi"}, "controlPlane", "statefulSet", "resources", "limits")
	if got, ok := NamespaceAnnotations(p)[note]; ok {
		t.Errorf("want none, got %q", got)
	}
	values.Insert(p.VirtualCluster.Values, values.Values{"example.org/tpm": "1", "cpu": "1"}, "controlPlane", "statefulSet", "resources", "requests")
	values.Insert(p.VirtualCluster.Values, "1Gi", "controlPlane", "distro", "k8s", "resources", "limits", "hugepages-2Mi")
	values.Insert(p.VirtualCluster.Values, "1", "controlPlane", "backingStore", "etcd", "deploy", "statefulSet", "resources", "limits", "example.org/tpm")
	if got := NamespaceAnnotations(p)[note]; got != "example.org/tpm,hugepages-2Mi" {
		t.Errorf("got %q", got)
	}
}

func TestSplitImage(t *testing.T) {
	for image, want := range map[string][2]string{
		"quay.io/argoproj/argocd:v3.2.6":           {"quay.io/argoproj/argocd", "v3.2.6"},
		"10.0.0.1:5000/argoproj/argocd:v3.2.6":     {"10.0.0.1:5000/argoproj/argocd", "v3.2.6"},
		"10.0.0.1:5000/argoproj/argocd":            {"10.0.0.1:5000/argoproj/argocd", ""},
		"quay.io/argoproj/argocd:v3@sha256:abc":    {"quay.io/argoproj/argocd", "v3"},
		"quay.io/argoproj/argocd@sha256:abcdef123": {"quay.io/argoproj/argocd", ""},
	} {
		if repository, tag := SplitImage(image); [2]string{repository, tag} != want {
			t.Errorf("SplitImage(%q): want %q, got %q and %q", image, want, repository, tag)
		}
	}
}
