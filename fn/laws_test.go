package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

// The function's laws hold for every request; see also the fuzz targets.

// checkLaws runs the function on a request and reports every law its response
// breaks.
func checkLaws(t testing.TB, f *Function, req *fnv1.RunFunctionRequest) {
	t.Helper()
	before := proto.Clone(req)
	rsp, err := f.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatalf("every error is a result, not one of gRPC: %v", err)
	}
	if !proto.Equal(before, req) {
		t.Error("the request was changed")
	}
	if msg := fatal(rsp); msg != "" {
		if strings.Contains(msg, "the function failed on this resource") {
			t.Errorf("the function panicked")
		}
		if !strings.Contains(msg, ":") && !strings.Contains(msg, " is ") {
			t.Errorf("a refusal names its field and what is wrong: %q", msg)
		}
	} else if !asksFirst(req, rsp) {
		neverDrop(t, req, rsp)
		onlyOwnSecrets(t, req, rsp)
	}
	sameBytes(t, f, req, rsp)
	noSecret(t, req, rsp)
}

// asksFirst tells whether the function says nothing before it has been handed the
// plan that it asks for: Crossplane lets such a response go.
func asksFirst(req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) bool {
	for name := range rsp.GetRequirements().GetResources() {
		if _, read := req.GetRequiredResources()[name]; !read && strings.Contains(name, "plan") {
			return len(rsp.GetDesired().GetResources()) == 0
		}
	}
	return false
}

// neverDrop: what is observed stays desired.
func neverDrop(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	for name := range req.GetObserved().GetResources() {
		// What the values switch off may go, and so may what never was ours.
		if name == compose.WorkloadName("dex") || !slices.Contains(everyName(), name) {
			continue
		}
		if part, ok := parts[name]; ok && !inSpec(req, part) {
			continue
		}
		if _, ok := rsp.GetDesired().GetResources()[name]; !ok {
			t.Errorf("composed resource %q is observed and not desired: Crossplane would delete it", name)
		}
	}
}

// parts are the fields of the spec that resources come from that not all tenants
// have.
var parts = map[string]string{compose.Bootstrap: "bootstrap", compose.Ingress: "ingress", compose.DeletionProtection: "deletionProtection"}

func inSpec(req *fnv1.RunFunctionRequest, part string) bool {
	v := field(req.GetObserved().GetComposite().GetResource(), "spec").GetFields()[part]
	return v.GetBoolValue() || len(v.GetStructValue().GetFields()) > 0
}

// everyName are the names of the resources that every tenant has.
func everyName() []string {
	names := []string{compose.Namespace, compose.VCluster, compose.HelmProviderConfig, compose.KubernetesProviderConfig, compose.ArgoCD, compose.Usage, compose.ValuesSecret, compose.Bootstrap, compose.Ingress, compose.DeletionProtection}
	for _, c := range []string{"server", "repo-server", "controller", "applicationset"} {
		names = append(names, compose.WorkloadName(c))
	}
	return names
}

// sameBytes: the same request gives the same response. Once is enough for each of
// many requests.
func sameBytes(t testing.TB, f *Function, req *fnv1.RunFunctionRequest, first *fnv1.RunFunctionResponse) {
	t.Helper()
	opts := proto.MarshalOptions{Deterministic: true}
	want, err := opts.Marshal(first)
	if err != nil {
		t.Fatalf("the response can't be sent: %v", err)
	}
	rsp, err := f.RunFunction(t.Context(), proto.Clone(req).(*fnv1.RunFunctionRequest))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := opts.Marshal(rsp); err != nil || !bytes.Equal(want, got) {
		t.Fatalf("the same request gave another response (%v):\n%s\n%s", err, protojson.Format(first), protojson.Format(rsp))
	}
}

// noSecret: connection details leave as connection details alone. See
// TestSecretsStayInSecrets for the secrets of the claim.
func noSecret(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	text := []byte(closed(t, rsp))
	if !knows(req, testPassword) {
		// A secret that no connection detail tells can't be known for one.
		text = bytes.ReplaceAll(text, []byte(testPassword), nil)
	}
	for _, secret := range []string{testPassword, "c2VjcmV0LWtleS1vZi10aGUtdGVuYW50", "tok-0123456789"} {
		// A tenant that writes a secret in its own values has published it.
		if bytes.Contains(text, []byte(secret)) && !strings.Contains(req.GetObserved().GetComposite().GetResource().String(), secret) {
			t.Errorf("secret %q is outside of connection details", secret)
		}
	}
}

