package hibernation_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

const (
	awake  = `{}`
	asleep = `{"hibernation":{"enabled":true}}`
)

// jobs are the names of those that exist.
func jobs(e *crossplanetest.Engine) string {
	return strings.Join(slices.DeleteFunc([]string{tenant.HibernateJob, tenant.WakeJob}, func(name string) bool { return !e.Has(name) }), " ")
}

// isPaused reports whether the providers leave alone what can't be reached, and nothing else.
func isPaused(e *crossplanetest.Engine) bool {
	e.T.Helper()
	e.CheckDeletable()
	is := func(name string) bool {
		return wire.Of(e.Observed(name)).String("metadata", "annotations", "crossplane.io/paused") == "true"
	}
	paused := is(tenant.ArgoCDRelease)
	if is(tenant.Workloads) != paused {
		e.T.Errorf("Argo CD is paused %t, and its workloads aren't", paused)
	}
	// One that wakes up may need a change of its virtual cluster.
	if wakes := jobs(e) == tenant.WakeJob; is(tenant.VClusterRelease) != (paused && !wakes) {
		e.T.Errorf("the virtual cluster is paused: %t", is(tenant.VClusterRelease))
	}
	workloads := wire.Of(e.Observed(tenant.Workloads)).Get("spec")
	if config := workloads.String("providerConfigRef", "name"); tenant.IsVirtual(config) == paused || workloads.Bool("watch") == paused {
		e.T.Errorf("paused %t, its provider watches with ProviderConfig %s", paused, config)
	}
	for _, name := range []string{tenant.Namespace, tenant.Quota} {
		if wire.Of(e.Observed(name)).Has("metadata", "annotations", "crossplane.io/paused") {
			e.T.Errorf("%s is paused: it bounds the tenant", name)
		}
	}
	return paused
}

func check(e *crossplanetest.Engine, wantJobs string, wantPaused bool, phase v1alpha1.Phase) {
	e.T.Helper()
	if got := jobs(e); got != wantJobs {
		e.T.Errorf("want Jobs %q, got %q", wantJobs, got)
	}
	if got := isPaused(e); got != wantPaused {
		e.T.Errorf("want paused %t, got %t", wantPaused, got)
	}
	if got := e.Status("phase"); got != string(phase) {
		e.T.Errorf("want phase %s, got %s: %s", phase, got, e.Status("message"))
	}
}

// fallAsleep leads a tenant that is to sleep there.
func fallAsleep(e *crossplanetest.Engine) {
	e.T.Helper()
	// Its account comes first.
	e.Reconcile()
	check(e, "", true, v1alpha1.PhaseHibernating)
	e.Reconcile()
	check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernating)
	e.RunProviders()
	e.Reconcile()
	check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernated)
}

// TestSleepsAndWakes: there is one Job at a time, and the providers are let go before the first and taken back after the second.
func TestSleepsAndWakes(t *testing.T) {
	e := crossplanetest.New(t, awake, "").Install()
	check(e, "", false, v1alpha1.PhaseReady)
	version := e.Status("argocd", "chartVersion")
	for range 3 {
		e.SetSpec(asleep)
		e.Reconcile()
		for e.Status("phase") != string(v1alpha1.PhaseHibernated) {
			check(e, jobs(e), true, v1alpha1.PhaseHibernating)
			e.RunProviders()
			e.Reconcile()
		}
		rsp := e.Reconcile()
		check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernated)
		if got := rsp.GetMeta().GetTtl().AsDuration(); got != crossplanetest.TTLAtRest {
			t.Errorf("asleep, Crossplane asks again after %s, want %s", got, crossplanetest.TTLAtRest)
		}
		if e.Status("hibernation", "since") == "" || !strings.Contains(e.Status("message"), "Asleep since ") || !strings.Contains(e.Status("message"), "spec.hibernation.enabled") {
			t.Errorf("it doesn't say since when and why: %s", e.Status("message"))
		}
		if got := e.Status("argocd", "chartVersion"); got != version {
			t.Errorf("asleep, version %q is forgotten: %q", version, got)
		}
		e.SetSpec(awake)
		e.Reconcile()
		check(e, tenant.WakeJob, true, v1alpha1.PhaseWaking)
		e.RunProviders()
		e.Reconcile()
		// Nobody has looked at it again.
		check(e, tenant.WakeJob, false, v1alpha1.PhaseWaking)
		for _, event := range e.Events {
			if strings.HasPrefix(event, v1alpha1.ReasonInstallFailed) || strings.HasPrefix(event, v1alpha1.ReasonWorkloadsUnavailable) {
				t.Errorf("it wakes up with %s", event)
			}
		}
		e.RunProviders()
		e.Reconcile()
		check(e, tenant.WakeJob, false, v1alpha1.PhaseReady)
	}
}

