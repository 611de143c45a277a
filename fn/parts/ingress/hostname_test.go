package ingress_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestHostsAreUnique: of two claims that ask for one host the first has it, and
// nothing happens to it when the second comes.
func TestHostsAreUnique(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := crossplanetest.New(t, spec, "").Install()
	before := argocdValues(first)

	second := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(spec)), "")
	second.Cluster = first.Cluster
	second.Install()
	c := second.Condition(v1alpha1.ConditionIngressReady)
	if c.GetReason() != v1alpha1.ReasonHostTaken || c.GetTarget() != fnv1.Target_TARGET_COMPOSITE_AND_CLAIM || c.GetMessage() != "Hostname argocd.example.org is in use by claim customer1: write another spec.ingress.host" {
		t.Errorf("IngressReady of the second: %v", c)
	}
	if second.Response.GetDesired().GetResources()[tenant.HostnameResource("argocd.example.org")] != nil {
		t.Error("the second composes a record that the API server refuses each time")
	}
	if owns(first) != withGRPC("argocd.example.org") || owns(second) != "" {
		t.Errorf("the admission policy lets the first have %q, the second %q", owns(first), owns(second))
	}
	if v := argocdValues(second); v["ingress"] != nil || v["domain"] != "argocd-server-x-argocd-x-vcluster.vargo-customer2-7rw8j.svc" {
		t.Errorf("the second has an Ingress: %v", v)
	}
	if got := second.Status("argocd", "url"); got != "https://argocd-server-x-argocd-x-vcluster.vargo-customer2-7rw8j.svc" {
		t.Errorf("URL of the second: %s", got)
	}
	if !slices.ContainsFunc(second.Events, func(e string) bool { return strings.HasPrefix(e, v1alpha1.ReasonHostTaken) }) {
		t.Errorf("the second's claim has no event: %v", second.Events)
	}
	first.Reconcile()
	if diff := cmp.Diff(before, argocdValues(first)); diff != "" || first.Condition(v1alpha1.ConditionIngressReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("something happened to the first: -want, +got:\n%s", diff)
	}
	// The second moves to a host of its own, and then to one that is taken.
	second.SetSpec(`{"ingress":{"host":"second.example.org"}}`)
	second.Cycle(4)
	if v := argocdValues(second); v["domain"] != "second.example.org" || owns(second) != withGRPC("second.example.org") {
		t.Errorf("the second has a host of its own: %v", v)
	}
	second.SetSpec(spec)
	second.Cycle(4)
	if v := argocdValues(second); v["domain"] != "second.example.org" || second.Status("argocd", "url") != "https://second.example.org" {
		t.Errorf("what it had stays in use: %v", v)
	}
	if c := second.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken || !strings.Contains(c.GetMessage(), "second.example.org stays in use") {
		t.Errorf("IngressReady of the second: %v", c)
	}
	// The first gives it up: the second gets it, and gives up its own.
	first.SetSpec(`{}`)
	first.Cycle(4)
	second.Cycle(5)
	if owns(first) != "" || owns(second) != withGRPC("argocd.example.org") {
		t.Errorf("the admission policy lets the first have %q, the second %q", owns(first), owns(second))
	}
	if v := argocdValues(second); v["domain"] != "argocd.example.org" || second.Condition(v1alpha1.ConditionIngressReady).GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("a host that is free again: %v", v)
	}
	if c := first.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonNotInSpec {
		t.Errorf("IngressReady of the first: %v", c)
	}
	if got := records(second); !slices.Equal(got, []string{"ConfigMap/crossplane-system/" + tenant.HostnameRecord("argocd.example.org")}) {
		t.Errorf("records of hosts: %v", got)
	}
}

// TestHolderOfAHost: who uses one namespace is not told what claims others have.
func TestHolderOfAHost(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := crossplanetest.New(t, spec, "").Install()
	second := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another", crossplanetest.Namespace, "team-b").Replace(crossplanetest.TenantXR(spec)), "")
	second.Cluster = first.Cluster
	second.Install()
	if c := second.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken || c.GetMessage() != "Hostname argocd.example.org is in use by another claim: write another spec.ingress.host" {
		t.Errorf("IngressReady of a claim of another namespace: %v", c)
	}
}

