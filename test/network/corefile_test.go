//go:build e2e

package network

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/dnsquery"
)

// hostDNS is configured with what a host's DNS answers: names of Services, and names of their addresses.
const hostDNS = `.:PORT {
    hosts {
        10.96.12.19 argocd-server-x-argocd-x-vcluster.vargo-acme-ggkgg.svc.cluster.local
        10.96.0.1 kubernetes.default.svc.cluster.local kubernetes.default.svc
        10.96.0.77 git.git.svc.cluster.local
        203.0.113.7 shop.example.org
    }
    template IN SRV cluster.local {
        answer "{{ .Name }} 5 IN SRV 0 100 443 vcluster.vargo-acme-ggkgg.svc.cluster.local."
    }
}`

// custom is what the comment in dns.yaml advises for names that only the host's DNS knows.
const custom = `git.svc.cluster.local:PORT {
    errors
    forward . HOST
    cache 30
}
git.example.org:PORT {
    errors
    rewrite name exact git.example.org git.git.svc.cluster.local
    forward . HOST
}`

// TestResolver runs CoreDNS with the configuration of examples/install/dns.yaml, on a node whose resolver is the host's DNS, which
// is the worst that can be.
func TestResolver(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "examples", "install", "dns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	config := corev1.ConfigMap{}
	for _, doc := range strings.Split(string(data), "\n---\n") {
		if strings.Contains(doc, "\nkind: ConfigMap\n") {
			if err := yaml.UnmarshalStrict([]byte(doc), &config); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir := t.TempDir()
	host := serve(t, dir, "host", hostDNS)
	more := filepath.Join(dir, "git.server")
	corefile := strings.NewReplacer(
		":1053", ":PORT", "forward . /etc/resolv.conf", "forward . "+host, "/etc/coredns/custom/*.server", more,
		// Ports that others may have.
		"    health\n", "", "    ready\n", "", "    prometheus :9153\n", "",
	).Replace(config.Data["Corefile"])
	address, port := freePort(t)
	if err := os.WriteFile(more, []byte(strings.NewReplacer("PORT", port, "HOST", host).Replace(custom)), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, dir, "resolver", strings.ReplaceAll(corefile, "PORT", port), address)

	reverse := func(address string) dnsquery.Question { return dnsquery.Reverse(netip.MustParseAddr(address)) }
	cases := map[dnsquery.Question]struct{ host, resolver string }{
		reverse("10.96.12.19"): {dnsquery.Answered, dnsquery.NoSuchName},
		reverse("10.96.0.1"):   {dnsquery.Answered, dnsquery.NoSuchName},
		reverse("203.0.113.7"): {dnsquery.Answered, dnsquery.NoSuchName},
		{Name: "argocd-server-x-argocd-x-vcluster.vargo-acme-ggkgg.svc.cluster.local", Type: "A"}: {dnsquery.Answered, dnsquery.NoSuchName},
		{Name: "ARGOCD-server-x-argocd-x-vcluster.vargo-acme-ggkgg.svc.Cluster.Local", Type: "A"}: {dnsquery.Answered, dnsquery.NoSuchName},
		{Name: "kubernetes.default.svc.cluster.local", Type: "A"}:                                 {dnsquery.Answered, dnsquery.NoSuchName},
		{Name: "kubernetes.default.svc", Type: "A"}:                                               {dnsquery.Answered, dnsquery.NoSuchName},
		{Name: "any.any.svc.cluster.local", Type: "SRV"}:                                          {dnsquery.Answered, dnsquery.NoSuchName},
		{Name: "shop.example.org", Type: "A"}:                                                     {dnsquery.Answered, dnsquery.Answered},
		{Name: "git.git.svc.cluster.local", Type: "A"}:                                            {dnsquery.Answered, dnsquery.Answered},
		{Name: "git.example.org", Type: "A"}:                                                      {"server failure", dnsquery.Answered},
	}
	var questions []dnsquery.Question
	for q := range cases {
		questions = append(questions, q)
	}
	ofHost, ofResolver := ask(t, host, questions...), ask(t, address, questions...)
	for q, want := range cases {
		if !strings.HasPrefix(ofHost[q], want.host) || !strings.HasPrefix(ofResolver[q], want.resolver) {
			t.Errorf("%s: want %q of the host's DNS and %q of the resolver, got %q and %q", q, want.host, want.resolver, ofHost[q], ofResolver[q])
		}
	}
}

// serve runs CoreDNS on a free port, and returns its address.
func serve(t *testing.T, dir, name, corefile string) string {
	t.Helper()
	address, port := freePort(t)
	start(t, dir, name, strings.ReplaceAll(corefile, "PORT", port), address)
	return address
}

func freePort(t *testing.T) (address, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // It ends at once.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), port
}

// start runs CoreDNS until the test ends, and waits until it answers.
func start(t *testing.T, dir, name, corefile, address string) {
	t.Helper()
	cache, err := toolchain.Default()
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Build(t.Context(), func(line string) { t.Log(line) }, "coredns"); err != nil {
		t.Fatal(err)
	}
	program, err := cache.Binary("coredns")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "Corefile-"+name)
	if err := os.WriteFile(file, []byte(corefile), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &strings.Builder{}
	cmd := exec.CommandContext(t.Context(), program, "-conf", file) //nolint:gosec // The program is the cache's.
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() })
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		conn, err := net.Dial("tcp", address) //nolint:noctx // It is on this machine.
		if err == nil {
			_ = conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("CoreDNS doesn't answer at %s: %v\n%s\n%s", address, err, corefile, log)
		}
	}
}

// ask asks a server on this machine.
func ask(t *testing.T, server string, questions ...dnsquery.Question) map[dnsquery.Question]string {
	t.Helper()
	command := dnsquery.Command(server, questions...)
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput() //nolint:gosec // It is the test's own.
	if err != nil {
		t.Fatal(fmt.Errorf("cannot ask: %w: %s", err, out))
	}
	got, err := dnsquery.Results(string(out), questions...)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
