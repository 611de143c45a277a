package backup_test

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// report is what a Job says.
func report(e *crossplanetest.Engine, data map[string]any) {
	s, err := structpb.NewStruct(data)
	if err != nil {
		e.T.Fatal(err)
	}
	e.Observed(tenant.RestoreRecord).Fields["data"] = structpb.NewStructValue(s)
}

// TestBackupOfASuspendedTenant: nobody gets its backups, so that the suspension isn't undone by a copy.
func TestBackupOfASuspendedTenant(t *testing.T) {
	for name, tc := range map[string]struct {
		spec, labels, with, status string
		want                       string
	}{
		"Suspended":      {`{"tenant":"other","activate":true}`, `"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"other"`, `"suspension":{"reason":"unpaid"}`, ``, "spec.restoreFrom: the platform has suspended claim other"},
		"Runs":           {`{"tenant":"other","activate":true}`, `"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"other"`, `"plan":"small"`, ``, ""},
		"NotArrived":     {`{"tenant":"other","activate":true}`, `"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"other"`, `"plan":"small"`, `"hibernation":{"reason":"the platform has suspended it: unpaid"}`, "spec.restoreFrom: the platform has suspended claim other"},
		"Asleep":         {`{"tenant":"other","activate":true}`, `"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"other"`, `"plan":"small"`, `"hibernation":{"reason":"spec.hibernation.enabled says so"}`, ""},
		"OfAnotherOne":   {`{"tenant":"other","activate":true}`, `"crossplane.io/claim-namespace":"team-b","crossplane.io/claim-name":"other"`, `"suspension":{"reason":"unpaid"}`, ``, ""},
		"OfItsOwnName":   {`{"backup":"latest"}`, `"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"customer1"`, `"suspension":{"reason":"unpaid"}`, ``, "spec.restoreFrom: the platform has suspended claim customer1"},
		"RestoresNobody": {`null`, `"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"customer1"`, `"suspension":{"reason":"unpaid"}`, ``, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"restoreFrom":`+tc.spec+`}`, withStore)
			o := resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"other-1","labels":{` + tc.labels + `}},"spec":{` + tc.with + `},"status":{` + tc.status + `}}`)
			e.Cluster[crossplanetest.Key(o)] = o
			if got := crossplanetest.Refusal(e.Reconcile()); !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("want %q, got %q", tc.want, got)
			}
		})
	}
}

