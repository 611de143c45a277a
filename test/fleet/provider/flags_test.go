package provider

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// root is the project's folder.
const root = "../../.."

// manifests returns DeploymentRuntimeConfigs in which the containers of provider-kubernetes are as given.
func manifests(containers string) string {
	const before = `# A comment comes first.
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata:
  name: virtual-argocd-provider-helm
spec:
  deploymentTemplate:
    spec:
      selector: {}
      template:
        spec:
          containers:
            - name: package-runtime
              args: [--max-reconcile-rate=10]
---
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: virtual-argocd-provider-kubernetes
---
apiVersion: pkg.crossplane.io/v1beta1
kind: DeploymentRuntimeConfig
metadata:
  name: virtual-argocd-provider-kubernetes
spec:
  deploymentTemplate:
    spec:
      selector: {}
      template:
        spec:
          containers:
`
	return before + strings.ReplaceAll("\n"+containers, "\n", "\n            ")
}

func TestFlags(t *testing.T) {
	today, err := os.ReadFile(root + "/examples/install/runtime.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		provider, manifests string
		want                Flags
		problem             string
	}{
		"provider-helm today has its own defaults": {
			provider: "provider-helm", manifests: string(today),
			want: Flags{Account: "virtual-argocd-provider-helm", Poll: 10 * time.Minute, MaxReconcileRate: 100},
		},
		"provider-kubernetes today watches": {
			provider: "provider-kubernetes", manifests: string(today),
			want: Flags{Account: "virtual-argocd-provider-kubernetes", Poll: 20 * time.Minute, MaxReconcileRate: 100, EnableWatches: true},
		},
		"provider-kubernetes of v0.2.0 polls often": {
			provider: "provider-kubernetes",
			manifests: manifests(`- name: package-runtime
  args:
    # To notice at once that a tenant's namespace is gone. Nothing in a virtual cluster is watched.
    - --enable-watches
    # To report within a minute that a workload of Argo CD, or a virtual cluster, is broken.
    - --poll=50s
    - --sanitize-secrets
- name: virtual-api-proxy
  args: [proxy]`),
			want: Flags{Poll: 50 * time.Second, MaxReconcileRate: 100, EnableWatches: true},
		},
		"a provider without flags has its own defaults": {
			provider: "provider-kubernetes", manifests: manifests("- name: package-runtime"),
			want: Flags{Poll: 10 * time.Minute, MaxReconcileRate: 100},
		},
		"the flags of one provider aren't those of the other": {
			provider: "provider-helm", manifests: manifests("- {name: package-runtime, args: [--poll=50s]}"),
			want: Flags{Poll: 10 * time.Minute, MaxReconcileRate: 10},
		},
		"a flag and its value can be two arguments": {
			provider: "provider-kubernetes", manifests: manifests("- {name: package-runtime, args: [--poll, 20s, --max-reconcile-rate, '7']}"),
			want: Flags{Poll: 20 * time.Second, MaxReconcileRate: 7},
		},
		"a flag that isn't simulated is refused": {
			provider: "provider-kubernetes", manifests: manifests("- {name: package-runtime, args: [--poll-jitter-percentage=0]}"),
			problem: "flag provided but not defined: -poll-jitter-percentage",
		},
		"what isn't a flag is refused": {
			provider: "provider-kubernetes", manifests: manifests("- {name: package-runtime, args: [proxy, --poll=50s]}"),
			problem: "proxy isn't a flag",
		},
		"a provider without a runtime configuration is refused": {
			provider: "provider-other", manifests: string(today),
			problem: "there is no DeploymentRuntimeConfig virtual-argocd-provider-other",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := flagsOf(c.provider, []byte(c.manifests))
			if (err != nil) != (c.problem != "") || err != nil && !strings.Contains(err.Error(), c.problem) {
				t.Fatalf("got error %v, want %q", err, c.problem)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestDefaults: each provider has its own flags.
func TestDefaults(t *testing.T) {
	o, err := Defaults(root)
	if err != nil {
		t.Fatal(err)
	}
	if o.Helm.EnableWatches || !o.Kubernetes.EnableWatches {
		t.Errorf("only provider-kubernetes watches, got %+v and %+v", o.Helm, o.Kubernetes)
	}
	if _, err := Defaults(t.TempDir()); err == nil || !strings.Contains(err.Error(), "examples/install/runtime.yaml") {
		t.Errorf("without a file: %v, want an error that names it", err)
	}
}
