package artifacts

import (
	_ "embed"
	"fmt"
	"runtime"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/tools/ociimage"
)

//go:embed scripts/extension-installer.sh
var extensionInstaller string

// A componentImage is an image of a component: its repository, the tool in it, and where its image has that.
type componentImage struct{ repository, tool, path string }

func (c componentImage) name() string {
	return "quay.io/argoproj/" + c.repository + ":" + toolchain.Version(c.tool)
}

var componentImages = []componentImage{
	{"argo-rollouts", toolchain.Rollouts, "/bin/rollouts-controller"},
	{"workflow-controller", toolchain.Workflows, "/bin/workflow-controller"},
	// The executor copies itself from there.
	{"argoexec", toolchain.WorkflowsExecutor, "/bin/argoexec"},
	{"argo-events", toolchain.Events, "/bin/argo-events"},
}

// NATSImage is the bus of Argo Events.
func NATSImage() string { return "docker.io/library/nats:" + toolchain.Version(toolchain.NATS)[1:] }

// ExtensionInstallerImage downloads UI extensions for Argo CD's API server, under the name that the argo-cd chart 10.1.1 has for it.
const ExtensionInstallerImage = "quay.io/argoprojlabs/argocd-extension-installer:v1.0.1"

// ExtensionImage serves the UI extension for Rollouts to that one, as /extension.tar on port ExtensionPort.
const (
	ExtensionImage = "docker.io/virtual-argocd/e2e-extension:1"
	ExtensionPort  = 8080
)

// extension makes the images of a UI extension: what serves it, and what downloads it.
func (k *kit) extension() []recipe {
	server := recipe{
		Name:  ExtensionImage,
		Files: append(k.busybox(), k.tree("/srv", k.binary(toolchain.RolloutsExtension))...),
		Config: ociimage.Config{
			Architecture: runtime.GOARCH,
			Entrypoint:   []string{"/bin/sh", "-c", fmt.Sprintf("tar -C /srv -cf /tmp/extension.tar resources && exec httpd -f -p %d -h /tmp", ExtensionPort)},
			Env:          []string{"PATH=/bin"},
			User:         fmt.Sprintf("%d:%d", ociimage.NonRoot, ociimage.NonRoot),
		},
	}
	installer := recipe{
		Name:   ExtensionInstallerImage,
		Files:  append(k.busybox(), script("extension-installer.sh", extensionInstaller)),
		Config: ociimage.Config{Architecture: runtime.GOARCH, Entrypoint: []string{"/usr/local/bin/extension-installer.sh"}, Env: []string{"PATH=/bin"}},
	}
	return []recipe{server, installer}
}

// components makes the images of components that tenants can have beside Argo CD.
func (k *kit) components() []recipe {
	all := append(k.extension(), static(NATSImage(), k.binary(toolchain.NATS), "/nats-server"))
	for _, c := range componentImages {
		all = append(all, static(c.name(), k.binary(c.tool), c.path))
	}
	return all
}
