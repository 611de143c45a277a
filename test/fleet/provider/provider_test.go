package provider

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

func TestFaults(t *testing.T) {
	count := func(f *Faults, fault Fault) (n int) {
		for i := range 1000 {
			if f.Has(fault, fmt.Sprintf("tenant%04d-abcde", i)) {
				n++
			}
		}
		return n
	}
	f := NewFaults(1)
	if n := count(f, Slow); n != 0 {
		t.Errorf("%d of 1000 have a fault that nobody was given", n)
	}
	f.Set(Slow, 0.1, "")
	if n := count(f, Slow); n < 70 || n > 130 {
		t.Errorf("%d of 1000 have a fault that a tenth was given", n)
	}
	if n := count(f, NeverStarts); n != 0 {
		t.Errorf("%d of 1000 have a fault in place of another", n)
	}
	again, other := NewFaults(1), NewFaults(2)
	again.Set(Slow, 0.1, "")
	other.Set(Slow, 0.1, "")
	differ := 0
	for i := range 1000 {
		id := fmt.Sprintf("tenant%04d-abcde", i)
		if f.Has(Slow, id) != again.Has(Slow, id) {
			t.Fatalf("the same seed means something else for %s", id)
		}
		if f.Has(Slow, id) != other.Has(Slow, id) {
			differ++
		}
	}
	if differ == 0 {
		t.Error("another seed means the same tenants")
	}
	f.Set(Slow, 1, "")
	if n := count(f, Slow); n != 1000 {
		t.Errorf("%d of 1000 have a fault that all were given", n)
	}
	if got := f.takes("tenant", time.Second); got != SlowBy*time.Second {
		t.Errorf("a slow tenant takes %s", got)
	}
}

func TestBreak(t *testing.T) {
	f := NewFaults(1)
	f.Break("a", proxy.Workload{Name: "argocd-server", Why: "broken"})
	f.Give(Slow, "a")
	if got := f.brokenOf("a")["argocd-server"].Why; got != "broken" {
		t.Errorf("the broken workload is %q", got)
	}
	if got := f.brokenOf("b"); len(got) != 0 {
		t.Errorf("another tenant's workloads are broken: %v", got)
	}
	if !f.Has(Slow, "a") || f.Has(Slow, "b") || f.Has(NeverStarts, "a") {
		t.Error("not just the fault that was given to one tenant")
	}
	f.Break("a", proxy.Workload{Name: "argocd-redis"})
	f.Mend("a", "argocd-redis")
	if got := f.brokenOf("a"); len(got) != 1 {
		t.Errorf("with one of two mended, these are broken: %v", got)
	}
	f.Heal("a")
	if got := f.brokenOf("a"); len(got) != 0 {
		t.Errorf("healed workloads are broken: %v", got)
	}
	if f.Has(Slow, "a") {
		t.Error("a healed tenant has a fault")
	}
}

func TestFaultsOfAVersion(t *testing.T) {
	f := NewFaults(1)
	f.Set(UpgradeDegrades, 1, "1.2.3")
	for version, want := range map[string]bool{"1.2.3": true, "1.2.4": false, "": false} {
		if got := f.HasAt(UpgradeDegrades, "a", version); got != want {
			t.Errorf("a change to %q degrades: %t", version, got)
		}
	}
	if f.HasAt(UpgradeFails, "a", "1.2.3") || f.Has(UpgradeDegrades, "a") {
		t.Error("another fault, or no change, was given")
	}
	f.Set(UpgradeDegrades, 0, "")
	if f.HasAt(UpgradeDegrades, "a", "1.2.3") || f.HasAt(UpgradeDegrades, "a", "") {
		t.Error("a version has a fault that was taken from it")
	}
	f.Give(UpgradeDegrades, "a")
	if !f.HasAt(UpgradeDegrades, "a", "1.2.4") {
		t.Error("a tenant with a fault has it not at each version")
	}
	f.Set(UpgradeRefused, 1, "1.2.3")
	for version, want := range map[string]Fault{"1.2.3": UpgradeRefused, "1.2.4": UpgradeDegrades} {
		if got := f.atChange("a", version); got != want {
			t.Errorf("the fault of a change to %s is %q, want %q", version, got, want)
		}
	}
	if got := f.atChange("b", "1.2.4"); got != "" {
		t.Errorf("another tenant's change has the fault %q", got)
	}
}

