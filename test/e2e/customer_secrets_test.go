//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/leak"
)

// noSecretOutsideSecrets looks for every secret value of the tenant in every object but Secrets and in every log. In
// the same scan it looks for a canary that it has put in an object, an event and a log, and that must be found.
func (c *customer) noSecretOutsideSecrets(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	secret, err := c.live.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	config := connectionConfig(ctx, t, c.live)
	needles := []leak.Needle{
		leak.Value("the admin password", string(secret.Data["password"])),
		leak.JWT, leak.PrivateKey,
	}
	if len(config.KeyData) == 0 && config.BearerToken == "" {
		t.Fatal("the kubeconfig has neither a client key nor a token: what is its credential?")
	}
	if len(config.KeyData) > 0 {
		needles = append(needles, leak.Value("the kubeconfig's client key", string(config.KeyData)))
	}
	if config.BearerToken != "" {
		needles = append(needles, leak.Value("the kubeconfig's token", config.BearerToken))
	}
	// The kubeconfig's Secret in the tenant's namespace may have more than the kubeconfig: no part of it may be elsewhere.
	source, err := host.Typed.CoreV1().Secrets(c.state.Namespace).Get(ctx, "vc-vcluster", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("cannot get the Secret that vcluster makes: %v", err)
	}
	for _, key := range []string{"client-key", "token"} {
		if v := strings.TrimSpace(string(source.Data[key])); v != "" {
			needles = append(needles, leak.Value("vcluster's "+key, v))
		}
	}
	redis, err := open(ctx, t, c.live).Typed.CoreV1().Secrets("argocd").Get(ctx, "argocd-redis", metav1.GetOptions{})
	if err != nil || len(redis.Data["auth"]) < 32 {
		t.Fatalf("redis has no password that the function made: %v, %v", redis, err)
	}
	needles = append(needles, leak.Value("redis' password", string(redis.Data["auth"])))

	needles = append(needles, c.credentials.needles...)

	canary := "canary-" + string(c.state.Object.GetUID())
	plant(ctx, t, canary)
	start := time.Now()
	report := scan(ctx, t, host, append(needles, leak.Value("canary", canary))...)
	measured.add("customer1: scan of all objects and logs for secrets", time.Since(start))
	t.Logf("looked for %d secrets in %d objects and %d logs", len(needles), report.Objects, report.Logs)

	found := strings.Join(report.Of("canary"), "\n")
	for _, place := range []string{"configmaps " + gitNamespace + "/canary", "events ", "log of pod " + gitNamespace + "/canary"} {
		if !strings.Contains(found, place) {
			t.Errorf("the scan is blind: it does not find the canary planted in %q, but only in\n%s", place, found)
		}
	}
	// Argo CD reads what it is given from the virtual cluster's Secrets, and writes elsewhere there. Its logs are among
	// the host's.
	inside := scan(ctx, t, open(ctx, t, c.live), needles...)
	t.Logf("looked in %d objects and %d logs of the virtual cluster", inside.Objects, inside.Logs)
	for _, hit := range inside.Hits {
		t.Errorf("%s is in %s of the virtual cluster", hit.Needle, hit.Where)
	}
	for _, hit := range report.Hits {
		if hit.Needle != "canary" {
			t.Errorf("%s is in %s", hit.Needle, hit.Where)
		}
	}
	return ctx
}

// scan looks for secrets until one look has seen all: pods and logs may go while they are read.
func scan(ctx context.Context, t *testing.T, c *kube.Cluster, needles ...leak.Needle) (report *leak.Report) {
	t.Helper()
	eventually.True(ctx, t, 3*time.Minute, "all objects and logs are read", func(ctx context.Context) (bool, string) {
		var err error
		report, err = leak.Scan(ctx, c, needles...)
		return err == nil, fmt.Sprint(err)
	})
	return report
}

// plant puts the canary into an object in an encoded form, into an event, and into the log of a pod.
func plant(ctx context.Context, t *testing.T, canary string) {
	t.Helper()
	core := host.Typed.CoreV1()
	meta := metav1.ObjectMeta{Name: "canary", Namespace: gitNamespace}
	_, err := core.ConfigMaps(gitNamespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: meta, BinaryData: map[string][]byte{"file": []byte("value=" + canary + "\n")},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.Events(gitNamespace).Create(ctx, &corev1.Event{
		ObjectMeta: meta, InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Namespace: gitNamespace, Name: "canary"},
		Reason: "Planted", Message: "the value is " + canary, Type: corev1.EventTypeNormal,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	git, err := host.Typed.AppsV1().Deployments(gitNamespace).Get(ctx, "git", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = core.Pods(gitNamespace).Create(ctx, &corev1.Pod{
		ObjectMeta: meta,
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{
				Name: "canary", Image: git.Spec.Template.Spec.Containers[0].Image, Command: []string{"cat", "/canary/file"},
				VolumeMounts: []corev1.VolumeMount{{Name: "canary", MountPath: "/canary"}},
			}},
			Volumes: []corev1.Volume{{Name: "canary", VolumeSource: corev1.VolumeSource{
				ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "canary"}},
			}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = wait.For(func(ctx context.Context) (bool, error) {
		pod, err := core.Pods(gitNamespace).Get(ctx, "canary", metav1.GetOptions{})
		return err == nil && pod.Status.Phase == corev1.PodSucceeded, nil
	}, wait.WithContext(ctx), wait.WithTimeout(2*time.Minute), wait.WithInterval(time.Second))
	if err != nil {
		t.Fatalf("the pod that prints the canary does not end (kubectl -n %s describe pod canary): %v", gitNamespace, err)
	}
}
