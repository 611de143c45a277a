//go:build e2e

package chaos

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/check"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// realClusters is the world of virtual clusters and providers that run in pods.
type realClusters struct {
	dialer *kube.Dialer

	mu sync.Mutex
	// marks are those in virtual clusters, by tenant.
	marks map[string]*check.Mark
}

func newReal(ctx context.Context) (*realClusters, error) {
	r := &realClusters{dialer: kube.NewDialer(host), marks: map[string]*check.Mark{}}
	// The dialer finds out how to reach Services while nothing is disturbed yet.
	conn, err := r.dialer.DialContext(ctx, "tcp", "kubernetes.default.svc:443")
	if err != nil {
		return nil, err
	}
	return r, conn.Close()
}

func (*realClusters) options() schedule.Options {
	return schedule.Options{
		Tenants: 2, Length: 6 * time.Minute, Plans: plans, ArgoCD: []string{"10.1.0", "10.1.1"}, Sleeps: true,
		// The host's version, and the one that the lab builds beside it for virtual clusters.
		Kubernetes: []string{toolchain.Version("kube-apiserver-1.35"), toolchain.Version("kube-apiserver")},
	}
}

func (*realClusters) seeds() []uint64 { return nil }

// readyWithin is long, because all tenants come up at once on two cores, and Helm waits for five minutes for what can't become ready.
func (*realClusters) readyWithin() time.Duration { return 15 * time.Minute }
func (*realClusters) goneWithin() time.Duration  { return 6 * time.Minute }

func (*realClusters) provider(p schedule.Part) parts.Part {
	return labelled("virtualargocd.io/package", string(p))
}

// of returns the pod of the tenant's control plane, or for its volume the program in the pod that reads and writes the volume.
func (*realClusters) of(p schedule.Part, claim string, _ func() string) parts.Part {
	program := ""
	if p == schedule.Volume {
		program = "kine"
	}
	return pods.Of(program, func(pod corev1.Pod) bool {
		return strings.HasPrefix(pod.Namespace, "vargo-"+claim+"-") && pod.Name == tenant.HelmVCluster+"-0"
	})
}

// open returns a client of a virtual cluster.
func (r *realClusters) open(ctx context.Context, id string) (*kube.Cluster, error) {
	secret, err := host.Typed.CoreV1().Secrets(crossplane).Get(ctx, tenant.NewNames(id, "").KubeconfigSecret, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data[tenant.KubeconfigKey])
	if err != nil {
		return nil, fmt.Errorf("cannot use the kubeconfig of %s: %w", id, err)
	}
	config.Dial, config.Timeout = r.dialer.DialContext, answersWithin
	return kube.New(config)
}

// Nobody brings back what can't run: it isn't gone, or scaled down.
func (r *realClusters) stop(ctx context.Context, id string) error {
	return r.patch(ctx, id, `{"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"},"template":{"spec":{"nodeSelector":{"e2e/no-node":"true"}}}}}`)
}

func (r *realClusters) start(ctx context.Context, id string) error {
	return r.patch(ctx, id, `{"spec":{"template":{"spec":{"nodeSelector":{"e2e/no-node":null}}}}}`)
}

func (r *realClusters) patch(ctx context.Context, id, patch string) error {
	virtual, err := r.open(ctx, id)
	if err != nil {
		return err
	}
	_, err = virtual.Typed.AppsV1().Deployments(tenant.ArgoCDNamespace).Patch(ctx, stoppable, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (r *realClusters) mark(ctx context.Context, id string) error {
	virtual, err := r.open(ctx, id)
	if err != nil {
		return err
	}
	return r.markOf(id).Write(ctx, virtual.Typed.CoreV1().ConfigMaps(metav1.NamespaceDefault))
}

func (r *realClusters) markOf(id string) *check.Mark {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.marks[id] == nil {
		r.marks[id] = &check.Mark{}
	}
	return r.marks[id]
}

func (r *realClusters) read(ctx context.Context, id string, t *check.Tenant) (problems []string, err error) {
	if t.VCluster, err = check.Installed(host.Typed, tenant.NewNames(id, "").Namespace, tenant.HelmVCluster); err != nil {
		return nil, err
	}
	virtual, err := r.open(ctx, id)
	if err != nil {
		return nil, err
	}
	if t.ArgoCD, err = check.Installed(virtual.Typed, tenant.ArgoCDNamespace, tenant.HelmArgoCD); err != nil {
		return nil, err
	}
	version, err := virtual.Typed.Discovery().ServerVersion()
	if err != nil {
		return nil, err
	}
	if is := t.Claim.VCluster.KubernetesVersion; version.GitVersion != is {
		problems = append(problems, fmt.Sprintf("Kubernetes %s runs, and the status says %s", version.GitVersion, is))
	}
	settings, err := virtual.Typed.CoreV1().ConfigMaps(tenant.ArgoCDNamespace).Get(ctx, "argocd-cmd-params-cm", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	t.Settings = settings.Data
	lost, err := r.markOf(id).Problem(ctx, virtual.Typed.CoreV1().ConfigMaps(metav1.NamespaceDefault))
	if err != nil {
		return nil, err
	}
	if lost != "" {
		problems = append(problems, lost)
	}
	deployments, err := virtual.Typed.AppsV1().Deployments(tenant.ArgoCDNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration < d.Generation || d.Spec.Replicas == nil || d.Status.AvailableReplicas != *d.Spec.Replicas || d.Status.UpdatedReplicas != *d.Spec.Replicas {
			problems = append(problems, fmt.Sprintf("Deployment %s has %d replicas available and %d updated", d.Name, d.Status.AvailableReplicas, d.Status.UpdatedReplicas))
		}
	}
	return problems, nil
}
