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
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
		Assess("WorkflowRuns", c.workflow).
		Assess("RolloutGoesThroughItsSteps", c.rollout).
		Assess("WebhookStartsWorkflow", c.webhook).
		Assess("OneThatFailsHoldsUpNothing", c.fails).
		Assess("OneIsRemoved", c.removed).
		Assess("AndComesBack", c.comesBack).
		Assess("DeletedWhileOneIsRemoved", c.deleted).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, c.live)
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
	c.live = claim.Create(ctx, t, host, newClaim("components").
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

func (c *components) becomeReady(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.live.AwaitReady(ctx, t, readyWithin)
	for _, name := range []string{"workflows", "rollouts", "events"} {
		s := c.await(ctx, t, name, v1alpha1.ComponentReady)
		if got := s.Component(name).Version; got != charts.ComponentVersion {
			t.Errorf("%s has version %q", name, got)
		}
	}
	c.live.Await(ctx, t, time.Minute, "condition ComponentsReady", func(s *claim.State) bool { return s.True(claim.ComponentsReady) })
	c.virtual = open(ctx, t, c.live)
	return ctx
}

// apply creates objects in the virtual cluster.
func (c *components) apply(ctx context.Context, t *testing.T, manifests string) {
	t.Helper()
	for _, text := range strings.Split(manifests, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatal(err)
		}
		of, err := c.virtual.Resource(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := of.Create(ctx, o, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
			t.Fatalf("cannot create %s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// get reads an object of the virtual cluster.
func (c *components) get(ctx context.Context, gvk schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	of, err := c.virtual.Resource(gvk, namespace)
	if err != nil {
		return nil, err
	}
	return of.Get(ctx, name, metav1.GetOptions{})
}

// awaitPhase waits until an object is in a phase.
func (c *components) awaitPhase(ctx context.Context, t *testing.T, gvk schema.GroupVersionKind, name, phase string) {
	t.Helper()
	eventually.True(ctx, t, runWithin, gvk.Kind+" "+name+" is "+phase, func(ctx context.Context) (bool, string) {
		o, err := c.get(ctx, gvk, "default", name)
		if err != nil {
			return false, err.Error()
		}
		is, _, _ := unstructured.NestedString(o.Object, "status", "phase")
		message, _, _ := unstructured.NestedString(o.Object, "status", "message")
		return is == phase, is + " " + message
	})
}

// rights let a workflow report what its pods do, as its documentation says.
const rights = `apiVersion: v1
kind: ServiceAccount
metadata: {name: workflow, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: executor, namespace: default}
rules:
  - {apiGroups: [argoproj.io], resources: [workflowtaskresults], verbs: [create, patch]}
  - {apiGroups: [argoproj.io], resources: [workflows], verbs: [create, get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: executor, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: executor}
subjects: [{kind: ServiceAccount, name: workflow, namespace: default}]`

// steps is the spec of a workflow of two steps.
func steps() string {
	step := "{name: say, container: {image: \"" + artifacts.BackupKubectlImage + "\", command: [sh, -c, \"echo hello\"], securityContext: {runAsUser: 1000}}}"
	return `{serviceAccountName: workflow, entrypoint: main, templates: [{name: main, steps: [[{name: first, template: say}], [{name: second, template: say}]]}, ` + step + `]}`
}

// workflow runs code of the customer, whose pods are on the host within the tenant's bounds.
func (c *components) workflow(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.apply(ctx, t, rights)
	c.apply(ctx, t, "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {name: hello, namespace: default}\nspec: "+steps())
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

// canary is a Rollout with one step, and the Services of its versions.
const canary = `apiVersion: v1
kind: Service
metadata: {name: stable, namespace: default}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Service
metadata: {name: canary, namespace: default}
spec: {selector: {app: shop}, ports: [{port: 80}]}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: shop, namespace: default}
spec:
  replicas: 2
  selector: {matchLabels: {app: shop}}
  strategy: {canary: {stableService: stable, canaryService: canary, steps: [{setWeight: 50}, {pause: {duration: 5s}}]}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "%s", command: [sh, -c, "sleep infinity"], env: [{name: VERSION, value: "1"}]}]}`

func (c *components) rollout(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c.apply(ctx, t, fmt.Sprintf(canary, artifacts.BackupKubectlImage))
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

// bus has NATS, which an EventSource and a Sensor meet at, and an Ingress of the customer's for the webhook, with the claim's hostname. They are
// in the namespace of the component, where only administrators of the virtual cluster write; the Workflow isn't.
const bus = `apiVersion: v1
kind: ServiceAccount
metadata: {name: sensor, namespace: argo-events}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: sensor, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: executor}
subjects: [{kind: ServiceAccount, name: sensor, namespace: argo-events}]
---
apiVersion: apps/v1
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
spec: {selector: {app: nats}, ports: [{port: 4222}]}
---
apiVersion: argoproj.io/v1alpha1
kind: EventBus
metadata: {name: default, namespace: argo-events}
spec: {jetstreamExotic: {url: "nats://nats.argo-events:4222", streamConfig: "replicas: 1\n"}}
---
apiVersion: argoproj.io/v1alpha1
kind: EventSource
metadata: {name: push, namespace: argo-events}
spec: {service: {ports: [{port: 12000, targetPort: 12000}]}, webhook: {push: {port: "12000", endpoint: /push, method: POST}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Sensor
metadata: {name: push, namespace: argo-events}
spec:
  template: {serviceAccountName: sensor}
  dependencies: [{name: push, eventSourceName: push, eventName: push}]
  triggers:
    - template:
        name: hello
        k8s: {operation: create, source: {resource: {apiVersion: argoproj.io/v1alpha1, kind: Workflow, metadata: {name: pushed, namespace: default}, spec: %s}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: push, namespace: argo-events}
spec:
  ingressClassName: traefik
  rules: [{host: %s, http: {paths: [{path: /push, pathType: Prefix, backend: {service: {name: push-eventsource-svc, port: {number: 12000}}}}]}}]`

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
	c.apply(ctx, t, fmt.Sprintf(bus, artifacts.NATSImage(), encode(certificate), encode(key), steps(), c.host))
	authority, err := os.ReadFile(ingress.CA)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
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
		_, err = c.get(ctx, workflowKind, "default", "pushed")
		return err == nil, fmt.Sprint("no Workflow yet: ", err)
	})
	c.awaitPhase(ctx, t, workflowKind, "pushed", "Succeeded")
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

// fails has a component fail, which neither Argo CD nor another one notices.
func (c *components) fails(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	of, err := c.virtual.Resource(deploymentKind, "argo-rollouts")
	if err != nil {
		t.Fatal(err)
	}
	scale := func(replicas int) {
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas)
		if _, err := of.Patch(ctx, "argo-rollouts", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	scale(0)
	c.await(ctx, t, "rollouts", v1alpha1.ComponentUnavailable)
	// Crossplane writes conditions after the other fields.
	s := c.live.Await(ctx, t, time.Minute, "condition ComponentsReady is False", func(s *claim.State) bool {
		return s.Condition(claim.ComponentsReady).Reason == v1alpha1.ReasonWorkloadsUnavailable
	})
	if !s.IsReady() || s.Component("workflows").State != string(v1alpha1.ComponentReady) {
		t.Errorf("one component fails: %s, %v", s, s.Components)
	}
	scale(1)
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
	c.await(ctx, t, "rollouts", v1alpha1.ComponentRemoving)
	deletePromptly(ctx, t, c.live)
	return ctx
}
