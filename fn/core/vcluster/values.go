package vcluster

import (
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/core/host"
	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Defaults returns the values of the vcluster chart a platform or, where it
// is allowed, a tenant may change.
func Defaults() values.Values {
	return values.Values{
		"controlPlane": values.Values{
			"statefulSet": values.Values{
				// The chart's request of 256Mi is far below real use (about 560Mi), so
				// that the scheduler would overfill nodes.
				"resources": values.Values{
					"requests": values.Values{"cpu": "200m", "memory": "768Mi", "ephemeral-storage": "256Mi"},
					"limits":   values.Values{"cpu": "4", "memory": "2Gi", "ephemeral-storage": "10Gi"},
				},
			},
			"distro": values.Values{"k8s": values.Values{
				// An init container copies 300 MB of binaries; the chart's limit of a
				// tenth of a core makes each start slow.
				"resources": values.Values{"limits": values.Values{"cpu": "2", "memory": "512Mi"}},
			}},
		},
		"sync": values.Values{"toHost": values.Values{"pods": values.Values{
			// Otherwise every StatefulSet pod gets an init container of another image,
			// for names Argo CD doesn't need.
			"rewriteHosts": values.Values{"enabled": false},
		}}},
		"policies":  host.DefaultBounds(),
		"telemetry": values.Values{"enabled": false},
	}
}

// Protected returns the values the function, and the tenants' isolation,
// depend on: they win over everyone's.
func Protected(p *tenant.Decision, in v1alpha1.Input) (values.Values, error) {
	sans := make([]any, 0, len(p.Names.APIHostnames))
	for _, host := range p.Names.APIHostnames {
		sans = append(sans, host)
	}
	control := values.Values{
		"distro": values.Values{"k8s": values.Values{
			"enabled": true,
			"version": p.Kubernetes,
			"image":   values.Values{"tag": p.Kubernetes},
		}},
		"statefulSet": values.Values{
			"image": values.Values{
				"registry":   in.Images.VCluster.Registry,
				"repository": in.Images.VCluster.Repository,
				"tag":        vclusterTag(p, in),
			},
		},
		// The certificate has no .svc name of its own accord.
		"proxy": values.Values{"extraSANs": sans},
	}
	if in.Images.Registry != "" {
		control["advanced"] = values.Values{"defaultImageRegistry": in.Images.Registry}
	}
	platforms, err := values.Decode("input.charts.vcluster.values", in.Charts.VCluster.Values)
	if err != nil {
		return nil, err
	}
	requested, err := podRequests(p.Kubernetes, platforms)
	if err != nil {
		return nil, err
	}
	env, err := environment(platforms)
	if err != nil {
		return nil, err
	}
	control["statefulSet"].(values.Values)["env"] = env
	return values.Merge(Isolation(p), requested, values.Values{"controlPlane": storeValues(p.Store, p.ControlPlanes)}, values.Values{
		"controlPlane":     control,
		"exportKubeConfig": values.Values{"server": p.Names.APIServer()},
	}), nil
}

// PathOfEnvironment is where the platform writes environment variables.
var PathOfEnvironment = []string{"controlPlane", "statefulSet", "env"}

// hostRequests is how many requests a second a virtual cluster sends to the host's API
// server on average, for each kind of object; at once it may send more, such as when
// it starts (VCLUSTER_PHYSICAL_CLIENT_BURST, 80 by default). Each may be a write to the
// host's etcd. vcluster's own default is 40.
const hostRequests = "10"

// environment returns the environment variables of the control plane: those of the
// platform's values, and hostRequests unless the platform sets another number.
func environment(platforms values.Values) ([]any, error) {
	env, err := platformsList(platforms, PathOfEnvironment, "[{name: A, value: b}]")
	if err != nil {
		return nil, err
	}
	const name = "VCLUSTER_PHYSICAL_CLIENT_QPS"
	for _, e := range env {
		if is, _ := e.(values.Values); is["name"] == name {
			return env, nil
		}
	}
	return append(slices.Clone(env), values.Values{"name": name, "value": hostRequests}), nil
}

func vclusterTag(p *tenant.Decision, in v1alpha1.Input) string {
	if in.Images.VCluster.Tag != "" {
		return in.Images.VCluster.Tag
	}
	return p.VirtualCluster.Version
}
