// Package diagnose writes down the state of a cluster after a failure, for people to read.
package diagnose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// Categories of kinds whose objects are written whole. No Secret is among them.
var categories = []string{"claim", "composite", "managed", "crossplane"}

// logLines is how much of each log is written.
const logLines = int64(1000)

// Dump writes one file for each kind of Crossplane's, the events, the pods, and the logs of the pods of some
// namespaces. It goes on after an error: half a dump is better than none.
func Dump(ctx context.Context, c *kube.Cluster, dir string, logsOf func(namespace string) bool) error {
	if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o755); err != nil {
		return fmt.Errorf("cannot make folder for the dump: %w", err)
	}
	return errors.Join(dumpKinds(ctx, c, dir), dumpEvents(ctx, c, dir), dumpPods(ctx, c, dir, logsOf))
}

func dumpKinds(ctx context.Context, c *kube.Cluster, dir string) error {
	lists, err := c.Typed.Discovery().ServerPreferredResources()
	errs := []error{err}
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			wanted := slices.ContainsFunc(r.Categories, func(s string) bool { return slices.Contains(categories, s) })
			if !wanted || !slices.Contains(r.Verbs, "list") {
				continue
			}
			objects, err := c.Dynamic.Resource(gv.WithResource(r.Name)).List(ctx, metav1.ListOptions{})
			if err != nil || len(objects.Items) == 0 {
				errs = append(errs, err)
				continue
			}
			for i := range objects.Items {
				objects.Items[i].SetManagedFields(nil)
			}
			data, err := yaml.Marshal(objects.Items)
			errs = append(errs, err, write(dir, fmt.Sprintf("%s.%s.yaml", r.Name, gv.Group), data))
		}
	}
	return errors.Join(errs...)
}

func dumpEvents(ctx context.Context, c *kube.Cluster, dir string) error {
	list, err := c.Typed.CoreV1().Events("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list events: %w", err)
	}
	when := func(e corev1.Event) metav1.Time {
		if e.LastTimestamp.IsZero() {
			return metav1.NewTime(e.EventTime.Time)
		}
		return e.LastTimestamp
	}
	slices.SortFunc(list.Items, func(a, b corev1.Event) int { return when(a).Compare(when(b).Time) })
	b := &strings.Builder{}
	for _, e := range list.Items {
		fmt.Fprintf(b, "%s %s %s %s/%s %s (%d): %s\n", when(e).UTC().Format("15:04:05"), e.Type,
			e.InvolvedObject.Kind, e.InvolvedObject.Namespace, e.InvolvedObject.Name, e.Reason, e.Count, e.Message)
	}
	return write(dir, "events.txt", []byte(b.String()))
}

func dumpPods(ctx context.Context, c *kube.Cluster, dir string, logsOf func(string) bool) error {
	list, err := c.Typed.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("cannot list pods: %w", err)
	}
	var errs []error
	b := &strings.Builder{}
	for _, pod := range list.Items {
		fmt.Fprintf(b, "%s/%s %s %s\n", pod.Namespace, pod.Name, pod.Status.Phase, pod.Status.Message)
		for _, s := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			fmt.Fprintf(b, "  %s ready=%t restarts=%d %s\n", s.Name, s.Ready, s.RestartCount, reason(s.State))
			if !logsOf(pod.Namespace) {
				continue
			}
			for _, previous := range []bool{false, true} {
				if previous && s.RestartCount == 0 {
					continue
				}
				lines := logLines
				data, err := c.Typed.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name,
					&corev1.PodLogOptions{Container: s.Name, TailLines: &lines, Previous: previous}).DoRaw(ctx)
				if err != nil {
					data = []byte(err.Error())
				}
				file := fmt.Sprintf("%s_%s_%s.log", pod.Namespace, pod.Name, s.Name)
				if previous {
					file = "previous_" + file
				}
				errs = append(errs, write(filepath.Join(dir, "logs"), file, data))
			}
		}
	}
	return errors.Join(append(errs, write(dir, "pods.txt", []byte(b.String())))...)
}

func reason(s corev1.ContainerState) string {
	switch {
	case s.Waiting != nil:
		return fmt.Sprintf("waiting: %s %s", s.Waiting.Reason, s.Waiting.Message)
	case s.Terminated != nil:
		return fmt.Sprintf("terminated: %s, exit code %d %s", s.Terminated.Reason, s.Terminated.ExitCode, s.Terminated.Message)
	}
	return "running"
}

func write(dir, file string, data []byte) error {
	if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
		return fmt.Errorf("cannot write the dump: %w", err)
	}
	return nil
}
