package platform

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

func TestUnmet(t *testing.T) {
	object := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	healthy := map[string]any{"type": "Healthy", "status": "True"}
	cases := map[string]struct {
		reason string
		object *unstructured.Unstructured
		want   string
	}{
		"AllTrue":   {"Nothing is left to wait for.", object(healthy, map[string]any{"type": "Installed", "status": "True"}), ""},
		"Missing":   {"A new object has no conditions.", object(healthy), "no condition Installed yet"},
		"NoStatus":  {"A new object has no status.", &unstructured.Unstructured{Object: map[string]any{}}, "no condition Installed yet; no condition Healthy yet"},
		"OneFalse":  {"The message says what to do.", object(healthy, map[string]any{"type": "Installed", "status": "False", "reason": "Bad", "message": "cannot\npull"}), "Installed=False Bad cannot pull"},
		"NoMessage": {"Reason and message are optional.", object(healthy, map[string]any{"type": "Installed", "status": "Unknown"}), "Installed=Unknown"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, unmet(tc.object, []string{"Installed", "Healthy"})); diff != "" {
				t.Errorf("\n%s\nunmet(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// The API server converts stored objects for a version that nobody reads, too.
func TestWithoutDigests(t *testing.T) {
	const image = "docker.io/coredns/coredns:1.14.2"
	named := func(image string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "spec": map[string]any{"template": map[string]any{
			"spec": map[string]any{"containers": []any{map[string]any{"name": "coredns", "image": image}}},
		}}}}
	}
	got := []*unstructured.Unstructured{named(image + "@sha256:e7e6"), named(image)}
	if err := withoutDigests(got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*unstructured.Unstructured{named(image), named(image)}, got); diff != "" {
		t.Errorf("withoutDigests(...): -want, +got:\n%s", diff)
	}
}

func TestWithoutConversion(t *testing.T) {
	root, to := t.TempDir(), filepath.Join(t.TempDir(), "package")
	crd := `{"kind":"CustomResourceDefinition","spec":{"group":"example.org","conversion":{"strategy":"Webhook"}}}`
	for file, text := range map[string]string{"crossplane.yaml": "kind: Provider\n", "crds/objects.yaml": crd} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, file)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := withoutConversion(root, to); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"crossplane.yaml": "kind: Provider\n", "crds/objects.yaml": "kind: CustomResourceDefinition\nspec:\n  group: example.org\n",
	} {
		got, err := os.ReadFile(filepath.Join(to, file))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q and error %v, want %q", file, got, err, want)
		}
	}
}

func TestIngressController(t *testing.T) {
	objects, err := ingressObjects("docker.io/library/traefik:v3", "10.96.7.11")
	if err != nil {
		t.Fatal(err)
	}
	if objects[0].GetKind() != "Namespace" {
		t.Errorf("the namespace comes first, got %s", objects[0].GetKind())
	}
	var classes, arguments []string
	var port any
	for _, o := range objects {
		switch o.GetKind() {
		case "IngressClass":
			classes = append(classes, o.GetName())
		case "Deployment":
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			arguments, _, _ = unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		case "Gateway":
			listeners, _, _ := unstructured.NestedSlice(o.Object, "spec", "listeners")
			port = listeners[0].(map[string]any)["port"]
		case "Service":
			if got, _, _ := unstructured.NestedString(o.Object, "spec", "clusterIP"); got != "10.96.7.11" {
				t.Errorf("the Service has address %q, not the one that the domain's names mean", got)
			}
		}
	}
	if diff := cmp.Diff([]string{"traefik", "nginx"}, classes); diff != "" {
		t.Errorf("classes: -want, +got:\n%s", diff)
	}
	// Traefik serves a listener at the entry point that has its port.
	if want := fmt.Sprintf("--entryPoints.websecure.address=:%v", port); !slices.Contains(arguments, want) {
		t.Errorf("want %s among %v", want, arguments)
	}
}

func TestCertificateIsForEachNameOfTheDomain(t *testing.T) {
	const domain = "10-96-7-11.sslip.io"
	data, err := newCertificate(domain)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data["ca.crt"])
	for host, ok := range map[string]bool{"customer1-default." + domain: true, "customer1." + "10-96-0-11.sslip.io": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if (err == nil) != ok {
			t.Errorf("certificate of *.%s for %s: want ok %t, got %v", domain, host, ok, err)
		}
	}
}

// TestPurposesOfMonitoring: what monitors tenants takes minutes to build, so that only those who ask for it do.
func TestPurposesOfMonitoring(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    bool
	}{
		"Demo":               {Options{}, false},
		"DemoWithMonitoring": {Options{Monitoring: true}, true},
		"Tests":              {Options{Tests: true}, false},
		"AllTests":           {Options{Tests: true, Full: true}, true},
	} {
		if got := slices.Contains(tc.options.purposes(false), toolchain.Monitoring); got != tc.want {
			t.Errorf("%s: builds what monitors tenants %t, want %t", name, got, tc.want)
		}
	}
}

func TestMissingPackages(t *testing.T) {
	cases := map[string]struct {
		reason  string
		built   []string
		here    []string
		options Options
		want    string
	}{
		"NewMachine":   {"Nothing is here.", nil, nil, Options{}, "gcc libc6-dev nodejs npm"},
		"SomeAreHere":  {"What is here is used.", nil, []string{"gcc", "node"}, Options{}, "npm"},
		"BuiltAlready": {"Who has built everything needs no compiler.", []string{"kine", "argocd-ui"}, nil, Options{}, ""},
		"Tests":        {"Most tests do without the web interface.", nil, nil, Options{Tests: true}, "gcc libc6-dev"},
		"Simulated":    {"Where tenants are simulated, nothing of theirs is built.", nil, nil, Options{Tests: true, SimulatedProviders: true}, ""},
		"AllTests":     {"Some open a browser, whatever is built.", []string{"kine", "argocd-ui", toolchain.RolloutsExtension}, nil, Options{Tests: true, Full: true}, "chromium"},
		"Extension":    {"It is built as the web interface is.", []string{"kine", "argocd-ui"}, []string{"chromium"}, Options{Tests: true, Full: true}, "nodejs npm"},
		"AllTestsNew":  {"A package is installed once.", nil, nil, Options{Tests: true, Full: true}, "gcc libc6-dev nodejs npm chromium"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			cache := toolchain.At(t.TempDir())
			for _, tool := range tc.built {
				// Where the cache would look is in the error that it is not there.
				_, err := cache.Binary(tool)
				path := strings.TrimSuffix(strings.SplitAfter(err.Error(), "(no ")[1], "): run `make tools`")
				if err := os.MkdirAll(path, 0o750); err != nil {
					t.Fatal(err)
				}
			}
			got := missingPackages(cache, tc.options.purposes(!tc.options.Tests || tc.options.Full), func(command string) (string, error) {
				if slices.Contains(tc.here, command) {
					return command, nil
				}
				return "", exec.ErrNotFound
			})
			if strings.Join(got, " ") != tc.want {
				t.Errorf("\n%s\nmissingPackages(...): want %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
