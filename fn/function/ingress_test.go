package function

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// platformInput has a domain and defaults for every Ingress.
const platformInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","className":"nginx","annotations":{"a/a":"platform","b/b":"platform"},"tls":{"issuer":{"name":"letsencrypt"}}}}`

// argocdValues are the values of Argo CD's Release that an Ingress decides.
func argocdValues(e *engine) map[string]any {
	v := field(e.observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
	out := map[string]any{"domain": v["global"].(map[string]any)["domain"]}
	if server, ok := v["server"].(map[string]any); ok && server["ingress"] != nil {
		out["ingress"] = server["ingress"]
	}
	if configs, ok := v["configs"].(map[string]any); ok && configs["params"] != nil {
		out["params"] = configs["params"]
	}
	return out
}

func TestIngress(t *testing.T) {
	insecure := map[string]any{"server.insecure": "true"}
	cases := map[string]struct {
		reason      string
		spec, input string
		host        string
		want        map[string]any
	}{
		"Host": {
			"The ingress controller's own certificate, and its default class.",
			`{"ingress":{"host":"argocd.example.org"}}`, "", "argocd.example.org",
			map[string]any{"enabled": true, "hostname": "argocd.example.org", "extraTls": []any{map[string]any{"hosts": []any{"argocd.example.org"}}}},
		},
		"Issuer": {
			"cert-manager on the host makes the certificate.",
			`{"ingress":{"host":"a.example.org","className":"traefik","annotations":{"x/y":"{{ z }}"},"tls":{"issuer":{"name":"ca","kind":"Issuer"}}}}`, "", "a.example.org",
			map[string]any{"enabled": true, "hostname": "a.example.org", "ingressClassName": "traefik", "tls": true,
				"annotations": map[string]any{"x/y": "{{`{{`}} z }}", "cert-manager.io/issuer": "ca"}},
		},
		"PlatformsDomain": {
			"A claim that says nothing gets a name below the platform's domain.",
			`{}`, platformInput, "customer1--team-a.apps.example.org",
			map[string]any{"enabled": true, "hostname": "customer1--team-a.apps.example.org", "ingressClassName": "nginx", "tls": true,
				"annotations": map[string]any{"a/a": "platform", "b/b": "platform", "cert-manager.io/cluster-issuer": "letsencrypt"}},
		},
		"ClaimOverPlatform": {
			"What the claim says counts.",
			`{"ingress":{"host":"own.example.org","className":"own","annotations":{"b/b":"claim"},"tls":{"secretName":"cert"}}}`, platformInput, "own.example.org",
			map[string]any{"enabled": true, "hostname": "own.example.org", "ingressClassName": "own", "tls": true,
				"annotations": map[string]any{"a/a": "platform", "b/b": "claim"}},
		},
		"EmptyObjects": {
			"An empty object is as good as none.",
			`{"ingress":{"annotations":null,"tls":{}}}`, platformInput, "customer1--team-a.apps.example.org",
			map[string]any{"enabled": true, "hostname": "customer1--team-a.apps.example.org", "ingressClassName": "nginx", "tls": true,
				"annotations": map[string]any{"a/a": "platform", "b/b": "platform", "cert-manager.io/cluster-issuer": "letsencrypt"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, tenantXR(tc.spec), tc.input)
			cert, key := keyPair()
			e.secret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key})
			e.install()
			if diff := cmp.Diff(map[string]any{"domain": tc.host, "ingress": tc.want, "params": insecure}, argocdValues(e)); diff != "" {
				t.Errorf("\n%s\nvalues: -want, +got:\n%s", tc.reason, diff)
			}
			if !e.has(tenant.IngressesBinding) {
				t.Errorf("\n%s\nvcluster may not bring the Ingress to the host", tc.reason)
			}
			url := "https://" + tc.host
			if got := string(e.rsp.GetDesired().GetComposite().GetConnectionDetails()["url"]); got != url || e.status("argocd", "url") != url {
				t.Errorf("\n%s\nURL: want %s, got %s in the connection details and %s in the status", tc.reason, url, got, e.status("argocd", "url"))
			}
			if c := e.condition(v1alpha1.ConditionIngressReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || c.GetMessage() != url+" is served at 192.0.2.1" {
				t.Errorf("\n%s\nIngressReady: %v", tc.reason, c)
			}
		})
	}
}