// TestSuspendedMeanwhile: what a copy has not fetched yet when the platform suspends the original waits until that ends, also with a Job that is there, and
// also when something else of its claim has a mistake. Who the original is, is only required until everything was fetched.
func TestSuspendedMeanwhile(t *testing.T) {
	const done = "2026-01-02T00:00:00Z"
	inactive, active := `{"restoreFrom":{"tenant":"other"}}`, `{"restoreFrom":{"tenant":"other","activate":true}}`
	suspend := func(e *crossplanetest.Engine, with string) {
		o := resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"other-1","labels":{"crossplane.io/claim-namespace":"team-a","crossplane.io/claim-name":"other"}},"spec":{` + with + `}}`)
		e.Cluster[crossplanetest.Key(o)] = o
	}
	for name, tc := range map[string]struct {
		was, is string
		report  map[string]any
		// jobs are those while the original is suspended, and after that.
		during, after []string
		required      bool
	}{
		"ActivatedThen": {inactive, active, map[string]any{"restoredAt": done, "active": "false"}, nil, []string{"restore-all-objects"}, true},
		"NotFetchedYet": {inactive, inactive, map[string]any{}, nil, []string{"restore-objects"}, true},
		"Fails":         {active, active, map[string]any{"message": "no"}, nil, []string{"restore-all-objects"}, true},
		"WithAMistake":  {active, `{"restoreFrom":{"tenant":"other","activate":true},"backup":{"keep":-1}}`, map[string]any{}, nil, []string{"restore-all-objects"}, true},
		"NotActivated":  {inactive, inactive, map[string]any{"restoredAt": done, "active": "false"}, []string{"restore-objects"}, []string{"restore-objects"}, false},
		"FetchedBefore": {active, active, map[string]any{"restoredAt": done, "active": "true"}, []string{"restore-all-objects"}, []string{"restore-all-objects"}, false},
		"ItsOwn":        {`{"restoreFrom":{}}`, `{"restoreFrom":{"activate":true}}`, map[string]any{"restoredAt": done, "active": "false"}, []string{"restore-snapshot"}, []string{"restore-snapshot"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.was, withStore).Install()
			report(e, tc.report)
			suspend(e, `"suspension":{"reason":"unpaid"}`)
			e.SetSpec(tc.is)
			e.Reconcile()
			e.Reconcile()
			if diff := cmp.Diff(tc.during, slices.Sorted(maps.Keys(restoreJobs(e)))); diff != "" {
				t.Errorf("suspended: -want, +got:\n%s", diff)
			}
			c := e.Condition(v1alpha1.ConditionRestored)
			if is := strings.Contains(c.GetMessage(), "the platform has suspended claim other"); is != tc.required || is && c.GetReason() != v1alpha1.ReasonRestoring {
				t.Errorf("suspended: want it to say so %t, got %v", tc.required, c)
			}
			if _, is := e.Response.GetRequirements().GetResources()["original/other"]; is != tc.required {
				t.Errorf("the original is required: want %t, got %t", tc.required, is)
			}
			suspend(e, `"plan":"small"`)
			e.Reconcile()
			e.Reconcile()
			if diff := cmp.Diff(tc.after, slices.Sorted(maps.Keys(restoreJobs(e)))); diff != "" {
				t.Errorf("not suspended any more: -want, +got:\n%s", diff)
			}
		})
	}
}

// TestRestored: nothing of a restored Argo CD acts before the claim says so, and the condition tells how far it is.
func TestRestored(t *testing.T) {
	const done = "2026-01-02T00:00:00Z"
	for name, tc := range map[string]struct {
		spec   string
		report map[string]any
		want   string
		acts   bool
	}{
		"Empty":          {`{}`, map[string]any{}, v1alpha1.ReasonRestoring, false},
		"Waits":          {`{"backup":"latest"}`, map[string]any{}, v1alpha1.ReasonRestoring, false},
		"WaitsActive":    {`{"activate":true}`, map[string]any{}, v1alpha1.ReasonRestoring, false},
		"Failed":         {`{"activate":true}`, map[string]any{"message": "reading the store: no"}, v1alpha1.ReasonRestoreFailed, false},
		"Inactive":       {`{"backup":"latest"}`, map[string]any{"restoredAt": done, "active": "false"}, v1alpha1.ReasonInactive, false},
		"Active":         {`{"activate":true}`, map[string]any{"restoredAt": done, "active": "false"}, v1alpha1.ReasonAvailable, true},
		"CopyInactive":   {`{"tenant":"other"}`, map[string]any{"restoredAt": done, "active": "false"}, v1alpha1.ReasonInactive, false},
		"CopyWaits":      {`{"tenant":"other","activate":true}`, map[string]any{"restoredAt": done, "active": "false"}, v1alpha1.ReasonRestoring, false},
		"CopyFails":      {`{"tenant":"other","activate":true}`, map[string]any{"restoredAt": done, "active": "false", "message": "no"}, v1alpha1.ReasonRestoreFailed, false},
		"CopyActive":     {`{"tenant":"other","activate":true}`, map[string]any{"restoredAt": done, "active": "true"}, v1alpha1.ReasonAvailable, true},
		"NonsenseReport": {`{"activate":true}`, map[string]any{"restoredAt": 1.0, "objects": []any{}}, v1alpha1.ReasonRestoring, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"restoreFrom":`+tc.spec+`}`, withStore)
			e.Reconcile()
			e.RunProviders()
			e.Reconcile()
			report(e, tc.report)
			e.Cycle(6)
			report(e, tc.report)
			e.Reconcile()
			if c := e.Condition(v1alpha1.ConditionRestored); c.GetReason() != tc.want {
				t.Errorf("want %s, got %v", tc.want, c)
			}
			if e.Has(tenant.ArgoCDRelease) {
				if stopped := e.ArgoCDValue("controller", "replicas") == 0.0 && e.ArgoCDValue("applicationSet", "replicas") == 0.0 && e.ArgoCDValue("notifications", "enabled") == false; stopped == tc.acts {
					t.Errorf("it acts: want %t, got %t", tc.acts, !stopped)
				}
			}
		})
	}
}

// TestHandedOver: a snapshot that was handed over isn't restored before the virtual cluster has started with it.
func TestHandedOver(t *testing.T) {
	e := crossplanetest.New(t, `{"restoreFrom":{"activate":true}}`, withStore)
	e.Reconcile()
	e.AwaitVCluster()
	report(e, map[string]any{"restoredAt": "2026-01-02T00:00:00Z", "active": "true"})
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionRestored); c.GetReason() != v1alpha1.ReasonRestoring || !strings.Contains(c.GetMessage(), "hasn't started") {
		t.Errorf("Restored: %v", c)
	}
}

