package function_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/resolve"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// The function's laws hold for every request; see also the fuzz targets.

// checkLaws calls the function of an engine with a request and reports every law its response
// breaks. kept are the resources that may not go: see kept. It reports whether the
// request was accepted, so that there was something to see.
func checkLaws(t testing.TB, e *crossplanetest.Engine, req *fnv1.RunFunctionRequest, kept keeps) (accepted bool) {
	t.Helper()
	before := proto.Clone(req)
	rsp := answer(t, e, req)
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
	msg := crossplanetest.Refusal(rsp)
	if msg != "" {
		if strings.Contains(msg, "the function failed on this resource") {
			t.Errorf("the function panicked")
		}
		if !strings.Contains(msg, ":") && !strings.Contains(msg, " is ") {
			t.Errorf("a refusal names its field and what is wrong: %q", msg)
		}
	}
	if crossplanetest.Fatal(rsp) != "" {
		if n := len(rsp.GetDesired().GetResources()); n > 0 {
			t.Errorf("a refusal comes with %d resources: nothing is half done", n)
		}
		refusalMakesNothingTrue(t, req, rsp)
	} else if accepted = !asksFirst(req, rsp); accepted {
		// What is observed can decide whether a spec is refused, such as one with a version that is lower than what runs. Then
		// another one is in use.
		if kept.refused == (msg != "") {
			neverDrop(t, req, rsp, kept.names)
		}
		onlyOwnSecrets(t, req, rsp)
		crossplanetest.CheckReady(t, rsp)
	}
	onlyVisible(t, rsp)
	reasonNamesTheOwner(t, rsp)
	sameBytes(t, e, req, rsp)
	noSecret(t, req, rsp, e.Logged())
	return accepted
}

// reasonNamesTheOwner: the reason of a refusal says who has to correct the field that its message begins with.
func reasonNamesTheOwner(t testing.TB, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	for _, c := range rsp.GetConditions() {
		message := c.GetMessage()
		want := v1alpha1.ReasonInvalidSpec
		for prefix, reason := range map[string]string{"input": v1alpha1.ReasonInvalidInput, "plan ": v1alpha1.ReasonInvalidPlan, "channel ": v1alpha1.ReasonInvalidChannel} {
			if strings.HasPrefix(message, prefix) {
				want = reason
			}
		}
		if is := c.GetReason(); strings.HasPrefix(is, "Invalid") && is != want {
			t.Errorf("%s has reason %s, want %s: %s", c.GetType(), is, want, message)
		}
	}
}

func answer(t testing.TB, e *crossplanetest.Engine, req *fnv1.RunFunctionRequest) *fnv1.RunFunctionResponse {
	t.Helper()
	rsp, err := e.Function.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatalf("every error is a result, not one of gRPC: %v", err)
	}
	return rsp
}

// asksFirst reports whether the function says nothing before it has been handed the
// plan that it asks for: Crossplane lets such a response go.
func asksFirst(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) bool {
	for name := range rsp.GetRequirements().GetResources() {
		if _, read := req.GetRequiredResources()[name]; !read && (strings.Contains(name, "plan") || strings.HasPrefix(name, "channel/") || strings.HasPrefix(name, "original/")) {
			return len(rsp.GetDesired().GetResources()) == 0
		}
	}
	return false
}

// keeps are the names of the resources that the function wants for a tenant of which
// nothing is missing or broken: what the spec turns off isn't among them. refused
// reports whether that is by a spec that was accepted before.
type keeps struct {
	names   map[string]bool
	refused bool
}

func kept(t testing.TB, e *crossplanetest.Engine, whole *fnv1.RunFunctionRequest) keeps {
	t.Helper()
	rsp := answer(t, e, whole)
	out := keeps{names: map[string]bool{}, refused: crossplanetest.Refusal(rsp) != ""}
	for name := range rsp.GetDesired().GetResources() {
		out.names[name] = true
	}
	return out
}

