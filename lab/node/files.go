package node

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
)

//go:embed etc
var templates embed.FS

// settings fill in the templates below etc/.
type settings struct {
	Dir, Socket, PluginDir  string
	Node, NodeIP, Pods, DNS string
	PauseImage, DNSImage    string
	NetworkPoliciesImage    string
	NetworkPoliciesQueue    int
	Upstream                bool
}

func (c Config) settings() settings {
	a := c.Addresses()
	return settings{
		Dir: c.Dir(), Socket: containerdSocket, PluginDir: pluginDir,
		Node: c.id(), NodeIP: a.Node, Pods: a.Pods, DNS: a.DNS,
		PauseImage: artifacts.PauseImage, DNSImage: artifacts.NodeDNSImage,
		NetworkPoliciesImage: artifacts.NetworkPoliciesImage, NetworkPoliciesQueue: networkPoliciesQueue,
		Upstream: c.Upstream,
	}
}

// render fills in one template.
func render(name string, s settings) ([]byte, error) {
	t, err := template.ParseFS(templates, "etc/"+name)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Option("missingkey=error").Execute(&out, s); err != nil {
		return nil, fmt.Errorf("cannot render %s: %w", name, err)
	}
	return out.Bytes(), nil
}

// writeFiles writes everything that the daemons read.
func writeFiles(cfg Config) error {
	l := cfg.dir()
	for _, dir := range []string{l.in("logs"), l.in("pki"), l.etc("cni"), l.etc("registries")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make the state folder: %w", err)
		}
	}
	for template, file := range map[string]string{
		"kubelet.yaml":    l.etc("kubelet.yaml"),
		"kube-proxy.yaml": l.etc("kube-proxy.yaml"),
		"containerd.toml": l.etc("containerd.toml"),
		"cni.conflist":    l.etc("cni", "10-vargo.conflist"),
	} {
		b, err := render(template, cfg.settings())
		if err != nil {
			return err
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			return fmt.Errorf("cannot write the node's configuration: %w", err)
		}
	}
	if err := writeResolvConf(cfg); err != nil {
		return err
	}
	if err := writeRegistries(cfg); err != nil {
		return err
	}
	return writePKI(cfg)
}

// writeResolvConf writes what pods with dnsPolicy Default see: the resolvers of the
// machine where they can be reached, else the cluster's own.
func writeResolvConf(cfg Config) error {
	content := "nameserver " + cfg.Addresses().DNS + "\n"
	if cfg.Upstream {
		b, err := os.ReadFile("/etc/resolv.conf")
		if err != nil {
			return fmt.Errorf("cannot find the machine's DNS resolvers: %w", err)
		}
		if strings.Contains(string(b), "nameserver 127.") {
			// A resolver of the machine's own; the one behind it is written down there.
			if b, err = os.ReadFile("/run/systemd/resolve/resolv.conf"); err != nil {
				return fmt.Errorf("cannot find a DNS resolver that the cluster reaches, /etc/resolv.conf names only the machine itself: %w", err)
			}
		}
		content = string(b)
	}
	if err := os.WriteFile(cfg.dir().etc("resolv.conf"), []byte(content), 0o644); err != nil {
		return fmt.Errorf("cannot write resolv.conf: %w", err)
	}
	return nil
}

// mirrored are the registries whose images the cluster's own registry has.
var mirrored = []string{
	"docker.io", "ecr-public.aws.com", "ghcr.io", "mirror.gcr.io", "public.ecr.aws", "quay.io", "registry.k8s.io",
	"xpkg.crossplane.io",
}

// writeRegistries tells containerd where images come from: charts and packages
// name those of the public registries, unmodified.
func writeRegistries(cfg Config) error {
	for host, content := range registries(cfg.Addresses().Registry, cfg.Upstream) {
		dir := filepath.Join(cfg.dir().etc("registries"), host)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("cannot make folder %s: %w", dir, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "hosts.toml"), []byte(content), 0o644); err != nil {
			return fmt.Errorf("cannot write containerd's registries: %w", err)
		}
	}
	return nil
}

// registries maps a registry to its hosts.toml. Where the public ones can be
// reached they are asked when ours does not have an image.
func registries(own string, upstream bool) map[string]string {
	// containerd 1.6 reads the scheme of a server only where a host is listed too.
	out := map[string]string{own: fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "http://"+own)}
	for _, host := range mirrored {
		url := fmt.Sprintf("http://%s/v2/%s", own, host)
		text := fmt.Sprintf("[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n", url)
		if upstream {
			server := host
			if host == "docker.io" {
				server = "registry-1.docker.io"
			}
			text = fmt.Sprintf("server = \"https://%s\"\n\n%s", server, text)
		} else {
			text = fmt.Sprintf("server = %q\noverride_path = true\n\n%s", url, text)
		}
		out[host] = text
	}
	return out
}