// TestComesBackInPart: a claim of which not everything can come back says so, and why.
func TestComesBackInPart(t *testing.T) {
	const etcd = `{"vcluster":{"backingStore":"etcd","replicas":3}}`
	for name, tc := range map[string]struct{ plan, input, spec, says string }{
		"Volume":    {`{}`, ``, `{"activate":true}`, ""},
		"Etcd":      {etcd, ``, `{"activate":true}`, "Only Argo CD's objects of it come back: with etcd"},
		"EtcdsCopy": {etcd, ``, `{"tenant":"other","activate":true}`, ""},
		"NoVolume":  {`{}`, `,"storage":{"ephemeral":true}`, `{"activate":true}`, "Only Argo CD's objects of it come back: the virtual cluster has no volume"},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"p","restoreFrom":`+tc.spec+`}`, strings.TrimSuffix(withStore, "}")+tc.input+"}")
			e.AddPlan("p", tc.plan)
			for _, reported := range []map[string]any{{}, {"restoredAt": "2026-01-02T00:00:00Z", "active": "true"}} {
				e.Reconcile()
				e.RunProviders()
				e.Reconcile()
				report(e, reported)
				e.Cycle(6)
				report(e, reported)
				e.Reconcile()
				message := e.Condition(v1alpha1.ConditionRestored).GetMessage()
				if tc.says == "" && strings.Contains(message, "Only") || !strings.Contains(message, tc.says) {
					t.Errorf("want %q, got %q", tc.says, message)
				}
			}
		})
	}
}

// TestRestoreFolders: a claim restores backups of its own namespace alone.
func TestRestoreFolders(t *testing.T) {
	for spec, want := range map[string]string{`{"backup":"latest"}`: "backup:team-a/customer1", `{"tenant":"other"}`: "backup:team-a/other", `{"tenant":"customer1","backup":"2026-11-28T020000Z"}`: "backup:team-a/customer1"} {
		e := crossplanetest.New(t, `{"restoreFrom":`+spec+`}`, withStore).Install()
		var got []string
		for _, env := range restoreJobs(e) {
			got = append(got, env["FOLDER"])
		}
		if diff := cmp.Diff([]string{want}, got); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", spec, diff)
		}
	}
	for _, name := range []string{"../team-b/customer1", "team-b/customer1", "x/../../team-b/customer1", "/"} {
		crossplanetest.New(t, `{"restoreFrom":{"tenant":"`+name+`"}}`, withStore).CheckRefused("spec.restoreFrom.tenant", name)
	}
}

// TestRestoreStays: what a tenant was restored from can't be changed afterwards, and only activate can.
func TestRestoreStays(t *testing.T) {
	for name, tc := range map[string]struct {
		was, is string
		refused bool
	}{
		"Later":       {`{}`, `{"restoreFrom":{"backup":"latest"}}`, true},
		"LaterEmpty":  {`{}`, `{"restoreFrom":{}}`, true},
		"FromEmpty":   {`{"restoreFrom":{}}`, `{"restoreFrom":{"activate":true}}`, false},
		"Another":     {`{"restoreFrom":{"tenant":"a"}}`, `{"restoreFrom":{"tenant":"b"}}`, true},
		"OtherBackup": {`{"restoreFrom":{"backup":"latest"}}`, `{"restoreFrom":{"backup":"2026-11-28T020000Z"}}`, true},
		"Removed":     {`{"restoreFrom":{"activate":true}}`, `{}`, false},
		"ByDefault":   {`{"restoreFrom":{"backup":"latest"}}`, `{"restoreFrom":{"activate":true}}`, false},
		"Activated":   {`{"restoreFrom":{"backup":"latest"}}`, `{"restoreFrom":{"backup":"latest","activate":true}}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.was, withStore).Install()
			e.SetSpec(tc.is)
			e.Reconcile()
			if refusal := crossplanetest.Refusal(e.Response); (refusal != "") != tc.refused || tc.refused && !strings.HasPrefix(refusal, "spec.restoreFrom: ") {
				t.Errorf("want refused %t, got %q", tc.refused, refusal)
			}
			// Without the platform's store, it goes on.
			e.SetSpec(tc.was)
			e.Request.Input = nil
			e.Reconcile()
			if refusal := crossplanetest.Refusal(e.Response); refusal != "" {
				t.Errorf("without a store: %s", refusal)
			}
		})
	}
	crossplanetest.New(t, `{"restoreFrom":{"backup":"latest"}}`, "").CheckRefused("spec.restoreFrom", "input.backup.remote")
}

