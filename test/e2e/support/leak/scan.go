package leak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Hit is a needle found. It names the place and never shows the value.
type Hit struct {
	Needle, Where string
}

// Report is what a scan looked at and found.
type Report struct {
	Objects, Logs int
	Hits          []Hit

	mu sync.Mutex
}

// Of are the places where a needle was found.
func (r *Report) Of(needle string) []string {
	var out []string
	for _, h := range r.Hits {
		if h.Needle == needle {
			out = append(out, h.Where)
		}
	}
	slices.Sort(out)
	return out
}

func (r *Report) look(where string, haystack []byte, needles []Needle) {
	for _, n := range needles {
		if n.in(haystack) {
			r.mu.Lock()
			r.Hits = append(r.Hits, Hit{n.Name, where})
			r.mu.Unlock()
		}
	}
}

// Scan reads every object of every kind but Secrets, events included, and the logs of all containers of all pods,
// those of their previous runs too.
func Scan(ctx context.Context, c *kube.Cluster, needles ...Needle) (*Report, error) {
	r := &Report{}
	kinds, err := inventory.Kinds(c)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for _, kind := range kinds {
		if kind.GroupResource() == (schema.GroupResource{Resource: "secrets"}) {
			continue
		}
		group.Go(func() error { return r.objects(ctx, c, kind, needles) })
	}
	pods, err := c.Typed.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot list pods: %w", err)
	}
	for _, pod := range pods.Items {
		group.Go(func() error { return r.logs(ctx, c, &pod, needles) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Report) objects(ctx context.Context, c *kube.Cluster, kind schema.GroupVersionResource, needles []Needle) error {
	list, err := c.Dynamic.Resource(kind).List(ctx, metav1.ListOptions{})
	if kerrors.IsNotFound(err) || kerrors.IsMethodNotSupported(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list %s: %w", kind, err)
	}
	for _, o := range list.Items {
		data, err := json.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("cannot marshal %s %s: %w", kind, o.GetName(), err)
		}
		r.look(fmt.Sprintf("%s %s/%s", kind.GroupResource(), o.GetNamespace(), o.GetName()), data, needles)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Objects += len(list.Items)
	return nil
}

func (r *Report) logs(ctx context.Context, c *kube.Cluster, pod *corev1.Pod, needles []Needle) error {
	for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses) {
		for _, previous := range []bool{false, true} {
			if previous && s.RestartCount == 0 {
				continue
			}
			data, err := readLog(ctx, c, pod, corev1.PodLogOptions{Container: s.Name, Previous: previous})
			if gone(err) {
				continue
			}
			if err != nil {
				return fmt.Errorf("cannot read log of pod %s/%s container %s: %w", pod.Namespace, pod.Name, s.Name, err)
			}
			r.look(fmt.Sprintf("log of pod %s/%s container %s", pod.Namespace, pod.Name, s.Name), data, needles)
			r.mu.Lock()
			r.Logs++
			r.mu.Unlock()
		}
	}
	return nil
}

// readLog streams, since client-go tells the API server's reasons for refusing only then.
func readLog(ctx context.Context, c *kube.Cluster, pod *corev1.Pod, o corev1.PodLogOptions) ([]byte, error) {
	stream, err := c.Typed.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &o).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	return io.ReadAll(stream)
}

// gone reports whether there is no such log: the container has not started, or its log was rotated away with it.
func gone(err error) bool {
	if err == nil {
		return false
	}
	return kerrors.IsNotFound(err) || strings.Contains(err.Error(), "is waiting to start") ||
		strings.Contains(err.Error(), "previous terminated container")
}
