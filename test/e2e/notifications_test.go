//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

const (
	// notifiedNamespace is where the customer's servers are.
	notifiedNamespace = "e2e-notified"

	servicesSecret = "told-services"
	hookSecret     = "told-webhook"
	imagesSecret   = "told-images"
)

// notified is a customer who is told of failures, whose Git server tells Argo CD of pushes, and whose pods need private images.
type notified struct {
	live     *claim.Live
	repo     string
	receiver *gitserver.Receiver
	locked   string
	secrets  ownSecrets
}

func TestNotifications(t *testing.T) {
	needsEmbedded(t)
	t.Parallel()
	o := &notified{}
	testenv.Test(t, features.New("notified").
		Setup(o.create).
		Assess("FailedSyncReachesTheEndpoint", o.failedSync).
		Assess("RotatedTokenIsInUse", o.rotatedToken).
		Assess("PushRefreshesAtOnce", o.push).
		Assess("WrongSignatureIsRefused", o.wrongSignature).
		Assess("RotatedSecretNeedsNoRestart", o.rotatedSecret).
		Assess("PrivateImageIsPulled", o.privateImage).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, o.live)
			if t.Failed() && keep {
				return ctx
			}
			o.secrets.deleteAll(ctx, t)
			deleteNamespace(ctx, t, notifiedNamespace)
			return ctx
		}).Feature())
}

const registryPassword = "password-of-the-registry"

func (o *notified) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(notifiedNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	o.receiver = gitserver.RunReceiver(ctx, t, host, notifiedNamespace)
	o.repo = gitserver.RunHTTP(ctx, t, host, notifiedNamespace, map[string]string{"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: synced}\n"})
	o.locked = gitserver.RunLockedRegistry(ctx, t, host, notifiedNamespace, registry, registryPassword)
	o.secrets.write(ctx, t, servicesSecret, map[string]string{"hook-token": "token-of-the-hook-1"})
	o.secrets.write(ctx, t, hookSecret, map[string]string{"secret": "secret-of-the-webhook-1"})
	o.writeImages(ctx, t, "wrong")

	ref := func(name string) map[string]any { return map[string]any{"name": name} }
	o.live = claim.Create(ctx, t, host, newClaim("notified").Set(map[string]any{
		"secretRef": ref(servicesSecret),
		"services": []any{map[string]any{"type": "webhook", "name": "hook", "config": map[string]any{
			"url": o.receiver.URL, "headers": []any{map[string]any{"name": "Authorization", "value": "Bearer $hook-token"}},
		}}},
		"templates": []any{map[string]any{"name": "sync-failed", "config": map[string]any{"webhook": map[string]any{"hook": map[string]any{
			"method": "POST", "path": "/failed", "body": "{{.app.metadata.name}} failed, see {{.context.argocdUrl}}/applications/{{.app.metadata.name}}",
		}}}}},
		"triggers": []any{map[string]any{"name": "on-sync-failed", "conditions": []any{map[string]any{
			"when": "app.status.operationState != nil and app.status.operationState.phase in ['Error', 'Failed']", "send": []any{"sync-failed"},
		}}}},
		"subscriptions": []any{map[string]any{"recipients": []any{"hook"}, "triggers": []any{"on-sync-failed"}}},
	}, "spec", "notifications").
		Set([]any{map[string]any{"provider": "github", "secretRef": ref(hookSecret)}}, "spec", "webhooks").
		Set([]any{ref(imagesSecret)}, "spec", "imagePullSecrets"))
	o.live.AwaitReady(ctx, t, readyWithin)
	o.live.Await(ctx, t, 2*time.Minute, "has its notifications, webhooks and Secrets for registries", func(s *claim.State) bool {
		return s.True(claim.NotificationsReady) && s.True(claim.WebhooksReady) && s.True(claim.ImagePullSecretsReady)
	})
	return ctx
}

// writeImages writes the Secret for the registry.
func (o *notified) writeImages(ctx context.Context, t *testing.T, password string) {
	t.Helper()
	auth := base64.StdEncoding.EncodeToString([]byte(gitserver.Username + ":" + password))
	secret := &corev1.Secret{ObjectMeta: forClaims(imagesSecret), Type: corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{
		corev1.DockerConfigJsonKey: []byte(fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, o.locked, auth)),
	}}
	secrets := host.Typed.CoreV1().Secrets(claims)
	_, err := secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if kerrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
		o.secrets = append(o.secrets, imagesSecret)
	}
	if err != nil {
		t.Fatalf("cannot write Secret %s: %v", imagesSecret, err)
	}
}

// fail creates an Application whose sync fails.
func (o *notified) fail(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	apps, err := open(ctx, t, o.live).Resource(applications, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	// Without CreateNamespace, the namespace is missing.
	if _, err := apps.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"project": "default", "source": map[string]any{"repoURL": o.repo, "path": "."},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "missing-" + name},
			"syncPolicy":  map[string]any{"automated": map[string]any{}, "retry": map[string]any{"limit": int64(0)}},
		},
	}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// received waits until the endpoint has received a text.
