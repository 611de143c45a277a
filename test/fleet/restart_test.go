//go:build e2e

package fleet

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/virtual-argocd/virtual-argocd/test/chaos/parts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// runsWithin is how long the parts of the platform may take to start again.
const runsWithin = 10 * time.Minute

// killAll kills all parts of the platform, each while the ones before start again, and waits until all run.
func killAll(ctx context.Context, t *testing.T) {
	t.Helper()
	following, stop := context.WithCancel(ctx)
	defer stop()
	machine := parts.NewMachine(cluster)
	pods := parts.NewPods(machine, host.Typed)
	go pods.Follow(following)
	before := podsOf(ctx, t)

	kill := func(what string, part parts.Part) {
		eventually.True(ctx, t, runsWithin, what+" is killed", func(ctx context.Context) (bool, string) {
			err := part.Kill(ctx)
			if err != nil && !errors.Is(err, parts.ErrNotThere) {
				t.Fatalf("cannot kill %s: %v", what, err)
			}
			return err == nil, fmt.Sprint(err)
		})
	}
	kill("function", pods.Labelled(crossplane, "virtualargocd.io/package", "function"))
	kill("Crossplane", pods.Labelled(crossplane, "app", "crossplane"))
	kill("Crossplane's RBAC manager", pods.Labelled(crossplane, "app", "crossplane-rbac-manager"))
	for _, p := range providers {
		kill("provider", p)
	}
	for _, daemon := range []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		kill(daemon, machine.Daemon(daemon))
	}

	eventually.True(ctx, t, runsWithin, "all pods of Crossplane were replaced and are ready", func(ctx context.Context) (bool, string) {
		list, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		ready := 0
		for _, pod := range list.Items {
			if before[pod.UID] {
				return false, "pod " + pod.Name + " is the one from before"
			}
			for _, c := range pod.Status.Conditions {
				if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					ready++
				}
			}
		}
		return ready == len(before), fmt.Sprintf("%d of %d pods are ready", ready, len(before))
	})
}

// podsOf returns the UIDs of Crossplane's pods, the function's among them.
func podsOf(ctx context.Context, t *testing.T) map[types.UID]bool {
	t.Helper()
	list, err := host.Typed.CoreV1().Pods(crossplane).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[types.UID]bool{}
	for _, pod := range list.Items {
		out[pod.UID] = true
	}
	return out
}
