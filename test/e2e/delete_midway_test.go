//go:build e2e

package e2e

import (
	"context"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// TestDeleteMidway deletes claims while they are being provisioned, one at each phase, side by side.
func TestDeleteMidway(t *testing.T) {
	t.Parallel()
	testenv.Test(t, features.New("midway").
		Assess("DeleteAtEachPhase", deleteAtEachPhase).
		Assess("CompositeInTheForeground", deleteCompositeInTheForeground).
		Feature())
}

// phases of provisioning, in the order they come, each with what shows that it is reached.
var phases = []struct {
	name    string
	reached func(context.Context, *claim.Live) (bool, string)
}{
	{"accepted", func(context.Context, *claim.Live) (bool, string) {
		return true, ""
	}},
	{"bound", func(ctx context.Context, l *claim.Live) (bool, string) {
		_, err := l.XR(ctx)
		return err == nil, "no composite resource"
	}},
	{"namespace", func(ctx context.Context, l *claim.Live) (bool, string) {
		return tenantNamespace(ctx, l) != "", "no namespace"
	}},
	{"vcluster", func(ctx context.Context, l *claim.Live) (bool, string) {
		ns := tenantNamespace(ctx, l)
		if ns == "" {
			return false, "no namespace"
		}
		_, err := host.Typed.AppsV1().StatefulSets(ns).Get(ctx, "vcluster", metav1.GetOptions{})
		return err == nil, "no StatefulSet"
	}},
	{"kubeconfig", func(ctx context.Context, l *claim.Live) (bool, string) {
		s, err := l.State(ctx)
		if err != nil {
			return false, err.Error()
		}
		return s.True(claim.VirtualClusterReady), s.String()
	}},
	{"argocd", func(ctx context.Context, l *claim.Live) (bool, string) {
		ns := tenantNamespace(ctx, l)
		if ns == "" {
			return false, "no namespace"
		}
		pods, err := host.Typed.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, p := range pods.Items {
			if strings.HasPrefix(p.Name, "argocd-") {
				return true, ""
			}
		}
		return false, "no pod of Argo CD"
	}},
}

func deleteAtEachPhase(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, phase := range phases {
		t.Run(phase.name, func(t *testing.T) {
			t.Parallel()
			l := claim.Create(ctx, t, host, newClaim("midway-"+phase.name))
			defer cleanUp(ctx, t, l)
			eventually.True(ctx, t, readyWithin, "phase "+phase.name+" is reached", func(ctx context.Context) (bool, string) {
				return phase.reached(ctx, l)
			})
			measured.add("midway: deleted at phase "+phase.name+" to nothing left", deleteAndAwait(ctx, t, l, goneWithin))
		})
	}
	return ctx
}

// deleteCompositeInTheForeground has an administrator delete the composite resource as kubectl delete --cascade=foreground does, by which
// Kubernetes deletes all that it owns at once, and the claim.
func deleteCompositeInTheForeground(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	l := claim.Create(ctx, t, host, newClaim("foreground"))
	defer cleanUp(ctx, t, l)
	l.AwaitReady(ctx, t, readyWithin)
	xr, err := l.XR(ctx)
	if err != nil {
		t.Fatal(err)
	}
	foreground := metav1.DeletePropagationForeground
	if err := all(t, xr.GroupVersionKind()).Delete(ctx, xr.GetName(), metav1.DeleteOptions{PropagationPolicy: &foreground}); err != nil {
		t.Fatal(err)
	}
	measured.add("midway: composite resource deleted in the foreground to nothing left", deleteAndAwait(ctx, t, l, goneWithin))
	return ctx
}

// tenantNamespace is the host namespace of a claim's tenant once it exists.
func tenantNamespace(ctx context.Context, l *claim.Live) string {
	list, err := host.Typed.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	for _, ns := range list.Items {
		if strings.HasPrefix(ns.Name, "vargo-"+l.Name+"-") {
			return ns.Name
		}
	}
	return ""
}
