package artifacts

import "github.com/virtual-argocd/virtual-argocd/lab/toolchain"

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

// components makes the images of components that tenants can have beside Argo CD.
func (k *kit) components() []recipe {
	all := []recipe{static(NATSImage(), k.binary(toolchain.NATS), "/nats-server")}
	for _, c := range componentImages {
		all = append(all, static(c.name(), k.binary(c.tool), c.path))
	}
	return all
}
