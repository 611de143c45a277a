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
	// as is what the module calls itself, where it is a fork that keeps the
	// name. Default: path.
	as string
	// purpose is what its tools are for. Default: Cluster.
	purpose Purpose

	// tools maps the name of a tool to its package, relative to the module.
	// They are built by one call of the go command.
	tools map[string]string

	// localReplace is the version that stands in for the module's own
	// `replace X => ./staging/X`: a folder is not to be had from the proxy.
	localReplace string

	// require lists further modules, path@version. Needed where the module's
	// go.mod asks for a version that its own replace lines would change.
	require []string

	// web builds a web interface from the module's sources, in place of the Go
	// commands: its one tool is a folder.
	web bool
	// extends is a folder of this package that is added to these sources. The web
	// interface is then what its configuration of webpack makes of both.
	extends string
	// embeds maps a folder of the module to the tool, a folder too, that is put
	// there before the module is compiled. Upstream's releases do that with
	// generated files, which a Go module lacks.
	embeds map[string]string
	// overrides stand in for parts of other modules.
	overrides []override
	// sums are the checksums of the module and of its go.mod, as go.sum has them,
	// where the public checksum database doesn't know it.
	sums [2]string
	// cgo links against the C library, statically.
	cgo     bool
	tags    string
	ldflags []string
}

// Purpose is what a tool is for.
type Purpose string

const (
	// Cluster is what every cluster needs, that of a demo too.
	Cluster Purpose = ""
	// Tenants is what tenants run, unless they are simulated.
	Tenants Purpose = "tenants"
	// Web is Argo CD with its web interface, for people and for tests that open it. It
	// takes as long to build as the rest of Argo CD, so other tests do without.
	Web Purpose = "web"
	// Unit is what only `make test` runs.
	Unit Purpose = "unit"
	// Tests is what end-to-end tests need beside that.
	Tests Purpose = "tests"
	// Full is what all end-to-end tests need beside that, those that take long, too.
	Full Purpose = "full"
	// Monitoring is what shows a platform its tenants, for MONITORING=1 and the tests that Full is for.
	Monitoring Purpose = "monitoring"
	// Lint is what no cluster needs.
	Lint Purpose = "lint"
)

// Crossplane is the tool that is Crossplane's core, and OldestCrossplane the same of the oldest version
// that is tested.
const (
	Crossplane       = "crossplane"
	OldestCrossplane = "crossplane-oldest"
)

// ArgoCD is the tool that is Argo CD with its web interface, and ArgoCDHeadless the same without. ArgoCDOlder is a version to upgrade from, without
// it.
const (
	ArgoCD         = "argocd"
	ArgoCDHeadless = "argocd-headless"
	ArgoCDOlder    = "argocd-older"
)

// Programs of components that tenants can have beside Argo CD.
const (
	Rollouts          = "argo-rollouts"
	Workflows         = "argo-workflow-controller"
	WorkflowsExecutor = "argoexec"
	Events            = "argo-events"
	// RolloutsExtension is a UI extension of Argo CD that shows Rollouts.
	RolloutsExtension = "argo-rollouts-extension"
	// NATS is the bus of Argo Events.
	NATS = "nats-server"
)

const (
	hostKubernetes = "v1.36.3"
	// olderKubernetes is one to upgrade from.
	olderKubernetes = "v1.35.4"
	// oldKubernetes needs vcluster 0.36.1 or later on the host's Kubernetes.
	oldKubernetes = "v1.33.4"
	// Of the minor version that the product installs by default. Its chart has 3.4.4, whose gitops-engine is no Go module.
	argocdVersion = "v3.4.13"
	// gitopsEngine is a folder of Argo CD's repository. This commit of it has the API of argocdVersion.
	gitopsEngine       = "v0.0.0-20260914071520-c9c369efcc5b"
	argocdOlderVersion = "v3.2.6"
	// The newest whose Go modules are whole, and that this Go version builds.
	rolloutsVersion  = "v1.9.0"
	workflowsVersion = "v4.0.5"
	eventsVersion    = "v1.9.7"

	victoriaMetricsVersion = "v1.128.0"
)

