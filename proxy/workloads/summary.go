// Package workloads summarizes Deployments and StatefulSets of a virtual cluster: whether they are available, and why not.
package workloads

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/podtrouble"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// concurrentGets is how many workloads of a summary are read at the same time. One after another, those of a virtual API server that takes
// two seconds for each would take longer than a request may.
const concurrentGets = 5

// shownContainers is of how many containers a summary has the image.
const shownContainers = 8

// Summarize returns the data of the summary of some workloads in a namespace, except for those that have one of their own. settled reports whether it stays the same until one of them
// changes.
func Summarize(ctx context.Context, c *virtualapi.Client, namespace string, asked []proxy.Workload) (data map[string]string, settled bool, err error) {
	summary, found := slices.Clone(asked), make([]*workload, len(asked))
	gets, getsCtx := errgroup.WithContext(ctx)
	gets.SetLimit(concurrentGets)
	for i, w := range summary {
		gets.Go(func() (err error) { found[i], err = get(getsCtx, c, cmp.Or(w.Namespace, namespace), w); return err })
	}
	if err := gets.Wait(); err != nil {
		return nil, false, err
	}
	settled = true
	explaining, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	for i, is := range found {
		w := &summary[i]
		if w.Missing = is == nil; w.Missing {
			settled = false
			continue
		}
		// While the pods of a change don't start, those from before it may be available.
		if is.describe(w); !w.Available || is.Status.Replicas > is.Status.UpdatedReplicas {
			settled = false
			w.Why = explain(explaining, c, cmp.Or(w.Namespace, namespace), is)
		}
	}
	data, err = proxy.Summary(summary)
	return data, settled, err
}

// Check returns an error if the virtual API server doesn't answer for a workload.
func Check(ctx context.Context, c *virtualapi.Client, namespace string, w proxy.Workload) error {
	_, err := get(ctx, c, cmp.Or(w.Namespace, namespace), w)
	return err
}

// Paths returns the paths of the lists that some workloads in a namespace are in.
func Paths(namespace string, workloads []proxy.Workload) []string {
	var out []string
	for _, w := range workloads {
		if path := listPath(cmp.Or(w.Namespace, namespace), w.Kind); !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// listPath returns the path of all workloads of a kind in a namespace.
func listPath(namespace, kind string) string {
	return "/apis/apps/v1/namespaces/" + namespace + "/" + strings.ToLower(kind) + "s"
}

// A workload is what Deployments and StatefulSets have in common.
type workload struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Replicas *int32                `json:"replicas"`
		Selector *metav1.LabelSelector `json:"selector"`
		Template struct {
			Spec struct {
				Containers []struct {
					Name  string `json:"name"`
					Image string `json:"image"`
				} `json:"containers"`
			} `json:"spec"`
		} `json:"template"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration int64                        `json:"observedGeneration"`
		Replicas           int32                        `json:"replicas"`
		UpdatedReplicas    int32                        `json:"updatedReplicas"`
		AvailableReplicas  int32                        `json:"availableReplicas"`
		Conditions         []appsv1.DeploymentCondition `json:"conditions"`
	} `json:"status"`
}

// get reads a workload; nil if there is none.
//
// One LIST for each kind would be fewer requests. But a list of the Deployments of Argo CD 3.4 has at least 67 KiB, with the managed fields that
// an API server can't leave out; the largest of them has 20 KiB. Above limits.SmallResponse, each poll of each tenant would wait for the
// memory that hostile virtual API servers use up. And a tenant's own Deployments in the namespace would count for the limits.
func get(ctx context.Context, c *virtualapi.Client, namespace string, w proxy.Workload) (*workload, error) {
	var out *workload
	err := c.Fetch(ctx, listPath(namespace, w.Kind)+"/"+w.Name, c.Ordinary(), func(status int, body []byte) error {
		switch {
		case status == http.StatusNotFound:
			return nil
		case status != http.StatusOK:
			return fmt.Errorf("it answers for %s %s with status %d: %s", w.Kind, w.Name, status, podtrouble.Short(string(body)))
		}
		out = &workload{}
		if err := json.Unmarshal(body, out); err != nil {
			return fmt.Errorf("it answers for %s %s with something else: %w", w.Kind, w.Name, err)
		}
		return nil
	})
	return out, err
}

// describe completes what a summary says of the workload.
func (is *workload) describe(w *proxy.Workload) {
	w.UID = podtrouble.Short(string(is.UID))
	w.Replicas = 1
	if is.Spec.Replicas != nil {
		w.Replicas = *is.Spec.Replicas
	}
	w.Available = is.Status.ObservedGeneration > 0 && is.Status.ObservedGeneration >= is.Generation &&
		is.Status.UpdatedReplicas >= w.Replicas && is.Status.AvailableReplicas >= w.Replicas
	w.Images = map[string]string{}
	for i, container := range is.Spec.Template.Spec.Containers {
		if i < shownContainers {
			w.Images[podtrouble.Short(container.Name)] = podtrouble.Short(container.Image)
		}
	}
}

// age returns how long ago the workload was created.
func (is *workload) age() time.Duration { return time.Since(is.CreationTimestamp.Time) }