// TestBreaksAfterWaking: a tenant that was seen to be awake says what breaks. Pods that only start are a part of waking up, and so is all that
// isn't well before.
func TestBreaksAfterWaking(t *testing.T) {
	e := crossplanetest.New(t, awake, "").Install()
	e.SetSpec(asleep)
	fallAsleep(e)
	e.SetSpec(awake)
	e.Reconcile()
	e.RunProviders()
	e.Reconcile()
	e.RunProviders()
	seen := func(want v1alpha1.Phase, why string) {
		t.Helper()
		e.SetWorkload("argocd-repo-server", func(w *proxy.Workload) { w.Available, w.Why = want == v1alpha1.PhaseReady, why })
		e.Reconcile()
		check(e, tenant.WakeJob, false, want)
	}
	const broken = "container repo-server: OOMKilled: "
	seen(v1alpha1.PhaseWaking, broken)
	seen(v1alpha1.PhaseReady, "")
	seen(v1alpha1.PhaseWaking, "")
	seen(v1alpha1.PhaseReady, "")
	lost := e.Fork(t)
	seen(v1alpha1.PhaseDegraded, broken)
	seen(v1alpha1.PhaseDegraded, broken)

	crossplanetest.SetCondition(lost.Observed(tenant.Workloads), "Synced", "False", "ReconcileError", "connection refused")
	lost.Reconcile()
	check(lost, tenant.WakeJob, false, v1alpha1.PhaseDegraded)
}

// TestChangesOfMind: a Job that wakes a tenant is finished first, and whatever is lost comes again.
func TestChangesOfMind(t *testing.T) {
	e := crossplanetest.New(t, awake, "").Install()
	e.SetSpec(asleep)
	fallAsleep(e)
	lost := e.Fork(t)

	e.SetSpec(awake)
	e.Reconcile()
	e.SetSpec(asleep)
	e.Reconcile()
	check(e, tenant.WakeJob, true, v1alpha1.PhaseWaking)
	e.RunProviders()
	e.Reconcile()
	check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernating)
	// While it falls asleep, it may be woken.
	e.SetSpec(awake)
	e.Reconcile()
	check(e, tenant.WakeJob, true, v1alpha1.PhaseWaking)

	// Somebody deletes the Job.
	delete(lost.Request.GetObserved().GetResources(), tenant.HibernateJob)
	lost.Reconcile()
	check(lost, tenant.HibernateJob, true, v1alpha1.PhaseHibernating)
	delete(lost.Request.GetObserved().GetResources(), tenant.HibernateJob)
	lost.SetSpec(awake)
	lost.Reconcile()
	check(lost, tenant.WakeJob, true, v1alpha1.PhaseWaking)
}

