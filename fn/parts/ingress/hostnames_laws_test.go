package ingress_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// claimedAs returns a tenant of a claim with that name and namespace, on the same control plane as
// others with that cluster.
func claimedAs(t testing.TB, cluster *crossplanetest.Engine, name, namespace, spec, input string) *crossplanetest.Engine {
	t.Helper()
	e := crossplanetest.NewXR(t, strings.NewReplacer("customer1", name, "1f0d7d2c", "uid-of-"+namespace+"-"+name).Replace(crossplanetest.TenantXR(spec)), input)
	e.SetClaimNamespace(namespace)
	if cluster != nil {
		maps.Copy(cluster.Cluster, e.Cluster)
		e.Cluster = cluster.Cluster
	}
	return e
}

// hostnamesOf are the hostnames that a tenant has in each place where it may: in the annotation that its Ingresses and its HTTPRoute are
// checked by, in the values of Argo CD's Release, and in the HTTPRoute.
func hostnamesOf(e *crossplanetest.Engine) map[string][]string {
	observed := e.Request.GetObserved().GetResources()
	out := map[string][]string{}
	if observed[tenant.Namespace] != nil {
		for _, hostname := range strings.Split(owns(e), ",") {
			if hostname != "" && !strings.HasPrefix(hostname, "grpc.") {
				out["the namespace's annotation"] = append(out["the namespace's annotation"], hostname)
			}
		}
	}
	if hosts := e.IngressHosts(); len(hosts) > 0 {
		out["the Release"] = hosts
	}
	if hosts := e.RouteHosts(); len(hosts) > 0 {
		out["the HTTPRoute"] = hosts
	}
	return out
}

// recordedFor returns the claims that have a hostname's record.
func recordedFor(e *crossplanetest.Engine, hostname string) string {
	record := e.Cluster["ConfigMap/crossplane-system/"+tenant.HostnameRecord(hostname)]
	labels := crossplanetest.Field(record, "metadata", "labels").GetFields()
	return labels["crossplane.io/claim-namespace"].GetStringValue() + "/" + labels["crossplane.io/claim-name"].GetStringValue()
}

func claimOf(e *crossplanetest.Engine) string {
	ref := crossplanetest.Field(e.XR(), "spec", "claimRef").GetFields()
	return ref["namespace"].GetStringValue() + "/" + ref["name"].GetStringValue()
}

// TestHostnameOfAClaimsValues: a hostname that a claim writes into its values is no hostname that it has, neither then nor after it has taken
// them out again.
func TestHostnameOfAClaimsValues(t *testing.T) {
	const victims = "argocd.victim.example.org"
	victim := claimedAs(t, nil, "victim", "team-a", `{"ingress":{"host":"`+victims+`"}}`, "").Install()
	decoy := claimedAs(t, victim, "decoy", "team-c", `{"ingress":{"host":"decoy.example.org"}}`, "").Install()
	for name, values := range map[string]string{
		"Ingress": `"server":{"ingress":{"enabled":true,"hostname":"` + victims + `"}}`,
		"Domain":  `"global":{"domain":"` + victims + `"},"server":{"ingress":{"enabled":true}}`,
	} {
		t.Run(name, func(t *testing.T) {
			attacker := claimedAs(t, decoy, strings.ToLower(name), "team-b", `{}`, "").Install()
			attacker.SetSpec(`{"argocd":{"values":{` + values + `}}}`)
			attacker.Cycle(4)
			attacker.SetSpec(`{"ingress":{"host":"decoy.example.org"}}`)
			attacker.Cycle(4)
			if got := hostnamesOf(attacker); len(got) > 0 || attacker.Has(tenant.IngressesBinding) || strings.Contains(attacker.Status("argocd", "url"), victims) {
				t.Errorf("the attacker has %v, may write Ingresses: %t, its URL is %s", got, attacker.Has(tenant.IngressesBinding), attacker.Status("argocd", "url"))
			}
			if c := attacker.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken {
				t.Errorf("IngressReady of the attacker: %v", c)
			}
		})
	}
	victim.Reconcile()
	if owns(victim) != withGRPC(victims) || victim.Status("argocd", "url") != "https://"+victims {
		t.Errorf("the victim has %q at %s", owns(victim), victim.Status("argocd", "url"))
	}
}