// neverDrop: what is observed stays desired.
func neverDrop(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, kept map[string]bool) {
	t.Helper()
	for name := range req.GetObserved().GetResources() {
		// A count is of one moment, and taken anew after each change of what is counted. Nothing but the count is deleted.
		if name == tenant.IngressCount || name == tenant.IngressOnHost {
			continue
		}
		if _, ok := rsp.GetDesired().GetResources()[name]; !ok && kept[name] {
			t.Errorf("composed resource %q is observed and not desired: Crossplane would delete it", name)
		}
	}
}

// sameBytes: the same request gives the same response. Once is enough for each of
// many requests.
func sameBytes(t testing.TB, e *crossplanetest.Engine, req *fnv1.RunFunctionRequest, first *fnv1.RunFunctionResponse) {
	t.Helper()
	opts := proto.MarshalOptions{Deterministic: true}
	want, err := opts.Marshal(first)
	if err != nil {
		t.Fatalf("the response can't be sent: %v", err)
	}
	rsp, err := e.Function.RunFunction(t.Context(), proto.Clone(req).(*fnv1.RunFunctionRequest))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opts.Marshal(rsp); err != nil || !bytes.Equal(want, got) {
		t.Fatalf("the same request gave another response (%v):\n%s\n%s", err, protojson.Format(first), protojson.Format(rsp))
	}
}

// noSecret: connection details leave as such and in Secrets alone, and aren't logged. See
// TestSecretsStayInSecrets for the secrets of the claim.
func noSecret(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse, logged string) {
	t.Helper()
	text := crossplanetest.Closed(t, rsp) + logged
	if !knows(req, crossplanetest.Password) {
		// A secret that no connection detail tells can't be known for one.
		text = strings.ReplaceAll(text, crossplanetest.Password, "")
	}
	if len(crossplanetest.Field(req.GetObserved().GetResources()[tenant.InstallerCredentials].GetResource(), "data").GetFields()["token"].GetStringValue()) == 0 {
		text = strings.ReplaceAll(text, crossplanetest.Token, "")
	}
	xr := req.GetObserved().GetComposite().GetResource().String()
	for _, secret := range []string{crossplanetest.Password, crossplanetest.Token, crossplanetest.KeyLine} {
		// A tenant that writes a secret in its own values has published it.
		if form := crossplanetest.FormIn(text, secret); form != "" && !strings.Contains(xr, secret) && !strings.Contains(xr, form) {
			t.Errorf("secret %q is outside of connection details, as %q", secret, form)
		}
	}
}

// refusalMakesNothingTrue: with a fatal result Crossplane changes nothing, so every condition
// but SpecAccepted is as it was.
func refusalMakesNothingTrue(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	xr := wire.Of(req.GetObserved().GetComposite().GetResource())
	for _, c := range rsp.GetConditions() {
		was := xr.Condition(c.GetType()).True() && c.GetType() != v1alpha1.ConditionSpecAccepted
		if is := c.GetStatus() == fnv1.Status_STATUS_CONDITION_TRUE; is != was {
			t.Errorf("a refusal makes condition %s, which was %t, %t", c.GetType(), was, is)
		}
	}
}

// onlyOwnSecrets: whatever a tenant writes, what is composed for it reads and writes Secrets of its own alone: in its
// namespaces, and in the platform's those that have its name.
func onlyOwnSecrets(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	own := tenant.NewNames(crossplanetest.Field(req.GetObserved().GetComposite().GetResource(), "metadata").GetFields()["name"].GetStringValue(), "")
	for _, s := range secretsOf(rsp) {
		switch {
		case s.namespace == secretsIn(req) && slices.Contains(ownSecrets(own), s.name) && strings.HasPrefix(s.name, own.Tenant+"-"):
		case s.namespace == own.Namespace:
		// The platform's store, for the Jobs that make backups there.
		case s.namespace == secretsIn(req) && s.name == "virtual-argocd-backup" && (strings.HasPrefix(s.resource, tenant.BackupCronJob) || strings.HasPrefix(s.resource, tenant.RestorePrefix)):
		// What the argo-cd Release reads is in the virtual cluster.
		case s.namespace == tenant.ArgoCDNamespace && s.resource == tenant.ArgoCDRelease && strings.HasPrefix(s.path, ".spec.connectionDetails["):
		default:
			t.Errorf("%s%s is about Secret %q of namespace %q", s.resource, s.path, s.name, s.namespace)
		}
		// A ServiceAccount has the names of Secrets alone.
		if rsp.GetDesired().GetResources()[s.resource].GetResource().GetFields()["kind"].GetStringValue() == "Object" && !strings.Contains(s.path, ".manifest.imagePullSecrets[") {
			t.Errorf("%s%s: an Object reads a Secret, which would show in its spec or status", s.resource, s.path)
		}
	}
}