// TestSleepsOnceReady: nobody falls asleep while it is installed or changes.
func TestSleepsOnceReady(t *testing.T) {
	e := crossplanetest.New(t, asleep, "")
	for e.Status("phase") != string(v1alpha1.PhaseReady) {
		e.Reconcile()
		if e.Status("phase") == string(v1alpha1.PhaseHibernating) {
			break
		}
		if jobs(e) != "" {
			t.Fatalf("it falls asleep while it is %s", e.Status("phase"))
		}
		e.RunProviders()
	}
	changing := crossplanetest.New(t, awake, "").Install()
	changing.SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}},"hibernation":{"enabled":true}}`)
	changing.Reconcile()
	check(changing, "", false, v1alpha1.PhaseReady)
	changing.RunProviders()
	changing.Reconcile()
	changing.Reconcile()
	check(changing, tenant.HibernateJob, true, v1alpha1.PhaseHibernating)
}

// TestPartsAreSeenAgain: what is observed of the time before a sleep isn't taken for what is.
func TestPartsAreSeenAgain(t *testing.T) {
	const bootstrap = `"bootstrap":{"repoURL":"https://git.example.org/a"}`
	e := crossplanetest.New(t, `{`+bootstrap+`}`, "").Install()
	e.SetSpec(`{` + bootstrap + `,"hibernation":{"enabled":true}}`)
	fallAsleep(e)
	e.SetSpec(`{` + bootstrap + `}`)
	e.Reconcile()
	for range 2 {
		if c := e.Condition(v1alpha1.ConditionBootstrapSynced); c.GetReason() != v1alpha1.ReasonHibernated {
			t.Errorf("it wakes up, and tells of its Application %s: %s", c.GetReason(), c.GetMessage())
		}
		if e.Has(tenant.WakeJob) {
			e.FinishJob(tenant.WakeJob)
		}
		e.Reconcile()
	}
	e.Cycle(2)
	if c := e.Condition(v1alpha1.ConditionBootstrapSynced); c.GetReason() != v1alpha1.ReasonAvailable {
		t.Errorf("awake, it says %s: %s", c.GetReason(), c.GetMessage())
	}
}

// TestImageIsCorrected: a Job whose image can't be pulled gets another once the platform has named it.
func TestImageIsCorrected(t *testing.T) {
	e := crossplanetest.New(t, awake, "").Install()
	e.SetSpec(asleep)
	for range 3 {
		e.Reconcile()
	}
	image := func() string {
		return wire.Of(e.Observed(tenant.HibernateJob)).List("spec", "template", "spec", "containers")[0].String("image")
	}
	was := image()
	e.Request.Input = crossplanetest.JSON(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","images":{"kubectl":{"repository":"mirrored/kubectl"}}}`).GetStructValue()
	e.Reconcile()
	check(e, "", true, v1alpha1.PhaseHibernating)
	e.Reconcile()
	check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernating)
	if image() == was {
		t.Errorf("it keeps image %s", was)
	}
}

// TestSleepsWhateverItDoes: what the platform suspends isn't kept awake by changes, and by what isn't installed.
func TestSleepsWhateverItDoes(t *testing.T) {
	e := crossplanetest.New(t, awake, "").Install()
	e.SetSpec(`{"argocd":{"values":{"server":{"replicas":2}}},"suspension":{"reason":"unpaid"}}`)
	e.Reconcile()
	e.Reconcile()
	check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernating)
	broken := crossplanetest.New(t, `{"suspension":{"reason":"unpaid"}}`, "")
	broken.AwaitVCluster()
	broken.RunProviders()
	for range 3 {
		broken.Reconcile()
	}
	if jobs(broken) != tenant.HibernateJob {
		t.Errorf("a tenant that never was Ready is %s: %s", broken.Status("phase"), broken.Status("message"))
	}
}

