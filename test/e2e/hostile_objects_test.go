//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
)

func serviceRefused(words string, change func(*corev1.ServiceSpec)) func(context.Context, *testing.T, *intrusion) {
	return func(ctx context.Context, t *testing.T, i *intrusion) {
		i.mallory.serviceRefused(ctx, t, "trick-"+strings.ToLower(t.Name()[strings.LastIndex(t.Name(), "/")+1:]), words, change)
	}
}

// serviceRefused tries a Service that is as a plain one, which gets to the host, but for a change.
func (n *tenant) serviceRefused(ctx context.Context, t *testing.T, name, words string, change func(*corev1.ServiceSpec)) {
	t.Helper()
	n.awaitSynced(ctx, t, plainService("plain-"+name))
	trick := plainService(name)
	change(&trick.Spec)
	services := n.cluster.Typed.CoreV1().Services(metav1.NamespaceDefault)
	// vcluster has the host say at once what address a Service gets.
	_, err := services.Create(ctx, trick, metav1.CreateOptions{})
	if err == nil {
		n.awaitEvent(ctx, t, metav1.NamespaceDefault, "Service", name, words)
	} else if !says(err, words) {
		t.Errorf("want %q, got %v", words, err)
	}
	if s, err := host.Typed.CoreV1().Services(n.namespace).Get(ctx, onHost(name, metav1.NamespaceDefault), metav1.GetOptions{}); !kerrors.IsNotFound(err) {
		t.Errorf("the Service is on the host: %v, %v", s.Spec, err)
	}
	if err := services.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Error(err)
	}
}

// ownEndpoints gives a Service the address of another tenant's.
func ownEndpoints(ctx context.Context, t *testing.T, i *intrusion) {
	core := i.mallory.cluster.Typed.CoreV1()
	const name = "trick-endpoints"
	service := plainService(name)
	service.Spec.Selector = nil
	if _, err := core.Services(metav1.NamespaceDefault).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	endpoints := &corev1.Endpoints{ //nolint:staticcheck // What is deprecated works for attackers, too.
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // See above.
			Addresses: []corev1.EndpointAddress{{IP: i.alice.probe.address}}, Ports: []corev1.EndpointPort{{Port: answerPort}},
		}},
	}
	if _, err := core.Endpoints(metav1.NamespaceDefault).Create(ctx, endpoints, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	port := int32(answerPort)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name + "-own", Labels: map[string]string{discoveryv1.LabelServiceName: name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{i.alice.probe.address}}},
		Ports:       []discoveryv1.EndpointPort{{Port: &port}},
	}
	if _, err := i.mallory.cluster.Typed.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// What is made later is on the host, and has its addresses: so would these.
	i.mallory.awaitSynced(ctx, t, plainService("after-endpoints"))
	eventually.True(ctx, t, time.Minute, "the plain Service has its pod's address on the host", func(ctx context.Context) (bool, string) {
		got, err := slicesOf(ctx, i.mallory.namespace, onHost("after-endpoints", metav1.NamespaceDefault))
		return slices.Contains(got, i.mallory.probe.address), fmt.Sprint(got, err)
	})
	if got, err := slicesOf(ctx, i.mallory.namespace, ""); err != nil || slices.Contains(got, i.alice.probe.address) {
		t.Errorf("alice's address is behind a Service of mallory's on the host: %v, %v", got, err)
	}
	slice.Labels["vcluster.loft.sh/managed-by"] = "vcluster"
	_, err := i.mallory.asSyncer(t).Typed.DiscoveryV1().EndpointSlices(i.mallory.namespace).Create(ctx, slice, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if !says(err, "writes no Endpoints on the host") && !says(err, "is forbidden", "cannot create resource \"endpointslices\"") {
		t.Errorf("vcluster could write EndpointSlices: %v", err)
	}
}

// slicesOf are the addresses behind a Service on the host, or behind all.
func slicesOf(ctx context.Context, namespace, service string) ([]string, error) {
	options := metav1.ListOptions{}
	if service != "" {
		options.LabelSelector = discoveryv1.LabelServiceName + "=" + service
	}
	list, err := host.Typed.DiscoveryV1().EndpointSlices(namespace).List(ctx, options)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			out = append(out, e.Addresses...)
		}
	}
	return out, nil
}

// hijack is what mallory has its Argo CD deploy: an Ingress for somebody else's host, and one for all.
const hijack = `apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: hijack
spec:
  ingressClassName: %s
  rules:
    - host: %s
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service: {name: probe, port: {number: 8080}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: hijack-all
spec:
  ingressClassName: %[1]s
  defaultBackend:
    service: {name: probe, port: {number: 8080}}
`

