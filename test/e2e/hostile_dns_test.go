//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/dnsquery"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// ask sends questions to a DNS server from a pod, and returns what came of each.
func (p place) ask(ctx context.Context, server string, questions ...dnsquery.Question) (map[dnsquery.Question]string, error) {
	out, err := p.run(ctx, dnsquery.Command(net.JoinHostPort(server, "53"), questions...)...)
	if err != nil {
		return nil, err
	}
	got, err := dnsquery.Results(out, questions...)
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", p.name, err)
	}
	return got, nil
}

// mustAsk waits until a server has answered questions from a pod, each as it is wanted.
func (p place) mustAsk(ctx context.Context, t *testing.T, server, want string, questions ...dnsquery.Question) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, fmt.Sprintf("pod %s gets %q from %s", p.name, want, server), func(ctx context.Context) (bool, string) {
		got, err := p.ask(ctx, server, questions...)
		if err != nil {
			return false, err.Error()
		}
		for _, q := range questions {
			if !strings.HasPrefix(got[q], want) {
				return false, fmt.Sprintf("%s: %s", q, got[q])
			}
		}
		return true, ""
	})
}

// otherTenantsNames asks for the names of alice's Services by their addresses, and for names of the host. The host's DNS knows
// them. Mallory's own DNS, the resolver for tenants behind it, and the host's DNS from a pod of mallory's with the label of its
// DNS tell nothing, and still know mallory's own names and those of the internet.
func otherTenantsNames(ctx context.Context, t *testing.T, i *intrusion) {
	var listed []dnsquery.Question
	services, err := host.Typed.CoreV1().Services(i.alice.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range services.Items {
		if address, err := netip.ParseAddr(s.Spec.ClusterIP); err == nil {
			listed = append(listed, dnsquery.Reverse(address))
		}
	}
	if len(listed) == 0 {
		t.Fatal("alice has no Services: this would show nothing")
	}
	known := []dnsquery.Question{
		{Name: onHost("argocd-server", "argocd") + "." + i.alice.namespace + ".svc.cluster.local", Type: "A"},
		{Name: "kube-dns.kube-system.svc.cluster.local", Type: "A"},
		{Name: "_dns._udp.kube-dns.kube-system.svc.cluster.local", Type: "SRV"},
	}
	hostDNS := serviceAddress(ctx, t, "kube-system", "kube-dns")
	// The question is a good one: whoever may ask the host's DNS is told.
	i.bystander.mustAsk(ctx, t, hostDNS, dnsquery.Answered, append(listed, known...)...)

	wildcards := []dnsquery.Question{{Name: "any.any.svc.cluster.local", Type: "SRV"}, {Name: "*.*.svc.cluster.local", Type: "A"}}
	outside := dnsquery.Question{Name: "shop.10-96-0-11.sslip.io", Type: "A"}
	own := dnsquery.Question{Name: "argocd-server.argocd.svc.cluster.local", Type: "A"}
	nothing := func(from place, server string, questions ...dnsquery.Question) {
		t.Helper()
		got, err := from.ask(ctx, server, questions...)
		if err != nil {
			t.Error(err)
		}
		for _, q := range questions {
			if got[q] != dnsquery.NoSuchName {
				t.Errorf("pod %s asks %s for %s: want %q, got %q", from.name, server, q, dnsquery.NoSuchName, got[q])
			}
		}
	}

	virtual, err := i.mallory.cluster.Typed.CoreV1().Services(metav1.NamespaceSystem).Get(ctx, "kube-dns", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i.mallory.probe.mustAsk(ctx, t, virtual.Spec.ClusterIP, dnsquery.Answered, own, outside)
	// kube-dns of kube-system is mallory's own there.
	nothing(i.mallory.probe, virtual.Spec.ClusterIP, append(append(listed, known[0]), wildcards...)...)

	// A pod with this label may ask the resolver for tenants.
	pod := probePod("asks-the-host")
	pod.Labels["k8s-app"] = "vcluster-kube-dns"
	imposter := runProbe(ctx, t, i.mallory.cluster, metav1.NamespaceDefault, pod)
	resolver := serviceAddress(ctx, t, "virtual-argocd-dns", "resolver")
	imposter.mustAsk(ctx, t, resolver, dnsquery.Answered, outside)
	nothing(imposter, resolver, append(append(listed, known...), wildcards...)...)
	got, err := imposter.ask(ctx, hostDNS, known...)
	if err != nil {
		t.Error(err)
	}
	for _, q := range known {
		if got[q] != dnsquery.NoAnswer {
			t.Errorf("the host's DNS, asked for %s: want %q, got %q", q, dnsquery.NoAnswer, got[q])
		}
	}
	// Other pods of mallory's have to ask their own DNS.
	if got, err := i.mallory.probe.ask(ctx, resolver, outside); err != nil || got[outside] != dnsquery.NoAnswer {
		t.Errorf("the resolver, asked by another pod: want %q, got %q, %v", dnsquery.NoAnswer, got[outside], err)
	}
}