func TestIngressCertificate(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org","tls":{"secretName":"cert"}}}`
	cert, key := keyPair()
	e := newEngine(t, tenantXR(spec), "").install()
	if c := e.condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "Secret cert in namespace team-a does not exist") {
		t.Errorf("IngressReady: %v", c)
	}
	e.secret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": cert})
	if e.reconcile(); e.condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonSecretInvalid {
		t.Errorf("IngressReady: %v", e.condition(v1alpha1.ConditionIngressReady))
	}
	e.secret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key, "ca.crt": cert})
	want := map[string]any{"server": map[string]any{"certificateSecret": map[string]any{"enabled": true, "crt": cert, "key": key}}}
	e.reconcile()
	if diff := cmp.Diff(want, e.secretValues()); diff != "" {
		t.Errorf("values in the Secret: -want, +got:\n%s", diff)
	}
	delete(e.cluster, "Secret/"+testNamespace+"/cert")
	e.reconcile()
	if diff := cmp.Diff(want, e.secretValues()); diff != "" {
		t.Errorf("the Secret is gone: -want, +got:\n%s", diff)
	}
}

// TestHostsAreUnique: of two claims that ask for one host the first has it, and
// nothing happens to it when the second comes.
func TestHostsAreUnique(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := newEngine(t, tenantXR(spec), "").install()
	before := argocdValues(first)

	second := newEngine(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(tenantXR(spec)), "")
	second.cluster = first.cluster
	second.install()
	c := second.condition(v1alpha1.ConditionIngressReady)
	if c.GetReason() != v1alpha1.ReasonHostTaken || c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM || c.GetMessage() != "Hostname argocd.example.org is in use by claim customer1: write another spec.ingress.host" {
		t.Errorf("IngressReady of the second: %v", c)
	}
	if second.rsp.GetDesired().GetResources()[tenant.HostnameResource("argocd.example.org")] != nil {
		t.Error("the second composes a record that the API server refuses each time")
	}
	if owns(first) != withGRPC("argocd.example.org") || owns(second) != "" {
		t.Errorf("the admission policy lets the first have %q, the second %q", owns(first), owns(second))
	}
	if v := argocdValues(second); v["ingress"] != nil || v["domain"] != "argocd-server-x-argocd-x-vcluster.vargo-customer2-7rw8j.svc" {
		t.Errorf("the second has an Ingress: %v", v)
	}
	if got := second.status("argocd", "url"); got != "https://argocd-server-x-argocd-x-vcluster.vargo-customer2-7rw8j.svc" {
		t.Errorf("URL of the second: %s", got)
	}
	if !slices.ContainsFunc(second.events, func(e string) bool { return strings.HasPrefix(e, v1alpha1.ReasonHostTaken) }) {
		t.Errorf("the second's claim has no event: %v", second.events)
	}
	first.reconcile()
	if diff := cmp.Diff(before, argocdValues(first)); diff != "" || first.condition(v1alpha1.ConditionIngressReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("something happened to the first: -want, +got:\n%s", diff)
	}
	// The second moves to a host of its own, and then to one that is taken.
	second.spec(`{"ingress":{"host":"second.example.org"}}`)
	second.cycle(4)
	if v := argocdValues(second); v["domain"] != "second.example.org" || owns(second) != withGRPC("second.example.org") {
		t.Errorf("the second has a host of its own: %v", v)
	}
	second.spec(spec)
	second.cycle(4)
	if v := argocdValues(second); v["domain"] != "second.example.org" || second.status("argocd", "url") != "https://second.example.org" {
		t.Errorf("what it had stays in use: %v", v)
	}
	if c := second.condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken || !strings.Contains(c.GetMessage(), "second.example.org stays in use") {
		t.Errorf("IngressReady of the second: %v", c)
	}
	// The first gives it up: the second gets it, and gives up its own.
	first.spec(`{}`)
	first.cycle(4)
	second.cycle(5)
	if owns(first) != "" || owns(second) != withGRPC("argocd.example.org") {
		t.Errorf("the admission policy lets the first have %q, the second %q", owns(first), owns(second))
	}
	if v := argocdValues(second); v["domain"] != "argocd.example.org" || second.condition(v1alpha1.ConditionIngressReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("a host that is free again: %v", v)
	}
	if c := first.condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("IngressReady of the first: %v", c)
	}
	if got := records(second); !slices.Equal(got, []string{"ConfigMap/crossplane-system/" + tenant.HostnameRecord("argocd.example.org")}) {
		t.Errorf("records of hosts: %v", got)
	}
}