// ownSecrets are the tenant's in the platform's namespace.
func ownSecrets(own tenant.Names) []string {
	return []string{own.InstallerSecret, own.KubeconfigSecret, own.PasswordSecret, own.ValuesSecret, own.AccountsSecret, own.AcceptedSecret, own.Restore, own.ComponentsSecret}
}

// secretsIn is the namespace of the platform's Secrets.
func secretsIn(req *fnv1.RunFunctionRequest) string {
	return cmp.Or(req.GetInput().GetFields()["connectionSecretNamespace"].GetStringValue(), "crossplane-system")
}

// A secretName is a place in a composed resource that names a Secret.
type secretName struct{ resource, path, namespace, name string }

// secretsOf are the Secrets that are composed, and all that composed resources name.
func secretsOf(rsp *fnv1.RunFunctionResponse) []secretName {
	var out []secretName
	for resource, r := range rsp.GetDesired().GetResources() {
		// What pods name is in their own namespace.
		home := ""
		if kind := r.GetResource().GetFields()["kind"].GetStringValue(); kind == "CronJob" || kind == "Job" {
			home = crossplanetest.Field(r.GetResource(), "metadata").GetFields()["namespace"].GetStringValue()
		}
		if manifest := crossplanetest.Field(r.GetResource(), "spec", "forProvider", "manifest"); manifest.GetFields()["kind"].GetStringValue() == "ServiceAccount" {
			home = crossplanetest.Field(manifest, "metadata").GetFields()["namespace"].GetStringValue()
		}
		var walk func(path, key string, v *structpb.Value)
		walk = func(path, key string, v *structpb.Value) {
			for i, e := range v.GetListValue().GetValues() {
				walk(fmt.Sprintf("%s[%d]", path, i), key, e)
			}
			fields := v.GetStructValue().GetFields()
			for k, e := range fields {
				// What a chart does with its values, it does inside the virtual cluster.
				if resource != tenant.ArgoCDRelease && !strings.HasPrefix(resource, tenant.ComponentPrefix) || k != "values" {
					walk(path+"."+k, k, e)
				}
			}
			of := fields
			if name := fields["secretName"].GetStringValue(); name != "" && key == "secret" {
				out = append(out, secretName{resource, path, home, name})
				return
			}
			if fields["kind"].GetStringValue() == "Secret" && fields["metadata"] != nil {
				of = crossplanetest.Field(v.GetStructValue(), "metadata").GetFields()
			} else if fields["kind"].GetStringValue() != "Secret" && (!isSecretKey.MatchString(key) || fields["name"] == nil) {
				return
			}
			out = append(out, secretName{resource, path, cmp.Or(of["namespace"].GetStringValue(), home), of["name"].GetStringValue()})
		}
		walk("", "", structpb.NewStructValue(r.GetResource()))
	}
	return out
}

// isSecretKey matches secretRef, secretKeyRef, writeConnectionSecretToRef, imagePullSecrets and the like.
var isSecretKey = regexp.MustCompile(`(?i)secret`)

// knows reports whether a secret is one of the request's connection details.
func knows(req *fnv1.RunFunctionRequest, secret string) bool {
	all := []*fnv1.Resource{req.GetObserved().GetComposite()}
	for _, r := range req.GetObserved().GetResources() {
		all = append(all, r)
	}
	return slices.ContainsFunc(all, func(r *fnv1.Resource) bool {
		return string(r.GetConnectionDetails()["password"]) == secret
	})
}

