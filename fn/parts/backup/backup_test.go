package backup_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// withStore is an input with a place for backups.
const withStore = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","backup":{"remote":"backup:"}}`

// TestBackedUp: the condition and the status tell how old the last good backup is, and why there is none.
func TestBackedUp(t *testing.T) {
	const each = `"enabled":true,"schedule":"0 2 * * *"`
	now := crossplanetest.Start
	at := func(ago time.Duration) string { return now.Add(-ago).UTC().Format(time.RFC3339) }
	for name, tc := range map[string]struct {
		// began is how long ago the schedule began, and record what was reported.
		began  time.Duration
		record map[string]any
		want   fnv1.Status
		reason string
		says   []string
	}{
		"NothingDueYet":  {time.Minute, nil, fnv1.Status_STATUS_CONDITION_UNKNOWN, v1alpha1.ReasonScheduled, []string{"the first is due at "}},
		"OneMissed":      {25 * time.Hour, nil, fnv1.Status_STATUS_CONDITION_UNKNOWN, v1alpha1.ReasonScheduled, nil},
		"TwoMissed":      {49 * time.Hour, nil, fnv1.Status_STATUS_CONDITION_FALSE, v1alpha1.ReasonNoBackup, []string{"two were due", "CronJob customer1-7rw8j-backup in namespace crossplane-system"}},
		"FirstFailed":    {time.Minute, map[string]any{"message": "storing: no room"}, fnv1.Status_STATUS_CONDITION_FALSE, v1alpha1.ReasonNoBackup, []string{"first attempt", "no room"}},
		"Good":           {90 * time.Hour, map[string]any{"name": "b", "succeededAt": at(25 * time.Hour)}, fnv1.Status_STATUS_CONDITION_TRUE, v1alpha1.ReasonAvailable, []string{at(25 * time.Hour)}},
		"GoodAndFailed":  {90 * time.Hour, map[string]any{"name": "b", "succeededAt": at(25 * time.Hour), "message": "storing: no room"}, fnv1.Status_STATUS_CONDITION_TRUE, v1alpha1.ReasonAvailable, []string{"no room"}},
		"Old":            {90 * time.Hour, map[string]any{"name": "b", "succeededAt": at(49 * time.Hour)}, fnv1.Status_STATUS_CONDITION_FALSE, v1alpha1.ReasonNoBackup, []string{at(49 * time.Hour), "two were due", "CronJob"}},
		"OldAndWhy":      {90 * time.Hour, map[string]any{"name": "b", "succeededAt": at(49 * time.Hour), "message": "storing: no room"}, fnv1.Status_STATUS_CONDITION_FALSE, v1alpha1.ReasonNoBackup, []string{"no room"}},
		"NotATimeAtAll":  {time.Minute, map[string]any{"name": "b", "succeededAt": "x", "size": "y"}, fnv1.Status_STATUS_CONDITION_UNKNOWN, v1alpha1.ReasonScheduled, nil},
		"NotTextsAtAll":  {time.Minute, map[string]any{"name": 1.0, "succeededAt": []any{}}, fnv1.Status_STATUS_CONDITION_UNKNOWN, v1alpha1.ReasonScheduled, nil},
		"InTheFuture":    {time.Minute, map[string]any{"name": "b", "succeededAt": at(-time.Hour)}, fnv1.Status_STATUS_CONDITION_TRUE, v1alpha1.ReasonAvailable, nil},
		"LongAgoAtFirst": {2000 * time.Hour, nil, fnv1.Status_STATUS_CONDITION_FALSE, v1alpha1.ReasonNoBackup, nil},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"backup":{`+each+`}}`, withStore).Install()
			e.SetAge(tenant.BackupCronJob, tc.began)
			if tc.record != nil {
				data, err := structpb.NewStruct(tc.record)
				if err != nil {
					t.Fatal(err)
				}
				e.Observed(tenant.BackupRecord).Fields["data"] = structpb.NewStructValue(data)
			}
			e.Reconcile()
			c := e.Condition(v1alpha1.ConditionBackedUp)
			if c.GetStatus() != tc.want || c.GetReason() != tc.reason {
				t.Errorf("want %s %s, got %v", tc.want, tc.reason, c)
			}
			for _, text := range tc.says {
				if !strings.Contains(c.GetMessage(), text) {
					t.Errorf("want a message with %q, got %q", text, c.GetMessage())
				}
			}
			if e.Status("backup", "next") == "" {
				t.Error("the status has no next backup")
			}
		})
	}
}

// TestOverdueIsSeenInTime: Crossplane asks again when two runs are overdue, however long it would otherwise leave the tenant alone.
func TestOverdueIsSeenInTime(t *testing.T) {
	// The second run since the schedule began was due at 2 o'clock, and may take until 20 past.
	now := time.Date(2026, 1, 2, 2, 15, 0, 0, time.UTC)
	e := crossplanetest.New(t, `{"backup":{"enabled":true,"schedule":"0 2 * * *"}}`, withStore)
	e.Now = func() time.Time { return now }
	e.Install()
	e.Observed(tenant.BackupCronJob).Fields["metadata"].GetStructValue().Fields["creationTimestamp"] = structpb.NewStringValue("2026-01-01T01:00:00Z")
	for _, want := range []time.Duration{5*time.Minute + time.Second, crossplanetest.TTLAtRest} {
		e.Reconcile()
		if got := e.Reconcile().GetMeta().GetTtl().AsDuration(); got != want {
			t.Errorf("at %s, Crossplane asks again after %s, want %s", now, got, want)
		}
		if c := e.Condition(v1alpha1.ConditionBackedUp); (c.GetReason() == v1alpha1.ReasonNoBackup) != (want == crossplanetest.TTLAtRest) {
			t.Errorf("at %s: %v", now, c)
		}
		now = now.Add(want)
	}
}

// TestSettings: a claim's settings go over its plan's, and take effect in the CronJob.
func TestSettings(t *testing.T) {
	type settings struct {
		schedule, zone, keep string
	}
	const nightly = "45 5 * * *"
	for name, tc := range map[string]struct {
		plan, claim string
		want        settings
	}{
		"Defaults":       {`{}`, `{"enabled":true}`, settings{nightly, "Etc/UTC", "14"}},
		"Plans":          {`{"enabled":true,"schedule":"0 3 * * 6","timeZone":"Europe/Berlin","keep":5}`, `{}`, settings{"0 3 * * 6", "Europe/Berlin", "5"}},
		"ClaimsSchedule": {`{"enabled":true,"schedule":"0 3 * * 6","timeZone":"Europe/Berlin","keep":5}`, `{"schedule":"0 4 * * *"}`, settings{"0 4 * * *", "Etc/UTC", "5"}},
		"ClaimsZone":     {`{"enabled":true,"schedule":"0 3 * * 6","keep":5}`, `{"timeZone":"Asia/Tokyo","keep":7}`, settings{"0 3 * * 6", "Asia/Tokyo", "7"}},
		"ClaimHasNone":   {`{"enabled":true}`, `{"enabled":false}`, settings{}},
		"PlanHasNone":    {`{"enabled":false}`, `{"schedule":"0 4 * * *"}`, settings{}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"p","backup":`+tc.claim+`}`, withStore)
			e.AddPlan("p", `{"backup":`+tc.plan+`}`)
			e.Install()
			got := settings{}
			if e.Has(tenant.BackupCronJob) {
				spec := crossplanetest.Field(e.Observed(tenant.BackupCronJob), "spec").GetFields()
				got.schedule, got.zone = spec["schedule"].GetStringValue(), spec["timeZone"].GetStringValue()
				got.keep = keeps(e)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(settings{})); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
}