// TestHolderOfAHost: who uses one namespace is not told what claims others have.
func TestHolderOfAHost(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := newEngine(t, tenantXR(spec), "").install()
	second := newEngine(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another", testNamespace, "team-b").Replace(tenantXR(spec)), "")
	second.cluster = first.cluster
	second.install()
	if c := second.condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken || c.GetMessage() != "Hostname argocd.example.org is in use by another claim: write another spec.ingress.host" {
		t.Errorf("IngressReady of a claim of another namespace: %v", c)
	}
}

// TestHostsAtOnce: two claims ask before either has its record.
func TestHostsAtOnce(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := newEngine(t, tenantXR(spec), "")
	second := newEngine(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(tenantXR(spec)), "")
	first.reconcile()
	// The second's request was made before the first's record was there.
	second.reconcile()
	second.cluster = first.cluster
	delete(second.req.GetObserved().GetResources(), tenant.HostnameResource("argocd.example.org"))
	first.install()
	for range 8 {
		if second.reconcile(); owns(second) != "" {
			t.Fatalf("the admission policy lets the second have %q", owns(second))
		}
		second.heal()
	}
	if argocdValues(first)["ingress"] == nil || argocdValues(second)["ingress"] != nil {
		t.Errorf("the first: %v, the second: %v", argocdValues(first), argocdValues(second))
	}
}

// owns are the hosts that the admission policy lets the tenant's Ingresses have.
func owns(e *engine) string { return toldPolicies(e, "virtualargocd.io/ingress-host") }

// toldPolicies is what the admission policies are told of a tenant.
func toldPolicies(e *engine, annotation string) string {
	return field(e.observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations").GetFields()[annotation].GetStringValue()
}

// withGRPC are a host and the one for gRPC that comes with it.
func withGRPC(host string) string { return host + ",grpc." + host }

// TestHostMoves: a host is given up once no Ingress has it any more.
func TestHostMoves(t *testing.T) {
	e := newEngine(t, tenantXR(`{"ingress":{"host":"a.example.org"}}`), `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"hosts":["a.example.org","*.example.org"]}}`).install()
	if want := withGRPC("a.example.org"); owns(e) != want {
		t.Errorf("the admission policy lets the tenant have %q, want %q", owns(e), want)
	}
	// Somebody deletes the record: it comes back, and the Ingress stays.
	clear(e.cluster)
	delete(e.req.GetObserved().GetResources(), tenant.HostnameResource("a.example.org"))
	e.reconcile()
	if argocdValues(e)["domain"] != "a.example.org" || len(records(e)) != 1 {
		t.Errorf("a record was deleted by hand: %v, %v", argocdValues(e), records(e))
	}
	e.spec(`{"ingress":{"host":"b.example.org"}}`)
	e.reconcile()
	if argocdValues(e)["domain"] != "a.example.org" || len(records(e)) != 2 {
		t.Errorf("the record of the new host isn't seen yet: %v, %v", argocdValues(e), records(e))
	}
	e.reconcile()
	if argocdValues(e)["domain"] != "b.example.org" || len(records(e)) != 2 {
		t.Errorf("the Ingress with the old host is still there: %v, %v", argocdValues(e), records(e))
	}
	e.cycle(3)
	if len(records(e)) != 1 {
		t.Errorf("the old host isn't given up: %v", records(e))
	}
	e.spec(`{}`)
	e.cycle(3)
	if v := argocdValues(e); v["ingress"] != nil || len(records(e)) != 0 {
		t.Errorf("without an Ingress: %v, %v", v, records(e))
	}
	if !e.has(tenant.IngressesBinding) {
		t.Error("what vcluster may not delete any more stays on the host")
	}
}

// TestHostStaysWithItsIngresses: an Ingress that a tenant made for its host would serve who has the host next.
func TestHostStaysWithItsIngresses(t *testing.T) {
	e := newEngine(t, tenantXR(`{"ingress":{"host":"a.example.org"}}`), "").install()
	e.ingresses = 1
	e.spec(`{"ingress":{"host":"b.example.org"}}`)
	for range 8 {
		allowed := owns(e)
		if e.reconcile(); e.rsp.GetDesired().GetResources()[tenant.IngressCount] != nil && strings.Contains(allowed, "a.example.org") {
			t.Errorf("Ingresses are counted while the namespace allows %s", allowed)
		}
		e.heal()
	}
	c := e.condition(v1alpha1.ConditionIngressReady)
	if want := "https://b.example.org is served at 192.0.2.1; kept from other claims while the virtual cluster may have further Ingresses for it: a.example.org"; c.GetMessage() != want || c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("want True, %s, got %v", want, c)
	}
	if owns(e) != withGRPC("b.example.org") || len(records(e)) != 2 {
		t.Errorf("the tenant has %v, and may have Ingresses for %s", records(e), owns(e))
	}
	e.ingresses = 0
	e.cycle(3)
	if len(records(e)) != 1 || e.rsp.GetDesired().GetResources()[tenant.IngressCount] != nil {
		t.Errorf("no Ingress has the old host: %v", records(e))
	}
}

// TestHostStaysWithAnotherIngress: the one Ingress that a tenant has on the host may be another than Argo CD's, which the tenant can
// delete in the virtual cluster.
func TestHostStaysWithAnotherIngress(t *testing.T) {
	giveUp := func(t *testing.T) *engine {
		t.Helper()
		e := newEngine(t, tenantXR(`{"ingress":{"host":"a.example.org"}}`), "").install()
		e.ingresses, e.withoutArgoCDs = 1, true
		e.spec(`{"ingress":{"host":"b.example.org"}}`)
		if e.cycle(8); len(records(e)) != 2 {
			t.Fatalf("the tenant has an Ingress for a.example.org, and %v", records(e))
		}
		return e
	}
	t.Run("Deleted", func(t *testing.T) {
		e := giveUp(t)
		e.ingresses = 0
		if e.cycle(4); len(records(e)) != 1 {
			t.Errorf("no Ingress has the old host: %v", records(e))
		}
	})
	t.Run("CreatedAfterTheCount", func(t *testing.T) {
		e := giveUp(t)
		// The other one was counted, and is counted no more when Argo CD's is seen.
		e.withoutArgoCDs, e.ingressCreated = false, e.f.now().Add(time.Minute)
		counts := 0
		for range 8 {
			if e.has(tenant.IngressCount) {
				counts++
				e.setManifest(tenant.IngressCount, `{"used":{"count/ingresses.networking.k8s.io":"1"}}`)
			}
			if e.has(tenant.IngressOnHost) {
				setCondition(e.observed(tenant.IngressOnHost), "Synced", "True", "ReconcileSuccess", "")
				e.showIngress(e.observed(tenant.IngressOnHost))
			}
			e.reconcile()
		}
		if len(records(e)) != 2 || counts == 0 || counts == 8 {
			t.Errorf("the tenant has %v, and its Ingresses were counted in %d calls of 8", records(e), counts)
		}
		// A later count is newer than both.
		e.ingresses, e.ingressCreated = 0, time.Time{}
		if e.cycle(6); len(records(e)) != 1 {
			t.Errorf("only Argo CD's Ingress is there: %v", records(e))
		}
	})
	t.Run("OldHost", func(t *testing.T) {
		e := giveUp(t)
		// The Ingress of Argo CD's name still has the old host.
		e.ingresses, e.withoutArgoCDs = 0, false
		for range 6 {
			e.heal()
			if e.has(tenant.IngressOnHost) {
				m := field(e.observed(tenant.IngressOnHost), "status", "atProvider", "manifest")
				m.Fields["spec"] = structpb.NewStructValue(resource.MustStructJSON(`{"rules":[{"host":"a.example.org"}]}`))
			}
			e.reconcile()
		}
		if len(records(e)) != 2 {
			t.Errorf("Argo CD's Ingress has a.example.org, and the tenant %v", records(e))
		}
		if e.cycle(4); len(records(e)) != 1 {
			t.Errorf("Argo CD's Ingress has the new host: %v", records(e))
		}
	})
	t.Run("ReadBefore", func(t *testing.T) {
		e := giveUp(t)
		e.ingresses, e.withoutArgoCDs = 0, false
		e.heal()
		for _, name := range []string{tenant.IngressCount, tenant.IngressOnHost} {
			if e.has(name) {
				field(e.observed(name), "metadata").Fields["deletionTimestamp"] = structpb.NewStringValue("2026-11-27T00:00:00Z")
			}
		}
		if e.reconcile(); len(records(e)) != 2 {
			t.Errorf("an Object that is being deleted decided: %v", records(e))
		}
	})
}

// TestWhoMayWriteIngresses: a virtual cluster may bring Ingresses to the host once the tenant has a hostname, and takes
// away what it has brought there.
func TestWhoMayWriteIngresses(t *testing.T) {
	e := newEngine(t, tenantXR(`{}`), "").install()
	if e.has(tenant.IngressesBinding) {
		t.Error("a tenant without a hostname may write Ingresses")
	}
	taken := newEngine(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(tenantXR(`{"ingress":{"host":"a.example.org"}}`)), "").install()
	e.cluster = taken.cluster
	e.spec(`{"ingress":{"host":"a.example.org"}}`)
	e.cycle(3)
	if e.condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonHostTaken || e.has(tenant.IngressesBinding) {
		t.Errorf("a tenant whose hostname is another's may write Ingresses: %v", e.condition(v1alpha1.ConditionIngressReady))
	}
	before := field(e.observed(tenant.VClusterRelease), "spec", "forProvider")
	e.spec(`{"ingress":{"host":"b.example.org"}}`)
	e.cycle(3)
	if !e.has(tenant.IngressesBinding) {
		t.Error("a tenant with a hostname may not write Ingresses")
	}
	if diff := cmp.Diff(before, field(e.observed(tenant.VClusterRelease), "spec", "forProvider"), protocmp.Transform()); diff != "" {
		t.Errorf("the first hostname changes the virtual cluster's Release, which restarts the virtual API: -without, +with:\n%s", diff)
	}
	e.spec(`{}`)
	e.reconcile()
	if !e.has(tenant.IngressesBinding) {
		t.Error("vcluster loses its rights before the Ingress is gone")
	}
	e.cycle(3)
	if argocdValues(e)["ingress"] != nil || !e.has(tenant.IngressesBinding) {
		t.Errorf("the Ingress is gone, vcluster is to delete others, too: %v, %t", argocdValues(e)["ingress"], e.has(tenant.IngressesBinding))
	}
}

// records are the hosts' records in the cluster.
func records(e *engine) []string {
	return slices.Sorted(func(yield func(string) bool) {
		for key := range maps.Keys(e.cluster) {
			if strings.HasPrefix(key, "ConfigMap/") && !yield(key) {
				return
			}
		}
	})
}

func TestIngressHealth(t *testing.T) {
	e := newEngine(t, tenantXR(`{"ingress":{"host":"argocd.example.org"}}`), "")
	reasons := []string{}
	for i := range 6 {
		e.reconcile()
		if i == 1 {
			e.begin()
			e.reconcile()
			e.heal()
			e.reconcile()
		}
		reasons = append(reasons, e.condition(v1alpha1.ConditionIngressReady).GetReason())
		e.heal()
	}
	const waits = v1alpha1.ReasonWaitingForArgoCD
	want := []string{waits, waits, waits, waits, waits, v1alpha1.ReasonAvailable}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("reasons while a tenant comes up: -want, +got:\n%s", diff)
	}
	e.install()
	e.setIngress(`{"loadBalancer":{}}`)
	e.reconcile()
	if c := e.condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonWaitingForAddress || !strings.Contains(c.GetMessage(), "default class") || e.status("phase") != "Ready" {
		t.Errorf("no controller serves it: %v, tenant %s", c, e.status("phase"))
	}
	e.setIngress(`{"loadBalancer":{"ingress":[{"hostname":"lb.example.org"}]}}`)
	e.reconcile()
	if c := e.condition(v1alpha1.ConditionIngressReady); !strings.HasSuffix(c.GetMessage(), "is served at lb.example.org") {
		t.Errorf("IngressReady: %v", c)
	}
}

