package platform

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/virtual-argocd/virtual-argocd/internal/pages"
	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// FromEnvironment reads options from the variables that `make demo` and the
// end-to-end tests document:
//
//	KUBECONFIG    a reachable cluster to install into, in place of the embedded one
//	REGISTRY      host and organisation of the project's packages, for such a cluster
//	PUSH=1        build the packages and push them there first
//	UPSTREAM=1    charts and images from the public registries
//	ARGOCD_CHART  folder or archive of a real argo-cd chart for the embedded cluster
//	MONITORING=1  install what monitors tenants on the embedded cluster, too
//	CROSSPLANE=oldest  the oldest Crossplane that is tested, on an embedded cluster of its own
//	EXISTING_PROVIDERS=1  providers of somebody's on an embedded cluster of its own, before the project is installed
//	FROM_GIT=1  an embedded cluster of its own without Crossplane and this project, which a test installs from a Git repository
//	VARGO_CACHE   folder of everything that is built once
//	VARGO_CLUSTER, VARGO_CLUSTER_INDEX  another embedded cluster than the default one
func FromEnvironment() (Options, error) {
	cache, err := toolchain.Default()
	if err != nil {
		return Options{}, err
	}
	root, err := xpkg.FindRoot(".")
	if err != nil {
		return Options{}, err
	}
	o := Options{
		Cache: cache, Root: root,
		Kubeconfig:  os.Getenv("KUBECONFIG"),
		Registry:    os.Getenv("REGISTRY"),
		Push:        on("PUSH"),
		Upstream:    on("UPSTREAM"),
		Monitoring:  on("MONITORING"),
		ArgoCDChart: os.Getenv("ARGOCD_CHART"),
		Crossplane:  toolchain.Crossplane,

		ExistingProviders: on("EXISTING_PROVIDERS"),
		FromGit:           on("FROM_GIT"),
	}
	switch v := os.Getenv("CROSSPLANE"); v {
	case "":
	case "oldest":
		o.Crossplane = toolchain.OldestCrossplane
	default:
		return Options{}, fmt.Errorf("cannot use CROSSPLANE=%s: set it to oldest, or leave it out", v)
	}
	if o.ArgoCDChart != "" {
		if o.ArgoCDChart, err = filepath.Abs(o.ArgoCDChart); err != nil {
			return Options{}, err
		}
		if _, err := os.Stat(o.ArgoCDChart); err != nil {
			return Options{}, fmt.Errorf("cannot use ARGOCD_CHART: %w", err)
		}
	}
	own, err := node.FromEnvironment(cache)
	if err != nil {
		return Options{}, err
	}
	if o.Kubeconfig != "" && samePath(o.Kubeconfig, own.Kubeconfig()) {
		// Somebody has followed the demo's advice to export it.
		o.Kubeconfig = ""
	}
	if o.Kubeconfig != "" {
		if o.ArgoCDChart != "" {
			return Options{}, errors.New("ARGOCD_CHART is for the embedded cluster: with KUBECONFIG set, name a chart repository in the function's input instead")
		}
		if o.Monitoring {
			return Options{}, errors.New("MONITORING is for the embedded cluster: with KUBECONFIG set, see " + pages.Monitoring)
		}
		return o, reachable(o.Kubeconfig)
	}
	if o.Registry != "" {
		return Options{}, errors.New("REGISTRY is for a cluster of your own: set KUBECONFIG too, or leave REGISTRY out")
	}
	return o, nil
}

// on reports whether a switch such as UPSTREAM=1 is set.
func on(name string) bool {
	v := os.Getenv(name)
	return v != "" && v != "0" && v != "false"
}

func samePath(a, b string) bool {
	a, errA := filepath.Abs(a)
	b, errB := filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// reachable returns an error when the cluster of a kubeconfig doesn't answer.
func reachable(kubeconfig string) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return fmt.Errorf("cannot read KUBECONFIG=%s: %w", kubeconfig, err)
	}
	cfg.Timeout = 10 * time.Second
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err == nil {
		_, err = d.ServerVersion()
	}
	if err != nil {
		return fmt.Errorf("the cluster of KUBECONFIG=%s does not answer: unset KUBECONFIG to start one here: %w", kubeconfig, err)
	}
	return nil
}
