package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

func testConfig(t *testing.T) Config {
	t.Helper()
	return Config{Cache: toolchain.At(t.TempDir()), Name: "test", Index: 9}
}

func TestWriteFiles(t *testing.T) {
	cfg := testConfig(t)
	if err := writeFiles(cfg); err != nil {
		t.Fatal(err)
	}
	l := cfg.dir()
	for file, parse := range map[string]func([]byte, any) error{
		l.etc("kubelet.yaml"):             func(b []byte, v any) error { return yaml.UnmarshalStrict(b, v) },
		l.etc("kube-proxy.yaml"):          func(b []byte, v any) error { return yaml.UnmarshalStrict(b, v) },
		l.etc("cni", "10-vargo.conflist"): json.Unmarshal,
	} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var out map[string]any
		if err := parse(b, &out); err != nil {
			t.Errorf("cannot parse %s: %v\n%s", file, err, b)
		}
		if strings.Contains(string(b), "10.244.0.") {
			t.Errorf("%s has addresses of the first cluster, and is the tenth's", file)
		}
	}
	// What the files name must be there.
	for _, p := range []program{etcd(), apiServer(cfg), controllerManager(cfg), scheduler(cfg), containerd(cfg), kubelet(cfg), kubeProxy(cfg)} {
		for _, arg := range p.args {
			_, value, _ := strings.Cut(arg, "=")
			if !strings.HasPrefix(value, cfg.Dir()) {
				continue
			}
			if _, err := os.Stat(value); err != nil {
				t.Errorf("%s is started with %s: %v", p.name, arg, err)
			}
		}
	}
}

func TestRegistries(t *testing.T) {
	cases := map[string]struct {
		reason   string
		host     string
		upstream bool
		want     []string
		never    string
	}{
		"Mirrored": {
			reason: "Images are found in the cluster's registry, below the name of their own, and nowhere else.",
			host:   "ghcr.io", want: []string{`server = "http://10.244.9.1:5000/v2/ghcr.io"`, `[host."http://10.244.9.1:5000/v2/ghcr.io"]`, "override_path = true"},
			never: "https://",
		},
		"Upstream": {
			reason: "What the cluster's registry lacks is asked of the public one.",
			host:   "ghcr.io", upstream: true, want: []string{`server = "https://ghcr.io"`, `[host."http://10.244.9.1:5000/v2/ghcr.io"]`},
		},
		"DockerHub": {
			reason: "Its registry has another name than its images.",
			host:   "docker.io", upstream: true, want: []string{`server = "https://registry-1.docker.io"`},
		},
		"Own": {
			reason: "Packages name the cluster's registry itself; it is plain http.",
			host:   "10.244.9.1:5000", want: []string{`[host."http://10.244.9.1:5000"]`},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := registries(AddressesOf(9).Registry, tc.upstream)[tc.host]
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("\n%s\nhosts.toml of %s lacks %s:\n%s", tc.reason, tc.host, want, got)
				}
			}
			if tc.never != "" && strings.Contains(got, tc.never) {
				t.Errorf("\n%s\nhosts.toml of %s has %s:\n%s", tc.reason, tc.host, tc.never, got)
			}
		})
	}
}

func TestAddons(t *testing.T) {
	for name, upstream := range map[string]bool{"template ANY ANY": false, "forward . /etc/resolv.conf": true} {
		cfg := testConfig(t)
		cfg.Upstream = upstream
		objects, err := addons(cfg)
		if err != nil {
			t.Fatal(err)
		}
		var kinds, corefile string
		for _, o := range objects {
			kinds += o.GetKind() + " "
			if o.GetKind() == "ConfigMap" {
				corefile = o.Object["data"].(map[string]any)["Corefile"].(string)
			}
		}
		if want := "StorageClass ServiceAccount ClusterRole ClusterRoleBinding ConfigMap Deployment Service ServiceAccount ClusterRole ClusterRoleBinding DaemonSet "; kinds != want {
			t.Errorf("addons(...): want %s, got %s", want, kinds)
		}
		if !strings.Contains(corefile, name) {
			t.Errorf("addons(...) with upstream %t: the Corefile lacks %q:\n%s", upstream, name, corefile)
		}
		// The domain's names are answered without asking anybody.
		if want := "answer \"{{ .Name }} 60 IN A {{ .Group.a }}.{{ .Group.b }}.{{ .Group.c }}.{{ .Group.d }}\""; !strings.Contains(corefile, want) {
			t.Errorf("addons(...): the Corefile lacks %s:\n%s", want, corefile)
		}
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.log")
	long := strings.Repeat("an old line\n", 20000) + "a\nb\nc\n"
	if err := os.WriteFile(file, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tail(file, 2); got != "b\nc" {
		t.Errorf("tail(..., 2): want the last two lines, got %q", got)
	}
	if got := tail(file+".gone", 2); !strings.Contains(got, "no log") {
		t.Errorf("tail(...) of no file: want to be told, got %q", got)
	}
}
