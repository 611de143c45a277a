//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/certs"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// ownHost is outside the platform's domain, and certificateName the Secret with its certificate.
	ownHost         = "argocd.rival.example.org"
	certificateName = "own-certificate"
)

// hostRefused waits until a claim says that its host is another one's, and what it is to do.
func hostRefused(ctx context.Context, t *testing.T, l *claim.Live, words ...string) {
	t.Helper()
	state := l.Await(ctx, t, readyWithin, "is refused its host", func(state *claim.State) bool {
		c := state.Condition(claim.IngressReady)
		if c.Status != metav1.ConditionFalse || c.Reason != "HostTaken" {
			return false
		}
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return false
			}
		}
		return true
	})
	if c := state.Condition(claim.IngressReady); !strings.Contains(c.Message, "write another spec.ingress.host") {
		t.Errorf("the condition does not say what to do: %s", c.Message)
	}
}

func (s *site) hostTaken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	hostRefused(ctx, t, s.rival, s.host, "claim site")
	// The rest of it is as of any other claim: it is Ready, and reached inside the cluster.
	s.rival.AwaitReady(ctx, t, readyWithin)
	loggedIn(ctx, t, s.rival)
	if details := connectionDetails(ctx, t, s.rival); !strings.Contains(details["url"], ".svc") {
		t.Errorf("a claim without a host has the URL %s", details["url"])
	}
	eventually.True(ctx, t, time.Minute, "the claim has an event that names the host", func(ctx context.Context) (bool, string) {
		return warned(ctx, s.rival, s.host)
	})
	if info, err := s.admin.UserInfo(ctx); err != nil || !info.LoggedIn {
		t.Errorf("the first claim is not at its host any more: %+v, %v", info, err)
	}
	s.makesIngressWithoutHostname(ctx, t)
	return ctx
}

// makesIngressWithoutHostname has a customer whose claim has no hostname make an Ingress: its control plane may write none on the
// host cluster, and says so.
func (s *site) makesIngressWithoutHostname(ctx context.Context, t *testing.T) {
	t.Helper()
	rival := &tenant{live: s.rival, cluster: open(ctx, t, s.rival), namespace: tenantNamespace(ctx, s.rival)}
	ingresses := rival.cluster.Typed.NetworkingV1().Ingresses(metav1.NamespaceDefault)
	early := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "early"},
		Spec:       networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: ownHost}}},
	}
	if _, err := ingresses.Create(ctx, early, metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot make an Ingress in the virtual cluster: %v", err)
	}
	rival.awaitEvent(ctx, t, metav1.NamespaceDefault, "Ingress", early.Name, `cannot create resource "ingresses"`)
	if got := s.ingresses(ctx, t, rival.namespace); len(got) > 0 {
		t.Errorf("a claim without a hostname has an Ingress on the host cluster: %v", got)
	}
	if err := ingresses.Delete(ctx, early.Name, metav1.DeleteOptions{}); err != nil {
		t.Errorf("cannot delete the Ingress in the virtual cluster: %v", err)
	}
}

// podsBesideArgoCD are the pods of a tenant on the host cluster, each with its UID and how often it was restarted. Those
// of Argo CD that read its URL, and whether TLS ends at the Ingress, are left out: the argo-cd chart replaces them when
// that changes.
func podsBesideArgoCD(ctx context.Context, t *testing.T, namespace string) map[string]string {
	t.Helper()
	out, _ := podsOf(ctx, t, namespace, func(p corev1.Pod) bool {
		return p.Labels["app.kubernetes.io/part-of"] != "argocd" || p.Labels["app.kubernetes.io/name"] == "argocd-redis"
	})
	// The control plane, its DNS and redis.
	if len(out) < 3 {
		t.Fatalf("too few pods are in namespace %s: %v", namespace, out)
	}
	return out
}

// people is an annotation of nobody's that the host lets tenants have: all with that prefix.
const people = "argocd.argoproj.io/people"

