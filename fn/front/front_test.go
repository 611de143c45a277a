package front_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const (
	front = "m.virtualargocd.io/v1alpha1"
	claim = "virtualargocd.io/v1alpha1"
)

// newFront is the engine of VirtualArgoCD a of namespace team with a spec.
func newFront(t testing.TB, spec, metadata string) *crossplanetest.Engine {
	t.Helper()
	return crossplanetest.NewXR(t, `{"apiVersion":"`+front+`","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a","uid":"uid-of-a"`+metadata+`},"spec":`+spec+`}`, "")
}

// own is the name that a new composite resource of it gets.
var own = tenant.Behind("team", "a")

// ref is the reference of a composite resource to VirtualArgoCD a of team.
func ref(apiVersion string) string {
	return `{"apiVersion":"` + apiVersion + `","kind":"VirtualArgoCD","namespace":"team","name":"a"}`
}

// tenantOf is a composite resource with a reference, which the labels repeat for VirtualArgoCD a of team.
func tenantOf(name, ref string) *structpb.Struct {
	return resource.MustStructJSON(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":"` + name + `","uid":"uid-of-` + name + `",
		"labels":{"crossplane.io/claim-namespace":"team","crossplane.io/claim-name":"a"}},
		"spec":{"claimRef":` + ref + `,"writeConnectionSecretToRef":{"name":"secret-of-` + name + `","namespace":"crossplane-system"}},
		"status":{"phase":"Ready","message":"Argo CD is ready","plan":"small","claimConditionTypes":["ArgoCDReady"],"conditions":[
			{"type":"Ready","status":"True","reason":"Available"},{"type":"Synced","status":"True","reason":"a"},
			{"type":"ArgoCDReady","status":"True","reason":"Available","message":"It runs"}]}}`)
}

// secretOf is a Secret with a password and an owner; "" for none.
func secretOf(namespace, name, typ, owner string) *structpb.Struct {
	owners := ""
	if owner != "" {
		owners = `,"ownerReferences":[{"uid":"` + owner + `","controller":true}]`
	}
	return resource.MustStructJSON(`{"apiVersion":"v1","kind":"Secret","type":"` + typ + `","metadata":{"namespace":"` + namespace + `","name":"` + name + `"` + owners + `},
		"data":{"password":"` + crossplanetest.Base64("the-password-of-"+name) + `"}}`)
}

const connection = "connection.crossplane.io/v1alpha1"

func add(e *crossplanetest.Engine, objects ...*structpb.Struct) {
	for _, o := range objects {
		e.Cluster[crossplanetest.Key(o)] = o
	}
}

// object is the Object that is composed; nil for none.
func object(e *crossplanetest.Engine) wire.Struct {
	return wire.Of(e.Response.GetDesired().GetResources()[tenant.FrontTenant].GetResource())
}

// writes reports whether an Object writes to its composite resource.
func writes(o wire.Struct) bool {
	policies := o.Strings("spec", "managementPolicies")
	return len(policies) == 1 && policies[0] == "*"
}

func manifest(o wire.Struct) wire.Struct { return o.Get("spec", "forProvider", "manifest") }

// deletes marks an object as one that is being deleted.
func deletes(o *structpb.Struct) *structpb.Struct {
	crossplanetest.Field(o, "metadata").Fields["deletionTimestamp"] = structpb.NewStringValue("2026-01-01T00:00:00Z")
	return o
}

// marked gives a composite resource the annotation of one that was a spare.
func marked(o *structpb.Struct) *structpb.Struct {
	crossplanetest.Field(o, "metadata").Fields["annotations"] = crossplanetest.JSON(`{"` + v1alpha1.AnnotationClaimedAt + `":"2026-01-01T00:00:00Z"}`)
	return o
}

// TestTenantOfAFront: which composite resource a front has, whether it writes to it, and what it says.
func TestTenantOfAFront(t *testing.T) {
	theClaim := resource.MustStructJSON(`{"apiVersion":"` + claim + `","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"}}`)
	other := `{"apiVersion":"` + front + `","kind":"VirtualArgoCD","namespace":"others","name":"a"}`
	for name, tc := range map[string]struct {
		reason   string
		objects  []*structpb.Struct
		metadata string
		// before: an Object exists with this composite resource.
		before string
		// name of the composite resource in the Object; "" for no Object.
		name   string
		writes bool
		says   string
	}{
		"New":             {"Nothing exists.", nil, "", "", own, true, v1alpha1.ReasonWaitingForTenant},
		"Own":             {"Its own exists, under the name that it got.", []*structpb.Struct{tenantOf("a-1", ref(front))}, "", "a-1", "a-1", true, v1alpha1.ReasonAvailable},
		"OwnFound":        {"Its own exists, and the Object was lost.", []*structpb.Struct{tenantOf("a-1", ref(front))}, "", "", "a-1", true, v1alpha1.ReasonAvailable},
		"Claim":           {"The claim of the same name has one.", []*structpb.Struct{tenantOf("a-1", ref(claim)), theClaim}, "", "", "a-1", false, v1alpha1.ReasonClaimExists},
		"ClaimMarked":     {"The claim of the same name has the annotation of what was a spare.", []*structpb.Struct{marked(tenantOf("a-1", ref(claim))), theClaim}, "", "", "a-1", false, v1alpha1.ReasonClaimExists},
		"ClaimGone":       {"The claim is gone, and has left it.", []*structpb.Struct{tenantOf("a-1", ref(claim))}, "", "a-1", "a-1", true, v1alpha1.ReasonAvailable},
		"ClaimBack":       {"A claim has got the tenant back.", []*structpb.Struct{tenantOf("a-1", ref(claim)), theClaim}, "", "a-1", "a-1", false, v1alpha1.ReasonClaimExists},
		"ClaimDeletes":    {"The tenant of the claim is being deleted with it: the front gets another.", []*structpb.Struct{deletes(tenantOf("a-1", ref(claim)))}, "", "", own, true, v1alpha1.ReasonWaitingForTenant},
		"Two":             {"Both can't be the tenant.", []*structpb.Struct{tenantOf("a-1", ref(claim)), tenantOf("a-2", ref(front))}, "", "", "", false, v1alpha1.ReasonSeveralTenants},
		"TwoLater":        {"A claim of the same name was created: the front keeps its own.", []*structpb.Struct{tenantOf("a-1", ref(front)), tenantOf("a-2", ref(claim)), theClaim}, "", "a-1", "a-1", true, v1alpha1.ReasonSeveralTenants},
		"OthersName":      {"Somebody else's has the name that its own would get.", []*structpb.Struct{tenantOf(own, other)}, "", "", "", false, v1alpha1.ReasonNameTaken},
		"OthersLabels":    {"Labels alone make nothing its own.", []*structpb.Struct{tenantOf("b-1", other)}, "", "", own, true, v1alpha1.ReasonWaitingForTenant},
		"OthersLater":     {"Its own was given to somebody else.", []*structpb.Struct{tenantOf("a-1", other)}, "", "a-1", "a-1", false, v1alpha1.ReasonNameTaken},
		"NobodysName":     {"One that is nobody's isn't its own.", []*structpb.Struct{tenantOf(own, "{}")}, "", "", "", false, v1alpha1.ReasonNameTaken},
		"Goes":            {"The tenant of an earlier front is still being deleted.", []*structpb.Struct{deletes(tenantOf(own, ref(front)))}, "", "", "", false, v1alpha1.ReasonTenantGoes},
		"GoesLater":       {"Somebody deletes the composite resource.", []*structpb.Struct{deletes(tenantOf("a-1", ref(front)))}, "", "a-1", "a-1", true, v1alpha1.ReasonTenantGoes},
		"Left":            {"The platform takes the tenant away.", []*structpb.Struct{tenantOf("a-1", ref(front))}, `,"annotations":{"virtualargocd.io/leave-tenant":"true"}`, "a-1", "a-1", false, v1alpha1.ReasonTenantLeft},
		"LeftForAClaim":   {"A claim has it already.", []*structpb.Struct{tenantOf("a-1", ref(claim)), theClaim}, `,"annotations":{"virtualargocd.io/leave-tenant":"true"}`, "a-1", "a-1", false, v1alpha1.ReasonTenantLeft},
		"LeftBeforeItHas": {"There is none to leave.", nil, `,"annotations":{"virtualargocd.io/leave-tenant":"true"}`, "", "", false, v1alpha1.ReasonTenantLeft},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFront(t, `{"plan":"small"}`, tc.metadata)
			add(e, tc.objects...)
			if tc.before != "" {
				e.Request.Observed.Resources[tenant.FrontTenant] = &fnv1.Resource{Resource: resource.MustStructJSON(`{"apiVersion":"kubernetes.m.crossplane.io/v1alpha1","kind":"Object","metadata":{"namespace":"team","name":"` + tc.before + `"},"spec":{"forProvider":{"manifest":{"metadata":{"name":"` + tc.before + `"}}}}}`)}
			}
			e.Reconcile()
			if fatal := crossplanetest.Fatal(e.Response); fatal != "" {
				t.Fatalf("\n%s\nfatal: %s", tc.reason, fatal)
			}
			o := object(e)
			if got := manifest(o).String("metadata", "name"); got != tc.name || writes(o) != tc.writes {
				t.Errorf("\n%s\nwant %q, writes %v; got %q, %v", tc.reason, tc.name, tc.writes, got, writes(o))
			}
			// The tenant would go with the claim.
			usage := wire.Of(e.Response.GetDesired().GetResources()[tenant.FrontClaim].GetResource())
			if usage.Exists() != (tc.says == v1alpha1.ReasonClaimExists) || usage.Exists() && (usage.String("kind") != "Usage" || usage.String("spec", "of", "apiVersion") != claim || usage.String("spec", "of", "resourceRef", "name") != "a") {
				t.Errorf("\n%s\nprotection of the claim: %v", tc.reason, usage)
			}
			is := e.Condition(v1alpha1.ConditionTenantBound)
			if is.GetReason() != tc.says || (is.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE) != (tc.says == v1alpha1.ReasonAvailable) {
				t.Errorf("\n%s\nwant %s, got %v", tc.reason, tc.says, is)
			}
			if tc.name == "" {
				return
			}
			var of tenant.Claim
			if err := manifest(o).Get("spec", "claimRef").Into(&of); err != nil || of != (tenant.Claim{APIVersion: front, Kind: "VirtualArgoCD", Namespace: "team", Name: "a"}) {
				t.Errorf("\n%s\nthe composite resource is for %v: %v", tc.reason, of, err)
			}
			// What is observed is what is composed.
			if tc.before == "" {
				before := proto.Clone(e.Response)
				e.Reconcile()
				if got, want := manifest(object(e)).String("metadata", "name"), tc.name; got != want {
					t.Errorf("\n%s\nthe second call gives it %q: %v", tc.reason, got, before)
				}
			}
		})
	}
}

// TestManifestOfAFront: the composite resource has the front's spec without what is Crossplane's, and its labels, as that of a claim does, and of
// its annotations those by which it asks for something.
func TestManifestOfAFront(t *testing.T) {
	e := newFront(t, `{"plan":"small","components":[{"name":"a"}],"compositionRef":{"name":"europe"},"compositionRevisionRef":{"name":"europe-1"},"writeConnectionSecretToRef":{"name":"s"},
		"crossplane":{"compositionRef":{"name":"virtual-argocd-front"},"resourceRefs":[{"kind":"Object","name":"a"}]},"resourceRefs":[{"name":"b"}],"claimRef":{"namespace":"others"}}`,
		`,"labels":{"team":"a","virtualargocd.io/spare":"true","virtualargocd.io/pool":"p","virtualargocd.io/pool-plan":"small","virtualargocd.io/pool-plan-digest":"1","crossplane.io/composite":"a","argocd.argoproj.io/instance":"a","app.kubernetes.io/name":"a"},
		"annotations":{"virtualargocd.io/backup":"now","virtualargocd.io/rotate-admin-password":"1","example.org/a":"b","virtualargocd.io/leave-tenant":"false","virtualargocd.io/claimed-at":"2099-01-01T00:00:00Z","kubectl.kubernetes.io/last-applied-configuration":"{}","argocd.argoproj.io/tracking-id":"a","usage.crossplane.io/a":"b"}`)
	e.Reconcile()
	want := fmt.Sprintf(`{"apiVersion":"virtualargocd.io/v1alpha1","kind":"XVirtualArgoCD","metadata":{"name":%q,
		"labels":{"team":"a","crossplane.io/claim-namespace":"team","crossplane.io/claim-name":"a"},"annotations":{"virtualargocd.io/backup":"now","virtualargocd.io/rotate-admin-password":"1"}},
		"spec":{"plan":"small","components":[{"name":"a"}],"compositionRef":{"name":"europe"},"claimRef":{"apiVersion":%q,"kind":"VirtualArgoCD","namespace":"team","name":"a"}}}`, own, front)
	var wanted map[string]any
	if err := json.Unmarshal([]byte(want), &wanted); err != nil {
		t.Fatal(err)
	}
	if got := object(e).Value("spec", "forProvider", "manifest"); !wire.Equal(got, wanted) {
		t.Errorf("want %s\ngot %v", want, got)
	}
}

// TestStatusOfAFront: it is that of the tenant, with its conditions but for Crossplane's own.
func TestStatusOfAFront(t *testing.T) {
	e := newFront(t, `{}`, "")
	e.Reconcile()
	if e.Status("phase") != "Pending" || !strings.Contains(e.Status("message"), "Waiting for XVirtualArgoCD "+own) {
		t.Errorf("before it has a tenant: %s: %s", e.Status("phase"), e.Status("message"))
	}
	of := tenantOf(own, ref(front))
	add(e, of)
	e.Reconcile()
	if e.Status("phase") != "Ready" || e.Status("plan") != "small" || e.Response.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_TRUE {
		t.Errorf("Ready: %v", e.Response.GetDesired().GetComposite())
	}
	// Crossplane lists the tenant's conditions only where there are claims.
	crossplanetest.SetCondition(of, "Responsive", "True", "WatchCircuitClosed", "")
	for range 2 {
		if c := e.Condition("ArgoCDReady"); c.GetMessage() != "It runs" || c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
			t.Errorf("condition of the tenant: %v", c)
		}
		for _, c := range e.Response.GetConditions() {
			if c.GetType() == "Synced" || c.GetType() == "Ready" || c.GetType() == "Responsive" {
				t.Errorf("%s is Crossplane's own", c.GetType())
			}
		}
		delete(crossplanetest.Field(of, "status").Fields, "claimConditionTypes")
		e.Reconcile()
	}
	crossplanetest.SetCondition(of, "ArgoCDReady", "False", v1alpha1.ReasonWorkloadsUnavailable, "argocd-server is gone")
	crossplanetest.SetCondition(of, "Ready", "False", "Creating", "")
	crossplanetest.Field(of, "status").Fields["phase"] = structpb.NewStringValue("Degraded")
	e.Reconcile()
	if c := e.Condition("ArgoCDReady"); c.GetStatus() != fnv1.Status_STATUS_CONDITION_FALSE || c.GetReason() != v1alpha1.ReasonWorkloadsUnavailable || e.Status("phase") != "Degraded" || e.Response.GetDesired().GetComposite().GetReady() != fnv1.Ready_READY_FALSE {
		t.Errorf("degraded: %v", c)
	}
	events := len(e.Events)
	e.Reconcile()
	if len(e.Events) != events {
		t.Errorf("what is no news is no event: %v", e.Events[events:])
	}
}

// TestWrittenByProvider: what provider-kubernetes can't do is told, and so is what the former claim has left behind.
func TestWrittenByProvider(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		// synced is the condition Synced of the Object, and observed the spec that it has seen.
		synced, message, observed string
		generation                string
		want, says                string
	}{
		"Well":         {"", "True", "", `{"plan":"small","claimRef":{},"resourceRefs":[{}],"compositionUpdatePolicy":"Automatic"}`, "", v1alpha1.ReasonAvailable, ""},
		"Refused":      {"The account has no rights.", "False", "xvirtualargocds is forbidden", `{"plan":"small"}`, "", v1alpha1.ReasonNotWritten, "xvirtualargocds is forbidden"},
		"Remains":      {"The claim had a hostname.", "True", "", `{"plan":"small","ingress":{"host":"a"}}`, "", v1alpha1.ReasonFieldsRemain, "spec.ingress isn't as the spec says"},
		"RemainsInOne": {"The claim had another component.", "True", "", `{"plan":"small","components":[{"name":"a"},{"name":"b"}]}`, "", v1alpha1.ReasonFieldsRemain, "spec.components isn't"},
		"Nulls":        {"What is null is absent, or null.", "True", "", `{"plan":"small","argocd":{"values":{}}}`, "", v1alpha1.ReasonAvailable, ""},
		"NotYet":       {"The provider hasn't seen the newest manifest.", "True", "", `{"plan":"small","ingress":{"host":"a"}}`, `,"generation":2`, v1alpha1.ReasonAvailable, ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := `{"plan":"small"}`
			if strings.Contains(tc.observed, "components") {
				spec = `{"plan":"small","components":[{"name":"a"}]}`
			}
			if strings.Contains(tc.observed, "argocd") {
				spec = `{"plan":"small","argocd":{"values":{"a":null}}}`
			}
			e := newFront(t, spec, "")
			add(e, tenantOf(own, ref(front)))
			e.Reconcile()
			o := e.Observed(tenant.FrontTenant)
			o.Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(`{"atProvider":{"manifest":{"spec":` + tc.observed + `}},
				"conditions":[{"type":"Synced","status":"` + tc.synced + `","reason":"a","message":"` + tc.message + `","observedGeneration":1},{"type":"Ready","status":"True"}]}`))
			if tc.generation != "" {
				crossplanetest.Field(o, "metadata").Fields["generation"] = structpb.NewNumberValue(2)
			}
			e.Reconcile()
			if c := e.Condition(v1alpha1.ConditionTenantBound); c.GetReason() != tc.want || !strings.Contains(c.GetMessage(), tc.says) {
				t.Errorf("\n%s\nwant %s %q, got %v", tc.reason, tc.want, tc.says, c)
			}
		})
	}
}

// TestConnectionSecretOfAFront: it has what Crossplane has published for the tenant, and nothing else's; a Secret of somebody else stays.
func TestConnectionSecretOfAFront(t *testing.T) {
	const spec = `{"writeConnectionSecretToRef":{"name":"s"}}`
	password := crossplanetest.Base64("the-password-of-secret-of-" + own)
	published := secretOf("crossplane-system", "secret-of-"+own, connection, "uid-of-"+own)
	for name, tc := range map[string]struct {
		reason  string
		spec    string
		objects []*structpb.Struct
		// want is the password in the Secret; "" for no Secret.
		want, says string
	}{
		"Published":     {"", spec, []*structpb.Struct{tenantOf(own, ref(front)), published}, password, v1alpha1.ReasonAvailable},
		"NotAsked":      {"The spec names no Secret.", `{}`, []*structpb.Struct{tenantOf(own, ref(front)), published}, "", v1alpha1.ReasonAvailable},
		"NotYet":        {"Nothing is published.", spec, []*structpb.Struct{tenantOf(own, ref(front))}, "", v1alpha1.ReasonAvailable},
		"Users":         {"There is a Secret of the name that a user has made.", spec, []*structpb.Struct{tenantOf(own, ref(front)), published, secretOf("team", "s", "Opaque", "")}, "", v1alpha1.ReasonSecretTaken},
		"Claims":        {"There is a Secret of the name that is another claim's.", spec, []*structpb.Struct{tenantOf(own, ref(front)), published, secretOf("team", "s", connection, "uid-of-b")}, "", v1alpha1.ReasonSecretTaken},
		"Left":          {"The Secret is what a claim has left.", spec, []*structpb.Struct{tenantOf(own, ref(front)), published, secretOf("team", "s", connection, "")}, password, v1alpha1.ReasonAvailable},
		"OthersOwner":   {"The Secret in the platform's namespace is another tenant's.", spec, []*structpb.Struct{tenantOf(own, ref(front)), secretOf("crossplane-system", "secret-of-"+own, connection, "uid-of-b")}, "", v1alpha1.ReasonAvailable},
		"NoConnection":  {"The Secret in the platform's namespace is of another type.", spec, []*structpb.Struct{tenantOf(own, ref(front)), secretOf("crossplane-system", "secret-of-"+own, "Opaque", "uid-of-"+own)}, "", v1alpha1.ReasonAvailable},
		"OthersTenant":  {"The tenant is somebody else's.", spec, []*structpb.Struct{tenantOf(own, `{"namespace":"others"}`), published}, "", v1alpha1.ReasonNameTaken},
		"OtherPlace":    {"The composite resource publishes elsewhere.", spec, []*structpb.Struct{elsewhere(tenantOf(own, ref(front))), secretOf("kube-system", "secret-of-"+own, connection, "uid-of-"+own)}, "", v1alpha1.ReasonAvailable},
		"Immutable":     {"Crossplane couldn't make the Secret its own.", spec, []*structpb.Struct{tenantOf(own, ref(front)), published, immutable(secretOf("team", "s", connection, ""))}, "", v1alpha1.ReasonSecretTaken},
		"StillAClaims":  {"The claim has its own Secret of that name, until it is gone.", spec, []*structpb.Struct{tenantOf(own, ref(claim)), published, secretOf("team", "s", connection, "uid-of-the-claim"), resource.MustStructJSON(`{"apiVersion":"` + claim + `","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"}}`)}, "", v1alpha1.ReasonClaimExists},
		"BesideAClaims": {"It writes its own beside that of the claim.", spec, []*structpb.Struct{tenantOf(own, ref(claim)), published, resource.MustStructJSON(`{"apiVersion":"` + claim + `","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"}}`)}, password, v1alpha1.ReasonClaimExists},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFront(t, tc.spec, "")
			add(e, tc.objects...)
			e.Reconcile()
			s := wire.Of(e.Response.GetDesired().GetResources()[tenant.FrontSecretPrefix+"s"].GetResource())
			if got := s.String("data", "password"); got != tc.want {
				t.Errorf("\n%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
			if s.Exists() && (s.String("type") != connection || s.String("metadata", "name") != "s") {
				t.Errorf("\n%s\nSecret: %v", tc.reason, s)
			}
			if c := e.Condition(v1alpha1.ConditionTenantBound); c.GetReason() != tc.says {
				t.Errorf("\n%s\nwant %s, got %v", tc.reason, tc.says, c)
			}
		})
	}
	// What is published stays while it can't be read, and what Crossplane empties is empty.
	e := newFront(t, spec, "")
	add(e, tenantOf(own, ref(front)), published)
	e.Reconcile()
	delete(e.Cluster, crossplanetest.Key(published))
	e.Reconcile()
	if got := e.SecretKey(tenant.FrontSecretPrefix+"s", "password"); string(got) != "the-password-of-secret-of-"+own {
		t.Errorf("the password is gone with the Secret that it came from: %q", got)
	}
}

func immutable(o *structpb.Struct) *structpb.Struct {
	o.Fields["immutable"] = structpb.NewBoolValue(true)
	return o
}

func elsewhere(o *structpb.Struct) *structpb.Struct {
	crossplanetest.Field(o, "spec", "writeConnectionSecretToRef").Fields["namespace"] = structpb.NewStringValue("kube-system")
	return o
}

// TestComposedByAnotherName: what a customer makes Crossplane take for something that the front composes changes nothing of that.
func TestComposedByAnotherName(t *testing.T) {
	secret := secretOf("team", "s", connection, "uid-of-a")
	objectOf := func(apiVersion, name, manifest string) *structpb.Struct {
		return resource.MustStructJSON(`{"apiVersion":"` + apiVersion + `","kind":"Object","metadata":{"namespace":"team","name":"` + name + `"},"spec":{"forProvider":{"manifest":{"metadata":{"name":"` + manifest + `"}}}}}`)
	}
	const objects = "kubernetes.m.crossplane.io/v1alpha1"
	for name, tc := range map[string]struct {
		at     string
		object *structpb.Struct
		fatal  bool
	}{
		"Itself":          {tenant.FrontTenant, objectOf(objects, own, own), false},
		"ItsSpare":        {tenant.FrontSparePrefix + "s-1", objectOf(objects, "s-1", "s-1"), false},
		"ItsSecret":       {tenant.FrontSecretPrefix + "s", secret, false},
		"SecretAsTenant":  {tenant.FrontTenant, secret, true},
		"SecretAsSpare":   {tenant.FrontSparePrefix + "s", secret, true},
		"SecretAsUsage":   {tenant.FrontClaim, secret, true},
		"SecretAsAnother": {tenant.FrontSecretPrefix + "t", secret, true},
		"Renamed":         {tenant.FrontTenant, objectOf(objects, "s", own), true},
		"RenamedSpare":    {tenant.FrontSparePrefix + "s-1", objectOf(objects, "s-2", "s-2"), true},
		"OtherGroup":      {tenant.FrontTenant, objectOf("example.org/v1", own, own), true},
	} {
		t.Run(name, func(t *testing.T) {
			e := newFront(t, `{"writeConnectionSecretToRef":{"name":"s"}}`, "")
			add(e, tenantOf(own, ref(front)))
			e.Request.Observed.Resources[tc.at] = &fnv1.Resource{Resource: tc.object}
			fatal := crossplanetest.Fatal(e.Call())
			if (fatal != "") != tc.fatal || tc.fatal && !strings.Contains(fatal, `composition-resource-name: "`+tc.at+`"`) {
				t.Errorf("want fatal %v, got %q", tc.fatal, fatal)
			}
		})
	}
}

// TestWrongFront: what isn't in a namespace, or not in a group of that form, is no front.
func TestWrongFront(t *testing.T) {
	for name, xr := range map[string]string{
		"ClusterScoped": `{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{"name":"a"},"spec":{}}`,
		"OtherGroup":    `{"apiVersion":"virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"},"spec":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.NewXR(t, xr, "")
			if got := crossplanetest.Fatal(e.Call()); !strings.Contains(got, "correct the XRD") {
				t.Errorf("want it refused, got %q", got)
			}
		})
	}
	e := crossplanetest.NewXR(t, `{"apiVersion":"m.example.org/v1alpha1","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"},"spec":{}}`, "")
	e.Reconcile()
	if got := manifest(object(e)).String("apiVersion"); got != "example.org/v1alpha1" {
		t.Errorf("want the composite resource of the same group, got %s", got)
	}
	e = crossplanetest.NewXR(t, `{"apiVersion":"m.virtualargocd.io/v1alpha1","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"},"spec":{}}`, `{"connectionSecretNamespaces":"a"}`)
	if got := crossplanetest.Fatal(e.Call()); !strings.Contains(got, "input.connectionSecretNamespaces") {
		t.Errorf("want the mistake of the input, got %q", got)
	}
}
