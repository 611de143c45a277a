// Package limits reads the memory limits of examples/install/runtime.yaml.
package limits

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Names of containers in runtime.yaml.
const (
	// Package is the program of a provider or of the function.
	Package = "package-runtime"
	// Proxy is the proxy beside a provider.
	Proxy = "virtual-api-proxy"
)

// Of returns the memory limit of a container of a DeploymentRuntimeConfig, in bytes. root is the path of the project.
func Of(t testing.TB, root, config, container string) int64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "runtime.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(data), "\n---\n") {
		c := struct {
			metav1.TypeMeta
			metav1.ObjectMeta `json:"metadata"`
			Spec              struct {
				DeploymentTemplate struct{ Spec appsv1.DeploymentSpec }
			}
		}{}
		if err := yaml.Unmarshal([]byte(doc), &c); err != nil {
			t.Fatal(err)
		}
		if c.Kind != "DeploymentRuntimeConfig" || c.Name != config {
			continue
		}
		pod := c.Spec.DeploymentTemplate.Spec.Template.Spec
		for _, is := range slices.Concat(pod.InitContainers, pod.Containers) {
			if limit := is.Resources.Limits.Memory().Value(); is.Name == container && limit > 0 {
				return limit
			}
		}
	}
	t.Fatalf("runtime.yaml has no memory limit of container %s of %s", container, config)
	return 0
}