func (o *notified) received(ctx context.Context, t *testing.T, text string) string {
	t.Helper()
	all := ""
	took := eventually.True(ctx, t, 4*time.Minute, "the endpoint receives "+text, func(ctx context.Context) (bool, string) {
		all = o.receiver.Received(ctx, t)
		return strings.Contains(all, text), all
	})
	measured.add("notified: failed sync to notification", took)
	return all
}

func (o *notified) failedSync(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	o.fail(ctx, t, "fails")
	all := o.received(ctx, t, "fails failed, see "+connectionDetails(ctx, t, o.live)["url"]+"/applications/fails")
	if !strings.Contains(all, "POST /failed Bearer token-of-the-hook-1\n") {
		t.Errorf("the endpoint has received\n%s", all)
	}
	return ctx
}

// argoCDPods are the UIDs of Argo CD's pods, by name.
func (o *notified) argoCDPods(ctx context.Context, t *testing.T) map[string]string {
	t.Helper()
	pods, err := open(ctx, t, o.live).Typed.CoreV1().Pods("argocd").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, pod := range pods.Items {
		restarts := int32(0)
		for _, c := range pod.Status.ContainerStatuses {
			restarts += c.RestartCount
		}
		out[pod.Name] = fmt.Sprintf("%s, %d restarts", pod.UID, restarts)
	}
	return out
}

func (o *notified) rotatedToken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	before := o.argoCDPods(ctx, t)
	o.secrets.write(ctx, t, servicesSecret, map[string]string{"hook-token": "token-of-the-hook-2"})
	eventually.True(ctx, t, 3*time.Minute, "Argo CD has the new token", func(ctx context.Context) (bool, string) {
		secret, err := open(ctx, t, o.live).Typed.CoreV1().Secrets("argocd").Get(ctx, "argocd-notifications-secret", metav1.GetOptions{})
		return err == nil && string(secret.Data["hook-token"]) == "token-of-the-hook-2", fmt.Sprint(err)
	})
	o.fail(ctx, t, "fails-again")
	if all := o.received(ctx, t, "fails-again failed"); !strings.Contains(all, "Bearer token-of-the-hook-2\n") {
		t.Errorf("the endpoint has received\n%s", all)
	}
	keepsPods(t, "a rotated token", before, o.argoCDPods(ctx, t))
	return ctx
}

