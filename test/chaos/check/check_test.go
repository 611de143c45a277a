package check

import (
	"encoding/base64"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/chaos/schedule"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/render/golden"
)

var wanted = Wanted{
	Spec:      schedule.Spec{Plan: "a", Value: 7, ArgoCD: "10.1.1", Kubernetes: "v1.35.4", InChannel: true},
	PlanValue: 8, OfferValue: 9, Revision: 7,
}

// object of a kind, with conditions Ready and Synced.
func object(kind, name, composed string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "observedGeneration": int64(3)},
			map[string]any{"type": "Synced", "status": "True"},
		}},
	}}
	o.SetKind(kind)
	o.SetName(name)
	o.SetGeneration(3)
	o.SetAnnotations(map[string]string{"crossplane.io/composition-resource-name": composed})
	return o
}

func set(t *testing.T, o *unstructured.Unstructured, value any, path ...string) {
	t.Helper()
	if err := unstructured.SetNestedField(o.Object, value, path...); err != nil {
		t.Fatal(err)
	}
}

func params(values ...string) map[string]any {
	is := map[string]any{}
	for i := 0; i < len(values); i += 2 {
		is[values[i]] = values[i+1]
	}
	return map[string]any{"configs": map[string]any{"params": is}}
}

// asWanted is a tenant without problems.
func asWanted(t *testing.T) Tenant {
	t.Helper()
	s := &claim.State{Object: &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{
		"plan": "a", "channel": map[string]any{"name": schedule.Channel, "updateAvailable": false},
	}}}, Phase: "Ready"}
	for _, kind := range []string{"Ready", "Synced", "SpecAccepted", "VirtualClusterReady", "ArgoCDReady"} {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue})
	}
	s.ArgoCD.ChartVersion, s.ArgoCD.DesiredChartVersion = "10.1.1", "10.1.1"
	s.VCluster.Version, s.VCluster.DesiredVersion = "0.36.1", "0.36.1"
	s.VCluster.KubernetesVersion, s.VCluster.DesiredKubernetesVersion = "v1.35.4", "v1.35.4"

	a := tenant.Accepted{Version: 1}
	a.Spec.Plan, a.Spec.ArgoCDChartVersion, a.Spec.KubernetesVersion = "a", "10.1.1", "v1.35.4"
	a.Offered.Number = 7
	a.Spec.ArgoCDValues = params(ClaimParameter, "7")
	plan, err := json.Marshal(params(PlanParameter, "8"))
	if err != nil {
		t.Fatal(err)
	}
	a.Plan.Spec.Values.ArgoCD = &runtime.RawExtension{Raw: plan}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	accepted := object("Secret", "chaos0-x-accepted", tenant.AcceptedSecret)
	delete(accepted.Object, "status")
	set(t, accepted, base64.StdEncoding.EncodeToString(data), "data", tenant.AcceptedKey)

	out := Tenant{Claim: s, XR: object("XVirtualArgoCD", "chaos0-x", ""), Settings: map[string]string{ClaimParameter: "7", PlanParameter: "8", OfferParameter: "9"}}
	installed := func(name, version string, revision int, config map[string]any) *release.Release {
		o := object("Release", "chaos0-x-"+name, name)
		set(t, o, int64(revision), "status", "atProvider", "revision")
		set(t, o, version, "spec", "forProvider", "chart", "version")
		out.Composed = append(out.Composed, o)
		return &release.Release{
			Version: revision, Info: &release.Info{Status: release.StatusDeployed},
			Chart: &chart.Chart{Metadata: &chart.Metadata{Version: version}}, Config: config,
		}
	}
	out.VCluster = installed(tenant.VClusterRelease, "0.36.1", 2, map[string]any{"controlPlane": map[string]any{"distro": map[string]any{"k8s": map[string]any{"version": "v1.35.4"}}}})
	out.ArgoCD = installed(tenant.ArgoCDRelease, "10.1.1", 4, params(ClaimParameter, "7", PlanParameter, "8", OfferParameter, "9"))
	out.Composed = append(out.Composed, accepted)
	return out
}

