package toolchain

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/semver"
)

func TestEveryToolIsListedOnceWithAnExactVersion(t *testing.T) {
	seen := map[string]bool{}
	for _, n := range Names() {
		if seen[n] {
			t.Errorf("two modules give tool %s", n)
		}
		seen[n] = true
		if v := Version(n); !semver.IsValid(v) || semver.Canonical(v) != v {
			t.Errorf("%s has version %q: want an exact one, such as v1.2.3", n, v)
		}
	}
	if got := Version("no-such-tool"); got != "" {
		t.Errorf("Version of an unknown tool: want none, got %s", got)
	}
}

func TestKubernetesKnowsItsVersion(t *testing.T) {
	m, err := moduleOf("kube-apiserver-1.35")
	if err != nil {
		t.Fatal(err)
	}
	flags := strings.Join(m.ldflags, " ")
	for _, want := range []string{"version.gitVersion=" + m.version, "version.gitMajor=1", "version.gitMinor=35"} {
		if !strings.Contains(flags, want) {
			t.Errorf("linker flags lack %q: %s", want, flags)
		}
	}
	if want := "v0" + strings.TrimPrefix(m.version, "v1"); m.localReplace != want {
		t.Errorf("version of the staging modules: want %s, got %s", want, m.localReplace)
	}
	if m.tools["kube-apiserver-1.35"] != "cmd/kube-apiserver" {
		t.Errorf("package of kube-apiserver-1.35: got %s", m.tools["kube-apiserver-1.35"])
	}
}

func TestKeyChangesWithTheBinary(t *testing.T) {
	base := func() module {
		return module{path: "example.org/tool", version: "v1.0.0", tools: map[string]string{"tool": "cmd/tool"}, ldflags: []string{"-X a=b"}}
	}
	key := base().key()
	if again := base().key(); again != key {
		t.Fatalf("the same entry has two keys: %s and %s", key, again)
	}
	cases := map[string]func(*module){
		"Version":      func(m *module) { m.version = "v1.0.1" },
		"Path":         func(m *module) { m.path = "example.org/other" },
		"Package":      func(m *module) { m.tools["tool"] = "cmd/other" },
		"AnotherTool":  func(m *module) { m.tools["other"] = "cmd/other" },
		"LocalReplace": func(m *module) { m.localReplace = "v0.1.0" },
		"Require":      func(m *module) { m.require = []string{"example.org/x@v1.0.0"} },
		"CGO":          func(m *module) { m.cgo = true },
		"Tags":         func(m *module) { m.tags = "netgo" },
		"Fork":         func(m *module) { m.as = "example.org/original" },
		"Web":          func(m *module) { m.web = true },
		"Extends":      func(m *module) { m.extends = "extension" },
		"Embeds":       func(m *module) { m.embeds = map[string]string{"ui/dist/app": "argocd-ui"} },
		"Overrides":    func(m *module) { m.overrides = []override{{"example.org/x", "x.go", "package x"}} },
		"LinkerFlags":  func(m *module) { m.ldflags = []string{"-X a=c"} },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			m := base()
			change(&m)
			if m.key() == key {
				t.Errorf("a change of the entry leaves the key, and the old binary, as they are")
			}
		})
	}
}

func TestCacheFolderComesFromTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("VARGO_CACHE", dir)
	c, err := Default()
	if err != nil || c.Dir() != dir {
		t.Fatalf("Default() with VARGO_CACHE=%s: got %s, %v", dir, c.Dir(), err)
	}
	_, err = c.Binary("etcd")
	if err == nil || !strings.Contains(err.Error(), "make tools") {
		t.Errorf("Binary of a tool that isn't built: want an error that says how to build it, got %v", err)
	}
	_, err = c.Binary("etdc")
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("Binary of an unknown tool: want an error that lists the tools, got %v", err)
	}

	m, err := moduleOf("etcd")
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(dir, "bin", "etcd", m.version+"-"+m.key(), "etcd")
	if err := os.MkdirAll(filepath.Dir(want), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(want, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Binary("etcd"); err != nil || got != want {
		t.Errorf("Binary(etcd): want %s, got %s, %v", want, got, err)
	}
}

func TestWantedModules(t *testing.T) {
	cases := map[string]struct {
		reason string
		names  []string
		want   []string
		err    string
	}{
		"NoNamesMeansTheCluster": {"`lab build` alone builds what the cluster runs.", nil, slices.DeleteFunc(Names(), func(n string) bool { return slices.Contains(For(Lint), n) }), ""},
		"ApartByName":            {"What the cluster does without is built when it is asked for.", []string{"golangci-lint"}, []string{"golangci-lint"}, ""},
		"ToolsOfAModuleTogether": {"One call of the go command builds them all, faster than two.", []string{"kubectl", "kubelet"}, []string{"kube-apiserver", "kube-controller-manager", "kube-proxy", "kube-scheduler", "kubectl", "kubelet"}, ""},
		"OrderIsTheTables":       {"The longest builds begin first, whatever was asked for first.", []string{"helm", "etcd"}, []string{"etcd", "helm"}, ""},
		"WithWhatItEmbeds":       {"Argo CD's web interface is a part of it.", []string{"argocd"}, []string{"argocd-ui", "argocd"}, ""},
		"UnknownName":            {"A misspelled name must not build nothing, or all.", []string{"helmet"}, nil, `"helmet"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ms, err := wantedModules(tc.names)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("\n%s\nwantedModules(%q): want an error that names %s, got %v", tc.reason, tc.names, tc.err, err)
				}
				return
			}
			var got []string
			for _, m := range ms {
				got = append(got, m.names()...)
			}
			if err != nil || !slices.Equal(tc.want, got) {
				t.Errorf("\n%s\nwantedModules(%q): want %q, got %q, %v", tc.reason, tc.names, tc.want, got, err)
			}
		})
	}
}

func TestPurposes(t *testing.T) {
	cluster, all := For(Cluster, Tenants, Web), For(Cluster, Tenants, Web, Unit, Tests, Full, Monitoring, Lint)
	if !slices.Equal(all, Names()) {
		t.Errorf("every tool must be for something that For knows: want %q, got %q", Names(), all)
	}
	for _, n := range []string{"argocd-older", "argocd-headless", "crossplane-cli", "dashboard-linter", "dex", "golangci-lint", "kube-apiserver-1.35", "kube-state-metrics", "prometheus", "victoria-metrics"} {
		if slices.Contains(cluster, n) {
			t.Errorf("a demo must build nothing that only tests need, such as %s", n)
		}
	}
	for _, n := range For(Cluster, Tenants, Tests) {
		if slices.Contains([]string{"argocd", "argocd-older", "argocd-ui", "kube-state-metrics", "victoria-metrics", "vmalert"}, n) {
			t.Errorf("make e2e must build nothing of the web interface or of monitoring, such as %s", n)
		}
	}
	for _, n := range For(Cluster) {
		if slices.Contains([]string{"vcluster", "kine", "argocd", "kustomize"}, n) {
			t.Errorf("a fleet of simulated tenants must build nothing that runs in them, such as %s", n)
		}
	}
	for _, n := range cluster {
		m, err := moduleOf(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range m.embeds {
			if !slices.Contains(cluster, e) {
				t.Errorf("%s embeds %s, which has another purpose", n, e)
			}
		}
	}
}
