package front_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestLawsOfFronts tries random platforms: whatever exists, a front never drops what it has, writes only to what is its own, is the only one to
// write to it, and shows a secret only in its Secret.
func TestLawsOfFronts(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	wrote := 0
	for i := range crossplanetest.Seeds(2000) {
		e := newFront(t, pick(`{}`, `{"plan":"a","writeConnectionSecretToRef":{"name":"s"}}`, `{"writeConnectionSecretToRef":{"name":"s"},"components":[{"name":"a"}]}`, `{"plan":1}`, `"text"`, `null`, `{"crossplane":"text","writeConnectionSecretToRef":"text","argocd":null}`),
			pick("", "", `,"annotations":{"virtualargocd.io/leave-tenant":"true"}`))
		tenants := map[string]*structpb.Struct{}
		for _, name := range []string{own, "a-1", "a-2"} {
			if random.IntN(2) == 0 {
				continue
			}
			o := tenantOf(name, pick(ref(front), ref(claim), ref(claim), `{"namespace":1}`, `{"apiVersion":"`+front+`","kind":"VirtualArgoCD","namespace":"others","name":"a"}`, `{}`, `"text"`))
			if random.IntN(5) == 0 {
				deletes(o)
			}
			tenants[name] = o
			add(e, o)
			if random.IntN(2) == 0 {
				add(e, secretOf("crossplane-system", "secret-of-"+name, pick(connection, connection, "Opaque"), pick("uid-of-"+name, "uid-of-"+name, "uid-of-b", "")))
			}
		}
		hasClaim := random.IntN(2) == 0
		if hasClaim {
			add(e, resource.MustStructJSON(`{"apiVersion":"`+claim+`","kind":"VirtualArgoCD","metadata":{"namespace":"team","name":"a"}}`))
		}
		if random.IntN(4) == 0 {
			add(e, secretOf("team", "s", pick(connection, "Opaque"), pick("", "uid-of-b", "uid-of-a")))
		}
		observed := e.Request.GetObserved().GetResources()
		if random.IntN(2) == 0 {
			name := pick(own, "a-1", "a-2")
			observed[tenant.FrontTenant] = &fnv1.Resource{Resource: resource.MustStructJSON(`{"apiVersion":"kubernetes.m.crossplane.io/v1alpha1","kind":"Object","metadata":{"name":"` + name + `"},"spec":{"forProvider":{"manifest":{"metadata":{"name":"` + name + `"}}}},"status":` + pick(`{}`, `{"conditions":[{"type":"Synced","status":"False","message":"m"}]}`, `{"atProvider":{"manifest":{"spec":{"b":1}}},"conditions":[{"type":"Synced","status":"True"}]}`, `"text"`) + `}`)}
		}
		if random.IntN(3) == 0 {
			observed[tenant.FrontSecretPrefix+"s"] = &fnv1.Resource{Resource: secretOf("team", "s", connection, "uid-of-a")}
		}
		before := proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
		rsp := e.Call()
		what := func(law string) string {
			return fmt.Sprintf("case %d: %s\n%v\n%v\nclaim: %v", i, law, before.GetObserved(), tenants, hasClaim)
		}
		if fatal := crossplanetest.Fatal(rsp); fatal != "" {
			t.Fatal(what("fatal: " + fatal))
		}
		for name, was := range before.GetObserved().GetResources() {
			is := rsp.GetDesired().GetResources()[name]
			if is == nil && (name == tenant.FrontTenant || wire.Of(e.XR()).String("spec", "writeConnectionSecretToRef", "name") != "") {
				t.Fatal(what("what is observed is dropped: " + name))
			}
			path := []string{"spec", "forProvider", "manifest", "metadata", "name"}
			if name == tenant.FrontTenant && wire.Of(is.GetResource()).String(path...) != wire.Of(was.GetResource()).String(path...) {
				t.Fatal(what("the tenant is another one"))
			}
		}
		o := wire.Of(rsp.GetDesired().GetResources()[tenant.FrontTenant].GetResource())
		name := manifest(o).String("metadata", "name")
		belongs := wire.Of(tenants[name]).Get("spec", "claimRef")
		of := belongs.String("namespace") + "/" + belongs.String("name")
		if writes(o) {
			wrote++
			if of != "team/a" && tenants[name] != nil {
				t.Fatal(what("writes to somebody else's tenant " + name))
			}
			if hasClaim && belongs.String("apiVersion") == claim {
				t.Fatal(what("writes to the tenant of a claim that exists: " + name))
			}
		}
		for name, r := range rsp.GetDesired().GetResources() {
			text, err := protojson.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			for of, o := range tenants {
				if !strings.Contains(string(text), crossplanetest.Base64("the-password-of-secret-of-"+of)) {
					continue
				}
				if wire.Of(r.GetResource()).String("kind") != "Secret" || wire.Of(o).String("spec", "claimRef", "namespace") != "team" {
					t.Fatal(what("a secret of " + of + " is in " + name))
				}
			}
		}
		all := proto.Clone(rsp).(*fnv1.RunFunctionResponse)
		all.Desired.Resources = nil
		if text, err := protojson.Marshal(all); err != nil || strings.Contains(string(text), "the-password-of") {
			t.Fatal(what(fmt.Sprintf("a secret is in the status, a condition or an event: %v", err)))
		}
		// The first call of all doesn't know whether Crossplane watches what it asks for.
		if again := e.Call(); !proto.Equal(again, e.Call()) {
			t.Fatal(what("the same request has another answer"))
		}
	}
	if wrote < 300 {
		t.Errorf("only %d fronts write: this shows too little", wrote)
	}
}