// TestNoVersion: with an image whose tag isn't a version, Argo CD runs, and the claim says what backups need. The platform can give them a tag.
func TestNoVersion(t *testing.T) {
	for input, backedUp := range map[string]bool{withStore: false, strings.Replace(withStore, `"backup":{`, `"backup":{"argocd":{"tag":"v3.4.4"},`, 1): true} {
		e := crossplanetest.New(t, `{}`, input).Install()
		e.SetWorkload(tenant.ArgoCDServer, func(w *proxy.Workload) { w.Images = map[string]string{"server": "registry.example.com/argocd:ours"} })
		e.Reconcile()
		e.SetSpec(`{"backup":{"enabled":true}}`)
		e.Reconcile()
		e.Reconcile()
		if phase := e.Status("phase"); phase != "Ready" || e.Has(tenant.BackupCronJob) != backedUp {
			t.Errorf("%s: %s, with a CronJob %t, want Ready and %t: %s", input, phase, e.Has(tenant.BackupCronJob), backedUp, e.Status("message"))
		}
		if c := e.Condition(v1alpha1.ConditionBackedUp); strings.Contains(c.GetMessage(), "set input.backup.argocd.tag") == backedUp || (c.GetReason() == v1alpha1.ReasonNoBackup) == backedUp {
			t.Errorf("%s: the condition is %v", input, c)
		}
	}
}

