//go:build e2e

package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/channel/rollout"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/figures"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/provider"
	"github.com/virtual-argocd/virtual-argocd/test/fleet/steps"
)

const (
	// Versions of the chart argo-cd that are offered one after the other. They are higher than the one of the function's input.
	goodVersion   = "10.1.8"
	badVersion    = "10.1.9"
	mendedVersion = "10.1.10"
	worseVersion  = "10.1.11"

	// latecomer is the claim of a tenant that joins while the channel has halted.
	latecomer = "latecomer"

	// seenWithin is how long Crossplane may take to reconcile a few changed objects.
	seenWithin = 2 * time.Minute
)

var channelKind = schema.GroupVersionResource{Group: "virtualargocd.io", Version: "v1alpha1", Resource: "xargocdchannels"}

// offered is a channel with its tenants.
type offered struct {
	// name of the channel, and of the namespace in which the claims are.
	name             string
	n                int
	rollout          v1alpha1.ChannelRollout
	progressDeadline time.Duration
	// with changes each claim before it is created; nil for nothing.
	with   func(*claim.Claim)
	claims crowd
	table  *figures.Table
}

// TestChannel offers four versions to a channel with TENANTS tenants: a good one, which reaches all; a bad one, which stops at the second
// tenant that is Degraded, even after all parts of the platform were killed; a corrected one, which reaches all; and another bad one, after
// which the corrected one is offered again, so that the broken tenants go back to it.
func TestChannel(t *testing.T) {
	ctx, n, quiet := t.Context(), setting(t, "TENANTS", 30, strconv.Atoi), setting(t, "QUIET", time.Minute, time.ParseDuration)
	// A tenant may take longer while many others are reconciled because of the offer.
	progressDeadline := 2*time.Minute + time.Duration(n)*time.Second/2
	o := newOffered("fleet-channel", n, progressDeadline, v1alpha1.ChannelRollout{
		Steps:          []v1alpha1.ChannelStep{{Percent: 10, MinSuccessTime: "20s"}, {Percent: 50, MinSuccessTime: "20s"}, {Percent: 100}},
		MaxConcurrency: int32(max(3, n/10)),
		MaxFailures:    2,
	})
	restarts := readRestarts(ctx, t)
	o.create(ctx, t)
	t.Cleanup(func() { faults.Set(provider.UpgradeDegrades, 0, "") })
	before := o.releases(ctx, t)

	server, used, began := readAPIServer(ctx, t), readProcesses(t), time.Now()
	o.offer(ctx, t, goodVersion)
	o.reachesAll(ctx, t, began, goodVersion)
	o.table.Add("from a good offer to all Ready with it", "%.1f s", time.Since(began).Seconds())
	o.table.Add("writes to etcd by a good offer", "%.0f a tenant", spentSince(ctx, t, server).EtcdWrites()/float64(n))
	addProcesses(o.table, "a good offer", used, readProcesses(t), time.Since(began))
	atRest(ctx, t, o.table, n, quiet)
	after := o.releases(ctx, t)
	for key, was := range before {
		if is := after[key]; key.chart == "argo-cd" && is == was {
			t.Errorf("the Release of claim %s is as before the good offer: %v", key.claim, is)
		}
	}

	written := o.written(ctx, t)
	faults.Set(provider.UpgradeDegrades, 1, badVersion)
	began = time.Now()
	o.offer(ctx, t, badVersion)
	halt := o.await(ctx, t, o.progressDeadline+rollout.Grace+each(n), v1alpha1.ConditionHalted, "True", "failed")
	o.table.Add("from a bad offer to the halt", "%.1f s", time.Since(began).Seconds())
	broken := o.stopsAtTheSecond(ctx, t, written, halt)

	if now := readRestarts(ctx, t); !maps.Equal(restarts, now) {
		t.Errorf("containers of the platform were restarted: %v before, %v after", restarts, now)
	}
	processes := readProcesses(t)
	for _, name := range slices.Sorted(maps.Keys(processes)) {
		o.table.Add("most memory: "+name, "%s", figures.MiB(processes[name].Peak))
	}
	began = time.Now()
	killAll(ctx, t)
	o.table.Add("from the end of every part to all running", "%.1f s", time.Since(began).Seconds())
	o.joins(ctx, t, latecomer, goodVersion)
	o.table.Add("from the end of every part to a new tenant Ready", "%.1f s", time.Since(began).Seconds())
	if is := o.await(ctx, t, seenWithin, v1alpha1.ConditionHalted, "True", ""); is != halt {
		t.Errorf("after everything has started again, the channel says %q, before %q", is, halt)
	}
	if again := o.stopsAtTheSecond(ctx, t, written, halt); !slices.Equal(again, broken) {
		t.Errorf("after everything has started again, the offer has reached %v, before %v", again, broken)
	}

	began = time.Now()
	o.offer(ctx, t, mendedVersion)
	records := o.reachesAll(ctx, t, began, mendedVersion)
	o.table.Add("from a mended offer to all Ready with it", "%.1f s", time.Since(began).Seconds())
	o.await(ctx, t, seenWithin, v1alpha1.ConditionHalted, "False", "")
	slices.SortFunc(records, func(a, b rollout.Record) int { return a.Took.Compare(b.Took) })
	for _, r := range records[len(broken):] {
		if name := strings.TrimPrefix(r.Claim, o.name+"/"); slices.Contains(broken, name) {
			t.Errorf("%s, which the offer before broke, is not among the first that the mended one reaches", name)
		}
	}
	o.takesBack(ctx, t, mendedVersion)
	show(t, o.table, fmt.Sprintf("TENANTS=%d QUIET=%s RUN=TestChannel", n, quiet))
}