// TestRemovedFromGit: a claim that doesn't name its backup any more changes nothing, and activates nothing.
func TestRemovedFromGit(t *testing.T) {
	e := crossplanetest.New(t, `{"restoreFrom":{"backup":"latest"}}`, withStore).Install()
	before := e.Response
	e.SetSpec(`{}`)
	for range 3 {
		e.Reconcile()
		if diff := cmp.Diff(before.GetDesired().GetResources(), e.Response.GetDesired().GetResources(), protocmp.Transform()); diff != "" {
			t.Fatalf("-before, +after:\n%s", diff)
		}
	}
	if c := e.Condition(v1alpha1.ConditionRestored); c.GetReason() != v1alpha1.ReasonInactive {
		t.Errorf("want Inactive, got %v", c)
	}
	delete(e.Request.GetObserved().GetResources(), tenant.AcceptedSecret)
	e.Reconcile()
	if refusal := crossplanetest.Fatal(e.Response); !strings.Contains(refusal, "spec.restoreFrom: ") {
		t.Errorf("what was accepted is lost, and it isn't refused: %q", refusal)
	}
}

// TestKeysComeBack: what credentials of accounts are derived from comes from the backup, so that they stay.
func TestKeysComeBack(t *testing.T) {
	e := crossplanetest.New(t, `{"restoreFrom":{"activate":true},"argocd":{"accounts":[{"name":"ci","tokens":[{"name":"a"}]}]}}`, withStore)
	for range 6 {
		if e.Reconcile(); e.Has(tenant.AccountsSecret) {
			t.Fatal("keys are made before the backup is restored")
		}
		e.RunProviders()
		delete(e.Observed(tenant.RestoreRecord).Fields, "data")
	}
	key := base64.StdEncoding.EncodeToString([]byte("a key of thirty-two bytes, so so"))
	data, err := structpb.NewStruct(map[string]any{"kept.json": crossplanetest.Base64(`{"key":"` + key + `","signs":true}`)})
	if err != nil {
		t.Fatal(err)
	}
	e.Observed(tenant.RestoredSecret).Fields["data"] = structpb.NewStructValue(data)
	e.Install()
	if kept := string(e.SecretKey(tenant.AccountsSecret, "kept.json")); !strings.Contains(kept, key) {
		t.Errorf("the key isn't that of the backup: %s", kept)
	}
}

// restoreJobs are the Jobs that restore a backup, with the environments of their containers.
func restoreJobs(e *crossplanetest.Engine) map[string]map[string]string {
	out := map[string]map[string]string{}
	for name, r := range e.Request.GetObserved().GetResources() {
		if !strings.HasPrefix(name, tenant.RestorePrefix) || r.GetResource().GetFields()["kind"].GetStringValue() != "Job" {
			continue
		}
		env := map[string]string{}
		pod := wire.Of(r.GetResource()).Get("spec", "template", "spec")
		for _, c := range append(pod.List("initContainers"), pod.List("containers")...) {
			for _, v := range c.List("env") {
				env[v.String("name")] = v.String("value")
			}
		}
		out[name] = env
	}
	return out
}