// TestSuspendedByItsFront: what the platform suspends in a namespaced VirtualArgoCD is suspended, also if that composes nothing any more, by which it
// would arrive in the composite resource; and no other VirtualArgoCD has a say.
func TestSuspendedByItsFront(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, owner, metadata, spec, now string
		want                               bool
	}{
		"Suspended":  {"", "m.virtualargocd.io/v1alpha1", `"namespace":"team","name":"a"`, `"suspension":{"reason":"unpaid"}`, `{}`, true},
		"Mistaken":   {"A mistake of the spec doesn't keep it awake.", "m.virtualargocd.io/v1alpha1", `"namespace":"team","name":"a"`, `"suspension":{"reason":"unpaid"}`, `{"kubernetes":{"version":"x"}}`, true},
		"Runs":       {"", "m.virtualargocd.io/v1alpha1", `"namespace":"team","name":"a"`, `"plan":"small"`, `{}`, false},
		"Claims":     {"The tenant is a claim's by now.", "virtualargocd.io/v1alpha1", `"namespace":"team","name":"a"`, `"suspension":{"reason":"unpaid"}`, `{}`, false},
		"OtherName":  {"", "m.virtualargocd.io/v1alpha1", `"namespace":"team","name":"b"`, `"suspension":{"reason":"unpaid"}`, `{}`, false},
		"OtherSpace": {"", "m.virtualargocd.io/v1alpha1", `"namespace":"others","name":"a"`, `"suspension":{"reason":"unpaid"}`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, "")
			own := func() {
				crossplanetest.Field(e.XR(), "spec").Fields["claimRef"] = crossplanetest.JSON(`{"apiVersion":"` + tc.owner + `","kind":"VirtualArgoCD","namespace":"team","name":"a"}`)
			}
			own()
			e.Install()
			e.SetSpec(tc.now)
			own()
			front := crossplanetest.JSON(`{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{` + tc.metadata + `},"spec":{` + tc.spec + `}}`).GetStructValue()
			e.Cluster[crossplanetest.Key(front)] = front
			e.Reconcile()
			e.Reconcile()
			if got := jobs(e) == tenant.HibernateJob; got != tc.want {
				t.Errorf("%s\nwant suspended %v, got %s: %s", tc.reason, tc.want, e.Status("phase"), e.Status("message"))
			}
		})
	}
}

