// Package inventory lists every object of every kind in a cluster and tells two listings apart.
package inventory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Object identifies one object.
type Object struct {
	Resource        schema.GroupResource
	Namespace, Name string
}

// String reads like kubectl's "resource.group namespace/name".
func (o Object) String() string {
	if o.Namespace == "" {
		return fmt.Sprintf("%s %s", o.Resource, o.Name)
	}
	return fmt.Sprintf("%s %s/%s", o.Resource, o.Namespace, o.Name)
}

// Listing is every object of a cluster with its UID.
type Listing map[Object]types.UID

// Ignored are the kinds that come and go in any cluster that is up, whoever uses it: events report what happened and
// expire; leases are heartbeats; pod and node metrics are measurements that no one stores.
var Ignored = map[schema.GroupResource]bool{
	{Resource: "events"}:                               true,
	{Group: "events.k8s.io", Resource: "events"}:       true,
	{Group: "coordination.k8s.io", Resource: "leases"}: true,
	{Group: "metrics.k8s.io", Resource: "nodes"}:       true,
	{Group: "metrics.k8s.io", Resource: "pods"}:        true,
}

// Kinds are the resources that the cluster serves and can list, each in its preferred version.
func Kinds(c *kube.Cluster) ([]schema.GroupVersionResource, error) {
	lists, err := discovery.ServerPreferredResources(c.Typed.Discovery())
	if err != nil {
		return nil, fmt.Errorf("cannot discover what the cluster serves: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list"}}, lists)
	found, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, fmt.Errorf("cannot parse what the cluster serves: %w", err)
	}
	return slices.Collect(maps.Keys(found)), nil
}

// Take lists the cluster, metadata only.
func Take(ctx context.Context, c *kube.Cluster) (Listing, error) {
	kinds, err := Kinds(c)
	if err != nil {
		return nil, err
	}
	listing, mu := Listing{}, sync.Mutex{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for _, kind := range kinds {
		if Ignored[kind.GroupResource()] {
			continue
		}
		group.Go(func() error {
			list, err := c.Metadata.Resource(kind).List(ctx, metav1.ListOptions{})
			if kerrors.IsNotFound(err) || kerrors.IsMethodNotSupported(err) {
				return nil // The kind went away since discovery, or is a virtual one without objects.
			}
			if err != nil {
				return fmt.Errorf("cannot list %s: %w", kind, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, o := range list.Items {
				listing[Object{kind.GroupResource(), o.GetNamespace(), o.GetName()}] = o.GetUID()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return listing, nil
}

// Diff says what is in only one of two listings, sorted; nothing when they are the same.
func Diff(before, after Listing) []string {
	var out []string
	for o, uid := range before {
		switch now, ok := after[o]; {
		case !ok:
			out = append(out, "gone: "+o.String())
		case now != uid:
			out = append(out, "replaced by another of the same name: "+o.String())
		}
	}
	for o := range after {
		if _, ok := before[o]; !ok {
			out = append(out, "new: "+o.String())
		}
	}
	slices.Sort(out)
	return out
}

// UnnamedPods has the pods of a namespace numbered in place of their names: some may have been replaced.
func (l Listing) UnnamedPods(namespace string) Listing {
	out, pods := Listing{}, 0
	for o, uid := range l {
		if o.Resource.Resource == "pods" && o.Namespace == namespace {
			pods++
			o.Name, uid = fmt.Sprint("pod ", pods), ""
		}
		out[o] = uid
	}
	return out
}

// About are the objects whose name or namespace begins with one of the words, or has one after a dash: what belongs to
// a tenant.
func (l Listing) About(words ...string) Listing {
	out := Listing{}
	for o, uid := range l {
		for _, w := range words {
			if begins(o.Name, w) || begins(o.Namespace, w) {
				out[o] = uid
			}
		}
	}
	return out
}

func begins(name, word string) bool {
	return strings.HasPrefix(name, word) || strings.Contains(name, "-"+word)
}

// String has one object a line, sorted.
func (l Listing) String() string {
	lines := make([]string, 0, len(l))
	for o := range l {
		lines = append(lines, o.String())
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}