// TestVersionOfTheChart: what a virtual cluster says runs is taken for the version of an image on the host only where the chart may have installed it, and
// is asked for by nobody where the values name one.
func TestVersionOfTheChart(t *testing.T) {
	for name, tc := range map[string]struct{ values, runs, want string }{
		"Patch":         {`{}`, "v3.4.9", "v3.4.9"},
		"Older":         {`{}`, "v2.11.0", ""},
		"Newer":         {`{}`, "v3.99.0", ""},
		"Named":         {`{"global":{"image":{"tag":"v3.3.1"}}}`, "v3.4.9", "v3.3.1"},
		"NamedOfServer": {`{"global":{"image":{"tag":"v3.3.1"}},"server":{"image":{"tag":"v3.3.2"}}}`, "v3.3.1", "v3.3.2"},
		"NamedVeryOld":  {`{"global":{"image":{"tag":"v1.8.0"}}}`, "v1.8.0", ""},
		"NamedAsNone":   {`{"global":{"image":{"tag":"ours"}}}`, "v3.4.4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"argocd":{"values":`+tc.values+`}}`, withStore).Install()
			e.SetWorkload(tenant.ArgoCDServer, func(w *proxy.Workload) {
				w.Images = map[string]string{"server": "quay.io/argoproj/argocd:" + tc.runs}
			})
			e.Reconcile()
			e.SetSpec(`{"backup":{"enabled":true},"argocd":{"values":` + tc.values + `}}`)
			e.Reconcile()
			e.Reconcile()
			if tc.want == "" {
				if c := e.Condition(v1alpha1.ConditionBackedUp); e.Has(tenant.BackupCronJob) || !strings.Contains(c.GetMessage(), "isn't a version that its chart has") {
					t.Errorf("with a CronJob %t: %v", e.Has(tenant.BackupCronJob), c)
				}
				return
			}
			if image := container(e, "export")["image"]; image != "quay.io/argoproj/argocd:"+tc.want {
				t.Errorf("want version %s, the image is %v", tc.want, image)
			}
		})
	}
}

// TestVersionIsLost: backups go on with the image of before, and nothing is deleted, once Argo CD runs with an image whose tag isn't a version.
func TestVersionIsLost(t *testing.T) {
	e := crossplanetest.New(t, `{"backup":{"enabled":true},"restoreFrom":{"tenant":"other","activate":true}}`, withStore).Install()
	image, had := container(e, "export")["image"], e.Response.GetDesired().GetResources()
	e.SetWorkload(tenant.ArgoCDServer, func(w *proxy.Workload) { w.Images = map[string]string{"server": "registry.example.com/argocd:ours"} })
	for range 3 {
		e.Reconcile()
		for name := range had {
			if !e.Has(name) {
				t.Fatalf("%s is deleted", name)
			}
		}
	}
	if is := container(e, "export")["image"]; is != image {
		t.Errorf("the image was %v, and is %v", image, is)
	}
	if c := e.Condition(v1alpha1.ConditionBackedUp); e.Status("argocd", "version") != "" || e.Status("phase") != "Ready" || c.GetReason() != v1alpha1.ReasonScheduled {
		t.Errorf("%s, version %q, %v", e.Status("phase"), e.Status("argocd", "version"), c)
	}
}