// TestHostsAtOnce: two claims ask before either has its record.
func TestHostsAtOnce(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := crossplanetest.New(t, spec, "")
	second := crossplanetest.NewXR(t, strings.NewReplacer("customer1", "customer2", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(spec)), "")
	first.Reconcile()
	// The second's request was made before the first's record was there.
	second.Reconcile()
	second.Cluster = first.Cluster
	delete(second.Request.GetObserved().GetResources(), tenant.HostnameResource("argocd.example.org"))
	first.Install()
	for range 8 {
		if second.Reconcile(); owns(second) != "" {
			t.Fatalf("the admission policy lets the second have %q", owns(second))
		}
		second.RunProviders()
	}
	if argocdValues(first)["ingress"] == nil || argocdValues(second)["ingress"] != nil {
		t.Errorf("the first: %v, the second: %v", argocdValues(first), argocdValues(second))
	}
}

// TestHostMoves: a host is given up once no Ingress has it any more.
func TestHostMoves(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"hosts":["a.example.org","*.example.org"]}}`).Install()
	if want := withGRPC("a.example.org"); owns(e) != want {
		t.Errorf("the admission policy lets the tenant have %q, want %q", owns(e), want)
	}
	// Somebody deletes the record: it comes back, and the Ingress stays.
	clear(e.Cluster)
	delete(e.Request.GetObserved().GetResources(), tenant.HostnameResource("a.example.org"))
	e.Reconcile()
	if argocdValues(e)["domain"] != "a.example.org" || len(records(e)) != 1 {
		t.Errorf("a record was deleted by hand: %v, %v", argocdValues(e), records(e))
	}
	e.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	e.Reconcile()
	if argocdValues(e)["domain"] != "a.example.org" || len(records(e)) != 2 {
		t.Errorf("the record of the new host isn't seen yet: %v, %v", argocdValues(e), records(e))
	}
	e.Reconcile()
	if argocdValues(e)["domain"] != "b.example.org" || len(records(e)) != 2 {
		t.Errorf("the Ingress with the old host is still there: %v, %v", argocdValues(e), records(e))
	}
	e.Cycle(3)
	if len(records(e)) != 1 {
		t.Errorf("the old host isn't given up: %v", records(e))
	}
	e.SetSpec(`{}`)
	e.Cycle(3)
	if v := argocdValues(e); v["ingress"] != nil || len(records(e)) != 0 {
		t.Errorf("without an Ingress: %v, %v", v, records(e))
	}
	if !e.Has(tenant.IngressesBinding) {
		t.Error("what vcluster may not delete any more stays on the host")
	}
}

// TestHostStaysWithItsIngresses: an Ingress that a tenant made for its host would serve who has the host next.
func TestHostStaysWithItsIngresses(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
	e.Ingresses = 1
	e.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	for range 8 {
		allowed := owns(e)
		if e.Reconcile(); e.Response.GetDesired().GetResources()[tenant.IngressCount] != nil && strings.Contains(allowed, "a.example.org") {
			t.Errorf("Ingresses are counted while the namespace allows %s", allowed)
		}
		e.RunProviders()
	}
	c := e.Condition(v1alpha1.ConditionIngressReady)
	if want := "https://b.example.org is served at 192.0.2.1; kept from other claims while the virtual cluster may have further Ingresses for it: a.example.org"; c.GetMessage() != want || c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("want True, %s, got %v", want, c)
	}
	if owns(e) != withGRPC("b.example.org") || len(records(e)) != 2 {
		t.Errorf("the tenant has %v, and may have Ingresses for %s", records(e), owns(e))
	}
	e.Ingresses = 0
	e.Cycle(3)
	if len(records(e)) != 1 || e.Response.GetDesired().GetResources()[tenant.IngressCount] != nil {
		t.Errorf("no Ingress has the old host: %v", records(e))
	}
}

// TestHostStaysWithAnotherIngress: the one Ingress that a tenant has on the host may be another than Argo CD's, which the tenant can
// delete in the virtual cluster.
func TestHostStaysWithAnotherIngress(t *testing.T) {
	giveUp := func(t *testing.T) *crossplanetest.Engine {
		t.Helper()
		e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
		e.Ingresses, e.IngressDeleted = 1, true
		e.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
		if e.Cycle(8); len(records(e)) != 2 {
			t.Fatalf("the tenant has an Ingress for a.example.org, and %v", records(e))
		}
		return e
	}
	t.Run("Deleted", func(t *testing.T) {
		e := giveUp(t)
		e.Ingresses = 0
		if e.Cycle(4); len(records(e)) != 1 {
			t.Errorf("no Ingress has the old host: %v", records(e))
		}
	})
	t.Run("CreatedAfterTheCount", func(t *testing.T) {
		e := giveUp(t)
		// The other one was counted, and is counted no more when Argo CD's is seen.
		e.IngressDeleted, e.IngressCreated = false, e.Now().Add(time.Minute)
		counts := 0
		for range 8 {
			if e.Has(tenant.IngressCount) {
				counts++
				e.SetManifest(tenant.IngressCount, `{"used":{"count/ingresses.networking.k8s.io":"1"}}`)
			}
			if e.Has(tenant.IngressOnHost) {
				crossplanetest.SetCondition(e.Observed(tenant.IngressOnHost), "Synced", "True", "ReconcileSuccess", "")
				e.ShowIngress()
			}
			e.Reconcile()
		}
		if len(records(e)) != 2 || counts == 0 || counts == 8 {
			t.Errorf("the tenant has %v, and its Ingresses were counted in %d calls of 8", records(e), counts)
		}
		// A later count is newer than both.
		e.Ingresses, e.IngressCreated = 0, time.Time{}
		if e.Cycle(6); len(records(e)) != 1 {
			t.Errorf("only Argo CD's Ingress is there: %v", records(e))
		}
	})
	t.Run("OldHost", func(t *testing.T) {
		e := giveUp(t)
		// The Ingress of Argo CD's name still has the old host.
		e.Ingresses, e.IngressDeleted = 0, false
		for range 6 {
			e.RunProviders()
			if e.Has(tenant.IngressOnHost) {
				m := crossplanetest.Field(e.Observed(tenant.IngressOnHost), "status", "atProvider", "manifest")
				m.Fields["spec"] = structpb.NewStructValue(resource.MustStructJSON(`{"rules":[{"host":"a.example.org"}]}`))
			}
			e.Reconcile()
		}
		if len(records(e)) != 2 {
			t.Errorf("Argo CD's Ingress has a.example.org, and the tenant %v", records(e))
		}
		if e.Cycle(4); len(records(e)) != 1 {
			t.Errorf("Argo CD's Ingress has the new host: %v", records(e))
		}
	})
	t.Run("ReadBefore", func(t *testing.T) {
		e := giveUp(t)
		e.Ingresses, e.IngressDeleted = 0, false
		e.RunProviders()
		for _, name := range []string{tenant.IngressCount, tenant.IngressOnHost} {
			if e.Has(name) {
				crossplanetest.Field(e.Observed(name), "metadata").Fields["deletionTimestamp"] = structpb.NewStringValue("2026-11-27T00:00:00Z")
			}
		}
		if e.Reconcile(); len(records(e)) != 2 {
			t.Errorf("an Object that is being deleted decided: %v", records(e))
		}
	})
}

// TestHostsOfLongNames: a host below the platform's domain is a valid one.
func TestHostsOfLongNames(t *testing.T) {
	long := strings.Repeat("x", 60)
	e := crossplanetest.NewXR(t, strings.Replace(crossplanetest.TenantXR(`{}`), `"name":"customer1"}`, `"name":"`+long+`.y"}`, 1), crossplanetest.IngressInput).Install()
	host := strings.TrimPrefix(e.Status("argocd", "url"), "https://")
	label, domain, _ := strings.Cut(host, ".")
	if len(label) > 63 || domain != "apps.example.org" {
		t.Errorf("host: %s", host)
	}
}

// TestHostOfAnEarlierClaim: a claim that is deleted and applied again waits for the hostname that the tenant of before has until it is gone. That is no
// mistake of anybody's, and it isn't told to write another.
func TestHostOfAnEarlierClaim(t *testing.T) {
	const spec = `{"ingress":{"host":"argocd.example.org"}}`
	first := crossplanetest.New(t, spec, "").Install()
	again := crossplanetest.NewXR(t, strings.NewReplacer("customer1-", "customer1-again-", "1f0d7d2c", "another").Replace(crossplanetest.TenantXR(spec)), "")
	again.Cluster = first.Cluster
	again.Install()
	if c := again.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonWaitingForHost || c.GetMessage() != "Hostname argocd.example.org belongs to another tenant of this namespace and name, such as that of an earlier claim, which isn't gone yet" {
		t.Errorf("IngressReady of the claim that is applied again: %v", c)
	}
	if owns(again) != "" {
		t.Errorf("the admission policy lets it have %q", owns(again))
	}
	delete(first.Cluster, "ConfigMap/crossplane-system/"+tenant.HostnameRecord("argocd.example.org"))
	again.Cycle(5)
	if c := again.Condition(v1alpha1.ConditionIngressReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("once the one of before is gone: %v", c)
	}
}
