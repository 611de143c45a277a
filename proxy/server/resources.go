package server

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/argocd"
	"github.com/virtual-argocd/virtual-argocd/proxy/connections"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
	"github.com/virtual-argocd/virtual-argocd/proxy/watch"
	"github.com/virtual-argocd/virtual-argocd/proxy/workloads"
)

// resources are those that provider-kubernetes watches in each virtual cluster: one object of each.
type resources struct {
	// workloads, components and connections are ConfigMaps that exist in the proxy alone.
	workloads, components, connections *watch.Resource
	// applications has the first Application, and ingresses Argo CD's Ingress.
	applications, ingresses stored
}

// A stored resource is one that virtual API servers store.
type stored struct {
	*watch.Resource

	// prune removes from an object what changes without concerning the provider.
	prune func(object map[string]any)
	// show returns an object as the provider gets it; nil if it gets all of it.
	show func(l limits.Limits, object []byte) ([]byte, error)
}

func newResources(c *connections.Store, a *argocd.Store) resources {
	configMap, application, ingress := typeMeta("v1", "ConfigMap"), typeMeta("argoproj.io/v1alpha1", "Application"), typeMeta("networking.k8s.io/v1", "Ingress")
	return resources{
		workloads: &watch.Resource{TypeMeta: configMap, Plural: "configmaps", Triggers: workloadLists, Poll: summaries{a}.poll, Check: summaries{a}.check},
		// That the virtual API server answers is checked for the workloads of Argo CD.
		components: &watch.Resource{TypeMeta: configMap, Plural: "configmaps", Triggers: workloadLists, Poll: pollComponents},
		// Nothing reports all changes of connections: they have no triggers.
		connections: &watch.Resource{TypeMeta: configMap, Plural: "configmaps", Poll: func(ctx context.Context, client *virtualapi.Client, o watch.Object) (watch.State, error) {
			keys, err := proxy.ReadConnectionsName(o.Name)
			if err != nil {
				return watch.State{}, err
			}
			data, all := c.Poll(ctx, client, o.Namespace, keys)
			return watch.State{Digest: watch.DigestOfData(data), Settled: all}, nil
		}},
		applications: stored{watch.Stored(application, "applications", pruneApplication), pruneApplication, showApplication},
		ingresses:    stored{watch.Stored(ingress, "ingresses", pruneMetadata), pruneMetadata, nil},
	}
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// workloadLists returns the lists that the workloads of a summary are in.
func workloadLists(o watch.Object) []string {
	// Only a summary with a name that can be read was observed.
	asked, _ := proxy.ReadSummaryName(o.Name)
	return workloads.Paths(o.Namespace, asked)
}

func pollComponents(ctx context.Context, c *virtualapi.Client, o watch.Object) (watch.State, error) {
	asked, err := proxy.ReadSummaryName(o.Name)
	if err != nil {
		return watch.State{}, err
	}
	data, settled, err := workloads.Summarize(ctx, c, o.Namespace, asked)
	return watch.State{Digest: watch.DigestOfData(data), Settled: settled}, err
}

// summaries make and check summaries of the workloads of Argo CDs, with what is known of their Argo CD.
type summaries struct{ argoCD *argocd.Store }

// summarize returns the data of a summary, and whether it stays the same until a workload changes.
func (s summaries) summarize(ctx context.Context, c *virtualapi.Client, namespace string, asked []proxy.Workload) (data map[string]string, settled bool, err error) {
	if data, settled, err = workloads.Summarize(ctx, c, namespace, asked); err != nil {
		return nil, false, err
	}
	s.argoCD.LookOnce(ctx, c, namespace)
	s.argoCD.AddTo(c, namespace, data)
	return data, settled, nil
}

func (s summaries) poll(ctx context.Context, c *virtualapi.Client, o watch.Object) (watch.State, error) {
	asked, err := proxy.ReadSummaryName(o.Name)
	if err != nil {
		return watch.State{}, err
	}
	s.argoCD.Look(ctx, c, o.Namespace)
	data, settled, err := s.summarize(ctx, c, o.Namespace, asked)
	return watch.State{Digest: watch.DigestOfData(data), Settled: settled}, err
}

func (s summaries) check(ctx context.Context, c *virtualapi.Client, o watch.Object) (changed bool, err error) {
	asked, err := proxy.ReadSummaryName(o.Name)
	if err != nil {
		return false, err
	}
	if err := workloads.Check(ctx, c, o.Namespace, asked[0]); err != nil {
		return false, err
	}
	return s.argoCD.Look(ctx, c, o.Namespace), nil
}

func (rs resources) stored() []stored { return []stored{rs.applications, rs.ingresses} }

func (rs resources) all() []*watch.Resource {
	return []*watch.Resource{rs.workloads, rs.components, rs.connections, rs.applications.Resource, rs.ingresses.Resource}
}

// at returns those with this path of all objects.
func (rs resources) at(path string) []*watch.Resource {
	var out []*watch.Resource
	for _, resource := range rs.all() {
		if path == resource.Path() {
			out = append(out, resource)
		}
	}
	return out
}

func (rs resources) kinds() []schema.GroupVersionKind {
	var out []schema.GroupVersionKind
	for _, resource := range rs.all() {
		out = append(out, resource.GroupVersionKind())
	}
	return out
}
