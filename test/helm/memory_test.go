package helm

import (
	"encoding/json"
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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/proxy/helm"
	proxylimits "github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/limits"
)

// In the environment of a process of its own, worstClaim names what that installs: a subject and a claim. worstRecord is the file of an
// answer that it reads.
const (
	worstClaim  = "VARGO_WORST_CLAIM"
	worstRecord = "VARGO_WORST_RECORD"
)

// TestMemoryOfClaims: installing the chart with the worst values of a claim that the function accepts (TestWorstClaims in fn) takes Helm
// less than half of the memory that provider-helm may take. Each install runs in a process of its own, which has read the chart before,
// and of whose most memory (VmHWM) that of an install with no values is left out: provider-helm has it for every tenant.
// With the test chart, whose templates aren't upstream's, only the claims that take the most are tried.
// `go test -v -run TestMemory ./helm` in test prints the figures of both.
func TestMemoryOfClaims(t *testing.T) {
	t.Parallel()
	if of := os.Getenv(worstClaim); of != "" {
		subject, claim, _ := strings.Cut(of, "|")
		install(t, subjects(t)[subject], memtest.Claims()[claim])
		sayPeak(t)
		return
	}
	needsProc(t)
	if os.Getenv("ARGOCD_CHART") == "" {
		t.Log("NOT TRIED HERE: HOW MUCH MEMORY HELM TAKES FOR UPSTREAM'S CHART. ARGOCD_CHART IS TO NAME IT")
	}
	most := limitOfHelm(t)
	for subject := range subjects(t) {
		nothing := peak(t, worstClaim+"="+subject+"|Nothing")
		claims := slices.Sorted(maps.Keys(memtest.Claims()))
		if subject == "test" {
			claims = []string{"FlowMaps/setting", "GlobalVariables", "Image", "PodAnnotations", "PodLabels"}
		}
		for _, claim := range claims {
			more := peak(t, worstClaim+"="+subject+"|"+claim) - nothing
			t.Logf("%s chart, %s: %d MiB more than the %d MiB with no values, of %d MiB", subject, claim, more>>20, nothing>>20, most>>20)
			if more > most/2 {
				t.Errorf("%s chart, %s: installing takes %d MiB, want at most half of provider-helm's %d MiB", subject, claim, more>>20, most>>20)
			}
		}
	}
}

// TestMemoryOfRecords: reading the worst records that the proxy lets through, and decoding their manifests as Helm does for an upgrade,
// takes Helm less than half of the memory that provider-helm may take. The process that reads has read nothing before.
func TestMemoryOfRecords(t *testing.T) {
	t.Parallel()
	if file := os.Getenv(worstRecord); file != "" {
		readRecord(t, file)
		sayPeak(t)
		return
	}
	needsProc(t)
	answers, err := memtest.Records(func(answer []byte) error { return helm.CheckRecords(proxylimits.Default, answer) })
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) int64 {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, answers[name], 0o600); err != nil {
			t.Fatal(err)
		}
		return peak(t, worstRecord+"="+file)
	}
	most, nothing := limitOfHelm(t), of("Nothing")
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		more := of(name) - nothing
		t.Logf("%s, an answer of %d KiB: %d MiB more than for an empty record, of %d MiB", name, len(answers[name])>>10, more>>20, most>>20)
		if more > most/2 {
			t.Errorf("%s: reading takes %d MiB, want at most half of provider-helm's %d MiB", name, more>>20, most>>20)
		}
	}
}

// readRecord does what Helm does with the records of an answer.
func readRecord(t *testing.T, file string) {
	t.Helper()
	answer, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list := corev1.SecretList{}
	if err := json.Unmarshal(answer, &list); err != nil {
		t.Fatal(err)
	}
	last, err := storage.Init(driver.NewSecrets(fake.NewClientset(&list).CoreV1().Secrets(tenant.ArgoCDNamespace))).Last(tenant.HelmArgoCD)
	if err != nil {
		t.Fatal(err)
	}
	// What isn't YAML costs what it has cost until there.
	object := map[string]any{}
	err = yaml.Unmarshal([]byte(last.Manifest), &object)
	t.Logf("%d items, %v", len(object), err)
	runtime.KeepAlive(last)
}

// install does in memory what provider-helm does of an install: it renders, decodes what was rendered, and stores the record.
func install(t *testing.T, ch *chart.Chart, claim map[string]any) {
	t.Helper()
	p, err := resolve.Tenant(tenant.Given{XRName: "a"})
	if err != nil {
		t.Fatal(err)
	}
	config := values.Merge(p.ArgoCD.Values, claim)
	objects, err := charts.Render(ch, tenant.HelmArgoCD, tenant.ArgoCDNamespace, config)
	if err != nil {
		t.Fatalf("%.300s", err)
	}
	// Helm keeps the manifests as text, and those that it decoded, while it stores the record.
	records := storage.Init(driver.NewSecrets(fake.NewClientset().CoreV1().Secrets(tenant.ArgoCDNamespace)))
	r := &release.Release{Name: tenant.HelmArgoCD, Namespace: tenant.ArgoCDNamespace, Version: 1, Info: &release.Info{}, Chart: ch, Config: config, Manifest: manifestOf(t, objects)}
	if err := records.Create(r); err != nil {
		t.Fatalf("%.300s", err)
	}
	runtime.KeepAlive(objects)
}

// needsProc skips a test where /proc doesn't say how much memory a process had.
func needsProc(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("NOT TRIED: HOW MUCH MEMORY HELM TAKES. IT IS READ FROM /proc: ", err)
	}
}

// sayPeak prints the most memory that this process had.
func sayPeak(t *testing.T) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	t.Log("VmHWM:", bytesAfter(t, string(status), "VmHWM:")>>10, "kB")
}

// peak is the most memory that a process had that ran this test with a variable in its environment, in bytes.
func peak(t *testing.T, of string) int64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), of)
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

// limitOfHelm is how much memory provider-helm may have, in bytes.
func limitOfHelm(t *testing.T) int64 {
	t.Helper()
	return limits.Of(t, filepath.Join("..", ".."), "virtual-argocd-provider-helm", limits.Package)
}
