package install

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// Whatever a virtual cluster answers, a provider takes no more memory than its limit, and has no more rights on the node than it needs.
func TestRuntimesAreBounded(t *testing.T) {
	objects := examples(t, "install/runtime.yaml")
	count := 0
	for _, o := range objects {
		if o.GetKind() != "DeploymentRuntimeConfig" {
			continue
		}
		count++
		t.Run(o.GetName(), func(t *testing.T) {
			content, _, err := unstructured.NestedMap(o.Object, "spec", "deploymentTemplate", "spec")
			if err != nil {
				t.Fatal(err)
			}
			spec := appsv1.DeploymentSpec{}
			// Strictly: a field in the wrong place would bound nothing.
			if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(content, &spec, true); err != nil {
				t.Fatal(err)
			}
			pod := spec.Template.Spec
			// While one function is killed, starts or is stuck in a claim, the other serves all tenants. A provider has no second.
			if replicas := spec.Replicas; strings.Contains(o.GetName(), "function") && (replicas == nil || *replicas != 2) {
				t.Error("the function has one replica, or another number than 2")
			}
			// Of two provider-helms at the same time, one would roll back what the other does.
			if strings.Contains(o.GetName(), "provider-helm") && !slices.Contains(pod.Containers[0].Args, "--leader-election") {
				t.Errorf("provider-helm has the flags %v, want --leader-election", pod.Containers[0].Args)
			}
			want := []string{"package-runtime"}
			if strings.Contains(o.GetName(), "provider") {
				want = append(want, proxyContainer)
				// A provider finishes what it does within 30 seconds of its end, through the proxy: controller-runtime's default.
				if grace := pod.TerminationGracePeriodSeconds; grace == nil || *grace < 45 {
					t.Errorf("terminationGracePeriodSeconds is %v, want more than the provider takes to end", grace)
				}
			}
			for _, c := range pod.InitContainers {
				// Kubernetes ends sidecars after the other containers, and other init containers before these start.
				if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
					t.Errorf("%s: restartPolicy is %v, want Always", c.Name, c.RestartPolicy)
				}
			}
			var names []string
			for _, c := range append(pod.Containers, pod.InitContainers...) {
				names = append(names, c.Name)
				if c.Name == proxyContainer && !slices.ContainsFunc(pod.InitContainers, func(i corev1.Container) bool { return i.Name == c.Name }) {
					t.Errorf("%s ends together with the provider, and interrupts Helm: want it in initContainers", c.Name)
				}
				checkBounds(t, c)
				if c.Name == proxyContainer && c.Image != published+":"+version(t) {
					t.Errorf("the proxy's image is %s, want that of the function in this version", c.Image)
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("want containers %v, got %v", want, names)
			}
		})
	}
	if count != 3 {
		t.Errorf("there are %d runtime configurations, want those of two providers and the function", count)
	}
}

// TestPackagesNameTheirRuntimes: what examples/install sets for packages is for those that it installs, by their names. An ImageConfig would
// choose for every package of the same source, whoever installed it.
func TestPackagesNameTheirRuntimes(t *testing.T) {
	objects := examples(t, "install/runtime.yaml", "install/providers.yaml", "install/configuration.yaml", "staging/function.yaml")
	has, names := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		switch o.GetKind() {
		case "ImageConfig":
			t.Errorf("ImageConfig %s chooses for packages of others, too", o.GetName())
		case "DeploymentRuntimeConfig":
			has[o.GetName()] = true
			label, _, _ := unstructured.NestedString(o.Object, "spec", "deploymentTemplate", "spec", "template", "metadata", "labels", "virtualargocd.io/package")
			if "virtual-argocd-"+label != o.GetName() {
				t.Errorf("%s: the pods have label %q", o.GetName(), label)
			}
		case "Provider", "Function":
			name, _, _ := unstructured.NestedString(o.Object, "spec", "runtimeConfigRef", "name")
			names[name] = true
		}
	}
	if len(has) != 3 || !maps.Equal(has, names) {
		t.Errorf("packages name the runtime configurations %v, and there are %v", names, has)
	}
}

func checkBounds(t *testing.T, c corev1.Container) {
	limit := c.Resources.Limits.Memory().Value()
	var soft resource.Quantity
	for _, e := range c.Env {
		if e.Name == "GOMEMLIMIT" {
			soft = resource.MustParse(strings.TrimSuffix(e.Value, "B"))
		}
	}
	if limit == 0 || soft.Value() < limit*8/10 || soft.Value() > limit*92/100 {
		t.Errorf("%s: GOMEMLIMIT is %s and the limit %s: want about nine tenths of it", c.Name, soft.String(), c.Resources.Limits.Memory())
	}
	if c.Resources.Requests.Memory().IsZero() || c.Resources.Requests.Cpu().IsZero() {
		t.Errorf("%s: there are no requests: %v", c.Name, c.Resources.Requests)
	}
	s := c.SecurityContext
	if s == nil || !is(s.RunAsNonRoot, true) || !is(s.ReadOnlyRootFilesystem, true) || !is(s.AllowPrivilegeEscalation, false) ||
		s.Capabilities == nil || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != corev1.Capability("ALL") {
		t.Errorf("%s: security context: %+v", c.Name, s)
	}
}

// proxyContainer is the sidecar of each provider, with the function's image.
const proxyContainer = "virtual-api-proxy"

// published is the function's package, and its image.
const published = xpkg.PublishedRegistry + "/" + xpkg.FunctionName

func version(t *testing.T) string {
	t.Helper()
	v, err := os.ReadFile("../../VERSION")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(v))
}

func is(b *bool, want bool) bool { return b != nil && *b == want }