// modules is the one list of what the lab builds. Exact versions only: the
// version lists of some of these modules are not served by the proxy.
var modules = []module{
	// First, since it is the slowest that keeps one core busy alone.
	{path: "github.com/argoproj/argo-cd/v3", version: argocdVersion, purpose: Web, tools: map[string]string{"argocd-ui": "ui"}, web: true},
	kubernetes(hostKubernetes, "", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "kubectl"),
	{path: "go.etcd.io/etcd/server/v3", version: "v3.7.3", tools: map[string]string{"etcd": ""}},
	{
		path: "github.com/crossplane/crossplane/v2", version: "v2.4.0",
		tools:   map[string]string{Crossplane: "cmd/crossplane"},
		require: []string{"github.com/crossplane/crossplane/apis/v2@v2.4.0"},
		ldflags: []string{"-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v2.4.0"},
	},
	{
		// The oldest that the Configuration allows.
		path: "github.com/crossplane/crossplane/v2", version: "v2.2.1", purpose: Full,
		tools:   map[string]string{OldestCrossplane: "cmd/crossplane"},
		ldflags: []string{"-X github.com/crossplane/crossplane/v2/internal/version.version=v2.2.1"},
	},
	{
		path: "github.com/crossplane/cli/v2", version: "v2.5.0", purpose: Unit,
		tools:   map[string]string{"crossplane-cli": "cmd/crossplane"},
		ldflags: []string{"-X github.com/crossplane/crossplane-runtime/v2/pkg/version.version=v2.5.0"},
	},
	{path: "github.com/crossplane-contrib/provider-helm", version: "v1.3.0", tools: map[string]string{"provider-helm": "cmd/provider"}},
	{path: "github.com/crossplane-contrib/provider-kubernetes", version: "v1.3.0", tools: map[string]string{"provider-kubernetes": "cmd/provider"}, overrides: []override{providerNebius}},
	{
		path: "github.com/loft-sh/vcluster", version: "v0.36.1", purpose: Tenants,
		tools:   map[string]string{"vcluster": "cmd/vcluster"},
		ldflags: []string{"-X github.com/loft-sh/vcluster/pkg/telemetry.SyncerVersion=0.36.1"},
	},
	{
		path: "github.com/k3s-io/kine", version: "v0.16.4", purpose: Tenants,
		tools: map[string]string{"kine": ""},
		// SQLite, the virtual cluster's store, is a C library.
		cgo: true, tags: "netgo osusergo sqlite_omit_load_extension",
		overrides: []override{kineDrivers},
		ldflags:   []string{"-extldflags -static"},
	},
	argocd(ArgoCD, argocdVersion, Web, map[string]string{"ui/dist/app": "argocd-ui"}).with(gitopsEngine),
	// Its source has no files of the web interface. Go's build cache has most of either for the other.
	argocd(ArgoCDHeadless, argocdVersion, Tests, nil).with(gitopsEngine),
	argocd(ArgoCDOlder, argocdOlderVersion, Full, nil),
	{path: "github.com/argoproj/argo-rollouts", version: rolloutsVersion, purpose: Full, tools: map[string]string{Rollouts: "cmd/rollouts-controller"}},
	{path: "github.com/argoproj/argo-rollouts", version: rolloutsVersion, purpose: Full, tools: map[string]string{RolloutsExtension: "ui"}, web: true, extends: "extension"},
	{
		// Without its server, which embeds a web interface that its Go module lacks.
		path: "github.com/argoproj/argo-workflows/v4", version: workflowsVersion, purpose: Full,
		tools:     map[string]string{Workflows: "cmd/workflow-controller", WorkflowsExecutor: "cmd/argoexec"},
		overrides: []override{workflowsSignals},
		ldflags:   []string{"-X github.com/argoproj/argo-workflows/v4.version=" + workflowsVersion},
	},
	{path: "github.com/argoproj/argo-events", version: eventsVersion, purpose: Full, tools: map[string]string{Events: "cmd"}},
	{path: "github.com/nats-io/nats-server/v2", version: "v2.10.29", purpose: Full, tools: map[string]string{NATS: ""}},
	{
		// The newest whose Go module is whole.
		path: "github.com/traefik/traefik/v3", version: "v3.6.12",
		tools:     map[string]string{"traefik": "cmd/traefik"},
		overrides: []override{legoProviders, traefikECS},
		ldflags:   []string{"-X github.com/traefik/traefik/v3/pkg/version.Version=3.6.12"},
	},
	{
		path: "sigs.k8s.io/kube-network-policies", version: "v0.8.0",
		sums:      [2]string{"h1:dzecRNzdmg+VmHEQWTIjxnCgf412J+8CKHqbKgCiWkk=", "h1:QNAmb/exAiL032oNq0/QhfYl5H+jEFFDF0qVXpIOkeI="},
		tools:     map[string]string{"kube-network-policies": "cmd"},
		overrides: []override{queueByTarget},
	},
	{path: "helm.sh/helm/v3", version: "v3.22.0", tools: map[string]string{"helm": "cmd/helm"}, ldflags: []string{"-X helm.sh/helm/v3/internal/version.version=v3.22.0"}},
	{path: "sigs.k8s.io/kustomize/kustomize/v5", version: "v5.7.1", purpose: Tenants, tools: map[string]string{"kustomize": ""}},
	{path: "github.com/coredns/coredns", version: "v1.15.0", tools: map[string]string{"coredns": ""}, overrides: []override{corednsPlugins}},
	kubernetes(olderKubernetes, "-1.35", "kube-apiserver", "kube-controller-manager", "kube-scheduler").only(Full),
	kubernetes(oldKubernetes, "-1.33", "kube-apiserver", "kube-controller-manager", "kube-scheduler").only(Full),
	{
		// Dex has no current version that is a Go module; this fork of its 2.44 has.
		path: "github.com/netbirdio/dex", version: "v0.244.0", as: "github.com/dexidp/dex", purpose: Tests,
		require: []string{"github.com/dexidp/dex/api/v2@v2.4.0"},
		tools:   map[string]string{"dex": "cmd/dex"},
		ldflags: []string{"-X main.version=v0.244.0"},
	},
	{
		path: "github.com/rclone/rclone", version: "v1.76.0", purpose: Tests, tools: map[string]string{"rclone": ""},
		overrides: []override{rcloneBackends, rcloneCommands}, tags: "noselfupdate",
		ldflags: []string{"-X github.com/rclone/rclone/fs.Version=v1.76.0"},
	},
	// A server of S3's API.
	{path: "github.com/versity/versitygw", version: "v1.8.0", purpose: Tests, tools: map[string]string{"versitygw": "cmd/versitygw"}},
	{
		// In place of Prometheus, which takes ten times as long to build.
		path: "github.com/VictoriaMetrics/VictoriaMetrics", version: victoriaMetricsVersion, purpose: Monitoring,
		tools:   map[string]string{"victoria-metrics": "app/victoria-metrics", "vmalert": "app/vmalert"},
		ldflags: []string{"-X github.com/VictoriaMetrics/VictoriaMetrics/lib/buildinfo.Version=" + victoriaMetricsVersion},
	},
	{path: "k8s.io/kube-state-metrics/v2", version: "v2.19.1", purpose: Monitoring, tools: map[string]string{"kube-state-metrics": ""}},
	{
		// In the version whose engine test/monitoring evaluates rules with.
		path: "github.com/prometheus/prometheus", version: "v0.308.0", purpose: Lint,
		tools:     map[string]string{"prometheus": "cmd/prometheus", "promtool": "cmd/promtool"},
		overrides: []override{prometheusDiscovery},
		ldflags:   []string{"-X github.com/prometheus/common/version.Version=3.8.0"},
	},
	{path: "github.com/grafana/dashboard-linter", version: "v0.3.0", purpose: Lint, tools: map[string]string{"dashboard-linter": ""}, overrides: []override{linterV2}},
	{path: "github.com/golangci/golangci-lint/v2", version: "v2.9.0", purpose: Lint, tools: map[string]string{"golangci-lint": "cmd/golangci-lint"}, ldflags: []string{"-X main.version=2.9.0"}},
}

// argocd is Argo CD's one program.
func argocd(tool, version string, p Purpose, embeds map[string]string) module {
	const pkg = "github.com/argoproj/argo-cd/v3/common"
	return module{
		path: "github.com/argoproj/argo-cd/v3", version: version, purpose: p,
		tools:   map[string]string{tool: "cmd"},
		embeds:  embeds,
		ldflags: []string{"-X " + pkg + ".version=" + strings.TrimPrefix(version, "v"), "-X " + pkg + ".gitTag=" + version, "-X " + pkg + ".gitTreeState=clean"},
	}
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

// with gives the module the version of those in its own folders.
func (m module) with(localReplace string) module {
	m.localReplace = localReplace
	return m
}

// only gives the module a purpose.
func (m module) only(p Purpose) module {
	m.purpose = p
	return m
}

// name is what the module calls itself.
func (m module) name() string {
	if m.as != "" {
		return m.as
	}
	return m.path
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

// For lists the tools that are for one of the purposes, in the order in which they
// are built.
func For(purposes ...Purpose) []string {
	var out []string
	for _, m := range modules {
		if slices.Contains(purposes, m.purpose) {
			out = append(out, m.names()...)
		}
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