// tenants are Ready tenants that have, together, every composed resource.
func tenants(t testing.TB) map[string]*crossplanetest.Engine {
	several := crossplanetest.New(t, `{"argocd":{"values":{"redis-ha":{"enabled":true},"commitServer":{"enabled":true}}}}`,
		`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"vcluster":{"values":{"sync":{"toHost":{"podDisruptionBudgets":{"enabled":true}}}}}}}`)
	several.RotatePassword("2026-01-02")
	// One that may have Ingresses for a host that it has given up.
	moving := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
	moving.Ingresses = 1
	moving.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	// One that has an Ingress, which isn't Argo CD's.
	without := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
	without.Ingresses, without.IngressDeleted = 1, true
	without.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	// One whose URL is served by a Gateway.
	gateway := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput)
	gateway.SetGateway("192.0.2.7")
	etcd := crossplanetest.New(t, `{"plan":"etcd"}`, "")
	etcd.AddPlan("etcd", `{"vcluster":{"backingStore":"etcd"}}`)
	restored := crossplanetest.New(t, `{"restoreFrom":{"activate":true}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","backup":{"remote":"backup:"}}`)
	slow := crossplanetest.New(t, `{}`, "")
	slow.Reconcile()
	slow.AwaitVCluster()
	slow.SetAge(tenant.VClusterRelease, time.Hour)
	slow.Reconcile()
	updating := crossplanetest.ReadyFleet(t, 2, `{}`)
	updating.SetChannel("stable", crossplanetest.Offer("10.2.0", `{}`))
	updating.Settle(2, time.Minute)
	asleep := crossplanetest.New(t, `{}`, "").Install()
	asleep.SetSpec(`{"hibernation":{"enabled":true}}`)
	asleep.Cycle(3)
	// One of which a backup was due while it was asleep.
	missed := crossplanetest.New(t, `{"backup":{"enabled":true}}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","backup":{"remote":"backup:"}}`).Install()
	missed.SetSpec(`{"backup":{"enabled":true},"hibernation":{"enabled":true}}`)
	missed.Cycle(3)
	missed.SetAge(tenant.BackupCronJob, 200*time.Hour)
	missed.SetSpec(`{"backup":{"enabled":true}}`)
	missed.Cycle(4)
	components := crossplanetest.New(t, `{"components":[{"name":"workflows"},{"name":"rollouts"}]}`, crossplanetest.Catalogue).Install()
	removing := components.Fork(t)
	removing.SetSpec(`{"components":[{"name":"rollouts"}]}`)
	removing.Reconcile()
	removing.Reconcile()
	tunnels := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"},"clusters":[{"name":"store-0042","tunnel":{}}]}`, crossplanetest.TunnelInput)
	wakes := asleep.Fork(t)
	wakes.SetSpec(`{}`)
	wakes.Reconcile()
	return map[string]*crossplanetest.Engine{"Asleep": asleep, "MissedBackup": missed, "Wakes": wakes, "InChannel": updating.Tenants["c0"].Install(), "UpdatingInChannel": updating.Tenants["c1"].Install(), "Everything": withEverything(t).Install(), "Several": several.Install(), "Moving": moving.Install(), "WithoutIngress": without.Install(), "Gateway": gateway.Install(), "Etcd": etcd.Install(), "Restored": restored.Install(), "Slow": slow.Install(), "Components": components, "Tunnels": tunnels.Install(), "RemovingComponent": removing}
}

