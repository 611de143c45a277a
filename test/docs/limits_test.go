package docs

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// nobodysLimits are constants of the code that are no limit of a user's: they bound messages, or what Helm, Crossplane and virtual API
// servers write.
var nobodysLimits = strings.Fields(`
	fn/few.maxTexts fn/mistakes.maxLength fn/redact.maxMessage fn/redact.maxTexts fn/redact.maxBytes fn/redact.maxRead fn/channel/rollout.maxWhy
	fn/decide.mostNames fn/decide.maxName fn/decide.maxLabels fn/values/known.maxDefault fn/values/known.maxNearest fn/values/known.maxKey fn/values/known.maxVersions
	fn/values/known.maxAdvised fn/values/known.maxUmbrella fn/values.maxExponent fn/tenant.maxTenantID fn/tenant.maxAgent fn/parts/clusters.maxObject tunnel/stream.maxMessage tunnel/server.maxHeaders proxy/connections.maxAgents
	fn/credentials.maxKubeconfigSize fn/credentials.maxCertificateSize fn/credentials.maxKeySize fn/decode.maxDetail fn/parts/clusters.maxName
	fn/parts/bootstrap.maxWord fn/policy.maxPolicies fn/policy.maxCompared fn/parts/ingress.mostWithoutEffect proxy.maxWorkloads proxy.maxConnections proxy/limits.MaxLarge proxy/limits.maxLargeEach proxy/limits.maxDecoding
	proxy/limits.MaxFailures proxy/limits.maxTrials proxy.maxComponentWorkloads proxy/watch.maxResources proxy/watch.maxInformers proxy/watch.maxPolls proxy/watch.maxSlowPolls
	proxy/virtualapi.maxStored proxy/connections.maxMessage proxy/connections.maxMessages proxy/connections.maxPage proxy/metrics.maxLine proxy/metrics.maxLabels
	proxy/connections.maxControllers proxy/connections.maxHosts proxy/connections.maxHost proxy/connections.maxUnclear
	proxy/connections.maxErrors proxy/connections.maxConditions proxy/connections.maxServers
	proxy.MaxApplications proxy.MaxMissing proxy/helm.maxObjects proxy/helm.maxHead proxy/helm.maxUnpacked fn/serve.maxLevels`)

// TestLimitsPage compares each number of docs/limits.md with what the comment after it names: a constant, the maxItems of a field of the
// claim, or a text in a policy. It fails for a constant that is called a maximum and isn't there.
func TestLimitsPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "docs", "limits.md"))
	if err != nil {
		t.Fatal(err)
	}
	constants := maxima(t)
	spec := specOf(t)
	named := map[string]bool{}
	marks := regexp.MustCompile(`(\d[\d,]*)( KiB| MB)?([^<|\n\d]*)<!-- (.*?) -->`).FindAllStringSubmatch(string(page), -1)
	if len(marks) < 35 {
		t.Errorf("found %d numbers", len(marks))
	}
	for _, m := range marks {
		number, unit, mark := strings.ReplaceAll(m[1], ",", ""), m[2], m[4]
		if file, text, ok := strings.Cut(mark, ".yaml: "); ok {
			raw, err := os.ReadFile(filepath.Join(root, "examples", "install", file+".yaml"))
			if err != nil || !strings.Contains(string(raw), text) {
				t.Errorf("%s.yaml doesn't say %q: %v", file, text, err)
			}
			if text != "variables.most" && !strings.Contains(text, number) {
				t.Errorf("docs/limits.md says %s, and %s.yaml %q", number, file, text)
			}
			continue
		}
		var want int64
		if at, ok := strings.CutPrefix(mark, "spec."); ok {
			field, _, err := unstructured.NestedMap(spec, append([]string{"properties"}, strings.Split(strings.ReplaceAll(at, ".", ".properties."), ".")...)...)
			if err != nil {
				t.Fatal(err)
			}
			switch items := field["maxItems"].(type) {
			case int64:
				want = items
			case float64:
				want = int64(items)
			}
		} else {
			named[mark] = true
			want = constants[mark]
		}
		is := fmt.Sprint(want)
		switch {
		case unit == " KiB" && want%1024 == 0:
			is = fmt.Sprint(want >> 10)
		case unit == " MB":
			is = fmt.Sprint(want / 1_000_000)
		}
		if is != number {
			t.Errorf("docs/limits.md says %s%s for %s, and the code %d", m[1], unit, mark, want)
		}
	}
	for _, name := range nobodysLimits {
		if _, ok := constants[name]; !ok {
			t.Errorf("there is no constant %s", name)
		}
		named[name] = true
	}
	for name, value := range constants {
		if !named[name] {
			t.Errorf("docs/limits.md doesn't have %s, %d: write it there, or to nobodysLimits", name, value)
		}
	}
}

// maxima returns the whole numbers among the constants of the function, the proxy and the tunnels that are called a maximum, by package and name.
func maxima(t *testing.T) map[string]int64 {
	t.Helper()
	called := regexp.MustCompile(`^(?:[mM]ax[A-Z]|most(?:$|[A-Z]))`)
	byFolder := map[string][]string{}
	for _, file := range files(t) {
		if filepath.Ext(file) == ".go" && !strings.HasSuffix(file, "_test.go") && (strings.HasPrefix(file, "fn/") || strings.HasPrefix(file, "proxy/") || strings.HasPrefix(file, "tunnel/")) {
			byFolder[filepath.Dir(file)] = append(byFolder[filepath.Dir(file)], file)
		}
	}
	out := map[string]int64{}
	for folder, files := range byFolder {
		set := token.NewFileSet()
		var parsed []*ast.File
		for _, file := range files {
			f, err := parser.ParseFile(set, filepath.Join(root, file), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, f)
		}
		// Nothing is imported: these constants need no other package.
		config := types.Config{Error: func(error) {}, IgnoreFuncBodies: true}
		pkg, _ := config.Check(folder, set, parsed, nil)
		for _, name := range pkg.Scope().Names() {
			c, ok := pkg.Scope().Lookup(name).(*types.Const)
			if !ok || !called.MatchString(name) || c.Val().Kind() != constant.Int {
				continue
			}
			if value, exact := constant.Int64Val(c.Val()); exact {
				out[folder+"."+name] = value
			}
		}
	}
	return out
}

// specOf returns the schema of a claim's spec.
func specOf(t *testing.T) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "apis", "xvirtualargocds.yaml"))
	x := map[string]any{}
	if err == nil {
		err = yaml.Unmarshal(raw, &x)
	}
	if err != nil {
		t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(x, "spec", "versions")
	spec, ok, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "spec")
	if err != nil || !ok {
		t.Fatal("the XRD has no spec", err)
	}
	return spec
}
