package plan

import (
	"slices"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
)

// vclusterDefaults are the values of the vcluster chart a platform or, where it
// is allowed, a tenant may change.
func vclusterDefaults() Values {
	return Values{
		"controlPlane": Values{
			"statefulSet": Values{
				// The chart's request of 256Mi is far below real use (about 560Mi), so
				// that the scheduler would overfill nodes.
				"resources": Values{
					"requests": Values{"cpu": "200m", "memory": "768Mi", "ephemeral-storage": "256Mi"},
					"limits":   Values{"cpu": "4", "memory": "2Gi", "ephemeral-storage": "10Gi"},
				},
			},
			"distro": Values{"k8s": Values{
				// An init container copies 300 MB of binaries; the chart's limit of a
				// tenth of a core makes each start slow.
				"resources": Values{"limits": Values{"cpu": "2", "memory": "512Mi"}},
			}},
		},
		"sync": Values{"toHost": Values{"pods": Values{
			// Otherwise every StatefulSet pod gets an init container of another image,
			// for names Argo CD doesn't need.
			"rewriteHosts": Values{"enabled": false},
		}}},
		"policies":  bounds(),
		"telemetry": Values{"enabled": false},
	}
}

// vclusterProtected are the values the function, and the tenants' isolation,
// depend on: they win over everyone's.
func vclusterProtected(p *Plan, in v1alpha1.Input) (Values, error) {
	sans := make([]any, 0, len(p.Names.APIHosts))
	for _, host := range p.Names.APIHosts {
		sans = append(sans, host)
	}
	control := Values{
		"distro": Values{"k8s": Values{
			"enabled": true,
			"version": p.Kubernetes,
			"image":   Values{"tag": p.Kubernetes},
		}},
		"statefulSet": Values{
			"image": Values{
				"registry":   in.Images.VCluster.Registry,
				"repository": in.Images.VCluster.Repository,
				"tag":        vclusterTag(p, in),
			},
		},
		// The certificate has no .svc name of its own accord.
		"proxy": Values{"extraSANs": sans},
	}
	if in.Images.Registry != "" {
		control["advanced"] = Values{"defaultImageRegistry": in.Images.Registry}
	}
	platforms, err := rawValues("input.charts.vcluster.values", in.Charts.VCluster.Values)
	if err != nil {
		return nil, err
	}
	requested, err := requests(p.Kubernetes, platforms)
	if err != nil {
		return nil, err
	}
	env, err := environment(platforms)
	if err != nil {
		return nil, err
	}
	control["statefulSet"].(Values)["env"] = env
	return Merge(isolation(p), requested, Values{"controlPlane": p.Store.values(p.ControlPlanes)}, Values{
		"controlPlane":     control,
		"exportKubeConfig": Values{"server": p.Names.APIServer()},
	}), nil
}

var pathOfEnvironment = []string{"controlPlane", "statefulSet", "env"}

// hostRequests is how many requests a second a virtual cluster sends to the host's API
// server on average, for each kind of object; at once it may send more, such as when
// it starts (VCLUSTER_PHYSICAL_CLIENT_BURST, 80 by default). Each may be a write to the
// host's etcd. vcluster's own default is 40.
const hostRequests = "10"

// environment returns the environment variables of the control plane: those of the
// platform's values, and hostRequests unless the platform sets another number.
func environment(platforms Values) ([]any, error) {
	env, err := platformsList(platforms, pathOfEnvironment, "[{name: A, value: b}]")
	if err != nil {
		return nil, err
	}
	const name = "VCLUSTER_PHYSICAL_CLIENT_QPS"
	for _, e := range env {
		if is, _ := e.(Values); is["name"] == name {
			return env, nil
		}
	}
	return append(slices.Clone(env), Values{"name": name, "value": hostRequests}), nil
}

func vclusterTag(p *Plan, in v1alpha1.Input) string {
	if in.Images.VCluster.Tag != "" {
		return in.Images.VCluster.Tag
	}
	return p.VCluster.Version
}

// APIServer is the virtual cluster's URL, as reached from the host cluster.
func (n Names) APIServer() string { return "https://" + n.APIHosts[0] + ":443" }