// container is one of the containers of the CronJob.
func container(e *crossplanetest.Engine, name string) map[string]any {
	spec := crossplanetest.Field(e.Observed(tenant.BackupCronJob), "spec", "jobTemplate", "spec", "template", "spec").AsMap()
	for _, c := range append(spec["initContainers"].([]any), spec["containers"].([]any)...) {
		if c := c.(map[string]any); c["name"] == name {
			return c
		}
	}
	return nil
}

// TestWhoHasWhat: only the container that stores has the store's credentials, only the one that exports the virtual API's, and none of them a
// token of the host's API but those that talk to it.
func TestWhoHasWhat(t *testing.T) {
	e := crossplanetest.New(t, `{"backup":{"enabled":true},"argocd":{"accounts":[{"name":"ci"}]}}`, withStore).Install()
	for name, want := range map[string][]string{
		"export": {"kubeconfig", "tmp", "work"}, "snapshot": {"tmp", "token", "work"}, "store": {"store", "tenant", "tmp", "work"}, "report": {"tmp", "token", "work"},
	} {
		var got []string
		for _, m := range container(e, name)["volumeMounts"].([]any) {
			got = append(got, m.(map[string]any)["name"].(string))
		}
		if diff := cmp.Diff(want, got, cmp.Transformer("sorted", sorted)); diff != "" {
			t.Errorf("%s: -want, +got:\n%s", name, diff)
		}
	}
}

// TestComponentsBesideArgoCD: those in its namespace are left out of a snapshot as it is, and others aren't.
func TestComponentsBesideArgoCD(t *testing.T) {
	const component = `{"name":"%s","namespace":"%s","chart":{"repository":"https://charts.example.org","name":"%s","version":"1.2.3"},"workloads":[{"kind":"Deployment","name":"%s"}]}`
	input := strings.TrimSuffix(withStore, "}") + `,"components":[` + fmt.Sprintf(component, "updater", "argocd", "image-updater", "image-updater") + "," + fmt.Sprintf(component, "workflows", "argo", "argo-workflows", "workflows") + `]}`
	e := crossplanetest.New(t, `{"backup":{"enabled":true},"components":[{"name":"updater"},{"name":"workflows"}]}`, input).Install()
	for _, v := range container(e, "export")["env"].([]any) {
		if v := v.(map[string]any); v["name"] == "OWN" && v["value"] != "argocd|image-updater|updater" {
			t.Errorf("it leaves out %v", v["value"])
		} else if v["name"] == "OWN" {
			return
		}
	}
	t.Error("it leaves out nothing")
}

func sorted(names []string) string {
	out := map[string]any{}
	for _, n := range names {
		out[n] = true
	}
	s, _ := structpb.NewStruct(out)
	return s.String()
}

