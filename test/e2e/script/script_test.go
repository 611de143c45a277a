//go:build e2e

// Package script runs examples/kind/up.sh, which installs the Helm chart, on the embedded cluster as on a cluster of somebody's, from a registry that asks for
// a password. It can't create a kind cluster: .github/workflows/kind.yaml does.
package script

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/node"
	"github.com/virtual-argocd/virtual-argocd/lab/platform"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

const (
	user, password = "platform", "not-for-everybody"
	pullSecret     = "regcred"
)

// TestScript: the script installs everything from a registry with a password, up to a tenant that is Ready in the product's default versions; how the pods run survives the rewriting of
// the packages' names; a second run changes nothing; and `helm uninstall` removes it all, once there is no tenant.
func TestScript(t *testing.T) {
	ctx := t.Context()
	options, err := platform.FromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	options.Tests, options.Full = true, true
	options.Progress = platform.Lines(func(line string) { fmt.Println(line) })
	cluster, input, err := platform.Prepare(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := node.FromEnvironment(options.Cache)
	if err != nil {
		t.Fatal(err)
	}
	input = withDefaults(t, input)
	address := serveRegistry(t, cfg)
	auth := dockerConfig(t, address)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: platform.Namespace, Name: pullSecret},
		Type:       corev1.SecretTypeDockerConfigJson, Data: map[string][]byte{corev1.DockerConfigJsonKey: auth},
	}
	if err := client.IgnoreAlreadyExists(cluster.Client.Create(ctx, secret)); err != nil {
		t.Fatal(err)
	}
	docker := t.TempDir()
	write(t, filepath.Join(docker, "config.json"), string(auth))
	values := filepath.Join(t.TempDir(), "values.yaml")
	// The lab's image of the resolver has another digest than upstream's.
	write(t, values, fmt.Sprintf("mirror: %s/xpkg.crossplane.io\npullSecret: %s\nresolver: {image: \"docker.io/coredns/coredns:1.14.2\"}\n", cluster.Registry, pullSecret))

	s := &shell{t: t, env: append(os.Environ(),
		"PATH="+programs(t, options.Cache)+os.Getenv("PATH"), "KUBECONFIG="+cluster.Kubeconfig, "DOCKER_CONFIG="+docker,
		"REGISTRY="+address+"/acme", "VALUES="+values, "INPUT="+input,
		"CROSSPLANE_REPO="+cfg.Addresses().Charts, "CROSSPLANE_VERSION="+strings.TrimPrefix(toolchain.Version(toolchain.Crossplane), "v"))}
	said := s.must(ctx, filepath.Join(options.Root, "examples", "kind", "up.sh"))
	for _, want := range []string{"Argo CD of customer1", "https://customer1--default." + cluster.Ingress.Domain, "secret customer1-argocd"} {
		if !strings.Contains(said, want) {
			t.Errorf("the script doesn't say %q", want)
		}
	}
	checkVersions(ctx, t, cluster.Client)
	// The schema and the admission policies accept every claim that users copy.
	s.must(ctx, "kubectl", "apply", "--dry-run=server", "--filename", filepath.Join(options.Root, "examples", "claims"))
	checkPods(ctx, t, cluster.Client, address+"/acme/")
	before := generations(ctx, t, cluster.Client)
	s.must(ctx, filepath.Join(options.Root, "examples", "kind", "up.sh"))
	if after := generations(ctx, t, cluster.Client); after != before {
		t.Errorf("a second run changes packages or how they run: before\n%s\nafter\n%s", before, after)
	}
	s.must(ctx, "helm", "test", "virtual-argocd", "--namespace", platform.Namespace, "--timeout", "5m")

	if said, err := s.run(ctx, "helm", "uninstall", "virtual-argocd", "--namespace", platform.Namespace); err == nil {
		t.Fatalf("helm uninstalls while there is a tenant:\n%s", said)
	}
	// It has stopped before anything of the release was deleted.
	if after := generations(ctx, t, cluster.Client); after != before {
		t.Errorf("an uninstallation that was refused changes packages: before\n%s\nafter\n%s", before, after)
	}
	s.must(ctx, "kubectl", "delete", "virtualargocd", "customer1", "--namespace", "default")
	s.must(ctx, "kubectl", "wait", "--for=delete", "xvirtualargocds", "--all", "--timeout=3m")
	s.must(ctx, "helm", "uninstall", "virtual-argocd", "--namespace", platform.Namespace, "--timeout", "5m")
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(2 * time.Second) {
		left := s.must(ctx, "kubectl", "get", "--ignore-not-found", "--output=name", "--namespace", platform.Namespace,
			"providers.pkg,functions.pkg,configurations.pkg,providerrevisions,functionrevisions,configurationrevisions,imageconfigs,jobs,configmaps,deployments,serviceaccounts")
		var ours []string
		for line := range strings.Lines(left) {
			if strings.Contains(line, "virtual-argocd") {
				ours = append(ours, line)
			}
		}
		if len(ours) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("helm uninstall leaves\n%s", strings.Join(ours, ""))
		}
	}
}

// withDefaults is an input without the lab's own versions: with the default of the argo-cd chart, and with the newest Kubernetes that was built, which is
// the default's minor version.
func withDefaults(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input := map[string]any{}
	if err := yaml.Unmarshal(data, &input); err != nil {
		t.Fatal(err)
	}
	unstructured.RemoveNestedField(input, "charts", "argocd", "version")
	if err := unstructured.SetNestedField(input, toolchain.Version("kube-apiserver"), "kubernetes", "version"); err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.Marshal(input); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "input.yaml")
	write(t, out, string(data))
	return out
}