// TestHostnameOfValuesAcceptedBefore: a claim with an Ingress of its own, as earlier versions accepted it, goes on with it; what it names
// is no hostname of the claim's for that.
func TestHostnameOfValuesAcceptedBefore(t *testing.T) {
	const victims = "argocd.victim.example.org"
	own := `{"argocd":{"values":{"server":{"ingress":{"enabled":true,"hostname":"` + victims + `"}}}}}`
	victim := claimedAs(t, nil, "victim", "team-a", `{"ingress":{"host":"`+victims+`"}}`, "").Install()
	attacker := claimedAs(t, victim, "attacker", "team-b", `{}`, "").Install()
	accepted := crossplanetest.Field(attacker.Observed(tenant.AcceptedSecret), "data").GetFields()
	was := map[string]any{}
	if err := json.Unmarshal(crossplanetest.Must(base64.StdEncoding.DecodeString(accepted["accepted.json"].GetStringValue())), &was); err != nil {
		t.Fatal(err)
	}
	was["spec"].(map[string]any)["argocdValues"] = map[string]any{"server": map[string]any{"ingress": map[string]any{"enabled": true, "hostname": victims}}}
	accepted["accepted.json"] = structpb.NewStringValue(base64.StdEncoding.EncodeToString(crossplanetest.Must(json.Marshal(was))))
	attacker.SetSpec(own)
	attacker.Cycle(4)
	if msg := crossplanetest.Refusal(attacker.Response); msg != "" || hostnamesOf(attacker)["the Release"][0] != victims {
		t.Fatalf("the claim doesn't go on as before: %s, %v", msg, hostnamesOf(attacker))
	}
	// An earlier version let the attacker have it by these values.
	manifest := crossplanetest.Field(attacker.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations")
	for _, spec := range []string{own, `{"ingress":{"host":"` + victims + `"}}`, `{}`} {
		manifest.Fields[tenant.AnnotationIngressHost] = structpb.NewStringValue(withGRPC(victims))
		attacker.SetSpec(spec)
		attacker.Reconcile()
		if owns(attacker) != "" || attacker.Has(tenant.IngressesBinding) || strings.Contains(attacker.Status("argocd", "url"), victims) {
			t.Errorf("%s: the attacker has %q, may write Ingresses: %t, its URL is %s", spec, owns(attacker), attacker.Has(tenant.IngressesBinding), attacker.Status("argocd", "url"))
		}
		manifest = crossplanetest.Field(attacker.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations")
		if manifest == nil {
			crossplanetest.Field(attacker.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata").Fields["annotations"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
			manifest = crossplanetest.Field(attacker.Observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations")
		}
	}
}

// TestDefaultHostnamesDiffer: two claims have two hostnames below the platform's domain, and the one that an earlier version gave stays.
func TestDefaultHostnamesDiffer(t *testing.T) {
	const earlier = "shop-team-a.apps.example.org"
	var hostnames []string
	for _, of := range [][2]string{{"shop", "team-a"}, {"shop-team", "a"}} {
		e := claimedAs(t, nil, of[0], of[1], `{}`, crossplanetest.IngressInput).Install()
		hostnames = append(hostnames, strings.TrimPrefix(e.Status("argocd", "url"), "https://"))
	}
	if want := []string{"shop--team-a.apps.example.org", "shop-team--a.apps.example.org"}; !slices.Equal(hostnames, want) {
		t.Errorf("want %v, got %v", want, hostnames)
	}
	// Both had the same, and the first to come got it.
	e := claimedAs(t, nil, "shop", "team-a", `{"ingress":{"host":"`+earlier+`"}}`, strings.Replace(crossplanetest.IngressInput, `"domain"`, `"hosts":["*.apps.example.org"],"domain"`, 1)).Install()
	e.SetSpec(`{}`)
	e.Request.Input = resource.MustStructJSON(crossplanetest.IngressInput)
	e.Cycle(4)
	if owns(e) != withGRPC(earlier) || e.Status("argocd", "url") != "https://"+earlier {
		t.Errorf("the hostname that the tenant had is %q at %s", owns(e), e.Status("argocd", "url"))
	}
	// Its record is deleted by hand, and comes back.
	clear(e.Cluster)
	e.ProtectHost()
	delete(e.Request.GetObserved().GetResources(), tenant.HostnameResource(earlier))
	if e.Reconcile(); owns(e) != withGRPC(earlier) || argocdValues(e)["domain"] != earlier || recordedFor(e, earlier) != "team-a/shop" {
		t.Errorf("without its record, the tenant has %q at %v", owns(e), argocdValues(e)["domain"])
	}
	second := claimedAs(t, e, "shop-team", "a", `{}`, crossplanetest.IngressInput).Install()
	if got := second.Status("argocd", "url"); got != "https://shop-team--a.apps.example.org" {
		t.Errorf("the second has %s", got)
	}
}

// TestHostnamesAreBounded: a claim that keeps Ingresses of its own keeps few hostnames, and says which.
func TestHostnamesAreBounded(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"h0.example.org"}}`, "").Install()
	e.Ingresses = 1
	held := func() (n int) {
		for name := range e.Request.GetObserved().GetResources() {
			if strings.HasPrefix(name, tenant.HostnamePrefix) {
				n++
			}
		}
		return n
	}
	for i := 1; i < 12; i++ {
		e.SetSpec(fmt.Sprintf(`{"ingress":{"host":"h%d.example.org"}}`, i))
		e.Cycle(4)
	}
	c := e.Condition(v1alpha1.ConditionIngressReady)
	want := "Hostname h11.example.org isn't reserved, because this claim keeps 8 others, the most that one may have: delete the Ingresses in the virtual cluster for h0.example.org, h1.example.org, h2.example.org, h3.example.org, h4.example.org, h5.example.org, h6.example.org; h7.example.org stays in use"
	if n := held(); n != 8 || c.GetReason() != v1alpha1.ReasonTooManyHosts || c.GetMessage() != want || e.Status("argocd", "url") != "https://h7.example.org" {
		t.Errorf("the claim keeps %d hostnames at %s: %v", n, e.Status("argocd", "url"), c)
	}
	// It may go back to one that it keeps.
	e.SetSpec(`{"ingress":{"host":"h1.example.org"}}`)
	e.Cycle(4)
	if got := e.Status("argocd", "url"); got != "https://h1.example.org" || held() != 8 {
		t.Errorf("the claim is at %s, and keeps %d hostnames", got, held())
	}
	e.SetSpec(`{"ingress":{"host":"h11.example.org"}}`)
	e.Ingresses = 0
	e.Cycle(8)
	if got := e.Status("argocd", "url"); got != "https://h11.example.org" || held() != 1 {
		t.Errorf("without Ingresses of its own, the claim is at %s, and keeps %d hostnames: %v", got, held(), e.Condition(v1alpha1.ConditionIngressReady))
	}
}

// TestHostnameOutlivesItsIngresses: of a tenant that is deleted, the Ingresses go with its namespace, and its hostnames after that.
func TestHostnameOutlivesItsIngresses(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, "").Install()
	owners := wire.Of(e.Response.GetDesired().GetResources()[tenant.HostnameResource("a.example.org")].GetResource()).List("metadata", "ownerReferences")
	if len(owners) != 1 || owners[0].String("kind") != "Namespace" || owners[0].String("uid") != "uid-of-the-namespace" {
		t.Errorf("the record's owners are %v", owners)
	}
}

// TestHostnamesOfTwoTenants: whatever two claims are edited to, and whatever the platform's domain and its Gateway, no hostname is two tenants' at once,
// and none is a tenant's whose record isn't.
func TestHostnamesOfTwoTenants(t *testing.T) {
	t.Parallel()
	for seed := range crossplanetest.Seeds(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // A test that can be repeated.
			input := func() string {
				return []string{
					"", `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org"}}`,
					`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","hosts":["*.apps.example.org","*.example.org"]}}`,
					crossplanetest.GatewayInput, keepsIngress,
				}[random.IntN(5)]
			}
			// Of names that would have the same hostname if a dash were put between them.
			a := claimedAs(t, nil, "shop", "team-a", `{}`, input())
			b := claimedAs(t, a, "shop-team", "a", `{}`, input())
			both := []*crossplanetest.Engine{a, b}
			hosts := []string{"a.example.org", "b.example.org", "shop-team-a.apps.example.org", "shop--team-a.apps.example.org", "argocd.apps.example.org", "apps.example.org"}
			specs := []string{`{}`}
			for _, hostname := range hosts {
				specs = append(specs, `{"ingress":{"host":"`+hostname+`"}}`,
					`{"argocd":{"values":{"server":{"ingress":{"enabled":true,"hostname":"`+hostname+`"}}}}}`,
					`{"argocd":{"values":{"global":{"domain":"`+hostname+`"},"server":{"ingress":{"enabled":true}}}}}`,
					`{"argocd":{"values":{"server":{"ingress":{"enabled":false}}}},"ingress":{"host":"`+hostname+`"}}`)
			}
			specs = append(specs, `{"argocd":{"values":{"server":{"ingress":{"enabled":false}}}}}`)
			for range 24 {
				picked := random.Perm(len(hosts))[:1+random.IntN(4)]
				var more []string
				for _, n := range picked[1:] {
					more = append(more, `"`+hosts[n]+`"`)
				}
				specs = append(specs, `{"ingress":{"host":"`+hosts[picked[0]]+`","additionalHosts":[`+strings.Join(more, ",")+`]}}`)
			}
			seen := 0
			var did []string
			for range 150 {
				e := both[random.IntN(2)]
				switch n := random.IntN(10); {
				case n < 2:
					spec := specs[random.IntN(len(specs))]
					did = append(did, claimOf(e)+" asks "+spec)
					e.SetSpec(spec)
				case n == 2:
					in := input()
					did = append(did, claimOf(e)+" has input "+in)
					if e.Request.Input = nil; in != "" {
						e.Request.Input = resource.MustStructJSON(in)
					}
				case n == 3:
					// The other one's records of now come after this one's request.
					if random.IntN(2) == 0 {
						spec := specs[random.IntN(len(specs))]
						did = append(did, "both ask "+spec)
						a.SetSpec(spec)
						b.SetSpec(spec)
					}
					did = append(did, claimOf(e)+" is reconciled from what was before the other")
					e.Stale = maps.Clone(e.Cluster)
					both[(slices.Index(both, e)+1)%2].Reconcile()
					e.Reconcile()
					e.Stale = nil
				case n < 8:
					did = append(did, claimOf(e)+" is reconciled")
					e.Reconcile()
				default:
					did = append(did, claimOf(e)+" is healed")
					e.Ingresses = random.IntN(2)
					e.RunProviders()
				}
				for i, e := range both {
					other := hostnamesOf(both[1-i])
					for where, hostnames := range hostnamesOf(e) {
						for _, hostname := range hostnames {
							seen++
							if by := recordedFor(e, hostname); by != claimOf(e) {
								t.Fatalf("%s has %s in %s, and its record is that of %s, after:\n%s", claimOf(e), hostname, where, by, strings.Join(did, "\n"))
							}
							for otherwhere, theirs := range other {
								if slices.Contains(theirs, hostname) {
									t.Fatalf("%s is in %s of %s, and in %s of %s, after:\n%s", hostname, where, claimOf(e), otherwhere, claimOf(both[1-i]), strings.Join(did, "\n"))
								}
							}
						}
					}
				}
			}
			if seen == 0 {
				t.Log("no tenant had a hostname")
			}
		})
	}
}