func TestProblems(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, is *Tenant)
		want   string
	}{
		"AsWanted":             {func(*testing.T, *Tenant) {}, ""},
		"Degraded":             {func(_ *testing.T, is *Tenant) { is.Claim.Phase = "Degraded" }, "the phase is Degraded"},
		"NotSynced":            {func(_ *testing.T, is *Tenant) { is.Claim.Conditions[1].Status = metav1.ConditionFalse }, "condition Synced is False"},
		"Refused":              {func(_ *testing.T, is *Tenant) { is.Claim.Conditions[2].Status = metav1.ConditionFalse }, "condition SpecAccepted is False"},
		"OtherPlan":            {func(t *testing.T, is *Tenant) { set(t, is.Claim.Object, "b", "status", "plan") }, "the plan by the status is b"},
		"CompositeIsOld":       {func(_ *testing.T, is *Tenant) { is.XR.SetGeneration(4) }, "Ready of the composite resource is about is 3, want 4"},
		"CompositeSaysNothing": {func(_ *testing.T, is *Tenant) { delete(is.XR.Object, "status") }, "Ready of the composite resource is missing"},
		"ReleaseFails": {func(t *testing.T, is *Tenant) {
			set(t, is.Composed[0], []any{map[string]any{"type": "Synced", "status": "False", "message": "cannot"}}, "status", "conditions")
		}, "Release chaos0-x-vcluster: Synced is False:  cannot"},
		"ReleaseUpgraded": {func(t *testing.T, is *Tenant) {
			set(t, is.Composed[0], []any{map[string]any{"type": "Ready", "status": "False"}, map[string]any{"type": "Synced", "status": "True"}}, "status", "conditions")
		}, ""},
		"CompositeNotReady": {func(t *testing.T, is *Tenant) {
			set(t, is.XR, []any{map[string]any{"type": "Ready", "status": "False"}, map[string]any{"type": "Synced", "status": "True"}}, "status", "conditions")
		}, "XVirtualArgoCD chaos0-x: Ready is False"},
		"ReleaseLeaves": {func(_ *testing.T, is *Tenant) {
			now := metav1.Now()
			is.Composed[0].SetDeletionTimestamp(&now)
		}, "is being deleted"},
		"ReleaseMissing":  {func(_ *testing.T, is *Tenant) { is.Composed = is.Composed[1:] }, "the Release vcluster is missing"},
		"AcceptedMissing": {func(_ *testing.T, is *Tenant) { is.Composed = is.Composed[:2] }, "what is accepted is missing"},
		"AcceptedBroken":  {func(t *testing.T, is *Tenant) { set(t, is.Composed[2], "e30x", "data", tenant.AcceptedKey) }, "cannot read what is accepted"},
		"AcceptedOld":     {func(t *testing.T, is *Tenant) { set(t, is.Composed[2], "e30=", "data", tenant.AcceptedKey) }, "the accepted value is , want 7"},
		"AcceptedNoOffer": {func(t *testing.T, is *Tenant) { set(t, is.Composed[2], "e30=", "data", tenant.AcceptedKey) }, "the accepted revision is 0, want 7"},
		"StatusOld":       {func(_ *testing.T, is *Tenant) { is.Claim.ArgoCD.ChartVersion = "10.1.0" }, "the chart version of Argo CD by the status is 10.1.0"},
		"KubernetesOld":   {func(_ *testing.T, is *Tenant) { is.Claim.VCluster.KubernetesVersion = "v1.34.0" }, "the installed Kubernetes version is v1.35.4, want v1.34.0"},
		"InstalledOld":    {func(_ *testing.T, is *Tenant) { is.ArgoCD.Chart.Metadata.Version = "10.1.0" }, "the installed chart version of Argo CD is 10.1.0"},
		"InstalledFailed": {func(_ *testing.T, is *Tenant) { is.ArgoCD.Info.Status = release.StatusPendingUpgrade }, "the release argocd is pending-upgrade"},
		"RevisionOld":     {func(_ *testing.T, is *Tenant) { is.ArgoCD.Version = 5 }, "the revision of the Release argocd is 4, want 5"},
		"ValueOld":        {func(_ *testing.T, is *Tenant) { is.ArgoCD.Config = params(ClaimParameter, "6") }, "the installed value is 6, want 7"},
		"PlanOld":         {func(_ *testing.T, is *Tenant) { is.ArgoCD.Config = params(PlanParameter, "7") }, "the installed value of the plan is 7, want 8"},
		"OfferOld":        {func(_ *testing.T, is *Tenant) { is.ArgoCD.Config = params(OfferParameter, "8") }, "the installed value of the offer is 8, want 9"},
		"OtherChannel":    {func(t *testing.T, is *Tenant) { set(t, is.Claim.Object, "b", "status", "channel", "name") }, "in the channel by the status is false"},
		"Waits":           {func(t *testing.T, is *Tenant) { set(t, is.Claim.Object, true, "status", "channel", "updateAvailable") }, "waits for an update by the status is true"},
		"SettingsOld":     {func(_ *testing.T, is *Tenant) { is.Settings[ClaimParameter] = "6" }, "the value in the virtual cluster is 6, want 7"},
		"SettingsUnknown": {func(_ *testing.T, is *Tenant) { is.Settings = nil }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			is := asWanted(t)
			c.change(t, &is)
			got := is.Problems(wanted)
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestOutsideOfTheChannel: a tenant has nothing of a channel that its claim isn't in.
func TestOutsideOfTheChannel(t *testing.T) {
	is, w := asWanted(t), wanted
	w.InChannel = false
	want := []string{
		"in the channel by the status is true, want false", "the accepted revision is 7, want 0", "the installed value of the offer is 9, want ",
		"the value of the offer in the virtual cluster is 9, want ",
	}
	if d := cmp.Diff(want, is.Problems(w)); d != "" {
		t.Error(d)
	}
}

// TestBackedUpSince: a tenant that was asked to be backed up has a backup since then.
func TestBackedUpSince(t *testing.T) {
	asked := time.Date(2026, 11, 23, 12, 0, 0, 500, time.UTC)
	for name, c := range map[string]struct {
		asked  time.Time
		last   string
		status metav1.ConditionStatus
		want   string
	}{
		"NeverAsked": {time.Time{}, "", metav1.ConditionUnknown, ""},
		"Since":      {asked, "2026-11-23T12:00:00Z", metav1.ConditionTrue, ""},
		"Before":     {asked, "2026-11-23T11:59:59Z", metav1.ConditionTrue, "the last backup is of \"2026-11-23T11:59:59Z\", and one was asked for at 2026-11-23T12:00:00Z: no room"},
		"None":       {asked, "", metav1.ConditionUnknown, "the last backup is of \"\""},
		"NotTold":    {asked, "2026-11-23T12:00:00Z", metav1.ConditionFalse, "condition BackedUp is False"},
	} {
		is, w := asWanted(t), wanted
		w.BackedUpSince, is.Claim.Backup = c.asked, claim.BackupState{LastSuccess: c.last, Message: "no room"}
		is.Claim.Conditions = append(is.Claim.Conditions, metav1.Condition{Type: claim.BackedUp, Status: c.status})
		got := is.Problems(w)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestChannelProblems(t *testing.T) {
	asWanted := func() Channel {
		c := Channel{Status: v1alpha1.ChannelStatus{Revision: 7, Tenants: v1alpha1.ChannelTenants{Total: 1, Succeeded: 1}}}
		for _, typ := range []string{"Ready", "Synced", "SpecAccepted", "Complete"} {
			c.Conditions = append(c.Conditions, metav1.Condition{Type: typ, Status: metav1.ConditionTrue})
		}
		c.Conditions = append(c.Conditions, metav1.Condition{Type: "Halted", Status: metav1.ConditionFalse})
		c.Records = []rollout.Record{{Claim: "chaos/chaos0", Revision: 7, Phase: v1alpha1.PhaseReady}}
		return c
	}
	for name, c := range map[string]struct {
		change func(is *Channel)
		want   string
	}{
		"AsWanted":     {func(*Channel) {}, ""},
		"NotSynced":    {func(is *Channel) { is.Conditions[1].Status = metav1.ConditionFalse }, "condition Synced is False"},
		"NotComplete":  {func(is *Channel) { is.Conditions[3].Status = metav1.ConditionFalse }, "condition Complete is False"},
		"Halted":       {func(is *Channel) { is.Conditions[4].Status = metav1.ConditionTrue }, "condition Halted is True"},
		"SaysNothing":  {func(is *Channel) { is.Conditions = nil }, "condition Complete is missing"},
		"Paused":       {func(is *Channel) { is.Paused = true }, "paused is true"},
		"Broken":       {func(is *Channel) { is.Status.Tenants.Failed = 1 }, "the count of tenants is {1 0 0 1 1 0 0}"},
		"Updating":     {func(is *Channel) { is.Status.Tenants.Progressing = 1 }, "the count of tenants is {1 0 1 1 0 0 0}"},
		"Unknown":      {func(is *Channel) { is.Records = nil }, "the number of records is 0, want 1"},
		"OldRecord":    {func(is *Channel) { is.Records[0].Revision = 6 }, "the revision in the record of chaos/chaos0 is 6, want 7"},
		"RecordOfLate": {func(is *Channel) { is.Records[0].Phase = v1alpha1.PhaseDegraded }, "the phase in the record of chaos/chaos0 is Degraded"},
	} {
		t.Run(name, func(t *testing.T) {
			is := asWanted()
			c.change(&is)
			got := is.Problems(1)
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, c.want) }) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
	c := asWanted()
	if got := c.Halted(); got != "" {
		t.Errorf("it has halted: %q", got)
	}
	c.Conditions[4] = metav1.Condition{Type: "Halted", Status: metav1.ConditionTrue, Message: "chaos/chaos0 (Degraded) broke"}
	if got := c.Halted(); got != "chaos/chaos0 (Degraded) broke" {
		t.Errorf("it has halted: %q", got)
	}
}

func TestTroubles(t *testing.T) {
	tenant := func(n string, phase v1alpha1.Phase) Object {
		return Object{Name: "xvirtualargocds chaos" + n + "-x", Tenant: "chaos" + n + "-x", Claim: "chaos" + n, Phase: phase}
	}
	b, began := NewTroubles(), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for second := range 100 {
		long, short := v1alpha1.PhaseDegraded, v1alpha1.PhaseFailing
		if second >= 60 {
			long = v1alpha1.PhaseReady
		}
		if second%30 == 29 {
			short = v1alpha1.PhaseUpdating
		}
		b.See([]Object{tenant("1", long), tenant("2", short), {Name: "namespaces. vargo-chaos1-x", Tenant: "chaos1-x"}}, began.Add(time.Duration(second)*time.Second))
	}
	// The first is gone.
	b.See([]Object{tenant("2", v1alpha1.PhaseReady), tenant("3", v1alpha1.PhaseReady)}, began.Add(100*time.Second))
	check := func(halt, want string) {
		t.Helper()
		got := b.Wrong(halt)
		if (want == "") != (len(got) == 0) || len(got) > 1 || len(got) == 1 && !strings.Contains(got[0], want) {
			t.Errorf("%s: %q, want %q", halt, got, want)
		}
	}
	check("", "")
	check("chaos/chaos1 (Degraded: x) broke", "")
	check("chaos/chaos1 (Degraded: x), chaos/chaos2 (Failing: y) broke", "chaos2 was in trouble for 28s at most")
	check("chaos/chaos3 (Updating for more than 30m0s) broke", "chaos3 was in trouble for 0s at most")
	check("chaos/chaos4 (Degraded: x) broke", "names no tenant")
	b.Offered()
	check("chaos/chaos1 (Degraded: x) broke", "chaos1 was in trouble for 0s at most")
}

func TestKept(t *testing.T) {
	xr := Object{Name: "xvirtualargocds chaos0-x", Tenant: "chaos0-x", UID: "1"}
	namespace := Object{Name: "namespaces. vargo-chaos0-x", Tenant: "chaos0-x", UID: "2"}
	installed := Object{Name: "releases. chaos0-x-argocd", Tenant: "chaos0-x", UID: "3", Revision: 4}
	leaving := func(o Object) Object {
		o.Leaves = true
		return o
	}
	ready := func(o Object, at string) Object {
		o.ReadyAt = at
		return o
	}
	at := func(o Object, revision int64) Object {
		o.Revision = revision
		return o
	}
	other := func(o Object) Object {
		o.UID = "9"
		return o
	}
	for name, c := range map[string]struct {
		seen [][]Object
		want string
	}{
		"Kept":           {[][]Object{{xr}, {namespace, xr}, {namespace, xr}}, ""},
		"Gone":           {[][]Object{{namespace, xr}, {xr}}, "namespaces. vargo-chaos0-x is gone"},
		"Back":           {[][]Object{{namespace, xr}, {xr}, {namespace, xr}}, ""},
		"Replaced":       {[][]Object{{namespace, xr}, {other(namespace), xr}}, "was replaced"},
		"Leaves":         {[][]Object{{leaving(namespace), xr}}, "is being deleted"},
		"TenantLeaves":   {[][]Object{{namespace, xr}, {leaving(namespace), leaving(xr)}, {leaving(xr)}}, ""},
		"TenantGone":     {[][]Object{{namespace, xr}, {leaving(namespace)}, {}}, ""},
		"TenantReplaced": {[][]Object{{xr}, {other(xr)}}, "was replaced"},
		"ReadyAgain":     {[][]Object{{ready(xr, "noon")}, {ready(xr, "one")}}, `was ready first at noon, and then at "one"`},
		"ReadyForgotten": {[][]Object{{ready(xr, "noon")}, {xr}}, "was ready first at noon"},
		"InstalledAnew":  {[][]Object{{installed, ready(xr, "noon")}, {at(installed, 1), ready(xr, "noon")}}, "was at revision 4, and then at 1"},
		"TakenBackFirst": {[][]Object{{installed, xr}, {at(installed, 1), xr}}, ""},
		"Upgraded":       {[][]Object{{installed, ready(xr, "noon")}, {at(installed, 5), ready(xr, "noon")}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			k := NewKept()
			for _, now := range c.seen {
				k.See(now)
			}
			got := strings.Join(k.Lost(), "\n")
			if (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
				t.Errorf("lost is %q, want %q", got, c.want)
			}
		})
	}
}

func TestObjectOf(t *testing.T) {
	labelled := func(o *unstructured.Unstructured, label string) *unstructured.Unstructured {
		o.SetUID("1")
		o.SetLabels(map[string]string{label: "chaos0-x"})
		return o
	}
	xr := object("XVirtualArgoCD", "chaos0-x", "")
	set(t, xr, "noon", "status", "readyAt")
	set(t, xr, "Degraded", "status", "phase")
	xr.SetLabels(map[string]string{"crossplane.io/claim-name": "chaos0"})
	volume := object("PersistentVolumeClaim", "data-vcluster-0", "")
	volume.SetNamespace("vargo-chaos0-x")
	own := object("PersistentVolumeClaim", "redis", "")
	own.SetNamespace("vargo-chaos0-x")
	inNamespace := func(o *unstructured.Unstructured, apiVersion, namespace string) *unstructured.Unstructured {
		o.SetAPIVersion(apiVersion)
		o.SetNamespace(namespace)
		return o
	}
	policy := inNamespace(object("NetworkPolicy", "virtual-argocd-tenant", "network-policy-virtual-argocd-tenant"), "networking.k8s.io/v1", "vargo-chaos0-x")
	ownPolicy := policy.DeepCopy()
	installed := labelled(object("Release", "chaos0-x-argocd", tenant.ArgoCDRelease), "crossplane.io/composite")
	set(t, installed, int64(3), "status", "atProvider", "revision")
	for _, c := range []struct {
		resource string
		o        *unstructured.Unstructured
		want     Object
	}{
		{composite, xr, Object{Name: "xvirtualargocds chaos0-x", Tenant: "chaos0-x", ReadyAt: "noon", Phase: "Degraded", Claim: "chaos0"}},
		{"namespaces", labelled(object("Namespace", "vargo-chaos0-x", ""), "virtualargocd.io/tenant"), Object{Name: "namespaces. vargo-chaos0-x", Tenant: "chaos0-x", UID: "1"}},
		{"persistentvolumeclaims", volume, Object{Name: "persistentvolumeclaims. vargo-chaos0-x/data-vcluster-0", Tenant: "chaos0-x"}},
		{"persistentvolumeclaims", own, Object{Name: "persistentvolumeclaims. vargo-chaos0-x/redis"}},
		{"persistentvolumeclaims", inNamespace(object("PersistentVolumeClaim", "data-0", ""), "v1", "other"), Object{Name: "persistentvolumeclaims. other/data-0"}},
		{"resourcequotas", inNamespace(object("ResourceQuota", "virtual-argocd", ""), "v1", "vargo-chaos0-x"), Object{Name: "resourcequotas. vargo-chaos0-x/virtual-argocd", Tenant: "chaos0-x"}},
		{"resourcequotas", inNamespace(object("ResourceQuota", "other", ""), "v1", "vargo-chaos0-x"), Object{Name: "resourcequotas. vargo-chaos0-x/other"}},
		{"resourcequotas", inNamespace(object("ResourceQuota", "virtual-argocd", ""), "v1", "other"), Object{Name: "resourcequotas. other/virtual-argocd"}},
		{"networkpolicies", labelled(policy, "crossplane.io/composite"), Object{Name: "networkpolicies.networking.k8s.io vargo-chaos0-x/virtual-argocd-tenant", Tenant: "chaos0-x", UID: "1"}},
		{"networkpolicies", ownPolicy, Object{Name: "networkpolicies.networking.k8s.io vargo-chaos0-x/virtual-argocd-tenant"}},
		{"releases", installed, Object{Name: "releases. chaos0-x-argocd", Tenant: "chaos0-x", UID: "1", Revision: 3}},
	} {
		if got := objectOf(c.resource, c.o); got != c.want {
			t.Errorf("got %+v, want %+v", got, c.want)
		}
	}
}

// TestNothingOnTheHostIsLostUnseen takes away everything that is composed in the namespaces of tenants on the host, and a quota, which a
// provider creates.
func TestNothingOnTheHostIsLostUnseen(t *testing.T) {
	folders, err := filepath.Glob("../../render/testdata/golden/*/5-ready")
	if err != nil || len(folders) == 0 {
		t.Fatalf("want rendered tenants, got %q, %v", folders, err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(filepath.Dir(folder)), func(t *testing.T) {
			rendered, err := golden.Read(folder)
			if err != nil {
				t.Fatal(err)
			}
			xr := rendered[0]
			if xr.GroupVersionKind().Group != claim.GVK.Group {
				t.Skip("this tenant is one of the demo's API group, and those of the runs aren't")
			}
			namespace := "vargo-" + xr.GetName()
			quota := &unstructured.Unstructured{}
			quota.SetAPIVersion("v1")
			quota.SetKind("ResourceQuota")
			quota.SetNamespace(namespace)
			quota.SetName(tenant.QuotaName)
			rendered = append(rendered, quota)

			lists, objects := map[schema.GroupVersionResource]string{}, []runtime.Object{}
			for _, kind := range kinds {
				lists[kind] = "List"
			}
			for _, o := range rendered {
				objects = append(objects, o)
			}
			client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), lists, objects...)
			kept := NewKept()
			see := func() {
				now, err := Objects(t.Context(), &kube.Cluster{Dynamic: client}, xr.GetLabels()["crossplane.io/claim-namespace"])
				if err != nil {
					t.Fatal(err)
				}
				kept.See(now)
			}
			see()
			var want []string
			for _, o := range rendered {
				if o.GetNamespace() != namespace {
					continue
				}
				resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
				if err := client.Resource(resource).Namespace(namespace).Delete(t.Context(), o.GetName(), metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
				want = append(want, nameOf(resource.Resource+"."+resource.Group, namespace, o.GetName())+" is gone")
			}
			see()
			slices.Sort(want)
			if d := cmp.Diff(want, kept.Lost()); d != "" {
				t.Errorf("-taken away, +missed:\n%s", d)
			}
		})
	}
}