// TestLawsOfBrokenTenants breaks Ready tenants in every way at random.
func TestLawsOfBrokenTenants(t *testing.T) {
	t.Parallel()
	rows, seen := map[string]bool{}, map[string]bool{}
	for tenant, e := range tenants(t) {
		all := kept(t, e, e.Request)
		for name := range e.Request.GetObserved().GetResources() {
			if seen[name] = true; !all.names[name] {
				t.Errorf("%s goes from tenant %s, of which nothing has changed", name, tenant)
			}
		}
		for _, name := range namesInTable(t, e.Request) {
			rows[name] = true
		}
		for seed := range crossplanetest.Seeds(50) {
			t.Run(fmt.Sprint(tenant, seed), func(t *testing.T) {
				req := proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
				wreck(rand.New(rand.NewPCG(seed, 1)), req)
				// A tenant of which what was accepted is lost asks whether the one that it was restored from is there.
				req.RequiredResources["original/customer1"] = &fnv1.Resources{}
				if checkLaws(t, e, req, all) {
					return
				}
				refused := crossplanetest.Fatal(answer(t, e, req))
				if decode.Observe(req).Accepted() == nil && strings.Contains(refused, "with which new tenants begin, isn't in ConfigMap") {
					// Of a tenant of which nothing is known and a revision that is lost, nothing can be decided.
					return
				}
				t.Errorf("a claim without a mistake is refused: %s", refused)
			})
		}
	}
	for name := range rows {
		if !seen[name] {
			t.Errorf("no tenant here has %s, so that no law is checked of it", name)
		}
	}
}

// namesInTable are the names of all rows of the table.
func namesInTable(t testing.TB, req *fnv1.RunFunctionRequest) []string {
	t.Helper()
	o := decode.Observe(req)
	in, err := decode.Request(req, o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := resolve.Tenant(in)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range compose.Table(tenant.Tenant{Decision: p, Observed: o}) {
		names = append(names, row.Name)
	}
	return names
}

// TestLawOfSecretsSees: the tenant's Secrets are named where they are looked for.
func TestLawOfSecretsSees(t *testing.T) {
	seen := map[string]bool{}
	for name, e := range tenants(t) {
		if name == "Everything" || name == "Restored" || name == "RemovingComponent" {
			for _, s := range secretsOf(e.Response) {
				seen[s.name] = true
			}
		}
	}
	for _, name := range ownSecrets(tenant.NewNames("customer1-7rw8j", "")) {
		if !seen[name] {
			t.Errorf("Secret %s is not seen", name)
		}
	}
}

// withEverything is a tenant whose spec has every part.
func withEverything(t testing.TB) *crossplanetest.Engine {
	e := crossplanetest.WithCluster(t, "tok-of-the-cluster-1")
	e.SetSpec(strings.TrimSuffix(crossplanetest.ClusterSpec, "}") + `,
		"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"apps"}}],
		"credentialTemplates":[{"name":"server","url":"https://git.example.org","secretRef":{"name":"missing"}}],
		"bootstrap":{"repoURL":"https://git.example.org/apps"},
		"ingress":{"host":"argocd.example.org","additionalHosts":["argocd.example.net"],"tls":{"secretName":"cert"}},
		"deletionProtection":true,"backup":{"enabled":true,"schedule":"30 2 * * 0","timeZone":"Europe/Berlin","keep":3},
		"argocd":{"accounts":[{"name":"ci","tokens":[{"name":"deploy"}]}]},
		"notifications":{"secretRef":{"name":"services"},"services":[{"type":"slack","config":{"token":"$slack-token"}}]},
		"webhooks":[{"provider":"github","secretRef":{"name":"webhook"}}],"imagePullSecrets":[{"name":"images"}],
		"sso":{"oidc":{` + crossplanetest.OIDCSpec + `}}}`)
	input := e.Request.GetInput().GetFields()
	if input == nil {
		e.Request.Input = resource.MustStructJSON(`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input"}`)
		input = e.Request.GetInput().GetFields()
	}
	input["backup"] = crossplanetest.JSON(`{"remote":"backup:"}`)
	e.AddSecret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
	cert, key := crossplanetest.KeyPair()
	e.AddSecret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key})
	e.AddSecret("apps", "Opaque", map[string]string{"username": "u", "password": "secret-of-apps-1"})
	e.AddSecret("services", "Opaque", map[string]string{"slack-token": "tok-of-slack-1"})
	e.AddSecret("webhook", "Opaque", map[string]string{"secret": "secret-of-webhook-1"})
	e.AddSecret("images", "kubernetes.io/dockerconfigjson", map[string]string{".dockerconfigjson": `{"auths":{"r":{"username":"u","password":"secret-of-images-1"}}}`})
	return e
}