// TestWhoSays: the platform's suspension comes before a plan's end, and that before what the claim says.
func TestWhoSays(t *testing.T) {
	const nightly = `"schedules":[{"start":"0 0 * * *","end":"0 23 * * *"}]`
	for name, tc := range map[string]struct {
		reason, plan, spec string
		age                time.Duration
		asleep             bool
		says               string
	}{
		"Nothing":          {reason: "By default a tenant is awake.", plan: `{}`, spec: `{}`},
		"Plan":             {reason: "A plan has its tenants sleep.", plan: `{"hibernation":{"enabled":true}}`, spec: `{}`, asleep: true, says: `plan "p" says so`},
		"PlansSchedule":    {reason: "So does its schedule.", plan: `{"hibernation":{` + nightly + `}}`, spec: `{}`, asleep: true, says: `plan "p" says so`},
		"ClaimsSchedule":   {reason: "Or the claim's.", plan: `{}`, spec: `{"hibernation":{` + nightly + `}}`, asleep: true, says: "spec.hibernation.schedules says so"},
		"ClaimsOther":      {reason: "Which replaces the plan's.", plan: `{"hibernation":{` + nightly + `}}`, spec: `{"hibernation":{"schedules":[{"start":"0 22 * * *","end":"0 23 * * *"}]}}`},
		"ClaimOff":         {reason: "A claim wakes its tenant.", plan: `{"hibernation":{` + nightly + `}}`, spec: `{"hibernation":{"enabled":false}}`},
		"Suspended":        {reason: "Not one that is suspended.", plan: `{}`, spec: `{"hibernation":{"enabled":false},"suspension":{"reason":"unpaid"}}`, asleep: true, says: "suspended it: unpaid"},
		"SuspendedMistake": {reason: "Nor does a mistake.", plan: `{}`, spec: `{"hibernation":{"schedules":[{"start":"x"}]},"suspension":{"reason":"unpaid"}}`, asleep: true, says: "suspended it: unpaid"},
		"Young":            {reason: "A plan's end comes late.", plan: `{"expireAfter":"48h"}`, spec: `{}`, age: 47 * time.Hour},
		"Expired":          {reason: "And then it holds.", plan: `{"expireAfter":"48h"}`, spec: `{"hibernation":{"enabled":false}}`, age: 48 * time.Hour, asleep: true, says: `time that plan "p" gives it has ended`},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"p"}`, "")
			e.AddPlan("p", `{}`)
			crossplanetest.Field(e.XR(), "metadata").Fields["creationTimestamp"] = crossplanetest.JSON(`"` + e.Now().Add(-tc.age).UTC().Format(time.RFC3339) + `"`)
			e.Install()
			e.AddPlan("p", tc.plan)
			e.SetSpec(strings.Replace(strings.Replace(tc.spec, "{", `{"plan":"p",`, 1), ",}", "}", 1))
			e.Reconcile()
			e.Reconcile()
			if got := jobs(e) == tenant.HibernateJob; got != tc.asleep {
				t.Errorf("\n%s\nwant asleep %t, got %t: %s", tc.reason, tc.asleep, got, e.Status("message"))
			}
			if tc.asleep && !strings.Contains(e.Status("message"), tc.says) {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.says, e.Status("message"))
			}
		})
	}
}

// TestRestoredTrial: the time that a plan gives doesn't begin anew where a tenant is made again from a backup.
func TestRestoredTrial(t *testing.T) {
	for name, tc := range map[string]struct {
		since  time.Duration
		asleep bool
	}{"Young": {time.Hour, false}, "Expired": {49 * time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"p","restoreFrom":{"backup":"latest"}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","backup":{"remote":"backup:"}}`)
			e.AddPlan("p", `{"expireAfter":"48h"}`)
			crossplanetest.Field(e.XR(), "metadata").Fields["creationTimestamp"] = crossplanetest.JSON(`"` + e.Now().Add(-time.Hour).UTC().Format(time.RFC3339) + `"`)
			e.Reconcile()
			e.RunProviders()
			e.Reconcile()
			report := func() {
				e.Observed(tenant.RestoreRecord).Fields["data"] = crossplanetest.JSON(`{"restoredAt":"2026-01-02T00:00:00Z","active":"false","since":"` + e.Now().Add(-tc.since).UTC().Format(time.RFC3339) + `"}`)
			}
			report()
			e.Cycle(6)
			report()
			e.Reconcile()
			if got := jobs(e) == tenant.HibernateJob; got != tc.asleep {
				t.Errorf("want asleep %t, got %t: %s", tc.asleep, got, e.Status("message"))
			}
		})
	}
}

// TestExpiryIsAnnounced a day before, once.
func TestExpiryIsAnnounced(t *testing.T) {
	e := crossplanetest.New(t, `{"plan":"p"}`, "")
	e.AddPlan("p", `{"expireAfter":"48h"}`)
	crossplanetest.Field(e.XR(), "metadata").Fields["creationTimestamp"] = crossplanetest.JSON(`"` + e.Now().Add(-25*time.Hour).UTC().Format(time.RFC3339) + `"`)
	e.Install()
	e.Reconcile()
	told := slices.DeleteFunc(slices.Clone(e.Events), func(event string) bool { return !strings.HasPrefix(event, v1alpha1.EventExpires+": ") })
	if len(told) != 1 || !strings.Contains(told[0], `plan "p"`) || e.Status("hibernation", "expiresAt") == "" {
		t.Errorf("want one warning, got %q, and status %q", told, e.Status("hibernation", "expiresAt"))
	}
}

