//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/charts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

const (
	// componentWithin is how long a component may take, beside other tests: its images are unpacked for the first time.
	componentWithin = 4 * time.Minute
	// runWithin is how long a workflow of two steps, or a rollout of three, may take.
	runWithin = 3 * time.Minute
)

var (
	workflowKind   = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"}
	rolloutKind    = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Rollout"}
	definitionKind = schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	deploymentKind = schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}
)

// componentsChannel offers versions of them. It isn't named after the claim: what is left of that is looked for by its name.
const componentsChannel = "e2e-charts"

// components is a customer with all of Argo that can be built here.
type components struct {
	live    *claim.Live
	virtual *kube.Cluster
	host    string
}

func TestComponents(t *testing.T) {
	onlyInFull(t)
	needsEmbedded(t)
	t.Parallel()
	c := &components{host: "components." + ingress.Domain}
	testenv.Test(t, features.New("components").
		Setup(c.create).
		Assess("AllBecomeReady", c.becomeReady).
		Assess("OneWithoutAChartIsTakenOut", c.withoutChart).
		Assess("ANewVersionIsOffered", c.newVersion).
		Assess("ABrokenOfferIsTakenBack", c.brokenOffer).
		Assess("WorkflowRuns", c.workflow).
		Assess("RolloutGoesThroughItsSteps", c.rollout).
		Assess("WebhookStartsWorkflow", c.webhook).
		Assess("OneThatFailsHoldsUpNothing", c.fails).
		Assess("OneIsRemoved", c.removed).
		Assess("AndComesBack", c.comesBack).
		Assess("DeletedWhileOneIsRemoved", c.deleted).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, c.live)
			if err := all(t, channels).Delete(ctx, componentsChannel, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
				t.Error(err)
			}
			return ctx
		}).Feature())
}

// named are entries of spec.components.
func named(names ...string) []any {
	var out []any
	for _, name := range names {
		out = append(out, map[string]any{"name": name})
	}
	return out
}

func (c *components) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	emptyChannel(ctx, t, componentsChannel)
	c.offer(ctx, t, `[{"name":"events","chartVersion":"9.9.9"}]`, "events", "9.9.9")
	c.live = claim.Create(ctx, t, host, newClaim("components").Set(componentsChannel, "spec", "channel").
		Set(c.host, "spec", "ingress", "host").Set(named("workflows", "rollouts", "events"), "spec", "components"))
	return ctx
}

// await waits until a component is in a state.
func (c *components) await(ctx context.Context, t *testing.T, name string, state v1alpha1.ComponentState) *claim.State {
	t.Helper()
	start := time.Now()
	s := c.live.Await(ctx, t, componentWithin, "component "+name+" "+string(state), func(s *claim.State) bool { return s.Component(name).State == string(state) })
	measured.add("component "+name+" "+string(state), time.Since(start))
	return s
}