// TestCopyIsImportedOnce: what a copy has got is imported by nobody again, neither when it is activated nor when a Job is deleted, and its
// clusters come from the same backup.
func TestCopyIsImportedOnce(t *testing.T) {
	const first = "2026-01-01T000000Z"
	check := func(e *crossplanetest.Engine, want map[string]string) {
		t.Helper()
		e.Reconcile()
		e.Reconcile()
		got := map[string]string{}
		for name, env := range restoreJobs(e) {
			got[name] = env["MODE"] + " " + env["ACTIVE"] + " " + env["BACKUP"]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
	deleteJobs := func(e *crossplanetest.Engine) {
		for name := range restoreJobs(e) {
			delete(e.Request.GetObserved().GetResources(), name)
		}
	}
	e := crossplanetest.New(t, `{"restoreFrom":{"tenant":"other"}}`, withStore).Install()
	inactive := map[string]any{"name": first, "restoredAt": "2026-01-02T00:00:00Z", "active": "false"}
	report(e, inactive)
	check(e, map[string]string{"restore-objects": "Objects false latest"})
	deleteJobs(e)
	check(e, map[string]string{})
	e.SetSpec(`{"restoreFrom":{"tenant":"other","activate":true}}`)
	check(e, map[string]string{"restore-all-objects": "Clusters true " + first})
	report(e, map[string]any{"name": first, "restoredAt": "2026-01-02T00:00:00Z", "active": "true"})
	check(e, map[string]string{"restore-all-objects": "Clusters true " + first})
	deleteJobs(e)
	check(e, map[string]string{})
	e.SetSpec(`{"restoreFrom":{"tenant":"other"}}`)
	check(e, map[string]string{})
	active := crossplanetest.New(t, `{"restoreFrom":{"tenant":"other","activate":true}}`, withStore).Install()
	check(active, map[string]string{"restore-all-objects": "Objects true latest"})
}

// TestBackupsAwaitRestore: what a tenant has before all of its backup has come back doesn't take that one's place.
func TestBackupsAwaitRestore(t *testing.T) {
	const done = "2026-01-02T00:00:00Z"
	for name, tc := range map[string]struct {
		plan   string
		report map[string]any
		made   bool
	}{
		"Restoring":     {`{"vcluster":{"backingStore":"etcd"}}`, map[string]any{}, false},
		"Fails":         {`{"vcluster":{"backingStore":"etcd"}}`, map[string]any{"message": "reading the store: no"}, false},
		"LacksClusters": {`{"vcluster":{"backingStore":"etcd"}}`, map[string]any{"restoredAt": done, "active": "false"}, false},
		"Restored":      {`{"vcluster":{"backingStore":"etcd"}}`, map[string]any{"restoredAt": done, "active": "true"}, true},
		"Whole":         {`{}`, map[string]any{"restoredAt": done, "active": "false"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"p","backup":{"enabled":true},"restoreFrom":{"backup":"latest"}}`, withStore)
			e.AddPlan("p", tc.plan)
			for range 12 {
				e.Reconcile()
				e.RunProviders()
				if e.Has(tenant.RestoreRecord) {
					report(e, tc.report)
				}
			}
			e.Reconcile()
			if e.Has(tenant.BackupCronJob) != tc.made {
				t.Errorf("backups are made: want %t, got %t", tc.made, !tc.made)
			}
			if c := e.Condition(v1alpha1.ConditionBackedUp); strings.Contains(c.GetMessage(), "once everything of the tenant is restored") == tc.made {
				t.Errorf("BackedUp: %v", c)
			}
		})
	}
}

// TestImagesAreCorrected: a Job that can't pull an image gets another once the platform has named it, unless it has restored the backup.
func TestImagesAreCorrected(t *testing.T) {
	for spec, name := range map[string]string{`{}`: "restore-snapshot", `{"tenant":"other"}`: "restore-objects"} {
		for when, reported := range map[string]map[string]any{"before": {}, "after": {"restoredAt": "2026-01-02T00:00:00Z", "active": "false"}} {
			e := crossplanetest.New(t, `{"restoreFrom":`+spec+`}`, withStore).Install()
			image := func() string {
				return wire.Of(e.Observed(name)).List("spec", "template", "spec", "initContainers")[0].String("image")
			}
			was := image()
			report(e, reported)
			e.Request.Input = resource.MustStructJSON(strings.Replace(withStore, `"backup":{`, `"backup":{"rclone":{"repository":"mirrored/rclone"},`, 1))
			e.Reconcile()
			if gone := !e.Has(name); gone != (when == "before") {
				t.Errorf("%s, %s it has restored the backup: want it gone %t, got %t", name, when, !gone, gone)
			}
			e.Reconcile()
			if other := e.Has(name) && image() != was; other != (when == "before") {
				t.Errorf("%s, %s it has restored the backup: its image was %s, and it has another %t: %s %s", name, when, was, other, e.Status("phase"), e.Status("message"))
			}
		}
	}
}

// TestReportedVersionsChangeNothing: whatever a virtual cluster says runs, the Job of a copy stays.
func TestReportedVersionsChangeNothing(t *testing.T) {
	e := crossplanetest.New(t, `{"restoreFrom":{"tenant":"other"}}`, withStore).Install()
	report(e, map[string]any{})
	before := restoreImages(e)
	for _, version := range []string{"v3.4.5", "v3.4.6"} {
		e.SetWorkload(tenant.ArgoCDServer, func(w *proxy.Workload) {
			w.Images = map[string]string{"server": "quay.io/argoproj/argocd:" + version}
		})
		e.Reconcile()
		if diff := cmp.Diff(before, restoreImages(e)); diff != "" || len(before) == 0 {
			t.Errorf("it says that %s runs: -want, +got:\n%s", version, diff)
		}
	}
}

// restoreImages are the images of the Job of a copy.
func restoreImages(e *crossplanetest.Engine) []string {
	var out []string
	for _, c := range wire.Of(e.Observed("restore-objects")).List("spec", "template", "spec", "initContainers") {
		out = append(out, c.String("image"))
	}
	return out
}