// nobodyServes gives a claim its first hostname, of a class that no ingress controller serves, and asks for a certificate from
// an issuer: nobody makes it here, so what counts is that the host cluster's cert-manager would be asked for it.
func (s *site) nobodyServes(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := podsBesideArgoCD(ctx, t, tenantNamespace(ctx, s.rival))
	s.rival.Patch(ctx, t, map[string]any{
		"host": ownHost, "className": "nobodys", "annotations": map[string]any{people: "{{ people }}"},
		"tls": map[string]any{"issuer": map[string]any{"name": "letsencrypt"}},
	}, "spec", "ingress")
	state := s.rival.Await(ctx, t, 3*time.Minute, "is Ready, but for an ingress controller", func(state *claim.State) bool {
		return namesIt(state, claim.IngressReady, ownHost) && state.Condition(claim.IngressReady).Reason == "WaitingForAddress" &&
			state.True(claim.Ready) && state.ArgoCD.URL == "https://"+ownHost
	})
	if err := host.Typed.CoreV1().ConfigMaps(crossplane).Delete(ctx, given.HostnameRecord(decoy), metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	var got networkingv1.Ingress
	eventually.True(ctx, t, time.Minute, "one Ingress is on the host cluster", func(context.Context) (bool, string) {
		ingresses := s.ingresses(ctx, t, state.Namespace)
		if len(ingresses) == 1 {
			got = ingresses[0]
		}
		return len(ingresses) == 1, fmt.Sprint(ingresses)
	})
	keepsPods(t, "the first hostname of a claim", before, podsBesideArgoCD(ctx, t, state.Namespace))
	for key, want := range map[string]string{"cert-manager.io/cluster-issuer": "letsencrypt", people: "{{ people }}"} {
		if got.Annotations[key] != want {
			t.Errorf("annotation %s of the Ingress on the host cluster is %q, want %q", key, got.Annotations[key], want)
		}
	}
	if class := got.Spec.IngressClassName; class == nil || *class != "nobodys" {
		t.Errorf("the Ingress on the host cluster is of another class: %+v", got.Spec)
	}
	if tls := got.Spec.TLS; len(tls) != 1 || len(tls[0].Hosts) != 1 || tls[0].Hosts[0] != ownHost || tls[0].SecretName == "" {
		t.Errorf("the Ingress on the host cluster names no Secret for the certificate of %s: %+v", ownHost, tls)
	}
	return ctx
}

func (s *site) ingresses(ctx context.Context, t *testing.T, namespace string) []networkingv1.Ingress {
	t.Helper()
	list, err := host.Typed.NetworkingV1().Ingresses(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func (s *site) ownCertificate(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	dialer.Resolve(ownHost, ingress.Address)
	authority, certificate := certificateFor(t, ownHost)
	s.secrets.write(ctx, t, certificateName, certificate)
	s.rival.Patch(ctx, t, map[string]any{
		"className": nil, "annotations": nil, "tls": map[string]any{"issuer": nil, "secretName": certificateName},
	}, "spec", "ingress")
	start := time.Now()
	s.servedAt(ctx, t, s.rival, ownHost, authority)
	measured.add("site: host with certificate of its own to served", time.Since(start))
	return ctx
}

// certificateFor makes a host's certificate, as a Secret has it, and the authority in PEM that it comes from.
func certificateFor(t *testing.T, host string) (authority []byte, certificate map[string]string) {
	t.Helper()
	ca, err := certs.NewAuthority("e2e-" + host)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := ca.Sign(certs.Identity{Name: host, Hosts: []string{host}})
	if err != nil {
		t.Fatal(err)
	}
	key, err := pair.KeyPEM()
	if err != nil {
		t.Fatal(err)
	}
	return ca.CertPEM(), map[string]string{corev1.TLSCertKey: string(pair.CertPEM()), corev1.TLSPrivateKeyKey: string(key)}
}

func (s *site) hostGivenUp(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	s.rival.Patch(ctx, t, map[string]any{"host": s.host, "tls": nil}, "spec", "ingress")
	hostRefused(ctx, t, s.rival, s.host, "claim site", ownHost+" stays in use")

	// An Ingress of the customer's own would take what is meant for the next one that has the host.
	_, remove := s.serveGRPC(ctx, t, "grpc."+s.host)
	moved := "moved." + ingress.Domain
	s.live.Patch(ctx, t, moved, "spec", "ingress", "host")
	start := time.Now()
	s.servedAt(ctx, t, s.live, moved, s.authorities)
	measured.add("site: another host to served there", time.Since(start))
	s.live.Await(ctx, t, time.Minute, "tells that it keeps the host for which it has an Ingress", func(state *claim.State) bool {
		return strings.HasSuffix(state.Condition(claim.IngressReady).Message, "may have further Ingresses for it: "+s.host)
	})
	hostRefused(ctx, t, s.rival, s.host, "claim site")

	s.keepsHostWithoutArgoCDs(ctx, t)

	remove()
	start = time.Now()
	s.servedAt(ctx, t, s.rival, s.host, s.authorities)
	measured.add("site: host given up to the next claim served there", time.Since(start))
	return ctx
}

// keepsHostWithoutArgoCDs deletes Argo CD's Ingress in the virtual cluster, so that the only one that the host counts is the one for the
// host that was given up. The providers look every 30 seconds.
func (s *site) keepsHostWithoutArgoCDs(ctx context.Context, t *testing.T) {
	t.Helper()
	ingresses := open(ctx, t, s.live).Typed.NetworkingV1().Ingresses("argocd")
	was, err := ingresses.Get(ctx, given.ArgoCDServer, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ingresses.Delete(ctx, was.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	namespace := tenantNamespace(ctx, s.live)
	eventually.True(ctx, t, time.Minute, "one Ingress is left on the host", func(ctx context.Context) (bool, string) {
		left := s.ingresses(ctx, t, namespace)
		return len(left) == 1, fmt.Sprint(len(left))
	})
	time.Sleep(75 * time.Second)
	record, err := host.Typed.CoreV1().ConfigMaps(crossplane).Get(ctx, given.HostnameRecord(s.host), metav1.GetOptions{})
	if err != nil || record.Labels["crossplane.io/claim-name"] != s.live.Name {
		t.Errorf("a claim doesn't keep the host for which it has an Ingress: %v, %v", record, err)
	}
	restored := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: was.Name, Labels: was.Labels, Annotations: was.Annotations}, Spec: was.Spec}
	if _, err := ingresses.Create(ctx, restored, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// hostFreed takes the host's field away again, which gives the claim the one below the platform's domain that no other claim
// can have, and then has it ask for the host that is rival's now.
func (s *site) hostFreed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	s.live.Patch(ctx, t, nil, "spec", "ingress")
	s.servedAt(ctx, t, s.live, s.live.Name+"--"+claims+"."+ingress.Domain, s.authorities)
	s.live.Patch(ctx, t, s.host, "spec", "ingress", "host")
	hostRefused(ctx, t, s.live, s.host, "claim rival", "stays in use")
	deletePromptly(ctx, t, s.rival)
	start := time.Now()
	s.servedAt(ctx, t, s.live, s.host, s.authorities)
	measured.add("site: claim with the host gone to the next claim served there", time.Since(start))
	return ctx
}

// ingressRemoved switches the Ingress off that the platform's domain gives.
func (s *site) ingressRemoved(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	s.live.Patch(ctx, t, map[string]any{
		"ingress": nil, "argocd": map[string]any{"values": map[string]any{"server": map[string]any{"ingress": map[string]any{"enabled": false}}}},
	}, "spec")
	state := s.live.Await(ctx, t, 3*time.Minute, "is reached inside the cluster alone", func(state *claim.State) bool {
		return state.True(claim.Ready) && strings.HasSuffix(state.ArgoCD.URL, ".svc") && state.Condition(claim.IngressReady).Reason == "NotInSpec"
	})
	eventually.True(ctx, t, time.Minute, "no Ingress is left on the host cluster", func(context.Context) (bool, string) {
		left := s.ingresses(ctx, t, state.Namespace)
		return len(left) == 0, fmt.Sprint(left)
	})
	awaitDetails(ctx, t, s.live, "says so", func(details map[string]string) (bool, string) {
		return details["url"] == state.ArgoCD.URL, details["url"]
	})
	settings, err := loggedIn(ctx, t, s.live).Settings(ctx)
	if err != nil || settings["url"] != state.ArgoCD.URL {
		t.Errorf("Argo CD says that it is at %v, %v, the claim %s", settings["url"], err, state.ArgoCD.URL)
	}
	if _, err := s.visitor(t).Version(ctx); err == nil {
		t.Errorf("Argo CD is still at %s", s.host)
	}
	eventually.True(ctx, t, time.Minute, "no host is the claim's any more", func(ctx context.Context) (bool, string) {
		records, err := host.Typed.CoreV1().ConfigMaps(crossplane).List(ctx, metav1.ListOptions{LabelSelector: "crossplane.io/claim-name=" + s.live.Name})
		if err != nil {
			return false, err.Error()
		}
		return len(records.Items) == 0, fmt.Sprint(records.Items)
	})
	return ctx
}