// offer sets what the channel offers of components, and waits until it has a version of one of them.
func (c *components) offer(ctx context.Context, t *testing.T, components, name, version string) {
	t.Helper()
	patch := []byte(`{"spec":{"offer":{"components":` + components + `}}}`)
	if _, err := all(t, channels).Patch(ctx, componentsChannel, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, 2*time.Minute, "the channel offers "+name+" "+version, func(ctx context.Context) (bool, string) {
		o, err := all(t, channels).Get(ctx, componentsChannel, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		is, _, _ := unstructured.NestedString(o.Object, "status", "versions", "components", name)
		return is == version, fmt.Sprint(o.Object["status"])
	})
}

func (c *components) becomeReady(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.AwaitReady(ctx, t, readyWithin)
	for _, name := range []string{"workflows", "rollouts"} {
		c.isInstalled(ctx, t, name)
	}
	c.virtual = open(ctx, t, c.live)
	return ctx
}

// isInstalled waits until a component is ready.
func (c *components) isInstalled(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if got := c.await(ctx, t, name, v1alpha1.ComponentReady).Component(name).Version; got != charts.ComponentVersion {
		t.Errorf("%s has version %q", name, got)
	}
}

// withoutChart takes a component out of the claim whose chart can't be pulled, and has it once the offer is corrected.
func (c *components) withoutChart(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.Await(ctx, t, componentWithin, "component events fails", func(s *claim.State) bool {
		return s.Component("events").State == string(v1alpha1.ComponentFailed) && strings.Contains(s.Component("events").Message, "9.9.9")
	})
	c.live.Patch(ctx, t, named("workflows", "rollouts"), "spec", "components")
	c.live.Await(ctx, t, 2*time.Minute, "component events is taken out", func(s *claim.State) bool { return s.Component("events").State == "" && s.True(claim.ComponentsReady) })
	c.offer(ctx, t, "[]", "events", charts.ComponentVersion)
	c.live.Patch(ctx, t, named("workflows", "rollouts", "events"), "spec", "components")
	c.isInstalled(ctx, t, "events")
	c.live.Await(ctx, t, time.Minute, "condition ComponentsReady", func(s *claim.State) bool { return s.True(claim.ComponentsReady) })
	return ctx
}

// newVersion has the channel offer the next version of a chart.
func (c *components) newVersion(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.offer(ctx, t, `[{"name":"rollouts","chartVersion":"`+charts.NextComponentVersion+`"}]`, "rollouts", charts.NextComponentVersion)
	start := time.Now()
	c.live.Await(ctx, t, offeredWithin, "rollouts have the next version", func(s *claim.State) bool {
		is := s.Component("rollouts")
		return is.Version == charts.NextComponentVersion && is.State == string(v1alpha1.ComponentReady)
	})
	measured.add("component rollouts upgraded", time.Since(start))
	c.showMemory(ctx, t)
	return ctx
}

// showMemory logs what each pod of the tenant takes, those of components among them.
func (c *components) showMemory(ctx context.Context, t *testing.T) {
	t.Helper()
	pods, err := host.Typed.CoreV1().Pods(tenantNamespace(ctx, c.live)).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if !ready(pod) {
			continue
		}
		for name, is := range useOf(ctx, t, pod) {
			t.Logf("%-60s %-30s %4d MiB, with files %4d", pod.Name, name, is.Memory.RSSBytes>>20, is.Memory.WorkingSetBytes>>20)
		}
	}
}

// brokenOffer has the channel offer values that the virtual API server refuses: the release from before goes on, and the claim says so.
func (c *components) brokenOffer(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const with = `[{"name":"rollouts","chartVersion":"` + charts.NextComponentVersion + `","values":%s}]`
	c.offer(ctx, t, fmt.Sprintf(with, `{"controller":{"resources":{"limits":{"memory":"64Mi"},"requests":{"memory":"128Mi"}}}}`), "rollouts", charts.NextComponentVersion)
	c.live.Await(ctx, t, offeredWithin, "says that the change of rollouts is given up", func(s *claim.State) bool {
		is := s.Component("rollouts")
		return s.Condition(claim.SpecAccepted).Reason == v1alpha1.ReasonUpgradeFailed && is.State == string(v1alpha1.ComponentFailed) && is.Version == charts.NextComponentVersion && s.IsReady()
	})
	d, err := c.get(ctx, deploymentKind, "argo-rollouts", "argo-rollouts")
	if err != nil {
		t.Fatal(err)
	}
	if available, _, _ := unstructured.NestedInt64(d.Object, "status", "availableReplicas"); available != 1 {
		t.Errorf("the release from before doesn't run: %v", d.Object["status"])
	}
	c.offer(ctx, t, fmt.Sprintf(with, "{}"), "rollouts", charts.NextComponentVersion)
	c.live.Await(ctx, t, offeredWithin, "has the correction in use", func(s *claim.State) bool {
		return s.True(claim.SpecAccepted) && s.Component("rollouts").State == string(v1alpha1.ComponentReady)
	})
	return ctx
}

// example is a file that users copy, with texts replaced by those of this cluster.
func example(t *testing.T, file string, replacements ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("../../examples/components", file))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(string(raw), replacements[i]) {
			t.Fatalf("%s has no %s", file, replacements[i])
		}
	}
	return strings.NewReplacer(replacements...).Replace(string(raw))
}