// newOffered returns a channel whose tenants may take progressDeadline to update.
func newOffered(name string, tenants int, progressDeadline time.Duration, of v1alpha1.ChannelRollout) *offered {
	of.ProgressDeadline = v1alpha1.Duration(fmt.Sprintf("%ds", int(progressDeadline.Seconds())))
	return &offered{
		name: name, n: tenants, progressDeadline: progressDeadline, rollout: of,
		table: figures.NewTable(fmt.Sprintf("%d tenants of a channel", tenants)),
	}
}

// allSeenWithin is how long Crossplane may take to reconcile what is composed for all tenants.
func (o *offered) allSeenWithin() time.Duration {
	return seenWithin + time.Duration(o.n)*time.Second/2
}

// create creates the channel and its tenants, which become Ready with an empty offer, and has them deleted after the test.
func (o *offered) create(ctx context.Context, t *testing.T) {
	t.Helper()
	createNamespace(ctx, t, o.name)
	o.claims = watch(ctx, t, claimKind, o.name, "")
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.XArgoCDChannel{
		TypeMeta:   metav1.TypeMeta{APIVersion: channelKind.GroupVersion().String(), Kind: v1alpha1.ChannelKind},
		ObjectMeta: metav1.ObjectMeta{Name: o.name},
		Spec:       v1alpha1.ChannelSpec{Rollout: o.rollout},
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(object, "status")
	channels := host.Dynamic.Resource(channelKind)
	if _, err := channels.Create(ctx, &unstructured.Unstructured{Object: object}, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// The test's own context is done by now.
		ctx := context.WithoutCancel(ctx)
		claims, namespaces := watch(ctx, t, claimKind, o.name, ""), watch(ctx, t, namespaceKind, "", tenant.LabelTenant)
		ids := o.tenants(ctx, t)
		deleteAll(ctx, t, o.name)
		claims.awaitNone(ctx, t)
		namespaces.awaitGone(ctx, t, func(name string) bool {
			return slices.ContainsFunc(ids, func(id string) bool { return name == tenant.NewNames(id, "").Namespace })
		})
		if err := channels.Delete(ctx, o.name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	o.await(ctx, t, seenWithin, v1alpha1.ConditionSpecAccepted, "True", "")
	began := time.Now()
	createAll(ctx, t, o.name, o.n, func(c *claim.Claim) {
		c.Set(o.name, "spec", "channel")
		if o.with != nil {
			o.with(c)
		}
	})
	o.table.AddTimes("from the first claim to Ready, median / 95 % / all", o.claims.await(ctx, t, began, each(o.n), o.n, "come up", isReady))
	o.await(ctx, t, o.allSeenWithin(), v1alpha1.ConditionComplete, "True", fmt.Sprintf("all %d tenants", o.n))
	// The last objects of a tenant, which are composed once that is Ready.
	usages, objects := watch(ctx, t, usageKind, "", "crossplane.io/claim-namespace="+o.name), watch(ctx, t, objectKind, "", "crossplane.io/claim-namespace="+o.name)
	usages.await(ctx, t, began, o.allSeenWithin(), o.n, "exist", func(*unstructured.Unstructured) bool { return true })
	for _, last := range []string{tenant.ControlPlaneService, tenant.ControlPlaneWorkload} {
		objects.await(ctx, t, began, o.allSeenWithin(), o.n, "exist", func(is *unstructured.Unstructured) bool { return strings.HasSuffix(is.GetName(), "-"+last) })
	}
}

// offer offers a version of the argo-cd chart, and returns once the channel's status is about that offer. Crossplane writes the conditions
// after the rest of the status: those of an earlier offer that was complete or had halted differ from those of a new one.
func (o *offered) offer(ctx context.Context, t *testing.T, chart string) {
	t.Helper()
	before, _, err := o.status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !version.MustParseGeneric(before.Versions.ArgoCDChart).LessThan(version.MustParseGeneric(chart)) {
		t.Fatalf("%s isn't higher than %s, which the tenants run and would keep", chart, before.Versions.ArgoCDChart)
	}
	o.patch(ctx, t, fmt.Sprintf(`{"offer":{"argocd":{"chartVersion":%q}}}`, chart))
	eventually.True(ctx, t, seenWithin, "the channel offers "+chart, func(ctx context.Context) (bool, string) {
		s, conditions, err := o.status(ctx)
		begun := meta.IsStatusConditionFalse(conditions, v1alpha1.ConditionComplete) && meta.IsStatusConditionFalse(conditions, v1alpha1.ConditionHalted)
		// Where all tenants had failed, the halt ends when they are well, which is when the revision is complete.
		return err == nil && s.Revision != before.Revision && (begun || s.CompleteRevision == s.Revision), fmt.Sprintf("%+v %v %v", s, conditions, err)
	})
	fmt.Printf("Channel %s offers %s\n", o.name, chart)
}

// patch merges fields into the channel's spec.
func (o *offered) patch(ctx context.Context, t *testing.T, spec string) {
	t.Helper()
	if _, err := host.Dynamic.Resource(channelKind).Patch(ctx, o.name, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// tenants returns the names of the composite resources of the channel's claims.
func (o *offered) tenants(ctx context.Context, t *testing.T) (ids []string) {
	t.Helper()
	list, err := host.Dynamic.Resource(compositeKind).List(ctx, metav1.ListOptions{LabelSelector: "crossplane.io/claim-namespace=" + o.name})
	if err != nil {
		t.Fatal(err)
	}
	for _, xr := range list.Items {
		ids = append(ids, xr.GetName())
	}
	return ids
}

// status reads the channel.
func (o *offered) status(ctx context.Context) (s v1alpha1.ChannelStatus, conditions []metav1.Condition, err error) {
	object, err := host.Dynamic.Resource(channelKind).Get(ctx, o.name, metav1.GetOptions{})
	if err != nil {
		return s, nil, err
	}
	of, _, _ := unstructured.NestedMap(object.Object, "status")
	all := struct {
		v1alpha1.ChannelStatus `json:",inline"`

		Conditions []metav1.Condition `json:"conditions"`
	}{}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(of, &all)
	return all.ChannelStatus, all.Conditions, err
}

// await waits until a condition of the channel has a status and a message with the given words, and returns the message. If the channel
// halts instead, the test fails after a few seconds: Crossplane may restore earlier conditions for a moment while it reconciles.
func (o *offered) await(ctx context.Context, t *testing.T, within time.Duration, typ, status, words string) (message string) {
	t.Helper()
	halted := time.Time{}
	took := eventually.True(ctx, t, within, fmt.Sprintf("channel: %s is %s with %q", typ, status, words), func(ctx context.Context) (bool, string) {
		s, conditions, err := o.status(ctx)
		if err != nil {
			return false, err.Error()
		}
		for _, c := range conditions {
			// Crossplane may still show that an earlier offer was complete. The rest of the status is about the current one.
			stale := c.Type == v1alpha1.ConditionComplete && c.Status == metav1.ConditionTrue && s.Tenants.Succeeded < s.Tenants.Total
			if c.Type == typ && string(c.Status) == status && strings.Contains(c.Message, words) && !stale {
				message = c.Message
				return true, ""
			}
		}
		switch halt := meta.FindStatusCondition(conditions, v1alpha1.ConditionHalted); {
		case typ == v1alpha1.ConditionHalted || halt == nil || halt.Status != metav1.ConditionTrue:
			halted = time.Time{}
		case halted.IsZero():
			halted = time.Now()
		case time.Since(halted) > 5*time.Second:
			t.Fatalf("the channel has halted: %s", halt.Message)
		}
		return false, fmt.Sprintf("%+v %v", s, conditions)
	})
	fmt.Printf("Channel %s: after %s %s is %s: %s\n", o.name, took.Round(100*time.Millisecond), typ, status, message)
	return message
}

// reachesAll waits until all tenants have the offer, and checks that they got it in an order that the channel's rollout allows.
func (o *offered) reachesAll(ctx context.Context, t *testing.T, began time.Time, version string) []rollout.Record {
	t.Helper()
	revision, records := o.haveAll(ctx, t, began, version)
	problems, err := steps.Problems(o.rollout, revision, records)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
	return records
}

// haveAll waits until all tenants have the offer. It returns the revision's number and the tenants' records.
func (o *offered) haveAll(ctx context.Context, t *testing.T, began time.Time, version string) (int64, []rollout.Record) {
	t.Helper()
	within, err := steps.Within(o.rollout, o.n)
	if err != nil {
		t.Fatal(err)
	}
	o.await(ctx, t, within, v1alpha1.ConditionComplete, "True", fmt.Sprintf("all %d tenants", o.n))
	o.claims.await(ctx, t, began, o.allSeenWithin(), o.n, "are Ready with chart argo-cd "+version, func(c *unstructured.Unstructured) bool {
		runs, _, _ := unstructured.NestedString(c.Object, "status", "argocd", "chartVersion")
		return isReady(c) && runs == version
	})
	s, _, err := o.status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if s.Percent == nil || *s.Percent != 100 || s.Tenants.Succeeded != int64(o.n) || s.Tenants.Failed != 0 {
		t.Errorf("the complete channel says %+v, want 100 percent and all %d tenants updated", s, o.n)
	}
	records := o.records(ctx, t)
	if len(records) != o.n {
		t.Errorf("%d records, want %d", len(records), o.n)
	}
	return s.Revision, records
}

// stopsAtTheSecond checks that the bad offer has reached two tenants, and that no other tenant was touched. It returns the claims of the two.
func (o *offered) stopsAtTheSecond(ctx context.Context, t *testing.T, before map[composed]string, halt string) (broken []string) {
	t.Helper()
	s, _, err := o.status(ctx)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, r := range o.records(ctx, t) {
		if has[r.Tenant] = r.Revision == s.Revision; has[r.Tenant] {
			broken = append(broken, strings.TrimPrefix(r.Claim, o.name+"/"))
			if r.Phase != v1alpha1.PhaseDegraded || !strings.Contains(halt, r.Claim+" (Degraded") {
				t.Errorf("%s has the bad offer and is %s, and the channel says %q", r.Claim, r.Phase, halt)
			}
		}
	}
	slices.Sort(broken)
	if want := int(o.rollout.MaxFailures); len(broken) != want || s.Tenants.Failed != int64(want) {
		t.Fatalf("the bad offer has reached %v, and the channel counts %d that are broken; want %d", broken, s.Tenants.Failed, want)
	}
	o.claims.await(ctx, t, time.Now(), o.allSeenWithin(), o.n-len(broken), "stay Ready", func(c *unstructured.Unstructured) bool {
		return !slices.Contains(broken, c.GetName()) && isReady(c)
	})
	o.untouched(ctx, t, before, broken)
	after := o.releases(ctx, t)
	for _, name := range broken {
		if is := after[releaseKey{name, "argo-cd"}]; is.version != badVersion {
			t.Errorf("the Release of claim %s, which is broken, is %v", name, is)
		}
	}
	for _, c := range o.configs(ctx, t, "") {
		// Assignments of tenants that have the revision already don't matter.
		if a := (rollout.Assignment{}); json.Unmarshal([]byte(c.Data[tenant.AssignmentKey]), &a) == nil && a.Tenant != "" && !a.Withdrawn && !has[a.Tenant] {
			t.Errorf("tenant %s is assigned the revision after the halt", a.Tenant)
		}
	}
	return broken
}

// takesBack offers a bad version and, after the halt, the one from before it. The broken tenants go back to that, and no other tenant changes.
func (o *offered) takesBack(ctx context.Context, t *testing.T, version string) {
	t.Helper()
	before := o.releases(ctx, t)
	faults.Set(provider.UpgradeDegrades, 1, worseVersion)
	o.offer(ctx, t, worseVersion)
	o.await(ctx, t, o.progressDeadline+rollout.Grace+each(o.n), v1alpha1.ConditionHalted, "True", "failed")
	began := time.Now()
	o.offer(ctx, t, version)
	// Nothing can be said of an order: the records of those that kept this offer are of the rollout before.
	o.haveAll(ctx, t, began, version)
	o.table.Add("from taking a bad offer back to all Ready with the one from before", "%.1f s", time.Since(began).Seconds())
	o.await(ctx, t, seenWithin, v1alpha1.ConditionHalted, "False", "")
	changed := 0
	for key, is := range o.releases(ctx, t) {
		if is.version != before[key].version {
			t.Errorf("the Release of chart %s of claim %s is %v, and was %v before the bad offer", key.chart, key.claim, is, before[key])
		}
		if is != before[key] {
			changed++
		}
	}
	if want := int(o.rollout.MaxFailures); changed != want {
		t.Errorf("%d Releases have changed, want those of the %d tenants that the bad offer broke", changed, want)
	}
}

// joins creates one more tenant, which gets the last complete offer, and returns once the channel counts it.
func (o *offered) joins(ctx context.Context, t *testing.T, name, version string) {
	t.Helper()
	var l *claim.Live
	eventually.True(ctx, t, seenWithin, "claim "+name+" is accepted", func(ctx context.Context) (_ bool, state string) {
		var err error
		l, err = claim.Submit(ctx, host, claim.New(name).In(o.name).Set(o.name, "spec", "channel"))
		return err == nil, fmt.Sprint(err)
	})
	s := l.AwaitReady(ctx, t, each(o.n))
	if s.ArgoCD.ChartVersion != version {
		t.Errorf("claim %s has chart argo-cd %s, want %s", name, s.ArgoCD.ChartVersion, version)
	}
	o.n++
	o.counts(ctx, t, o.n)
}

// counts waits until the channel counts so many tenants.
func (o *offered) counts(ctx context.Context, t *testing.T, tenants int) {
	t.Helper()
	eventually.True(ctx, t, seenWithin, fmt.Sprintf("the channel counts %d tenants", tenants), func(ctx context.Context) (bool, string) {
		s, _, err := o.status(ctx)
		return err == nil && s.Tenants.Total == int64(tenants), fmt.Sprintf("%+v %v", s, err)
	})
}

// releaseKey identifies a Release of a tenant, and releaseState is its state.
type (
	releaseKey   struct{ claim, chart string }
	releaseState struct {
		version    string
		uid        types.UID
		generation int64
	}
)

// releases reads the Releases of all tenants.
func (o *offered) releases(ctx context.Context, t *testing.T) map[releaseKey]releaseState {
	t.Helper()
	list, err := host.Dynamic.Resource(releaseKind).List(ctx, metav1.ListOptions{LabelSelector: "crossplane.io/claim-namespace=" + o.name})
	if err != nil {
		t.Fatal(err)
	}
	out := map[releaseKey]releaseState{}
	for _, r := range list.Items {
		chart, _, _ := unstructured.NestedString(r.Object, "spec", "forProvider", "chart", "name")
		version, _, _ := unstructured.NestedString(r.Object, "spec", "forProvider", "chart", "version")
		out[releaseKey{r.GetLabels()["crossplane.io/claim-name"], chart}] = releaseState{version, r.GetUID(), r.GetGeneration()}
	}
	if len(out) != 2*o.n {
		t.Fatalf("%d Releases, want two for each of %d tenants: %v", len(out), o.n, slices.Collect(maps.Keys(out)))
	}
	return out
}

// composed identifies an object that is composed for a claim, or its composite resource.
type composed struct {
	claim string
	kind  schema.GroupResource
	name  string
}

// written returns what identifies the last write to each object that is composed for the channel's tenants: its generation, which the
// reports of providers don't increase, or its resource version if it has none. The tenants' records, in ConfigMaps, are left out, because
// they are reports, too.
func (o *offered) written(ctx context.Context, t *testing.T) map[composed]string {
	t.Helper()
	kinds, err := inventory.Kinds(host)
	if err != nil {
		t.Fatal(err)
	}
	out := map[composed]string{}
	for _, kind := range kinds {
		if kind.Resource == "configmaps" || inventory.Ignored[kind.GroupResource()] {
			continue
		}
		list, err := host.Metadata.Resource(kind).List(ctx, metav1.ListOptions{LabelSelector: "crossplane.io/claim-namespace=" + o.name})
		if err != nil {
			t.Fatalf("cannot list %s: %v", kind, err)
		}
		for _, is := range list.Items {
			version := is.ResourceVersion
			if is.Generation > 0 {
				version = fmt.Sprint("generation ", is.Generation)
			}
			out[composed{is.Labels["crossplane.io/claim-name"], kind.GroupResource(), is.Name}] = fmt.Sprint(is.UID, ", ", version)
		}
	}
	if len(out) < 10*o.n {
		t.Fatalf("%d objects, want at least ten for each of %d tenants", len(out), o.n)
	}
	return out
}

// untouched checks that nothing was written or removed of what was composed for tenants, apart from those of some claims.
func (o *offered) untouched(ctx context.Context, t *testing.T, before map[composed]string, except []string) {
	t.Helper()
	after := o.written(ctx, t)
	for key, was := range before {
		if is := after[key]; is != was && !slices.Contains(except, key.claim) {
			t.Errorf("%s %s of claim %s is %q, and was %q before the offer", key.kind, key.name, key.claim, is, was)
		}
	}
	for key := range after {
		if _, known := before[key]; !known && !slices.Contains(except, key.claim) && key.claim != latecomer {
			t.Errorf("%s %s of claim %s wasn't there before the offer", key.kind, key.name, key.claim)
		}
	}
}

// records reads the records of the channel's tenants.
func (o *offered) records(ctx context.Context, t *testing.T) (out []rollout.Record) {
	t.Helper()
	for _, c := range o.configs(ctx, t, tenant.LabelChannel+"="+o.name) {
		r := rollout.Record{}
		if err := json.Unmarshal([]byte(c.Data[tenant.RecordKey]), &r); err != nil {
			t.Fatalf("cannot read the record %s: %v", c.Name, err)
		}
		out = append(out, r)
	}
	return out
}

func (o *offered) configs(ctx context.Context, t *testing.T, selector string) []corev1.ConfigMap {
	t.Helper()
	list, err := host.Typed.CoreV1().ConfigMaps(crossplane).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}
