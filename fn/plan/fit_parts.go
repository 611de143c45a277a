package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// A part of a tenant is pods that are alike.
type part struct {
	name string
	pods int64
	// first are the containers that run before the others.
	containers, first []container
}

// parts are what every tenant has. What the charts have of their own is that of
// the default versions. Where a chart isn't known to the last container, they are
// fewer than there are.
func (f fit) parts() ([]part, error) {
	control := func(path ...string) []string { return append([]string{"controlPlane"}, path...) }
	planes := max(f.controlPlanes, 1)
	if f.store.Kind == StoreEtcd || f.store.Size == "" {
		// A Deployment has one more while its pods are replaced.
		planes++
	}
	out := []part{{
		name: "the control plane", pods: planes,
		containers: []container{{chart: chartVCluster, path: control("statefulSet", "resources")}},
		first:      []container{{chart: chartVCluster, path: control("distro", "k8s", "resources"), own: kubernetesSizes}},
	}}
	if f.store.Kind == StoreEtcd {
		path := control("backingStore", "etcd", "deploy", "statefulSet", "resources")
		out = append(out, part{name: "etcd", pods: f.store.Members, containers: []container{{chart: chartVCluster, path: path, own: etcdSizes}}})
	}
	dns, err := f.replicas(chartVCluster, 1, control("coredns", "deployment", "replicas")...)
	if err != nil {
		return nil, err
	}
	path := control("coredns", "deployment", "resources")
	out = append(out, part{name: "DNS", pods: dns, containers: []container{{chart: chartVCluster, path: path, own: coreDNSSizes, virtual: true}}})
	for _, c := range components {
		if !c.wanted(f.of[chartArgoCD].all) {
			continue
		}
		p := part{name: "Argo CD"}
		if p.pods, err = f.replicas(chartArgoCD, max(c.replicas, 1), c.path("replicas")...); err != nil {
			return nil, err
		}
		for _, key := range c.containers {
			p.containers = append(p.containers, container{chart: chartArgoCD, path: c.path(key, "resources"), virtual: true})
		}
		if len(c.containers) == 0 {
			p.containers = []container{{chart: chartArgoCD, path: c.path("resources"), virtual: true}}
		}
		out = append(out, p)
	}
	return slices.DeleteFunc(out, func(p part) bool { return p.pods == 0 }), nil
}

// Resources that the vcluster chart gives containers, and the built-in values
// leave.
var (
	kubernetesSizes = map[string]string{"requests.cpu": "40m", "requests.memory": "64Mi"}
	etcdSizes       = map[string]string{"requests.cpu": "20m", "requests.memory": "150Mi"}
	coreDNSSizes    = map[string]string{"requests.cpu": "20m", "requests.memory": "64Mi", "limits.cpu": "1", "limits.memory": "170Mi"}
)

// mostReplicas is more than any quota of pods.
const mostReplicas = 1 << 20

// replicas that values of a chart ask for.
func (f fit) replicas(chart string, otherwise int64, path ...string) (int64, error) {
	v, _ := lookup(f.of[chart].all, path...)
	n := math.NaN()
	switch v := v.(type) {
	case nil:
		return otherwise, nil
	case float64:
		n = v
	case string:
		if v == "" {
			return otherwise, nil
		}
		if i, err := strconv.ParseInt(v, 10, 64); err == nil {
			n = float64(i)
		}
	}
	if n != math.Trunc(n) || n < 0 {
		_, field := f.whose(chart, path)
		return 0, fmt.Errorf("%s: %.80q is not a number of replicas: write one such as 2", field, fmt.Sprint(v))
	}
	return int64(min(n, mostReplicas)), nil
}