// TestOnDemand: each new value of the annotation makes one Job, whose template stays as it is.
func TestOnDemand(t *testing.T) {
	e := crossplanetest.New(t, `{"backup":{"enabled":true}}`, withStore).Install()
	annotate := func(value string) {
		meta := crossplanetest.Field(e.XR(), "metadata")
		annotations, err := structpb.NewStruct(map[string]any{v1alpha1.AnnotationBackup: value})
		if err != nil {
			t.Fatal(err)
		}
		meta.Fields["annotations"] = structpb.NewStructValue(annotations)
	}
	jobs := func() map[string]*structpb.Struct {
		out := map[string]*structpb.Struct{}
		for name, r := range e.Request.GetObserved().GetResources() {
			if strings.HasPrefix(name, tenant.BackupNowPrefix) {
				out[name] = r.GetResource()
			}
		}
		return out
	}
	if len(jobs()) != 0 {
		t.Errorf("without the annotation: %v", jobs())
	}
	annotate("2026-11-28")
	e.Cycle(2)
	first := jobs()
	if len(first) != 1 {
		t.Fatalf("with the annotation: %v", first)
	}
	// Another number of backups to keep is for the next Job.
	e.SetSpec(`{"backup":{"enabled":true,"keep":3}}`)
	e.Cycle(2)
	for name, job := range jobs() {
		if diff := cmp.Diff(crossplanetest.Field(first[name], "spec").AsMap(), crossplanetest.Field(job, "spec").AsMap()); diff != "" {
			t.Errorf("a Job that exists is changed: -want, +got:\n%s", diff)
		}
	}
	for name := range first {
		finish(t, e, name, "Complete")
	}
	annotate("again")
	e.Cycle(2)
	for name := range jobs() {
		if first[name] != nil {
			t.Errorf("Job %s of an earlier value stays", name)
		}
	}
}

// finish has a Job end.
func finish(t *testing.T, e *crossplanetest.Engine, name, condition string) {
	t.Helper()
	crossplanetest.SetCondition(e.Observed(name), condition, "True", "Ended", "")
}

// TestOneAtATime: however often the annotation is changed, one Job by it is there at a time, which is left to end. The last value comes after it, and the
// condition tells of that.
func TestOneAtATime(t *testing.T) {
	for _, ends := range []string{"Complete", "Failed"} {
		e := crossplanetest.New(t, `{"backup":{"enabled":true}}`, withStore).Install()
		annotate := func(value string) {
			annotations := resource.MustStructJSON(`{"` + v1alpha1.AnnotationBackup + `":"` + value + `"}`)
			crossplanetest.Field(e.XR(), "metadata").Fields["annotations"] = structpb.NewStructValue(annotations)
			e.Reconcile()
			e.Reconcile()
		}
		check := func(when, value, waits string) {
			t.Helper()
			var got []string
			for name := range e.Response.GetDesired().GetResources() {
				if strings.HasPrefix(name, tenant.BackupNowPrefix) {
					got = append(got, name)
				}
			}
			if diff := cmp.Diff([]string{tenant.BackupNowResource(value)}, got); diff != "" {
				t.Errorf("%s: -want, +got:\n%s", when, diff)
			}
			says := e.Condition(v1alpha1.ConditionBackedUp).GetMessage()
			if is := strings.Contains(says, "begins once the one that is being made has ended"); is != (waits != "") || !strings.Contains(says, waits) {
				t.Errorf("%s: want it to tell that %q waits, it says %q", when, waits, says)
			}
		}
		annotate("a")
		check("the first value", "a", "")
		annotate("b")
		check("another value", "a", `"b"`)
		annotate("c")
		check("the next one", "a", `"c"`)
		annotate("a")
		check("the first value again", "a", "")
		annotate("c")
		finish(t, e, tenant.BackupNowResource("a"), ends)
		e.Reconcile()
		e.Reconcile()
		check("the first one has ended: "+ends, "c", "")
		crossplanetest.Field(e.XR(), "metadata").Fields["annotations"] = structpb.NewStructValue(&structpb.Struct{})
		e.Reconcile()
		check("without the annotation", "c", "")
		if grace := wire.Of(e.Observed(tenant.BackupNowResource("c"))).Value("spec", "template", "spec", "terminationGracePeriodSeconds").GetNumberValue(); grace != 1 {
			t.Errorf("a pod that is deleted keeps its memory for %v seconds", grace)
		}
	}
}