// TestShareWith: the share at which n of some tenants have a fault.
func TestShareWith(t *testing.T) {
	f, all := NewFaults(1), []string{"a-11111", "b-22222", "c-33333", "d-44444", "e-55555"}
	for n := 1; n <= len(all); n++ {
		f.Set(UpgradeDegrades, f.ShareWith(UpgradeDegrades, n, all), "1.2.3")
		have := 0
		for _, id := range all {
			if f.HasAt(UpgradeDegrades, id, "1.2.3") {
				have++
			}
		}
		if have != n {
			t.Errorf("%d have it, want %d", have, n)
		}
	}
}

// TestListen: each change of faults is told, with the tenant that it is about.
func TestListen(t *testing.T) {
	f, got := NewFaults(1), []string{}
	stop := f.listen(func(tenant string) { got = append(got, tenant) })
	f.Set(Slow, 1, "")
	f.Set(UpgradeFails, 1, "1.2.3")
	f.Break("a", proxy.Workload{Name: "argocd-redis"})
	f.Mend("b", "argocd-redis")
	f.Give(Slow, "c")
	f.Take(Slow, "c")
	f.Take(Slow, "c")
	f.Heal("d")
	stop()
	f.Heal("e")
	if d := cmp.Diff([]string{"", "", "a", "b", "c", "c", "d"}, got); d != "" {
		t.Error(d)
	}
}

// TestKubeconfig has the function read what a simulated virtual cluster publishes.
func TestKubeconfig(t *testing.T) {
	data, err := newKubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := credentials.ReadVirtualKubeconfig(data[tenant.KubeconfigSourceKey]); err != nil {
		t.Error(err)
	}
}