// TestChangesWait: a claim's change and the platform's are applied by nobody before the tenant is awake.
func TestChangesWait(t *testing.T) {
	e := crossplanetest.New(t, awake, crossplanetest.PlatformVersions("0.36.0", "10.1.1", "v1.35.4")).Install()
	e.SetSpec(asleep)
	fallAsleep(e)
	before := wire.Of(e.Observed(tenant.VClusterRelease)).Get("spec").String("forProvider", "chart", "version")
	e.Request.Input = crossplanetest.JSON(crossplanetest.PlatformVersions("0.36.1", "10.1.1", "v1.35.4")).GetStructValue()
	e.Reconcile()
	if got := wire.Of(e.Observed(tenant.VClusterRelease)).Get("spec").String("forProvider", "chart", "version"); got != before {
		t.Errorf("asleep, it takes version %s", got)
	}
	e.SetSpec(`{"hibernation":{"enabled":true},"vcluster":{"values":{"logging":{"encoding":"json"}}}}`)
	e.Reconcile()
	check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernated)
	e.SetSpec(`{"vcluster":{"values":{"logging":{"encoding":"json"}}}}`)
	e.Cycle(4)
	if e.Status("phase") != string(v1alpha1.PhaseReady) || wire.Of(e.Observed(tenant.VClusterRelease)).Get("spec").String("forProvider", "chart", "version") == before {
		t.Errorf("awake, it is %s: %s", e.Status("phase"), e.Status("message"))
	}
}

// TestWithoutVolume: a tenant that would lose everything in its sleep stays awake, whoever wants it to sleep, and says why.
func TestWithoutVolume(t *testing.T) {
	const ephemeral = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","storage":{"ephemeral":true}}`
	for _, spec := range []string{`"hibernation":{"enabled":true}`, `"hibernation":{"schedules":[{"start":"0 0 * * *","end":"0 23 * * *"}]}`, `"suspension":{"reason":"unpaid"}`} {
		e := crossplanetest.New(t, `{`+spec+`}`, ephemeral).Install()
		e.Cycle(3)
		if jobs(e) != "" || e.Status("phase") != string(v1alpha1.PhaseReady) || !strings.Contains(e.Status("hibernation", "reason"), "storage.ephemeral") {
			t.Errorf("%s: it is %s, with Jobs %q: %s", spec, e.Status("phase"), jobs(e), e.Status("hibernation", "reason"))
		}
	}
}

// TestPlatformChangesReachNobodyAsleep: what the platform changes in its input and in the plan changes nothing that a provider acts on while the
// tenant is asleep, and it has all of that once it is awake.
func TestPlatformChangesReachNobodyAsleep(t *testing.T) {
	plan := func(asleep, value string) string {
		return `{"hibernation":{"enabled":` + asleep + `},"values":{"argocd":{"configs":{"cm":{"exec.enabled":"` + value + `"}}}}}`
	}
	e := crossplanetest.New(t, `{"plan":"p"}`, "")
	e.AddPlan("p", plan("false", "false"))
	e.Install()
	e.AddPlan("p", plan("true", "false"))
	fallAsleep(e)
	before := e.Reconcile().GetDesired().GetResources()
	e.AddPlan("p", plan("true", "true"))
	e.Request.Input = crossplanetest.JSON(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"configs":{"cm":{"help.chatText":"new"}}}}}}`).GetStructValue()
	for range 3 {
		after := e.Reconcile().GetDesired().GetResources()
		check(e, tenant.HibernateJob, true, v1alpha1.PhaseHibernated)
		for name, is := range after {
			o := wire.Of(is.GetResource())
			if o.String("metadata", "annotations", "crossplane.io/paused") == "true" || o.String("kind") == "Secret" {
				continue
			}
			if diff := cmp.Diff(before[name].GetResource().AsMap(), is.GetResource().AsMap()); diff != "" {
				t.Errorf("asleep, %s changes: -before, +after:\n%s", name, diff)
			}
		}
	}
	e.AddPlan("p", plan("false", "true"))
	e.Cycle(6)
	if e.Status("phase") != string(v1alpha1.PhaseReady) || e.ArgoCDValue("configs", "cm", "exec.enabled") != "true" || e.ArgoCDValue("configs", "cm", "help.chatText") != "new" {
		t.Errorf("awake, it is %s with %v: %s", e.Status("phase"), e.ArgoCDValue("configs", "cm"), e.Status("message"))
	}
}
