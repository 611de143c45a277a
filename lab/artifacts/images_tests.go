package artifacts

import (
	"runtime"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

// otherKubernetes are the suffixes of the tools of further Kubernetes versions that
// tests run in virtual clusters.
var otherKubernetes = []string{"-1.35", "-1.33"}

// testImages are the names of the images that not every cluster needs.
func testImages() []string {
	images := []string{DexImage(), HAProxyImage, ServersImage, VictoriaMetricsImage(), VMAlertImage(), KubeStateMetricsImage(), PageImage, KubectlImage(), BackupKubectlImage, RcloneImage(), VersityImage(), ArgoCDImage(toolchain.ArgoCDOlder), NATSImage(), ExtensionImage, ExtensionInstallerImage}
	for _, suffix := range otherKubernetes {
		images = append(images, kubernetesImage(suffix))
	}
	for _, image := range componentImages {
		images = append(images, image.name())
	}
	return images
}

// testUser runs the servers of the tests.
const testUser = 1000

// tests makes the images that only end-to-end tests need, but those of otherKubernetes.
func (k *kit) tests() []recipe {
	dex := static(DexImage(), k.binary("dex"), "/usr/local/bin/dex")
	dex.Config.Entrypoint = []string{"/usr/local/bin/dex", "serve"}
	versity := static(VersityImage(), k.binary("versitygw"), "/usr/local/bin/versitygw")
	return []recipe{dex, haproxy(), servers(), versity, k.shell(BackupKubectlImage, "kubectl"), k.shell(RcloneImage(), "rclone")}
}

// shell is an image with a program and a shell.
func (k *kit) shell(name, tool string) recipe {
	return recipe{
		Name: name,
		Files: append(k.busybox(), k.program("/usr/local/bin/"+tool, tool),
			ociimage.File{Path: ociimage.CACertificates, Source: ociimage.CACertificates}),
		Config: ociimage.Config{Architecture: runtime.GOARCH, Entrypoint: []string{"/usr/local/bin/" + tool}, Env: []string{"PATH=/usr/local/bin:/bin"}},
	}
}

// testPackages of the one root file system that the images of the tests share.
var testPackages = []string{"git", "haproxy", "lighttpd", "lighttpd-mod-openssl", "openssh-server", "slapd"}

// haproxy is for Argo CDs with high availability, which the test chart argo-cd lacks.
func haproxy() recipe {
	return recipe{
		Name:   HAProxyImage,
		Debian: testPackages,
		Config: ociimage.Config{
			Architecture: runtime.GOARCH,
			Entrypoint:   []string{"/usr/sbin/haproxy"},
			Cmd:          []string{"-W", "-db", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
			Env:          []string{debianPath},
			User:         "99:99",
		},
	}
}

// servers run as an unprivileged user named git. SSH logs nobody in whom the user
// table does not have.
func servers() recipe {
	return recipe{
		Name:   ServersImage,
		Debian: testPackages,
		Files: []ociimage.File{
			{Path: "/etc/passwd", Content: "root:x:0:0:root:/root:/bin/sh\ngit:*:1000:1000::/srv:/bin/sh\n"},
			{Path: "/etc/group", Content: "root:x:0:\ngit:x:1000:\n"},
			folder("/srv", testUser, 0o755),
		},
		Config: ociimage.Config{
			Architecture: runtime.GOARCH,
			Cmd:          []string{"/bin/sh"},
			Env:          []string{debianPath},
			User:         "1000:1000",
			WorkingDir:   "/srv",
		},
	}
}