// wreck removes and spoils parts of what is observed.
func wreck(r *rand.Rand, req *fnv1.RunFunctionRequest) {
	resources := req.GetObserved().GetResources()
	names := []string{}
	for name := range resources {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		o := resources[name]
		switch r.IntN(8) {
		case 0:
			delete(resources, name)
		case 1:
			delete(o.Resource.Fields, "status")
		case 2:
			o.ConnectionDetails = nil
		case 3:
			crossplanetest.SetCondition(o.GetResource(), "Synced", "False", "ReconcileError", "cannot apply with "+crossplanetest.Password+", "+crossplanetest.Token+" and "+crossplanetest.Kubeconfig)
		case 4:
			crossplanetest.SetCondition(o.GetResource(), "Ready", "False", "Unavailable", "token: "+crossplanetest.Token)
		case 5:
			o.Resource.Fields["status"] = structpb.NewStringValue("gone")
		case 6:
			o.Resource.Fields["metadata"] = structpb.NewNullValue()
		}
	}
	if r.IntN(3) == 0 {
		delete(req.GetObserved().GetComposite().GetResource().GetFields(), "status")
	}
	if r.IntN(3) == 0 {
		req.Observed.Composite.ConnectionDetails = nil
	}
	for _, name := range slices.Sorted(maps.Keys(req.GetRequiredResources())) {
		// Without its plan another one is in use, which may ask for less. Without its channel, a tenant of which nothing is known any
		// more is refused.
		if r.IntN(3) == 0 && !strings.Contains(name, "plan") && !strings.HasPrefix(name, "channel/") {
			req.RequiredResources[name] = &fnv1.Resources{}
		}
	}
}

// TestLawsAtEachStep checks the laws while a tenant comes up.
func TestLawsAtEachStep(t *testing.T) {
	e := withEverything(t)
	for range 10 {
		for range 2 {
			req := proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
			all := keeps{names: map[string]bool{}}
			for name := range req.GetObserved().GetResources() {
				all.names[name] = true
			}
			checkLaws(t, e, req, all)
			e.Reconcile()
		}
		e.RunProviders()
	}
}

// TestComposedNamesAreBounded: every object of a tenant has a name of its own,
// of 63 characters or less.
func TestComposedNamesAreBounded(t *testing.T) {
	owner := map[string]string{}
	for _, xr := range []string{"a", "a-b", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("y.", 100) + "z", "a-argocd", "argocd", "a-argocd-server"} {
		e := crossplanetest.NewXR(t, strings.Replace(crossplanetest.TenantXR(`{"deletionProtection":true,"components":[{"name":"external-secrets"}],"argocd":{"values":{"redis-ha":{"enabled":true},"commitServer":{"enabled":true}}}}`), "customer1-7rw8j", xr, 1), strings.Replace(crossplanetest.Catalogue, `"name":"sealed"`, `"name":"external-secrets"`, 1)).Install()
		for name, o := range e.Request.GetObserved().GetResources() {
			got := o.GetResource().GetFields()["kind"].GetStringValue() + " " + o.GetResource().GetFields()["apiVersion"].GetStringValue() + " " + crossplanetest.Field(o.GetResource(), "metadata").GetFields()["namespace"].GetStringValue() + "/" + crossplanetest.Field(o.GetResource(), "metadata").GetFields()["name"].GetStringValue()
			if n := crossplanetest.Field(o.GetResource(), "metadata").GetFields()["name"].GetStringValue(); len(n) > 63 {
				t.Errorf("%s of XR %s has a name of %d characters: %s", name, xr, len(n), n)
			}
			if other, taken := owner[got]; taken && other != xr {
				t.Errorf("XRs %s and %s share %s", other, xr, got)
			}
			owner[got] = xr
		}
	}
}