// event sends a push event as GitHub does, and returns the answer's status.
func (o *notified) event(ctx context.Context, t *testing.T, url, commit, secret string) int {
	t.Helper()
	body := asJSON(t, map[string]any{
		"ref": "refs/heads/main", "before": strings.Repeat("0", 40), "after": commit,
		"repository": map[string]any{"html_url": strings.TrimSuffix(o.repo, ".git"), "default_branch": "main"},
		"commits":    []any{map[string]any{"id": commit, "modified": []any{"config.yaml"}, "timestamp": time.Now().Format(time.RFC3339)}},
	})
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return send(ctx, t, url, body, map[string]string{"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))})
}

// unsigned sends a push event as GitLab does, without its token.
func (o *notified) unsigned(ctx context.Context, t *testing.T, url, commit string) int {
	t.Helper()
	return send(ctx, t, url, asJSON(t, map[string]any{
		"object_kind": "push", "ref": "refs/heads/main", "before": strings.Repeat("0", 40), "after": commit, "checkout_sha": commit,
		"project": map[string]any{"web_url": strings.TrimSuffix(o.repo, ".git"), "default_branch": "main"},
		"commits": []any{map[string]any{"id": commit, "modified": []any{"config.yaml"}}},
	}), map[string]string{"X-Gitlab-Event": "Push Hook"})
}

func asJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// send sends an event, and returns the answer's status; 0 for none.
func send(ctx context.Context, t *testing.T, url string, body []byte, headers map[string]string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{
		DialContext: dialer.DialContext, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // Argo CD's own certificate.
	}}
	response, err := client.Do(request)
	if err != nil {
		t.Logf("cannot send an event: %v", err)
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode
}

// url is where the claim says that events go.
func (o *notified) url(ctx context.Context, t *testing.T) string {
	t.Helper()
	s, err := o.live.State(ctx)
	if err != nil || s.Webhooks.URL != connectionDetails(ctx, t, o.live)["url"]+"/api/webhook" {
		t.Fatalf("status.webhooks.url is %+v, %v", s, err)
	}
	return s.Webhooks.URL
}

// commit changes the repository, and returns the commit.
func (o *notified) commit(ctx context.Context, t *testing.T, what string) string {
	t.Helper()
	return gitserver.Commit(ctx, t, host, notifiedNamespace, gitserver.Change{Files: map[string]string{
		"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: synced}\ndata: {what: " + what + "}\n",
	}})
}

// refreshed waits until the Application has a commit, and returns how long that took.
func refreshed(ctx context.Context, t *testing.T, api *argocd.Client, name, commit string, within time.Duration) time.Duration {
	t.Helper()
	return eventually.True(ctx, t, within, "Application "+name+" has commit "+commit, func(ctx context.Context) (bool, string) {
		a, err := api.Get(ctx, name)
		return err == nil && a.Status.Sync.Revision == commit, fmt.Sprint(a, err)
	})
}

func (o *notified) push(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	api := loggedIn(ctx, t, o.live)
	createApp(ctx, t, api, "pushed", wholeOf(o.repo), argocd.InCluster)
	awaitHealthy(ctx, t, api, "pushed")
	calm.RLock()
	defer calm.RUnlock()
	commit := o.commit(ctx, t, "one")
	if status := o.event(ctx, t, o.url(ctx, t), commit, "secret-of-the-webhook-1"); status != http.StatusOK {
		t.Fatalf("a signed event is answered with %d", status)
	}
	// Argo CD looks by itself after two minutes at the earliest.
	measured.add("notified: push event to refreshed Application", refreshed(ctx, t, api, "pushed", commit, 45*time.Second))
	return ctx
}

func (o *notified) wrongSignature(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	api := loggedIn(ctx, t, o.live)
	// It begins the two minutes anew.
	if _, err := api.Refresh(ctx, "pushed"); err != nil {
		t.Fatal(err)
	}
	commit := o.commit(ctx, t, "two")
	if status := o.event(ctx, t, o.url(ctx, t), commit, "wrong"); status < 400 || status >= 500 {
		t.Errorf("an event with a wrong signature is answered with %d", status)
	}
	// Argo CD doesn't check what it has no secret for.
	if status := o.unsigned(ctx, t, o.url(ctx, t), commit); status < 400 || status >= 500 {
		t.Errorf("an event of another kind of Git server is answered with %d", status)
	}
	time.Sleep(20 * time.Second)
	if a, err := api.Get(ctx, "pushed"); err != nil || a.Status.Sync.Revision == commit {
		t.Errorf("an event that isn't signed has refreshed the Application: %v, %v", a, err)
	}
	return ctx
}

func (o *notified) rotatedSecret(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := o.argoCDPods(ctx, t)
	o.secrets.write(ctx, t, hookSecret, map[string]string{"secret": "secret-of-the-webhook-2"})
	commit := o.commit(ctx, t, "three")
	url := o.url(ctx, t)
	measured.add("notified: rotated secret of a webhook to accepted", eventually.True(ctx, t, 3*time.Minute, "Argo CD takes events with the new secret", func(ctx context.Context) (bool, string) {
		status := o.event(ctx, t, url, commit, "secret-of-the-webhook-2")
		return status == http.StatusOK, fmt.Sprint(status)
	}))
	if status := o.event(ctx, t, url, commit, "secret-of-the-webhook-1"); status == http.StatusOK {
		t.Error("the old secret is still accepted")
	}
	refreshed(ctx, t, loggedIn(ctx, t, o.live), "pushed", commit, 45*time.Second)
	keepsPods(t, "a rotated secret of a webhook", before, o.argoCDPods(ctx, t))
	return ctx
}

func (o *notified) privateImage(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	core := open(ctx, t, o.live).Typed.CoreV1()
	const namespace = "private"
	if _, err := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// Nothing in the virtual cluster names the Secret.
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "private", Namespace: namespace}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "private", Image: o.locked + "/" + artifacts.ServersImage, ImagePullPolicy: corev1.PullAlways, Command: []string{"sleep", "1000000"}}},
	}}
	eventually.True(ctx, t, time.Minute, "the pod is created", func(ctx context.Context) (bool, string) {
		_, err := core.Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err == nil, fmt.Sprint(err)
	})
	state := func(ctx context.Context) (running bool, why string) {
		is, err := core.Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if err != nil || len(is.Status.ContainerStatuses) == 0 {
			return false, fmt.Sprint(err)
		}
		c := is.Status.ContainerStatuses[0]
		if c.State.Waiting != nil {
			why = c.State.Waiting.Reason
		}
		return c.State.Running != nil, why
	}
	eventually.True(ctx, t, 2*time.Minute, "the registry refuses a wrong password", func(ctx context.Context) (bool, string) {
		running, why := state(ctx)
		if running {
			t.Fatal("a private image is pulled with a wrong password: the registry requires none")
		}
		return why == "ErrImagePull" || why == "ImagePullBackOff", why
	})
	before := o.argoCDPods(ctx, t)
	start := time.Now()
	o.writeImages(ctx, t, registryPassword)
	// The kubelet tries again after five minutes at the latest.
	eventually.True(ctx, t, 8*time.Minute, "the private image is pulled", state)
	measured.add("notified: corrected password of a registry to running pod", time.Since(start))
	keepsPods(t, "a corrected password of a registry", before, o.argoCDPods(ctx, t))
	return ctx
}