// ofCluster replaces the image of the examples' pods by one that the cluster has.
var ofCluster = []string{"docker.io/library/busybox:1.37", artifacts.BackupKubectlImage}

// applyIn creates objects in a virtual cluster.
func applyIn(ctx context.Context, t *testing.T, virtual *kube.Cluster, manifests string) {
	t.Helper()
	for _, text := range strings.Split(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		of, err := virtual.Resource(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := of.Create(ctx, o, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
			t.Fatalf("cannot create %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// apply creates objects in the virtual cluster.
func (c *components) apply(ctx context.Context, t *testing.T, manifests string) {
	t.Helper()
	applyIn(ctx, t, c.virtual, manifests)
}

// readIn reads an object of a virtual cluster.
func readIn(ctx context.Context, virtual *kube.Cluster, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	of, err := virtual.Resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return of.Get(ctx, name, metav1.GetOptions{})
}

// get reads an object of the virtual cluster.
func (c *components) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	return readIn(ctx, c.virtual, gvk, namespace, name)
}

// awaitPhaseIn waits until an object of a virtual cluster, in its namespace default, is in a phase.
func awaitPhaseIn(ctx context.Context, t *testing.T, virtual *kube.Cluster, gvk schema.GroupVersionKind, name, phase string) {
	t.Helper()
	eventually.True(ctx, t, runWithin, gvk.Kind+" "+name+" is "+phase, func(ctx context.Context) (bool, string) {
		o, err := readIn(ctx, virtual, gvk, "default", name)
		if err != nil {
			return false, err.Error()
		}
		is, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(o.Object, "status", "message")
		return is == phase, is + " " + message
	})
}

func (c *components) awaitPhase(ctx context.Context, t *testing.T, gvk schema.GroupVersionKind, name, phase string) {
	t.Helper()
	awaitPhaseIn(ctx, t, c.virtual, gvk, name, phase)
}

// workflow runs code of the customer, whose pods are on the host within the tenant's bounds.
func (c *components) workflow(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.apply(ctx, t, example(t, "workflow.yaml", ofCluster...))
	c.awaitPhase(ctx, t, workflowKind, "hello", "Succeeded")
	state, err := c.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pods, err := host.Typed.CoreV1().Pods(state.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "workflows.argoproj.io/workflow=hello"})
	if err != nil || len(pods.Items) != 2 {
		t.Fatalf("the host has %d pods of the workflow: %v", len(pods.Items), err)
	}
	for _, pod := range pods.Items {
		if pod.Annotations["workflows.argoproj.io/node-id"] == "" || pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken {
			t.Errorf("pod %s: annotations %v, token of the host %v", pod.Name, pod.Annotations, pod.Spec.AutomountServiceAccountToken)
		}
		for _, container := range pod.Spec.Containers {
			if container.Resources.Limits.Memory().IsZero() {
				t.Errorf("container %s of pod %s has no limit of memory", container.Name, pod.Name)
			}
		}
	}
	return ctx
}

func (c *components) rollout(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.apply(ctx, t, example(t, "rollout.yaml", ofCluster...))
	c.awaitPhase(ctx, t, rolloutKind, "shop", "Healthy")
	of, err := c.virtual.Resource(rolloutKind, "default")
	if err != nil {
		t.Fatal(err)
	}
	const next = `[{"op":"replace","path":"/spec/template/spec/containers/0/env/0/value","value":"2"}]`
	if _, err := of.Patch(ctx, "shop", "application/json-patch+json", []byte(next), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	c.awaitPhase(ctx, t, rolloutKind, "shop", "Paused")
	c.awaitPhase(ctx, t, rolloutKind, "shop", "Healthy")
	state, err := c.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	service, err := host.Typed.CoreV1().Services(state.Namespace).Get(ctx, "canary-x-default-x-vcluster", metav1.GetOptions{})
	if err != nil || service.Annotations["argo-rollouts.argoproj.io/managed-by-rollouts"] != "shop" {
		t.Errorf("what Rollouts has written of the Service hasn't reached the host: %v, %v", service.GetAnnotations(), err)
	}
	return ctx
}

// nats is one pod of NATS, since the cluster has no images of the three pods that Argo Events would make for the EventBus of the example.
const nats = `apiVersion: apps/v1
kind: Deployment
metadata: {name: nats, namespace: argo-events}
spec:
  selector: {matchLabels: {app: nats}}
  template:
    metadata: {labels: {app: nats}}
    spec:
      containers:
        - name: nats
          image: "%s"
          args: [-js, -sd, /data, --tls, --tlscert=/tls/tls.crt, --tlskey=/tls/tls.key]
          volumeMounts: [{name: data, mountPath: /data}, {name: tls, mountPath: /tls}]
      volumes: [{name: data, emptyDir: {}}, {name: tls, secret: {secretName: nats}}]
---
apiVersion: v1
kind: Secret
metadata: {name: nats, namespace: argo-events}
data: {tls.crt: %s, tls.key: %s}
---
apiVersion: v1
kind: Service
metadata: {name: nats, namespace: argo-events}
spec: {selector: {app: nats}, ports: [{port: 4222}]}`

// exotic is in place of the example's own NATS.
const exotic = `  jetstreamExotic: {url: "nats://nats.argo-events:4222", streamConfig: "replicas: 1\n"}`

// stolen is an Ingress with which whoever may write in another namespace would get what people send to a path of Argo CD's URL.
const stolen = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: stolen, namespace: default}
spec:
  rules: [{host: %s, http: {paths: [{path: /api/webhook, pathType: Prefix, backend: {service: {name: stable, port: {number: 80}}}}]}}]`

func (c *components) webhook(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if ingress.Address == "" {
		t.Skip("THE WEBHOOK IS NOT TRIED: THAT TAKES THE INGRESS CONTROLLER OF THE EMBEDDED CLUSTER")
	}
	c.apply(ctx, t, fmt.Sprintf(stolen, c.host))
	// Argo Events takes any certificate, but no connection without TLS.
	certificate, key, err := cert.GenerateSelfSignedCertKey("nats", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	encode := base64.StdEncoding.EncodeToString
	c.apply(ctx, t, fmt.Sprintf(nats, artifacts.NATSImage(), encode(certificate), encode(key)))
	c.apply(ctx, t, example(t, "eventbus.yaml", "  jetstream:\n    version: 2.10.10", exotic))
	c.apply(ctx, t, example(t, "webhook.yaml", append([]string{"ingressClassName: nginx", "ingressClassName: traefik", "host: customer1.example.org", "host: " + c.host}, ofCluster...)...))
	authority, err := os.ReadFile(ingress.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	pushed := ""
	eventually.True(ctx, t, componentWithin, "the webhook takes an event through the claim's hostname", func(ctx context.Context) (bool, string) {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+c.host+"/push", strings.NewReader(`{"ref":"main"}`))
		if err != nil {
			return false, err.Error()
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := client.Do(request)
		if err != nil {
			return false, err.Error()
		}
		defer response.Body.Close() //nolint:errcheck // It was read.
		body, _ := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusOK {
			return false, fmt.Sprint(response.Status, " ", string(body))
		}
		// The sensor may not have listened yet.
		pushed, err = c.pushed(ctx)
		return pushed != "", fmt.Sprint("no Workflow yet: ", err)
	})
	c.awaitPhase(ctx, t, workflowKind, pushed, "Succeeded")
	// vcluster has tried it for longer than the other one.
	state, err := c.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Typed.NetworkingV1().Ingresses(state.Namespace).Get(ctx, "stolen-x-default-x-vcluster", metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("an Ingress of another namespace is on the host: %v", err)
	}
	return ctx
}

// pushed is the name of a Workflow that the Sensor has started; "" for none.
func (c *components) pushed(ctx context.Context) (string, error) {
	of, err := c.virtual.Resource(workflowKind, "default")
	if err != nil {
		return "", err
	}
	all, err := of.List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", err
	}
	for _, o := range all.Items {
		if strings.HasPrefix(o.GetName(), "push-") {
			return o.GetName(), nil
		}
	}
	return "", nil
}

// fails has a component fail, which neither Argo CD nor another one notices. What somebody has scaled down comes back by itself, as what is deleted.
func (c *components) fails(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	of, err := c.virtual.Resource(deploymentKind, "argo-rollouts")
	if err != nil {
		t.Fatal(err)
	}
	// Until it is back, the claim says what is wrong, or that it is brought back.
	const stop = `{"spec":{"replicas":0}}`
	if _, err := of.Patch(ctx, "argo-rollouts", "application/merge-patch+json", []byte(stop), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	broken := false
	s := c.live.Await(ctx, t, backWithin, "rollouts are brought back", func(s *claim.State) bool {
		is := s.Component("rollouts").State
		if !s.IsReady() || s.Component("workflows").State != string(v1alpha1.ComponentReady) {
			t.Errorf("one component fails: %s, %v", s, s.Components)
		}
		broken = broken || is == string(v1alpha1.ComponentUnavailable) || is == string(v1alpha1.ComponentInstalling)
		return broken && is == string(v1alpha1.ComponentReady)
	})
	if d, err := c.get(ctx, deploymentKind, "argo-rollouts", "argo-rollouts"); err != nil {
		t.Errorf("%s: %v, %v", s, d, err)
	}
	if err := of.Delete(ctx, "argo-rollouts", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, backWithin, "the Deployment of rollouts is back", func(ctx context.Context) (bool, string) {
		_, err := c.get(ctx, deploymentKind, "argo-rollouts", "argo-rollouts")
		return err == nil, fmt.Sprint(err)
	})
	c.await(ctx, t, "rollouts", v1alpha1.ComponentReady)
	return ctx
}

// removed takes a component out of the claim: its workloads go, and what the customer has made with it stays.
func (c *components) removed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.Patch(ctx, t, named("workflows", "events"), "spec", "components")
	seen := false
	start := time.Now()
	s := c.live.Await(ctx, t, componentWithin, "rollouts are removed", func(s *claim.State) bool {
		seen = seen || s.Component("rollouts").State == string(v1alpha1.ComponentRemoving)
		return s.Component("rollouts").State == "" && s.True(claim.ComponentsReady)
	})
	measured.add("component rollouts removed", time.Since(start))
	if !seen || !s.IsReady() {
		t.Errorf("it was said to be removed: %t; %s", seen, s)
	}
	if _, err := c.get(ctx, deploymentKind, "argo-rollouts", "argo-rollouts"); !kerrors.IsNotFound(err) {
		t.Errorf("its Deployment is still there: %v", err)
	}
	if _, err := c.get(ctx, definitionKind, "", "rollouts.argoproj.io"); err != nil {
		t.Errorf("its CustomResourceDefinition is gone: %v", err)
	}
	if _, err := c.get(ctx, rolloutKind, "default", "shop"); err != nil {
		t.Errorf("the customer's Rollout is gone: %v", err)
	}
	return ctx
}

func (c *components) comesBack(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.Patch(ctx, t, named("workflows", "events", "rollouts"), "spec", "components")
	c.await(ctx, t, "rollouts", v1alpha1.ComponentReady)
	if _, err := c.get(ctx, deploymentKind, "argo-rollouts", "argo-rollouts"); err != nil {
		t.Errorf("its Deployment isn't back: %v", err)
	}
	return ctx
}

// deleted deletes the tenant in the moment in which a component is being removed.
func (c *components) deleted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.Patch(ctx, t, named("workflows"), "spec", "components")
	// A claim may tell of a removal only once it is over.
	c.live.Await(ctx, t, componentWithin, "rollouts are being removed", func(s *claim.State) bool { return s.Component("rollouts").State != string(v1alpha1.ComponentReady) })
	deletePromptly(ctx, t, c.live)
	return ctx
}