func TestRefusedBackup(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"NoSchedule":  {`{"enabled":true,"schedule":"daily"}`, []string{"spec.backup.schedule", `"daily"`, "30 2 * * *"}},
		"TooOften":    {`{"enabled":true,"schedule":"*/30 * * * *"}`, []string{"spec.backup.schedule", "more often than once an hour"}},
		"TwiceInOne":  {`{"enabled":true,"schedule":"0,59 3 * * *"}`, []string{"spec.backup.schedule", "more often than once an hour"}},
		"Every":       {`{"enabled":true,"schedule":"@every 1h"}`, []string{"spec.backup.schedule", "@every 1h"}},
		"ZoneInside":  {`{"enabled":true,"schedule":"TZ=Europe/Berlin 0 3 * * *"}`, []string{"spec.backup.schedule"}},
		"Never":       {`{"enabled":true,"schedule":"0 0 30 2 *"}`, []string{"spec.backup.schedule", "never comes"}},
		"Zone":        {`{"enabled":true,"timeZone":"Europe/Bern"}`, []string{"spec.backup.timeZone", "Europe/Bern"}},
		"Many":        {`{"enabled":true,"keep":1000000000000000000}`, []string{"spec.backup.keep", "1000000000000000000", "write 1 to 366"}},
		"OneTooMany":  {`{"enabled":true,"keep":367}`, []string{"spec.backup.keep", "367"}},
		"Negative":    {`{"keep":-1}`, []string{"spec.backup.keep", "-1"}},
		"AllAtOnce":   {`{"keep":367,"schedule":"x"}`, []string{"spec.backup.keep", "spec.backup.schedule"}},
		"EvenWhenOff": {`{"schedule":"x"}`, []string{"spec.backup.schedule"}},
	} {
		t.Run(name, func(t *testing.T) {
			crossplanetest.New(t, `{"backup":`+tc.spec+`}`, withStore).CheckRefused(tc.want...)
		})
	}
}

