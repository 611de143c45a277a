package plan

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestRequestsOfContainers: each version of Kubernetes gets what it knows.
func TestRequestsOfContainers(t *testing.T) {
	for version, want := range map[string]struct{ arguments, policies string }{
		"v1.32.9": {"", ""},
		"v1.33.1": {"InPlacePodVerticalScaling=false", ""},
		"v1.34.2": {"InPlacePodVerticalScaling=false", ""},
		"v1.35.4": {"MutatingAdmissionPolicy=true", "admissionregistration.k8s.io/v1beta1"},
		"v1.36.0": {"", "admissionregistration.k8s.io/v1"},
	} {
		t.Run(version, func(t *testing.T) {
			values := requests(version)
			arguments, _ := lookup(values, "controlPlane", "distro", "k8s", "apiServer", "extraArgs")
			list, _ := arguments.([]any)
			if first := append(list, "")[0].(string); !strings.HasSuffix(first, want.arguments) || (first == "") != (want.arguments == "") {
				t.Errorf("arguments %v, want %s", list, want.arguments)
			}
			text, _ := lookup(values, "experimental", "deploy", "vcluster", "manifests")
			manifests, _ := text.(string)
			for _, manifest := range strings.Split(manifests, "---\n") {
				o := struct{ APIVersion, Kind string }{}
				if err := yaml.Unmarshal([]byte(manifest), &o); err != nil || o.APIVersion != want.policies {
					t.Errorf("a %s of %s, want %s: %v", o.Kind, o.APIVersion, want.policies, err)
				}
			}
		})
	}
}