// issuersInput lists the ClusterIssuers that claims may name.
const issuersInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"tls":{"issuer":{"name":"letsencrypt"},"clusterIssuers":["staging"]}}}`

// TestClusterIssuers: the admission policies are told which ClusterIssuers a tenant may name, where the platform lists them.
func TestClusterIssuers(t *testing.T) {
	for input, want := range map[string]string{issuersInput: "letsencrypt,staging", platformInput: ""} {
		e := newEngine(t, tenantXR(`{"ingress":{"host":"a.b","tls":{"issuer":{"name":"letsencrypt"}}}}`), input).install()
		if got := toldPolicies(e, tenant.AnnotationClusterIssuers); got != want {
			t.Errorf("input %s: the policies are told %q, want %q", input, got, want)
		}
	}
	newEngine(t, tenantXR(`{"ingress":{"host":"a.b","annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"0","nginx.ingress.kubernetes.io/proxy-buffer-size":"128k","nginx.ingress.kubernetes.io/proxy-read-timeout":"3600"},"tls":{"issuer":{"name":"own","kind":"Issuer"}}}}`), issuersInput).install()
}

func TestRefusedIngress(t *testing.T) {
	const host = `"ingress":{"host":"argocd.example.org"}`
	cases := map[string]struct {
		spec, input string
		want        []string
	}{
		"NoHost":              {`{"ingress":{"className":"nginx"}}`, "", []string{"spec.ingress.host", "no domain"}},
		"HostWithScheme":      {`{"ingress":{"host":"https://a.b"}}`, "", []string{"spec.ingress.host", "https://a.b"}},
		"HostUpperCase":       {`{"ingress":{"host":"A.example.org"}}`, "", []string{"spec.ingress.host"}},
		"HostWildcard":        {`{"ingress":{"host":"*.example.org"}}`, "", []string{"spec.ingress.host"}},
		"HostIsAddress":       {`{"ingress":{"host":"192.0.2.1"}}`, "", []string{"spec.ingress.host", "192.0.2.1"}},
		"HostIsOctal":         {`{"ingress":{"host":"010.0.0.1"}}`, "", []string{"spec.ingress.host", "010.0.0.1"}},
		"ClassNotAName":       {`{"ingress":{"host":"a.b","className":"{{ x }}"}}`, "", []string{"spec.ingress.className"}},
		"AnnotationNotOne":    {`{"ingress":{"host":"a.b","annotations":{"a b":"c"}}}`, "", []string{"spec.ingress.annotations", "a b"}},
		"PlatformsAnnotation": {`{"ingress":{"host":"a.b"}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"annotations":{"a b":"c"}}}`, []string{"input.ingress.annotations", "a b"}},
		"TLSBoth":             {`{"ingress":{"host":"a.b","tls":{"secretName":"s","issuer":{"name":"i"}}}}`, "", []string{"spec.ingress.tls", "write one of them"}},
		"IssuerKindUnknown":   {`{"ingress":{"host":"a.b","tls":{"issuer":{"name":"i","kind":"Vault"}}}}`, "", []string{"spec.ingress.tls.issuer.kind", "Vault", "ClusterIssuer or Issuer"}},
		"IssuerNoName":        {`{"ingress":{"host":"a.b","tls":{"issuer":{"kind":"Issuer"}}}}`, "", []string{"spec.ingress.tls.issuer.name"}},
		"PlatformsDomain":     {`{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"Apps"}}`, []string{"input.ingress.domain", "Apps"}},
		"PlatformsIssuer":     {`{"ingress":{"host":"a.b"}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"tls":{"issuer":{"name":"a","kind":"b"}}}}`, []string{"input.ingress.tls.issuer.kind"}},
		"ValuesDomain":        {`{` + host + `,"argocd":{"values":{"global":{"domain":"other.example.org"}}}}`, "", []string{"spec.argocd.values.global.domain", "spec.ingress"}},
		"ValuesURL":           {`{` + host + `,"argocd":{"values":{"configs":{"cm":{"url":"https://other.example.org"}}}}}`, "", []string{"spec.argocd.values.configs.cm.url"}},
		"ValuesInsecure":      {`{` + host + `,"argocd":{"values":{"configs":{"params":{"server.insecure":false}}}}}`, "", []string{"spec.argocd.values.configs.params.server.insecure"}},
		"ValuesNoParams":      {`{` + host + `,"argocd":{"values":{"configs":{"params":null}}}}`, "", []string{"spec.argocd.values.configs.params"}},
		"ValuesIngress":       {`{` + host + `,"argocd":{"values":{"server":{"ingress":{"extraHosts":[]}}}}}`, "", []string{"spec.argocd.values.server.ingress", "spec.ingress"}},
		"ValuesOwnIngress":    {`{"argocd":{"values":{"server":{"ingress":{"enabled":true,"hostname":"a.b"}}}}}`, "", []string{"spec.argocd.values.server.ingress", "spec.ingress", "enabled: false"}},
		"ValuesIngressName":   {`{"argocd":{"values":{"server":{"ingress":{"hostname":"a.b"}}}}}`, platformInput, []string{"spec.argocd.values.server.ingress"}},
		"ValuesGRPC":          {`{` + host + `,"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true,"hostname":"a.b"}}}}}`, "", []string{"spec.argocd.values.server.ingressGrpc.hostname", "a.b", "argocd.example.org or grpc.argocd.example.org"}},
		"ValuesWebhook":       {`{"argocd":{"values":{"applicationSet":{"ingress":{"enabled":true,"hostname":"a.b"}}}}}`, "", []string{"spec.argocd.values.applicationSet.ingress.hostname", "spec.ingress.host"}},
		"HostOfADefault":      {`{"ingress":{"host":"shop--team-b.apps.example.org"}}`, platformInput, []string{"spec.ingress.host", "--"}},
		"HostOfAnyDefault":    {`{"ingress":{"host":"shop--team-b.elsewhere.example.org"}}`, "", []string{"spec.ingress.host", "--"}},
		"HostOfWildcard":      {`{"ingress":{"host":"shop--team-b.apps.example.org"}}`, strings.Replace(platformInput, `"domain"`, `"hosts":["*.apps.example.org"],"domain"`, 1), []string{"spec.ingress.host", "--"}},
		"HostInDomain":        {`{"ingress":{"host":"login.apps.example.org"}}`, platformInput, []string{"spec.ingress.host", "the platform's domain apps.example.org", "customer1--team-a.apps.example.org", "ingress.hosts"}},
		"HostDeepInDomain":    {`{"ingress":{"host":"a.b.apps.example.org"}}`, platformInput, []string{"spec.ingress.host", "the platform's domain"}},
		"HostIsDomain":        {`{"ingress":{"host":"apps.example.org"}}`, platformInput, []string{"spec.ingress.host", "the platform's domain"}},
		"HostWithDotAtTheEnd": {`{"ingress":{"host":"a.example.org."}}`, "", []string{"spec.ingress.host"}},
		"NginxNumber":         {`{"ingress":{"host":"a.b","annotations":{"nginx.ingress.kubernetes.io/proxy-buffer-size":"99999999999g"}}}`, "", []string{"spec.ingress.annotations[nginx.ingress.kubernetes.io/proxy-buffer-size]", "99999999999g", "16k"}},
		"NginxWord":           {`{"ingress":{"host":"a.b","annotations":{"nginx.ingress.kubernetes.io/proxy-buffering":"maybe"}}}`, "", []string{"spec.ingress.annotations", "on or off"}},
		"IssuerNotListed":     {`{"ingress":{"host":"a.b","tls":{"issuer":{"name":"internal-ca"}}}}`, issuersInput, []string{"spec.ingress.tls.issuer.name", "internal-ca", "letsencrypt, staging"}},
		"IssuerByAnnotation":  {`{"ingress":{"host":"a.b","annotations":{"cert-manager.io/cluster-issuer":"internal-ca"}}}`, issuersInput, []string{"spec.ingress.annotations[cert-manager.io/cluster-issuer]", "letsencrypt, staging"}},
		"ValuesSync":          {`{` + host + `,"vcluster":{"values":{"sync":{"toHost":{"ingresses":{"enabled":false}}}}}}`, "", []string{"spec.vcluster.values.sync.toHost.ingresses.enabled"}},
		"ValuesCertificate":   {`{"ingress":{"host":"a.b","tls":{"secretName":"s"}},"argocd":{"values":{"server":{"certificate":{"enabled":true}}}}}`, "", []string{"spec.argocd.values.server.certificate"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) { refused(t, tenantXR(tc.spec), tc.input, tc.want) })
	}
	// What the platform lists, and what the claim gets by itself, is possible.
	for host, input := range map[string]string{
		"shop.apps.example.org":              strings.Replace(platformInput, `"domain"`, `"hosts":["*.apps.example.org"],"domain"`, 1),
		"old--name.apps.example.org":         strings.Replace(platformInput, `"domain"`, `"hosts":["old--name.apps.example.org"],"domain"`, 1),
		"customer1--team-a.apps.example.org": strings.Replace(platformInput, `"domain"`, `"hosts":["other.example.org"],"domain"`, 1),
		"xn--bcher-kva.example.org":          platformInput,
		"apps.example.org.example.com":       platformInput,
	} {
		e := newEngine(t, tenantXR(`{"ingress":{"host":"`+host+`"}}`), input).install()
		if got := argocdValues(e)["domain"]; got != host {
			t.Errorf("want %s, got %v: %s", host, got, refusal(e.rsp))
		}
	}
	// The same meaning is no conflict.
	newEngine(t, tenantXR(`{`+host+`,"argocd":{"values":{"global":{"domain":"argocd.example.org"},"configs":{"params":{"server.insecure":true}}}}}`), "").install()
	// A claim that switches the Ingress off gets none of the platform's.
	e := newEngine(t, tenantXR(`{"argocd":{"values":{"server":{"ingress":{"enabled":false}}}}}`), platformInput).install()
	if got := argocdValues(e)["ingress"]; !cmp.Equal(got, map[string]any{"enabled": false}) || len(records(e)) > 0 {
		t.Errorf("a claim without an Ingress has %v, and records %v", got, records(e))
	}
}

// TestHostsOfLongNames: a host below the platform's domain is a valid one.
func TestHostsOfLongNames(t *testing.T) {
	long := strings.Repeat("x", 60)
	e := newEngine(t, strings.Replace(tenantXR(`{}`), `"name":"customer1"}`, `"name":"`+long+`.y"}`, 1), platformInput).install()
	host := strings.TrimPrefix(e.status("argocd", "url"), "https://")
	label, domain, _ := strings.Cut(host, ".")
	if len(label) > 63 || domain != "apps.example.org" {
		t.Errorf("host: %s", host)
	}
}