// hijackRepo is the URL of a Git server with hijack, which mallory may reach.
func (i *intrusion) hijackRepo(ctx context.Context, t *testing.T) string {
	t.Helper()
	state, err := i.alice.live.State(ctx)
	if err != nil {
		t.Fatal(err)
	}
	victim := strings.TrimPrefix(state.ArgoCD.URL, "https://")
	if _, err := createNamespace(hostileGit)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	class := *i.mallory.ingress(ctx, t).Spec.IngressClassName
	return gitserver.RunPublic(ctx, t, host, hostileGit, artifacts.ServersImage, map[string]string{"hijack.yaml": fmt.Sprintf(hijack, class, victim)})
}

// ingress is the one that the tenant has on the host, for the host of its claim.
func (n *tenant) ingress(ctx context.Context, t *testing.T) (is networkingv1.Ingress) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "one Ingress of "+n.live.Name+" is on the host", func(ctx context.Context) (bool, string) {
		list, err := host.Typed.NetworkingV1().Ingresses(n.namespace).List(ctx, metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 || list.Items[0].Spec.IngressClassName == nil {
			return false, fmt.Sprint(list, err)
		}
		is = list.Items[0]
		return true, ""
	})
	return is
}

func otherTenantsHost(ctx context.Context, t *testing.T, i *intrusion) {
	own := i.mallory.ingress(ctx, t)
	createApp(ctx, t, loggedIn(ctx, t, i.mallory.live), "hijack", wholeOf(i.hijackRepo(ctx, t)), argocd.InCluster)
	i.mallory.awaitEvent(ctx, t, "hijack", "Ingress", "hijack", "the hosts of a tenant's Ingress are those of its claim")
	i.mallory.awaitEvent(ctx, t, "hijack", "Ingress", "hijack-all", "has no default backend")
	if after := i.mallory.ingress(ctx, t); after.UID != own.UID {
		t.Errorf("mallory has another Ingress on the host than before: %v", after)
	}
	loggedIn(ctx, t, i.alice.live)
}