// TestHelm leads a release through its life.
func TestHelm(t *testing.T) {
	broken := errors.New("timed out")
	var problem error
	h := helm{
		records: storage.Init(driver.NewMemory()), name: "argocd", namespace: "argocd", size: 10,
		ready: func(context.Context) error { return problem },
	}
	h.records.MaxHistory = 3
	chart := &chart.Chart{Metadata: &chart.Metadata{Name: "argo-cd", Version: "1.0.0+a", APIVersion: chart.APIVersionV2}}
	last := func() *release.Release {
		r, err := h.records.Last(h.name)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	is := func(what string, revision int, status release.Status, value string) {
		t.Helper()
		r := last()
		if r.Labels[versionLabel] != "1.0.0_a" {
			t.Errorf("%s: the record's labels are %v", what, r.Labels)
		}
		if r.Version != revision || r.Info.Status != status || r.Config["key"] != value {
			t.Errorf("%s: revision %d, %s, %v; want %d, %s, %s", what, r.Version, r.Info.Status, r.Config["key"], revision, status, value)
		}
	}
	install := func(before *release.Release, value string) error {
		_, err := h.install(t.Context(), before, chart, map[string]any{"key": value})
		return err
	}
	if err := install(nil, "a"); err != nil {
		t.Fatal(err)
	}
	is("installed", 1, release.StatusDeployed, "a")
	if err := install(last(), "b"); err != nil {
		t.Fatal(err)
	}
	is("upgraded", 2, release.StatusDeployed, "b")
	h.fault = UpgradeFails
	problem = broken
	if err := install(last(), "c"); !errors.Is(err, broken) {
		t.Fatalf("a broken upgrade: %v", err)
	}
	is("failed", 3, release.StatusFailed, "c")
	if is, want := last().Info.Description, `Upgrade "argocd" failed: timed out`; is != want {
		t.Errorf("Helm says %q, want %q", is, want)
	}
	if got := last().Labels[faultLabel]; got != string(UpgradeFails) {
		t.Errorf("the fault of the change is %q", got)
	}
	problem = nil
	if err := h.rollback(t.Context(), last()); err != nil {
		t.Fatal(err)
	}
	is("rolled back", 4, release.StatusDeployed, "b")
	if got := last().Labels[faultLabel]; got != "" {
		t.Errorf("what is rolled back has the fault %q", got)
	}
	history, err := h.records.History(h.name)
	if err != nil || len(history) != 3 {
		t.Errorf("%d revisions are kept, want 3: %v", len(history), err)
	}
	if deployed, err := h.records.DeployedAll(h.name); err != nil || len(deployed) != 1 {
		t.Errorf("%d revisions are deployed, want 1: %v", len(deployed), err)
	}
	if err := h.uninstall(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.records.Last(h.name); !errors.Is(err, driver.ErrReleaseNotFound) {
		t.Errorf("uninstalled: %v", err)
	}
}

// TestInterrupted: a release in which Helm was interrupted in an upgrade can be rolled back, and one in a rollback can't be changed any more.
func TestInterrupted(t *testing.T) {
	h := helm{records: storage.Init(driver.NewMemory()), name: "argocd", namespace: "argocd", ready: func(context.Context) error { return nil }}
	chart := &chart.Chart{Metadata: &chart.Metadata{Name: "argo-cd", Version: "1.0.0", APIVersion: chart.APIVersionV2}}
	record := func(version int, status release.Status) *release.Release {
		r := &release.Release{Name: h.name, Version: version, Chart: chart, Info: &release.Info{Status: status}}
		if err := h.records.Create(r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	record(1, release.StatusDeployed)
	last := record(2, release.StatusPendingUpgrade)
	if _, err := h.install(t.Context(), last, chart, nil); !errors.Is(err, errPending) {
		t.Errorf("an upgrade after one that was cut short: %v", err)
	}
	if err := h.rollback(t.Context(), last); err != nil {
		t.Errorf("taking it back: %v", err)
	}
	last = record(4, release.StatusPendingRollback)
	if _, err := h.install(t.Context(), last, chart, nil); !errors.Is(err, errPending) {
		t.Errorf("an upgrade after a rollback that was cut short: %v", err)
	}
	if err := h.uninstall(); err != nil {
		t.Fatal(err)
	}
	if _, err := h.install(t.Context(), record(1, release.StatusUninstalling), chart, nil); err == nil {
		t.Error("an upgrade after a removal that was cut short: no error")
	}
}

func TestWait(t *testing.T) {
	takes := func(d time.Duration) func() time.Duration { return func() time.Duration { return d } }
	if err := wait(t.Context(), time.Minute, takes(time.Millisecond)); err != nil {
		t.Error(err)
	}
	if err := wait(t.Context(), time.Millisecond, takes(time.Minute)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("longer than Helm waits: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := wait(ctx, time.Minute, takes(time.Minute)); !errors.Is(err, context.Canceled) {
		t.Errorf("the provider ends: %v", err)
	}
	looks, began := 0, time.Now()
	healed := func() time.Duration {
		if looks++; looks > 1 {
			return time.Millisecond
		}
		return math.MaxInt64
	}
	if err := wait(t.Context(), time.Minute, healed); err != nil || time.Since(began) > 30*time.Second {
		t.Errorf("what is healed meanwhile is ready after %s: %v", time.Since(began), err)
	}
}

func TestReady(t *testing.T) {
	const query = `object.data["unavailable"] == ''`
	for value, want := range map[string]bool{"": true, "deployment.argocd-server": false} {
		got, err := ready(query, map[string]any{"data": map[string]any{"unavailable": value}})
		if err != nil || got != want {
			t.Errorf("with %q it is ready: %t, %v", value, got, err)
		}
	}
	if _, err := ready(query, map[string]any{}); err == nil {
		t.Error("what can't be evaluated is no error")
	}
	if _, err := ready("object.", nil); err == nil {
		t.Error("what can't be compiled is no error")
	}
}

func TestSame(t *testing.T) {
	manifest := map[string]any{"spec": map[string]any{"hard": map[string]any{"cpu": "1000m"}}}
	is := func(cpu string) map[string]any {
		return map[string]any{"spec": map[string]any{"hard": map[string]any{"cpu": cpu}}, "status": "of " + cpu}
	}
	for name, c := range map[string]struct {
		a, b map[string]any
		want bool
	}{
		"WrittenInAnotherWay": {is("1"), is("1"), true},
		"Different":           {is("1"), is("2"), false},
		"Missing":             {map[string]any{}, is("1"), false},
	} {
		if got := same(manifest, c.a, c.b); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
