package artifacts

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

// vcluster makes the images of virtual clusters: vcluster itself in its
// open-source build, the control plane of the host's Kubernetes version, DNS, etcd,
// and the tools image that vcluster injects into StatefulSet pods.
func (k *kit) vcluster() []recipe {
	tag := strings.TrimPrefix(toolchain.Version("vcluster"), "v")
	// Upstream's is based on Alpine.
	server := static("", k.binary("vcluster"), "/vcluster", k.commands()...)
	server.Config.Entrypoint = []string{"/vcluster", "start"}
	server.Config.User = "0:0"
	// The second name is what the chart runs by default: a build with more in
	// it, which has no source. What is common to both is what a test needs.
	servers := server.as("ghcr.io/loft-sh/vcluster-oss:"+tag, "ghcr.io/loft-sh/vcluster-pro:"+tag)

	// The names are those vcluster gives the DNS of Kubernetes 1.35 and 1.36
	// (pkg/constants/coredns.go); the program is the CoreDNS of the toolchain.
	dns := static("", k.binary("coredns"), "/coredns").
		as("docker.io/coredns/coredns:1.14.1", "docker.io/coredns/coredns:1.14.2")

	// Upstream's is etcd of another minor version. It runs as root, too.
	etcd := static(EtcdImage, k.binary("etcd"), "/usr/local/bin/etcd")
	etcd.Config.User = "0:0"

	tools := recipe{
		Name:   "mirror.gcr.io/library/alpine:3.20",
		Files:  k.busybox(),
		Config: ociimage.Config{Architecture: runtime.GOARCH, Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}},
	}
	return slices.Concat(servers, dns, []recipe{etcd, tools, k.kubernetes("")})
}

// kubernetes makes the image an init container of the vcluster chart copies
// /kubernetes from. The suffix picks the tools of one Kubernetes version.
func (k *kit) kubernetes(suffix string) recipe {
	files := append(k.busybox(),
		k.program("/kubernetes/kube-apiserver", "kube-apiserver"+suffix),
		k.program("/kubernetes/kube-controller-manager", "kube-controller-manager"+suffix),
		k.program("/kubernetes/kube-scheduler", "kube-scheduler"+suffix),
		k.program("/kubernetes/kine", "kine"),
		k.program("/kubernetes/helm", "helm"))
	return recipe{
		Name:   kubernetesImage(suffix),
		Files:  files,
		Config: ociimage.Config{Architecture: runtime.GOARCH, Cmd: []string{"/bin/sh"}, Env: []string{"PATH=/bin"}},
	}
}

func kubernetesImage(suffix string) string {
	return "ghcr.io/loft-sh/kubernetes:" + toolchain.Version("kube-apiserver"+suffix)
}

// busybox is an image's files with a shell and the usual commands.
func (k *kit) busybox() []ociimage.File { return append(ociimage.UnprivilegedFiles(), k.commands()...) }

// commands are a shell and the usual commands, from Debian's static build.
func (k *kit) commands() []ociimage.File {
	files := []ociimage.File{{Path: "/bin/busybox", Source: busyboxBinary, Mode: 0o755}}
	out, err := exec.CommandContext(k.ctx, busyboxBinary, "--list").Output()
	k.note(err)
	for name := range strings.FieldsSeq(string(out)) {
		if name != "busybox" {
			files = append(files, ociimage.File{Path: "/bin/" + name, Link: "busybox"})
		}
	}
	return files
}