// collidingNames makes objects with the names of others: another tenant's, and those that vcluster's way of naming makes
// the same for two of the tenant's own.
func collidingNames(ctx context.Context, t *testing.T, i *intrusion) {
	before := servicesIn(ctx, t, i.alice.namespace)
	namespaces := i.mallory.cluster.Typed.CoreV1().Namespaces()
	for _, name := range []string{i.alice.namespace, "b", "x-b"} {
		if _, err := namespaces.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// The last two have one name on the host: a-x-x-b-x-vcluster.
	for _, s := range []struct{ name, namespace string }{{"vcluster", i.alice.namespace}, {"vcluster", "b"}, {"argocd-server", "b"}, {"a-x", "b"}, {"a", "x-b"}} {
		_, err := i.mallory.cluster.Typed.CoreV1().Services(s.namespace).Create(ctx, plainService(s.name), metav1.CreateOptions{})
		if err != nil && (s.namespace != "x-b" || !kerrors.IsAlreadyExists(err)) {
			t.Fatal(err)
		}
	}
	i.mallory.awaitSynced(ctx, t, plainService("after-collisions"))
	mine := servicesIn(ctx, t, i.mallory.namespace)
	for _, name := range []string{onHost("vcluster", i.alice.namespace), onHost("vcluster", "b"), onHost("argocd-server", "b"), onHost("a-x", "b")} {
		if mine[name] == "" {
			t.Errorf("mallory has no Service %s, but %v", name, slices.Sorted(maps.Keys(mine)))
		}
	}
	if diff := cmp.Diff(before, servicesIn(ctx, t, i.alice.namespace)); diff != "" {
		t.Errorf("alice's Services have changed: -before, +after\n%s", diff)
	}
	i.alice.probe.mustReach(ctx, t, virtualAPI(ctx, t, i.alice))
	// Its own control plane is the Service that it was: the virtual cluster answers by its address.
	if _, err := byAddress(ctx, t, i.mallory.live).Typed.Discovery().ServerVersion(); err != nil {
		t.Errorf("mallory has broken its own way to the virtual cluster: %v", err)
	}
}

// servicesIn are the identities of the Services in a namespace of the host, by name.
func servicesIn(ctx context.Context, t *testing.T, namespace string) map[string]string {
	t.Helper()
	list, err := host.Typed.CoreV1().Services(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, s := range list.Items {
		out[s.Name] = fmt.Sprintf("%s, version %s", s.UID, s.ResourceVersion)
	}
	return out
}

// valuesRefused tries what would switch isolation off, each in a claim of its own.
func valuesRefused(ctx context.Context, t *testing.T, _ *intrusion) {
	bad := map[string]badClaim{}
	try := func(path, value string) {
		hostile := newClaim(fmt.Sprintf("hostile-%02d", len(bad))).VClusterValue(value, strings.Split(path, ".")...)
		bad[path] = badClaim{hostile, "spec.vcluster.values." + path}
	}
	// The chart writes it into a manifest as it is.
	try("logging.encoding", "json\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-mallory, namespace: "+bystanders+"}\n---\n")
	for _, path := range []string{
		"policies.networkPolicy.enabled", "policies.resourceQuota.enabled", "policies.limitRange.enabled", "policies.podSecurityStandard",
		"sync.toHost.networkPolicies.enabled", "sync.toHost.endpoints.enabled", "sync.toHost.serviceAccounts.enabled",
		"experimental.deploy.host.manifests", "controlPlane.advanced.workloadServiceAccount.name", "rbac.role.extraRules",
	} {
		try(path, "false")
	}
	allRefused(ctx, t, bad)
}

// unlabelledSecret names a Secret of the claim's own namespace that nobody has meant for claims.
func unlabelledSecret(ctx context.Context, t *testing.T, i *intrusion) {
	const treasure = "treasure-of-the-team"
	var own ownSecrets
	t.Cleanup(func() { own.deleteAll(ctx, t) })
	data := map[string]string{"username": "team", "password": "the team's own"}
	own.put(ctx, t, metav1.ObjectMeta{Name: treasure}, data)
	i.mallory.live.Patch(ctx, t, []any{map[string]any{"name": "loot", "url": "https://192.0.2.7/loot.git", "secretRef": map[string]any{"name": treasure}}}, "spec", "repositories")
	i.mallory.live.Await(ctx, t, 2*time.Minute, "tells that its repository's Secret lacks the label", func(s *claim.State) bool {
		return states(s)["Repository loot"] == "SecretInvalid" && mentions(s, "Secret "+treasure+" in namespace "+claims+": doesn't have the label "+given.LabelCredentials)
	})
	secrets, err := i.mallory.cluster.Typed.CoreV1().Secrets("argocd").List(ctx, metav1.ListOptions{LabelSelector: "argocd.argoproj.io/secret-type=repository"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range secrets.Items {
		if string(s.Data["password"]) == data["password"] {
			t.Errorf("Secret %s of the virtual cluster has what is in the team's", s.Name)
		}
	}
	// With the label it is used.
	own.write(ctx, t, treasure, data)
	i.mallory.live.Await(ctx, t, 2*time.Minute, "has its repository's Secret", func(s *claim.State) bool { return states(s)["Repository loot"] == "Configured" })
	i.mallory.live.Patch(ctx, t, nil, "spec", "repositories")
}

// otherNamespacesSecret names a Secret that is another namespace's, in a claim that would have Argo CD show it to a
// server of its owner's.
func otherNamespacesSecret(ctx context.Context, t *testing.T, i *intrusion) {
	const treasure = "treasure"
	data := map[string]string{"username": "alice", "password": "alice's own"}
	_, err := host.Typed.CoreV1().Secrets(bystanders).Create(ctx, &corev1.Secret{ObjectMeta: forClaims(treasure), StringData: data}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	entry := func(ref map[string]any) []any {
		return []any{map[string]any{"name": "loot", "url": "https://192.0.2.7/loot.git", "secretRef": ref}}
	}
	for field, ref := range map[string]map[string]any{
		"spec.repositories[0].secretRef.namespace": {"name": treasure, "namespace": bystanders},
		"spec.repositories[0].secretRef.name":      {"name": bystanders + "/" + treasure},
	} {
		l, err := claim.Submit(ctx, host, newClaim("hostile-secret").Set(entry(ref), "spec", "repositories"))
		if err == nil {
			cleanUp(ctx, t, l)
		}
		if !says(err, field) {
			t.Errorf("a claim with %v: want %s refused, got %v", ref, field, err)
		}
	}
	i.mallory.live.Patch(ctx, t, entry(map[string]any{"name": treasure}), "spec", "repositories")
	state := func(want string) {
		t.Helper()
		i.mallory.live.Await(ctx, t, 2*time.Minute, "tells that its repository's Secret is "+want, func(s *claim.State) bool {
			return states(s)["Repository loot"] == want
		})
	}
	state("SecretMissing")
	// In its own namespace it is found.
	var own ownSecrets
	t.Cleanup(func() { own.deleteAll(ctx, t) })
	own.write(ctx, t, treasure, map[string]string{"username": "mallory", "password": "mallory's own"})
	state("Configured")
	i.mallory.live.Patch(ctx, t, nil, "spec", "repositories")
}