// TestKeepsAsManyAsThePlatformAllows: a claim may keep more backups than its plan, up to what the input says, and goes on with those that it may keep
// if that is lowered.
func TestKeepsAsManyAsThePlatformAllows(t *testing.T) {
	input := func(most string) string {
		return strings.Replace(withStore, `"remote"`, `"maxKeep":`+most+`,"remote"`, 1)
	}
	for name, tc := range map[string]struct {
		input, plan, claim string
		keep, refused      string
	}{
		"Default":       {withStore, `{}`, `{"enabled":true,"keep":60}`, "60", ""},
		"AboveDefault":  {withStore, `{}`, `{"enabled":true,"keep":61}`, "", "spec.backup.keep: 61 is more than this platform keeps of a claim: write 60 at most"},
		"Above":         {input("5"), `{}`, `{"enabled":true,"keep":6}`, "", "write 5 at most"},
		"OfNobody":      {input("5"), `{}`, `{"enabled":true}`, "5", ""},
		"PlanHasMore":   {input("5"), `{"keep":100}`, `{"enabled":true}`, "100", ""},
		"AsPlan":        {input("5"), `{"keep":100}`, `{"enabled":true,"keep":100}`, "100", ""},
		"AbovePlan":     {input("5"), `{"keep":100}`, `{"enabled":true,"keep":101}`, "", "write 100 at most"},
		"InputNonsense": {input("367"), `{}`, `{"enabled":true}`, "", "input.backup.maxKeep: 367 is not possible: write 1 to 366"},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"plan":"p","backup":`+tc.claim+`}`, tc.input)
			e.AddPlan("p", `{"backup":`+tc.plan+`}`)
			if tc.refused != "" {
				e.CheckRefused(tc.refused)
				return
			}
			if got := keeps(e.Install()); got != tc.keep {
				t.Errorf("want %s kept, got %s", tc.keep, got)
			}
		})
	}
	e := crossplanetest.New(t, `{"backup":{"enabled":true,"keep":50}}`, withStore).Install()
	e.Request.Input = resource.MustStructJSON(input("5"))
	e.Reconcile()
	e.RunProviders()
	e.Reconcile()
	if got, refusal := keeps(e), crossplanetest.Refusal(e.Response); got != "5" || refusal != "" {
		t.Errorf("after the platform allows 5, %s are kept: %s", got, refusal)
	}
}

// keeps is how many backups a tenant keeps.
func keeps(e *crossplanetest.Engine) string {
	for _, v := range container(e, "store")["env"].([]any) {
		if v := v.(map[string]any); v["name"] == "KEEP" {
			return v["value"].(string)
		}
	}
	return ""
}

// TestNoStore: a claim that is to be backed up says so if the platform has no place for that.
func TestNoStore(t *testing.T) {
	e := crossplanetest.New(t, `{"backup":{"enabled":true}}`, "").Install()
	if c := e.Condition(v1alpha1.ConditionBackedUp); c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || !strings.Contains(c.GetMessage(), "input.backup.remote") {
		t.Errorf("BackedUp: %v", c)
	}
	if e.Has(tenant.BackupCronJob) || e.Has(tenant.BackupAccount) {
		t.Error("there is a CronJob")
	}
}

// TestScript: every shell understands the script.
func TestScript(t *testing.T) {
	e := crossplanetest.New(t, `{"backup":{"enabled":true}}`, withStore).Install()
	script := container(e, "store")["command"].([]any)[2].(string)
	for _, shell := range []string{"bash", "dash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("NOT TRIED: %s ISN'T HERE", shell)
			continue
		}
		if out, err := exec.CommandContext(t.Context(), path, "-n", "-c", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
	}
}

// asleepOnce is a tenant that was asleep, and woke up some time ago; its last backup is of before.
func asleepOnce(t *testing.T, schedule string, woken, last time.Duration) *crossplanetest.Engine {
	t.Helper()
	backup := `"backup":{"enabled":true,"schedule":"` + schedule + `"}`
	e := crossplanetest.New(t, `{`+backup+`,"hibernation":{"enabled":true}}`, withStore)
	for range 20 {
		e.Reconcile()
		e.RunProviders()
	}
	e.SetSpec(`{` + backup + `}`)
	for range 4 {
		e.Reconcile()
		e.RunProviders()
	}
	delete(e.Request.GetObserved().GetResources(), tenant.BackupMissed)
	e.SetAge(tenant.BackupCronJob, 200*time.Hour)
	backedUp(e, last)
	crossplanetest.Field(e.Observed(tenant.WakeJob), "status").Fields["completionTime"] = structpb.NewStringValue(ago(woken))
	return e
}

func ago(d time.Duration) string { return crossplanetest.Start.Add(-d).UTC().Format(time.RFC3339) }

// backedUp is the report of a Job some time ago.
func backedUp(e *crossplanetest.Engine, before time.Duration) {
	data, err := structpb.NewStruct(map[string]any{"name": "b", "succeededAt": ago(before)})
	if err != nil {
		e.T.Fatal(err)
	}
	e.Observed(tenant.BackupRecord).Fields["data"] = structpb.NewStructValue(data)
}

// makesUp reports whether a Job is composed that makes up for what was missed.
func makesUp(e *crossplanetest.Engine) bool {
	return e.Response.GetDesired().GetResources()[tenant.BackupMissed] != nil
}

// TestMissedAsleep: a backup that was due while the tenant slept is made when it wakes up, and missing it isn't forgotten.
func TestMissedAsleep(t *testing.T) {
	for name, tc := range map[string]struct {
		// woken is how long ago it woke up, and last how old the last backup is.
		woken, last time.Duration
		made        bool
		want        fnv1.Status
	}{
		"Missed":   {10 * time.Minute, 30 * time.Hour, true, fnv1.Status_STATUS_CONDITION_TRUE},
		"Often":    {10 * time.Minute, 100 * time.Hour, true, fnv1.Status_STATUS_CONDITION_TRUE},
		"AndFails": {2 * time.Hour, 100 * time.Hour, true, fnv1.Status_STATUS_CONDITION_FALSE},
		"NotDue":   {10 * time.Minute, 20 * time.Minute, false, fnv1.Status_STATUS_CONDITION_TRUE},
		"Made":     {10 * time.Minute, 5 * time.Minute, false, fnv1.Status_STATUS_CONDITION_TRUE},
	} {
		t.Run(name, func(t *testing.T) {
			e := asleepOnce(t, "0 2 * * *", tc.woken, tc.last)
			e.Reconcile()
			if made := makesUp(e); made != tc.made {
				t.Errorf("want a backup %t, got %t", tc.made, made)
			}
			if c := e.Condition(v1alpha1.ConditionBackedUp); c.GetStatus() != tc.want {
				t.Errorf("want %s, got %v", tc.want, c)
			}
		})
	}
}

// TestOneStartsIt: a run that was due shortly before the tenant woke up is started by the CronJob's controller, or else by the function, and never
// by both.
func TestOneStartsIt(t *testing.T) {
	now := crossplanetest.Start
	for name, tc := range map[string]struct {
		// due is how long ago it was due, woken how long ago the tenant woke up, and started how long ago the run was due that the controller has
		// started last; 0 for none.
		due, woken, started time.Duration
		made                bool
	}{
		"ControllerMay":      {20 * time.Minute, 10 * time.Minute, 0, false},
		"ControllerMayAlone": {29 * time.Minute, time.Minute, 48 * time.Hour, false},
		"ControllerHas":      {50 * time.Minute, 40 * time.Minute, 50 * time.Minute, false},
		"ControllerHasNot":   {50 * time.Minute, 40 * time.Minute, 48 * time.Hour, true},
		"ControllerMayNot":   {50 * time.Minute, 10 * time.Minute, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			// It runs at whole minutes.
			due := now.Add(-tc.due).UTC().Truncate(time.Minute)
			e := asleepOnce(t, due.Format("4 15 * * *"), tc.woken, 30*time.Hour)
			if tc.started > 0 {
				at := now.Add(-tc.started).UTC().Truncate(time.Minute).Format(time.RFC3339)
				e.Observed(tenant.BackupCronJob).Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(`{"lastScheduleTime":"` + at + `"}`))
			}
			e.Reconcile()
			if made := makesUp(e); made != tc.made {
				t.Errorf("want a backup %t, got %t", tc.made, made)
			}
		})
	}
}

// TestMissedIsLeftToEnd: a Job that makes up for a backup isn't deleted while it runs, and goes once it is finished and the tenant asleep.
func TestMissedIsLeftToEnd(t *testing.T) {
	e := asleepOnce(t, "0 2 * * *", 10*time.Minute, 30*time.Hour)
	e.Reconcile()
	backedUp(e, time.Minute)
	if e.Reconcile(); !makesUp(e) {
		t.Fatal("a Job that runs is deleted, because there is a backup meanwhile")
	}
	e.SetSpec(`{"backup":{"enabled":true,"schedule":"0 2 * * *"},"hibernation":{"enabled":true}}`)
	e.Reconcile()
	if e.Reconcile(); !makesUp(e) {
		t.Fatal("a Job that runs is deleted, because the tenant falls asleep")
	}
	e.FinishJob(tenant.BackupMissed)
	if e.Reconcile(); makesUp(e) {
		t.Error("a Job that is finished stays when the tenant falls asleep")
	}
}

// TestSleepsBeforeItsFirstBackup: nothing of its backups is known then, and the status says so in a form that can be applied.
func TestSleepsBeforeItsFirstBackup(t *testing.T) {
	const backup = `"backup":{"enabled":true,"schedule":"0 2 * * *"}`
	e := crossplanetest.New(t, `{`+backup+`}`, withStore).Install()
	e.SetAge(tenant.BackupCronJob, time.Minute)
	e.Reconcile()
	if e.Status("backup", "next") == "" {
		t.Fatal("the status has no next backup: this shows nothing")
	}
	e.SetSpec(`{` + backup + `,"hibernation":{"enabled":true}}`)
	e.Cycle(3)
	if got := e.Status("phase"); got != string(v1alpha1.PhaseHibernated) {
		t.Fatalf("it is %s", got)
	}
	if status := wire.Of(e.XR()).Get("status", "backup"); status.Exists() {
		t.Errorf("asleep, the status of its backups is %v", status)
	}
}