// checkVersions compares what customer1 runs with the defaults of the product.
func checkVersions(ctx context.Context, t *testing.T, c client.Client) {
	t.Helper()
	claim := &unstructured.Unstructured{}
	claim.SetAPIVersion("virtualargocd.io/v1alpha1")
	claim.SetKind("VirtualArgoCD")
	if err := c.Get(ctx, client.ObjectKey{Namespace: "default", Name: "customer1"}, claim); err != nil {
		t.Fatal(err)
	}
	defaults := tenant.WithDefaults(v1alpha1.Input{})
	for _, want := range []struct{ part, field, version string }{
		{"argocd", "chartVersion", defaults.Charts.ArgoCD.Version},
		{"argocd", "version", toolchain.Version(toolchain.ArgoCD)},
		{"vcluster", "version", defaults.Charts.VCluster.Version},
		{"vcluster", "kubernetesVersion", toolchain.Version("kube-apiserver")},
	} {
		if got, _, _ := unstructured.NestedString(claim.Object, "status", want.part, want.field); got != want.version {
			t.Errorf("status.%s.%s: want %s, got %s", want.part, want.field, want.version, got)
		}
	}
	// The patch version of the default may not be built here.
	if minor := defaults.Kubernetes.Version[:strings.LastIndex(defaults.Kubernetes.Version, ".")+1]; !strings.HasPrefix(toolchain.Version("kube-apiserver"), minor) {
		t.Errorf("Kubernetes %s isn't of the default's minor version, %s", toolchain.Version("kube-apiserver"), minor)
	}
}

// checkPods looks at the pods of the packages: bounded, restricted, and with images from the registry.
func checkPods(ctx context.Context, t *testing.T, c client.Client, registry string) {
	t.Helper()
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.InNamespace(platform.Namespace), client.HasLabels{"virtualargocd.io/package"}); err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, pod := range pods.Items {
		pkg := pod.Labels["virtualargocd.io/package"]
		found[pkg]++
		main := pod.Spec.Containers[0]
		if main.Resources.Limits.Memory().IsZero() || main.SecurityContext == nil || main.SecurityContext.ReadOnlyRootFilesystem == nil || !*main.SecurityContext.ReadOnlyRootFilesystem {
			t.Errorf("pod %s runs without the limit or the security context of runtime.yaml: %v, %v", pod.Name, main.Resources, main.SecurityContext)
		}
		if pkg == "function" && (pod.Spec.AutomountServiceAccountToken == nil || *pod.Spec.AutomountServiceAccountToken || !strings.HasPrefix(main.Image, registry)) {
			t.Errorf("the function's pod %s has a token, or image %s, want none and one of %s", pod.Name, main.Image, registry)
		}
		if pkg != "function" && (len(pod.Spec.InitContainers) != 1 || !strings.HasPrefix(pod.Spec.InitContainers[0].Image, registry)) {
			t.Errorf("pod %s has no proxy from %s: %v", pod.Name, registry, pod.Spec.InitContainers)
		}
	}
	if fmt.Sprint(found) != fmt.Sprint(map[string]int{"function": 2, "provider-helm": 1, "provider-kubernetes": 1}) {
		t.Errorf("want two pods of the function and one of each provider, got %v", found)
	}
}

// generations are those of packages and of how they run.
func generations(ctx context.Context, t *testing.T, c client.Client) string {
	t.Helper()
	var out strings.Builder
	for kind, version := range map[string]string{"Provider": "v1", "Function": "v1", "Configuration": "v1", "DeploymentRuntimeConfig": "v1beta1"} {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("pkg.crossplane.io/" + version)
		list.SetKind(kind + "List")
		if err := c.List(ctx, list); err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			fmt.Fprintf(&out, "%s %s %d\n", kind, o.GetName(), o.GetGeneration())
		}
	}
	lines := strings.Split(out.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// serveRegistry serves a registry with a password on the machine's end of the wire to the cluster, and tells the node that it speaks plain http.
func serveRegistry(t *testing.T, cfg node.Config) string {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(cfg.Addresses().Machine, "5050"))
	if err != nil {
		t.Fatal(err)
	}
	content := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="packages"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		content.ServeHTTP(w, r)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	address := listener.Addr().String()
	dir := filepath.Join(cfg.Dir(), "etc", "registries", address)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "hosts.toml"), fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "http://"+address))
	return address
}

// dockerConfig is a Docker configuration with the password for a registry.
func dockerConfig(t *testing.T, address string) []byte {
	t.Helper()
	out, err := json.Marshal(map[string]any{"auths": map[string]any{
		address: map[string]any{"auth": base64.StdEncoding.EncodeToString([]byte(user + ":" + password))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// programs is a PATH with the programs that the script needs, beside Go and make.
func programs(t *testing.T, cache toolchain.Cache) string {
	t.Helper()
	path := ""
	for _, name := range []string{"kubectl", "helm"} {
		file, err := cache.Binary(name)
		if err != nil {
			t.Fatal(err)
		}
		path += filepath.Dir(file) + ":"
	}
	return path
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// shell runs programs in an environment.
type shell struct {
	t   *testing.T
	env []string
}

func (s *shell) run(ctx context.Context, program string, args ...string) (string, error) {
	s.t.Helper()
	// A name is looked up in the PATH of the environment, not in that of this process.
	cmd := exec.CommandContext(ctx, "/usr/bin/env", append([]string{program}, args...)...)
	cmd.Env = s.env
	var out strings.Builder
	cmd.Stdout = io.MultiWriter(&out, os.Stdout)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	return out.String(), err
}

func (s *shell) must(ctx context.Context, program string, args ...string) string {
	s.t.Helper()
	out, err := s.run(ctx, program, args...)
	if err != nil {
		s.t.Fatalf("%s %v: %v", program, args, err)
	}
	return out
}
