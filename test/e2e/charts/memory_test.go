package charts

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/worst"
)

// worstClaim names, in the environment of a process of its own, what that installs: a subject and a claim.
const worstClaim = "VARGO_WORST_CLAIM"

// TestMemoryOfClaims: installing the chart with the worst values of a claim that the function accepts (TestWorstClaims in fn) takes Helm
// less than half of the memory that provider-helm may take. Each install runs in a process of its own, which has read the chart before,
// and of whose most memory (VmHWM) that of an install with no values is left out: provider-helm has it for every tenant.
// `go test -v -run TestMemoryOfClaims ./e2e/charts` in test prints the figures.
func TestMemoryOfClaims(t *testing.T) {
	if of := os.Getenv(worstClaim); of != "" {
		subject, claim, _ := strings.Cut(of, "|")
		install(t, subjects(t)[subject], worst.Claims()[claim])
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Skip("NOT TRIED: THE MEMORY OF AN INSTALL. IT NEEDS LINUX.")
		}
		t.Log("VmHWM:", bytesAfter(t, string(status), "VmHWM:")>>10, "kB")
		return
	}
	most := limitOf(t, "virtual-argocd-provider-helm")
	for subject := range subjects(t) {
		nothing := peak(t, subject+"|Nothing")
		for _, claim := range slices.Sorted(maps.Keys(worst.Claims())) {
			more := peak(t, subject+"|"+claim) - nothing
			t.Logf("%s chart, %s: %d MiB more than the %d MiB with no values, of %d MiB", subject, claim, more>>20, nothing>>20, most>>20)
			if more > most/2 {
				t.Errorf("%s chart, %s: installing takes %d MiB, want at most half of provider-helm's %d MiB", subject, claim, more>>20, most>>20)
			}
		}
	}
}

// install does in memory what provider-helm does of an install: it renders, decodes what was rendered, and stores the record.
func install(t *testing.T, ch *chart.Chart, claim map[string]any) {
	t.Helper()
	p, err := resolve.Tenant(tenant.Given{XRName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	config := plainValues(t, values.Merge(p.ArgoCD.Values, values.Values(claim)))
	objects, err := Render(ch, tenant.HelmArgoCD, tenant.ArgoCDNamespace, config)
	if err != nil {
		t.Fatalf("%.300s", err)
	}
	// Helm keeps the manifests as text, and those that it decoded, while it stores the record.
	manifest := &strings.Builder{}
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		manifest.WriteString("---\n" + string(text))
	}
	records := storage.Init(driver.NewSecrets(fake.NewClientset().CoreV1().Secrets(tenant.ArgoCDNamespace)))
	r := &release.Release{Name: tenant.HelmArgoCD, Namespace: tenant.ArgoCDNamespace, Version: 1, Info: &release.Info{}, Chart: ch, Config: config, Manifest: manifest.String()}
	if err := records.Create(r); err != nil {
		t.Fatalf("%.300s", err)
	}
	runtime.KeepAlive(objects)
}

// plainValues are values as Helm gets them from YAML.
func plainValues(t *testing.T, v values.Values) map[string]any {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]any{}
	if err := yaml.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// peak is the most memory that a process had that installed something, in bytes.
func peak(t *testing.T, of string) int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMemoryOfClaims$", "-test.v")
	cmd.Env = append(os.Environ(), worstClaim+"="+of)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %.1000s", of, err, out)
	}
	return bytesAfter(t, string(out), "VmHWM:")
}

// bytesAfter reads a number of KiB after a word, as /proc has them.
func bytesAfter(t *testing.T, text, word string) int64 {
	t.Helper()
	_, after, _ := strings.Cut(text, word)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		t.Fatalf("no %q in %.1000s", word, text)
	}
	n, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n << 10
}

// limitOf is the memory limit of the container package-runtime of a DeploymentRuntimeConfig, in bytes.
func limitOf(t *testing.T, name string) int64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "examples", "install", "runtime.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split(string(data), "\n---\n") {
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
		if c.Kind != "DeploymentRuntimeConfig" || c.Name != name {
			continue
		}
		for _, container := range c.Spec.DeploymentTemplate.Spec.Template.Spec.Containers {
			if limit := container.Resources.Limits.Memory().Value(); container.Name == "package-runtime" && limit > 0 {
				return limit
			}
		}
	}
	t.Fatalf("runtime.yaml has no limit of %s", name)
	return 0
}
