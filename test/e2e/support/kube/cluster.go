// Package kube holds the clients of one cluster, be it the host cluster or a tenant's virtual one, and the way
// from the test's machine to the Services inside it.
package kube

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Cluster is the set of clients for one cluster.
type Cluster struct {
	Config    *rest.Config
	Typed     kubernetes.Interface
	Dynamic   dynamic.Interface
	Metadata  metadata.Interface
	Discovery discovery.CachedDiscoveryInterface

	mapper *restmapper.DeferredDiscoveryRESTMapper
}

// New makes the clients. The tests watch many objects at once, so client-side throttling is off: a slow answer
// in a test must come from the product or the cluster, not from the client.
func New(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	// Listings read deprecated kinds too, on purpose.
	config.WarningHandler = rest.NoWarnings{}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a client: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a dynamic client: %w", err)
	}
	md, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("cannot make a metadata client: %w", err)
	}
	disco := memory.NewMemCacheClient(typed.Discovery())
	return &Cluster{
		Config: config, Typed: typed, Dynamic: dyn, Metadata: md, Discovery: disco,
		mapper: restmapper.NewDeferredDiscoveryRESTMapper(disco),
	}, nil
}

// Resource gives access to the objects of a kind. The namespace is ignored for cluster-scoped kinds.
func (c *Cluster) Resource(gvk schema.GroupVersionKind, namespace string) (dynamic.ResourceInterface, error) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, fmt.Errorf("the cluster does not serve %s: %w", gvk, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.Dynamic.Resource(mapping.Resource), nil
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(namespace), nil
}

// Forget makes the next question about a kind ask the API server again, for kinds that have just been added.
func (c *Cluster) Forget() {
	c.mapper.Reset()
}
