package toolchain

import (
	"fmt"
	"slices"
	"strings"
)

// A module is a Go module that tools are built from. Every module is built in a
// Go module of its own, because their dependencies exclude each other.
type module struct {
	path    string
	version string

	// tools maps the name of a tool to its package, relative to the module.
	// They are built by one call of the go command.
	tools map[string]string

	// localReplace is the version that stands in for the module's own
	// `replace X => ./staging/X`: a folder is not to be had from the proxy.
	localReplace string

	// require lists further modules, path@version. Needed where the module's
	// go.mod asks for a version that its own replace lines would change.
	require []string

	// cgo links against the C library, statically.
	cgo     bool
	tags    string
	ldflags []string

	// apart is built only when it is asked for by name: the embedded cluster
	// does without it.
	apart bool
}

const (
	hostKubernetes  = "v1.35.4"
	otherKubernetes = "v1.36.3"
)

// modules is the one list of what the lab builds. Exact versions only: the
// version lists of some of these modules are not served by the proxy.
var modules = []module{
	kubernetes(hostKubernetes, "", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
	{path: "go.etcd.io/etcd/server/v3", version: "v3.7.3", tools: map[string]string{"etcd": ""}},
	{
		path: "github.com/crossplane/crossplane/v2", version: "v2.4.0",
		tools:   map[string]string{"crossplane": "cmd/crossplane"},
		require: []string{"github.com/crossplane/crossplane/apis/v2@v2.4.0"},
		ldflags: []string{"-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v2.4.0"},
	},
	{
		path: "github.com/crossplane/cli/v2", version: "v2.5.0",
		tools:   map[string]string{"crossplane-cli": "cmd/crossplane"},
		ldflags: []string{"-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v2.5.0"},
	},
	{path: "github.com/crossplane-contrib/provider-helm", version: "v1.3.0", tools: map[string]string{"provider-helm": "cmd/provider"}},
	{path: "github.com/crossplane-contrib/provider-kubernetes", version: "v1.2.1", tools: map[string]string{"provider-kubernetes": "cmd/provider"}},
	{
		path: "github.com/loft-sh/vcluster", version: "v0.36.1",
		tools:   map[string]string{"vcluster": "cmd/vcluster"},
		ldflags: []string{"-X github.com/loft-sh/vcluster/pkg/telemetry.SyncerVersion=0.36.1"},
	},
	{
		path: "github.com/k3s-io/kine", version: "v0.16.4",
		tools: map[string]string{"kine": ""},
		// SQLite, the virtual cluster's store, is a C library.
		cgo: true, tags: "netgo osusergo sqlite_omit_load_extension",
		ldflags: []string{"-extldflags -static"},
	},
	{
		path: "github.com/argoproj/argo-cd/v3", version: "v3.2.6",
		tools:   map[string]string{"argocd": "cmd"},
		ldflags: []string{"-X github.com/argoproj/argo-cd/v3/common.version=3.2.6", "-X github.com/argoproj/argo-cd/v3/common.gitTag=v3.2.6", "-X github.com/argoproj/argo-cd/v3/common.gitTreeState=clean"},
	},
	{path: "helm.sh/helm/v3", version: "v3.22.0", tools: map[string]string{"helm": "cmd/helm"}, ldflags: []string{"-X helm.sh/helm/v3/internal/version.version=v3.22.0"}},
	{path: "sigs.k8s.io/kustomize/kustomize/v5", version: "v5.7.1", tools: map[string]string{"kustomize": ""}},
	{path: "github.com/coredns/coredns", version: "v1.15.0", tools: map[string]string{"coredns": ""}},
	kubernetes(otherKubernetes, "-1.36", "kube-apiserver", "kube-controller-manager", "kube-scheduler"),
	{path: "github.com/golangci/golangci-lint/v2", version: "v2.9.0", tools: map[string]string{"golangci-lint": "cmd/golangci-lint"}, ldflags: []string{"-X main.version=2.9.0"}, apart: true},
}

// kubernetes is a version of Kubernetes: its commands, with a suffix on the names of the tools.
func kubernetes(version, suffix string, commands ...string) module {
	m := module{
		path:         "k8s.io/kubernetes",
		version:      version,
		tools:        map[string]string{},
		localReplace: "v0" + strings.TrimPrefix(version, "v1"),
	}
	for _, c := range commands {
		m.tools[c+suffix] = "cmd/" + c
	}
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		m.ldflags = append(m.ldflags,
			fmt.Sprintf("-X %s.gitVersion=%s", pkg, version),
			fmt.Sprintf("-X %s.gitMajor=%s", pkg, major),
			fmt.Sprintf("-X %s.gitMinor=%s", pkg, minor))
	}
	return m
}

// names of the module's tools, sorted.
func (m module) names() []string {
	out := make([]string, 0, len(m.tools))
	for n := range m.tools {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// Names of all tools, in the order in which they are built.
func Names() []string {
	var out []string
	for _, m := range modules {
		out = append(out, m.names()...)
	}
	return out
}

// Version of a tool, as its module spells it (v1.35.4). Empty for a name that is not a tool's.
func Version(name string) string {
	m, err := moduleOf(name)
	if err != nil {
		return ""
	}
	return m.version
}

func moduleOf(tool string) (module, error) {
	for _, m := range modules {
		if _, ok := m.tools[tool]; ok {
			return m, nil
		}
	}
	return module{}, fmt.Errorf("no tool is named %q; the tools are %s", tool, strings.Join(Names(), ", "))
}