// onlyOwnSecrets: whatever a tenant writes, what is composed for it reads and writes Secrets of its own alone: in its
// namespaces, and in the platform's those that have its name.
func onlyOwnSecrets(t testing.TB, req *fnv1.RunFunctionRequest, rsp *fnv1.RunFunctionResponse) {
	t.Helper()
	own := plan.NewNames(field(req.GetObserved().GetComposite().GetResource(), "metadata").GetFields()["name"].GetStringValue(), "")
	var walk func(path string, v *structpb.Value)
	walk = func(path string, v *structpb.Value) {
		for i, e := range v.GetListValue().GetValues() {
			walk(fmt.Sprintf("%s[%d]", path, i), e)
		}
		fields := v.GetStructValue().GetFields()
		for key, e := range fields {
			// What the chart does with its values, it does inside the virtual cluster.
			if key != "values" {
				walk(path+"."+key, e)
			}
		}
		refers := fields["kind"].GetStringValue() == "Secret" || strings.Contains(path, "ecretRef") || strings.HasSuffix(path, "ecretToRef")
		if name, ok := fields["name"]; refers && ok {
			switch ns := fields["namespace"].GetStringValue(); {
			case slices.Contains([]string{own.KubeconfigSecret, own.PasswordSecret}, name.GetStringValue()):
			case ns == own.Namespace, ns == plan.ArgoCDNamespace:
			default:
				t.Errorf("%s refers to Secret %s of namespace %q", path, name.GetStringValue(), ns)
			}
		}
	}
	for name, r := range rsp.GetDesired().GetResources() {
		walk(name, structpb.NewStructValue(r.GetResource()))
	}
}

// knows tells whether a secret is one of the request's connection details.
func knows(req *fnv1.RunFunctionRequest, secret string) bool {
	all := []*fnv1.Resource{req.GetObserved().GetComposite()}
	for _, r := range req.GetObserved().GetResources() {
		all = append(all, r)
	}
	return slices.ContainsFunc(all, func(r *fnv1.Resource) bool {
		return string(r.GetConnectionDetails()["password"]) == secret
	})
}

// TestLawsOfBrokenTenants breaks a Ready tenant in every way at random.
func TestLawsOfBrokenTenants(t *testing.T) {
	e := withEverything(t).install()
	f, whole := e.f, e.req
	for seed := range uint64(400) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			req := proto.Clone(whole).(*fnv1.RunFunctionRequest)
			wreck(rand.New(rand.NewPCG(seed, 1)), req)
			checkLaws(t, f, req)
		})
	}
}

// withEverything is a tenant whose spec has every part.
func withEverything(t testing.TB) *engine {
	e := withToken(t, "tok-of-the-cluster-1")
	e.spec(strings.TrimSuffix(tokenSpec, "}") + `,
		"repositories":[{"name":"apps","url":"https://git.example.org/apps","secretRef":{"name":"apps"}}],
		"credentialTemplates":[{"name":"server","url":"https://git.example.org","secretRef":{"name":"missing"}}],
		"bootstrap":{"repoURL":"https://git.example.org/apps"},
		"ingress":{"host":"argocd.example.org","tls":{"secretName":"cert"}},
		"deletionProtection":true,
		"sso":{"oidc":{` + oidcSpec + `}}}`)
	e.secret("oidc", "Opaque", map[string]string{"clientSecret": "secret-of-the-client"})
	cert, key := keyPair()
	e.secret("cert", "kubernetes.io/tls", map[string]string{"tls.crt": cert, "tls.key": key})
	e.secret("apps", "Opaque", map[string]string{"username": "u", "password": "secret-of-apps-1"})
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
			setCondition(o.GetResource(), "Synced", "False", "ReconcileError", "cannot apply with "+testPassword+" and "+testKubeconfig)
		case 4:
			setCondition(o.GetResource(), "Ready", "False", "Unavailable", "token: tok-0123456789")
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
		if r.IntN(3) == 0 {
			req.RequiredResources[name] = &fnv1.Resources{}
		}
	}
}

// TestLawsAtEachStep checks the laws while a tenant comes up.
func TestLawsAtEachStep(t *testing.T) {
	e := withEverything(t)
	for range 6 {
		checkLaws(t, e.f, proto.Clone(e.req).(*fnv1.RunFunctionRequest))
		e.reconcile()
		checkLaws(t, e.f, proto.Clone(e.req).(*fnv1.RunFunctionRequest))
		e.heal()
	}
}

// TestComposedNamesAreBounded: every object of a tenant has a name of its own,
// of 63 characters or less.
func TestComposedNamesAreBounded(t *testing.T) {
	owner := map[string]string{}
	for _, xr := range []string{"a", "a-b", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("y.", 100) + "z", "a-argocd", "argocd", "a-argocd-server"} {
		e := newEngine(t, strings.Replace(tenantXR(`{"argocd":{"values":{"redis-ha":{"enabled":true},"commitServer":{"enabled":true}}}}`), "customer1-7rw8j", xr, 1), "").install()
		for name, o := range e.req.GetObserved().GetResources() {
			got := o.GetResource().GetFields()["kind"].GetStringValue() + " " + o.GetResource().GetFields()["apiVersion"].GetStringValue() + " " + field(o.GetResource(), "metadata").GetFields()["name"].GetStringValue()
			if n := field(o.GetResource(), "metadata").GetFields()["name"].GetStringValue(); len(n) > 63 {
				t.Errorf("%s of XR %s has a name of %d characters: %s", name, xr, len(n), n)
			}
			if other, taken := owner[got]; taken && other != xr {
				t.Errorf("XRs %s and %s share %s", other, xr, got)
			}
			owner[got] = xr
		}
	}
	if len(plan.Components()) != 10 {
		t.Errorf("a new workload needs a name that is checked here: %v", plan.Components())
	}
}
