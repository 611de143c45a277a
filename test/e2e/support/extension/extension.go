// Package extension runs a server of the UI extension for Rollouts in a cluster, and reads what the example of the catalogue says about it.
package extension

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const name = "extension"

// Run starts the server in a namespace, and returns the URL of the extension's archive. The URL has an address and no name, so that it is
// understood inside virtual clusters too.
func Run(ctx context.Context, t testing.TB, host *kube.Cluster, namespace string) string {
	t.Helper()
	labels := map[string]string{"app": name}
	meta := metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels}
	service, err := host.Typed.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: meta, Spec: corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: artifacts.ExtensionPort}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot create the Service of the extension's server: %v", err)
	}
	probe := &corev1.Probe{PeriodSeconds: 2, ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/extension.tar", Port: intstr.FromInt(artifacts.ExtensionPort)}}}
	if _, err := host.Typed.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64), // There is nothing to finish.
					Containers:                    []corev1.Container{{Name: name, Image: artifacts.ExtensionImage, ReadinessProbe: probe}},
				},
			},
		},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot create the Deployment of the extension's server: %v", err)
	}
	host.AwaitDeployment(ctx, t, "the extension's server", namespace, name)
	return fmt.Sprintf("http://%s:%d/extension.tar", service.Spec.ClusterIP, artifacts.ExtensionPort)
}

var (
	// commented are the commented argocdValues in a catalogue.
	commented = regexp.MustCompile(`(?m)^    # argocdValues:\n(?:    #  .*\n)+`)
	// published is the address of the extension that the project has published.
	published = regexp.MustCompile(`https://\S+/extension\.tar`)
)

// ArgoCDValues returns the argocdValues that a file with a catalogue has in comments, with the address of the extension, unless that is empty.
func ArgoCDValues(t testing.TB, file, url string) map[string]any {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := commented.FindAllString(string(raw), -1)
	if len(lines) != 1 || !published.MatchString(lines[0]) {
		t.Fatalf("%s has %d times commented argocdValues, and in them must be an address: %q", file, len(lines), lines)
	}
	if url != "" {
		lines[0] = published.ReplaceAllString(lines[0], url)
	}
	var entry map[string]map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(lines[0], "    # ", "")), &entry); err != nil {
		t.Fatalf("%s: the commented argocdValues are no YAML: %v", file, err)
	}
	return entry["argocdValues"]
}
