package artifacts

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

// A kit gives recipes their files. It remembers the first error, so that
// recipes read as lists; recipes() reports it.
type kit struct {
	ctx   context.Context
	cache toolchain.Cache
	err   error
}

// recipes lists every image the lab serves.
func recipes(ctx context.Context, c toolchain.Cache, purposes []toolchain.Purpose) ([]recipe, error) {
	k := &kit{ctx: ctx, cache: c}
	all := slices.Concat(
		k.node(),
		k.ingress(),
		k.crossplane(toolchain.Crossplane),
	)
	if slices.Contains(purposes, toolchain.Tenants) {
		all = append(all, k.vcluster()...)
		if slices.Contains(purposes, toolchain.Web) {
			all = append(all, k.argocd(toolchain.ArgoCD)...)
		} else {
			all = append(all, k.argocd(toolchain.ArgoCDHeadless)...)
		}
	}
	if slices.Contains(purposes, toolchain.Tests) {
		all = append(all, k.tests()...)
	}
	if slices.Contains(purposes, toolchain.Full) {
		all = append(all, k.crossplane(toolchain.OldestCrossplane)...)
		for _, suffix := range otherKubernetes {
			all = append(all, k.kubernetes(suffix))
		}
		all = append(all, k.argocdImage(toolchain.ArgoCDOlder))
		all = append(all, k.components()...)
		all = append(all, static(KubectlImage(), k.binary("kubectl"), "/bin/kubectl"))
	}
	if slices.Contains(purposes, toolchain.Monitoring) {
		all = append(all, k.monitoring()...)
	}
	return all, k.err
}

// monitoring makes the images of what monitors tenants.
func (k *kit) monitoring() []recipe {
	return []recipe{
		static(VictoriaMetricsImage(), k.binary("victoria-metrics"), "/victoria-metrics-prod"),
		static(VMAlertImage(), k.binary("vmalert"), "/vmalert-prod"),
		static(KubeStateMetricsImage(), k.binary("kube-state-metrics"), "/kube-state-metrics"),
		static(PageImage, k.own("page", pageSource), "/page"),
	}
}

// node makes the images of the cluster itself.
func (k *kit) node() []recipe {
	policies := static(NetworkPoliciesImage, k.binary("kube-network-policies"), "/bin/netpol")
	// It writes the kernel's tables.
	policies.Config.User = "0:0"
	return []recipe{
		policies,
		static(PauseImage, k.own("pause", pauseSource), "/pause"),
		static(NodeDNSImage, k.binary("coredns"), "/coredns"),
	}
}

// ingress makes the image of the ingress controller.
func (k *kit) ingress() []recipe {
	return []recipe{static(TraefikImage(), k.binary("traefik"), "/usr/local/bin/traefik")}
}

func (k *kit) crossplane(tool string) []recipe {
	cluster := filepath.Join(k.module(tool), "cluster")
	r := static(CrossplaneImage(tool), k.binary(tool), "/usr/local/bin/crossplane",
		append(k.tree("/crds", filepath.Join(cluster, "crds")),
			k.tree("/webhookconfigurations", filepath.Join(cluster, "webhookconfigurations"))...)...)
	return []recipe{r}
}

// static is an image of one static binary and nothing else to run. Its
// trusted certificates are those of this machine.
func static(name, binary, target string, extra ...ociimage.File) recipe {
	files := append(ociimage.UnprivilegedFiles(),
		ociimage.File{Path: target, Source: binary, Mode: 0o755},
		ociimage.File{Path: ociimage.CACertificates, Source: ociimage.CACertificates})
	return recipe{
		Name:  name,
		Files: append(files, extra...),
		Config: ociimage.Config{
			Architecture: runtime.GOARCH,
			Entrypoint:   []string{target},
			Env:          []string{"PATH=/usr/local/bin:/usr/bin:/bin"},
			User:         fmt.Sprintf("%d:%d", ociimage.NonRoot, ociimage.NonRoot),
		},
	}
}

// as gives an image further names.
func (r recipe) as(names ...string) []recipe {
	all := make([]recipe, 0, len(names))
	for _, name := range names {
		r.Name = name
		all = append(all, r)
	}
	return all
}

func (k *kit) binary(name string) string {
	file, err := k.cache.Binary(name)
	k.note(err)
	return file
}

func (k *kit) module(name string) string {
	dir, err := k.cache.ModuleDir(k.ctx, name)
	k.note(err)
	return dir
}

func (k *kit) tree(target, source string) []ociimage.File {
	files, err := ociimage.Tree(target, source)
	k.note(err)
	for i := range files {
		files[i].Mode = 0o644 // The module cache is read-only; an image need not be.
	}
	return files
}

func (k *kit) note(err error) {
	if k.err == nil {
		k.err = err
	}
}

// program copies a binary to a path of an image.
func (k *kit) program(target, name string) ociimage.File {
	return ociimage.File{Path: target, Source: k.binary(name), Mode: 0o755}
}

// folder is an empty folder that belongs to a user.
func folder(path string, owner int, mode fs.FileMode) ociimage.File {
	return ociimage.File{Path: path, Dir: true, UID: owner, GID: owner, Mode: mode}
}

// exists reports whether a file is there; used for files from Debian packages.
func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
