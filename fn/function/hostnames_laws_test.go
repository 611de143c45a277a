package function

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
)

// claimedAs returns a tenant of a claim with that name and namespace, on the same control plane as
// others with that cluster.
func claimedAs(t testing.TB, cluster *engine, name, namespace, spec, input string) *engine {
	t.Helper()
	e := newEngine(t, strings.NewReplacer("customer1", name, "1f0d7d2c", "uid-of-"+namespace+"-"+name).Replace(tenantXR(spec)), input)
	e.claimedIn(namespace)
	if cluster != nil {
		maps.Copy(cluster.cluster, e.cluster)
		e.cluster = cluster.cluster
	}
	return e
}

// ask changes the spec of a tenant that isn't customer1's.
func (e *engine) ask(spec string) {
	e.t.Helper()
	claim := field(e.xr(), "spec").GetFields()["claimRef"]
	e.spec(spec)
	field(e.xr(), "spec").Fields["claimRef"] = claim
}

// hostnamesOf are the hostnames that a tenant has in each place where it may: in the annotation that its Ingresses are
// checked by, and in the values of Argo CD's Release.
func hostnamesOf(e *engine) map[string][]string {
	observed := e.req.GetObserved().GetResources()
	out := map[string][]string{}
	if observed[tenant.Namespace] != nil {
		for _, hostname := range strings.Split(owns(e), ",") {
			if hostname != "" && !strings.HasPrefix(hostname, "grpc.") {
				out["the namespace's annotation"] = append(out["the namespace's annotation"], hostname)
			}
		}
	}
	v := field(observed[tenant.ArgoCDRelease].GetResource(), "spec", "forProvider", "values", "server", "ingress").AsMap()
	if hostname, _ := v["hostname"].(string); hostname != "" && v["enabled"] == true {
		out["the Release"] = []string{hostname}
		extra, _ := v["extraHosts"].([]any)
		for _, of := range extra {
			out["the Release"] = append(out["the Release"], of.(map[string]any)["name"].(string))
		}
	}
	return out
}

// recordedFor returns the claims that have a hostname's record.
func recordedFor(e *engine, hostname string) string {
	record := e.cluster["ConfigMap/crossplane-system/"+tenant.HostnameRecord(hostname)]
	labels := field(record, "metadata", "labels").GetFields()
	return labels["crossplane.io/claim-namespace"].GetStringValue() + "/" + labels["crossplane.io/claim-name"].GetStringValue()
}

func claimOf(e *engine) string {
	ref := field(e.xr(), "spec", "claimRef").GetFields()
	return ref["namespace"].GetStringValue() + "/" + ref["name"].GetStringValue()
}

// TestHostnameOfAClaimsValues: a hostname that a claim writes into its values is no hostname that it has, neither then nor after it has taken
// them out again.
func TestHostnameOfAClaimsValues(t *testing.T) {
	const victims = "argocd.victim.example.org"
	victim := claimedAs(t, nil, "victim", "team-a", `{"ingress":{"host":"`+victims+`"}}`, "").install()
	decoy := claimedAs(t, victim, "decoy", "team-c", `{"ingress":{"host":"decoy.example.org"}}`, "").install()
	for name, values := range map[string]string{
		"Ingress": `"server":{"ingress":{"enabled":true,"hostname":"` + victims + `"}}`,
		"Domain":  `"global":{"domain":"` + victims + `"},"server":{"ingress":{"enabled":true}}`,
	} {
		t.Run(name, func(t *testing.T) {
			attacker := claimedAs(t, decoy, strings.ToLower(name), "team-b", `{}`, "").install()
			attacker.ask(`{"argocd":{"values":{` + values + `}}}`)
			attacker.cycle(4)
			attacker.ask(`{"ingress":{"host":"decoy.example.org"}}`)
			attacker.cycle(4)
			if got := hostnamesOf(attacker); len(got) > 0 || attacker.has(tenant.IngressesBinding) || strings.Contains(attacker.status("argocd", "url"), victims) {
				t.Errorf("the attacker has %v, may write Ingresses: %t, its URL is %s", got, attacker.has(tenant.IngressesBinding), attacker.status("argocd", "url"))
			}
			if c := attacker.condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonHostTaken {
				t.Errorf("IngressReady of the attacker: %v", c)
			}
		})
	}
	victim.reconcile()
	if owns(victim) != withGRPC(victims) || victim.status("argocd", "url") != "https://"+victims {
		t.Errorf("the victim has %q at %s", owns(victim), victim.status("argocd", "url"))
	}
}

// TestHostnameOfValuesAcceptedBefore: a claim with an Ingress of its own, as earlier versions accepted it, goes on with it; what it names
// is no hostname of the claim's for that.
func TestHostnameOfValuesAcceptedBefore(t *testing.T) {
	const victims = "argocd.victim.example.org"
	own := `{"argocd":{"values":{"server":{"ingress":{"enabled":true,"hostname":"` + victims + `"}}}}}`
	victim := claimedAs(t, nil, "victim", "team-a", `{"ingress":{"host":"`+victims+`"}}`, "").install()
	attacker := claimedAs(t, victim, "attacker", "team-b", `{}`, "").install()
	accepted := field(attacker.observed(tenant.AcceptedSecret), "data").GetFields()
	was := map[string]any{}
	if err := json.Unmarshal(must(base64.StdEncoding.DecodeString(accepted["accepted.json"].GetStringValue())), &was); err != nil {
		t.Fatal(err)
	}
	was["spec"].(map[string]any)["argocdValues"] = map[string]any{"server": map[string]any{"ingress": map[string]any{"enabled": true, "hostname": victims}}}
	accepted["accepted.json"] = structpb.NewStringValue(base64.StdEncoding.EncodeToString(must(json.Marshal(was))))
	attacker.ask(own)
	attacker.cycle(4)
	if msg := refusal(attacker.rsp); msg != "" || hostnamesOf(attacker)["the Release"][0] != victims {
		t.Fatalf("the claim doesn't go on as before: %s, %v", msg, hostnamesOf(attacker))
	}
	// An earlier version let the attacker have it by these values.
	manifest := field(attacker.observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations")
	for _, spec := range []string{own, `{"ingress":{"host":"` + victims + `"}}`, `{}`} {
		manifest.Fields[tenant.AnnotationIngressHost] = structpb.NewStringValue(withGRPC(victims))
		attacker.ask(spec)
		attacker.reconcile()
		if owns(attacker) != "" || attacker.has(tenant.IngressesBinding) || strings.Contains(attacker.status("argocd", "url"), victims) {
			t.Errorf("%s: the attacker has %q, may write Ingresses: %t, its URL is %s", spec, owns(attacker), attacker.has(tenant.IngressesBinding), attacker.status("argocd", "url"))
		}
		manifest = field(attacker.observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations")
		if manifest == nil {
			field(attacker.observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata").Fields["annotations"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
			manifest = field(attacker.observed(tenant.Namespace), "spec", "forProvider", "manifest", "metadata", "annotations")
		}
	}
}

// TestDefaultHostnamesDiffer: two claims have two hostnames below the platform's domain, and the one that an earlier version gave stays.
func TestDefaultHostnamesDiffer(t *testing.T) {
	const earlier = "shop-team-a.apps.example.org"
	var hostnames []string
	for _, of := range [][2]string{{"shop", "team-a"}, {"shop-team", "a"}} {
		e := claimedAs(t, nil, of[0], of[1], `{}`, platformInput).install()
		hostnames = append(hostnames, strings.TrimPrefix(e.status("argocd", "url"), "https://"))
	}
	if want := []string{"shop--team-a.apps.example.org", "shop-team--a.apps.example.org"}; !slices.Equal(hostnames, want) {
		t.Errorf("want %v, got %v", want, hostnames)
	}
	// Both had the same, and the first to come got it.
	e := claimedAs(t, nil, "shop", "team-a", `{"ingress":{"host":"`+earlier+`"}}`, strings.Replace(platformInput, `"domain"`, `"hosts":["*.apps.example.org"],"domain"`, 1)).install()
	e.ask(`{}`)
	e.req.Input = resource.MustStructJSON(platformInput)
	e.cycle(4)
	if owns(e) != withGRPC(earlier) || e.status("argocd", "url") != "https://"+earlier {
		t.Errorf("the hostname that the tenant had is %q at %s", owns(e), e.status("argocd", "url"))
	}
	// Its record is deleted by hand, and comes back.
	clear(e.cluster)
	e.protect()
	delete(e.req.GetObserved().GetResources(), tenant.HostnameResource(earlier))
	if e.reconcile(); owns(e) != withGRPC(earlier) || argocdValues(e)["domain"] != earlier || recordedFor(e, earlier) != "team-a/shop" {
		t.Errorf("without its record, the tenant has %q at %v", owns(e), argocdValues(e)["domain"])
	}
	second := claimedAs(t, e, "shop-team", "a", `{}`, platformInput).install()
	if got := second.status("argocd", "url"); got != "https://shop-team--a.apps.example.org" {
		t.Errorf("the second has %s", got)
	}
}

// TestHostnamesAreBounded: a claim that keeps Ingresses of its own keeps few hostnames, and says which.
func TestHostnamesAreBounded(t *testing.T) {
	e := newEngine(t, tenantXR(`{"ingress":{"host":"h0.example.org"}}`), "").install()
	e.ingresses = 1
	held := func() (n int) {
		for name := range e.req.GetObserved().GetResources() {
			if strings.HasPrefix(name, tenant.HostnamePrefix) {
				n++
			}
		}
		return n
	}
	for i := 1; i < 12; i++ {
		e.ask(fmt.Sprintf(`{"ingress":{"host":"h%d.example.org"}}`, i))
		e.cycle(4)
	}
	c := e.condition(v1alpha1.ConditionIngressReady)
	want := "Hostname h11.example.org isn't reserved, because this claim keeps 8 others, the most that one may have: delete the Ingresses in the virtual cluster for h0.example.org, h1.example.org, h2.example.org, h3.example.org, h4.example.org, h5.example.org, h6.example.org; h7.example.org stays in use"
	if n := held(); n != 8 || c.GetReason() != v1alpha1.ReasonTooManyHosts || c.GetMessage() != want || e.status("argocd", "url") != "https://h7.example.org" {
		t.Errorf("the claim keeps %d hostnames at %s: %v", n, e.status("argocd", "url"), c)
	}
	// It may go back to one that it keeps.
	e.ask(`{"ingress":{"host":"h1.example.org"}}`)
	e.cycle(4)
	if got := e.status("argocd", "url"); got != "https://h1.example.org" || held() != 8 {
		t.Errorf("the claim is at %s, and keeps %d hostnames", got, held())
	}
	e.ask(`{"ingress":{"host":"h11.example.org"}}`)
	e.ingresses = 0
	e.cycle(8)
	if got := e.status("argocd", "url"); got != "https://h11.example.org" || held() != 1 {
		t.Errorf("without Ingresses of its own, the claim is at %s, and keeps %d hostnames: %v", got, held(), e.condition(v1alpha1.ConditionIngressReady))
	}
}

// TestHostnameOutlivesItsIngresses: of a tenant that is deleted, the Ingresses go with its namespace, and its hostnames after that.
func TestHostnameOutlivesItsIngresses(t *testing.T) {
	e := newEngine(t, tenantXR(`{"ingress":{"host":"a.example.org"}}`), "").install()
	owners := wire.Of(e.rsp.GetDesired().GetResources()[tenant.HostnameResource("a.example.org")].GetResource()).List("metadata", "ownerReferences")
	if len(owners) != 1 || owners[0].String("kind") != "Namespace" || owners[0].String("uid") != "uid-of-the-namespace" {
		t.Errorf("the record's owners are %v", owners)
	}
}

// TestHostnamesOfTwoTenants: whatever two claims are edited to, and whatever the platform's domain, no hostname is two tenants' at once,
// and none is a tenant's whose record isn't.
func TestHostnamesOfTwoTenants(t *testing.T) {
	t.Parallel()
	for seed := range seeds(15) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // A test that can be repeated.
			input := func() string {
				return []string{
					"", `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org"}}`,
					`{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","hosts":["*.apps.example.org","*.example.org"]}}`,
				}[random.IntN(3)]
			}
			// Of names that would have the same hostname if a dash were put between them.
			a := claimedAs(t, nil, "shop", "team-a", `{}`, input())
			b := claimedAs(t, a, "shop-team", "a", `{}`, input())
			both := []*engine{a, b}
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
					e.ask(spec)
				case n == 2:
					in := input()
					did = append(did, claimOf(e)+" has input "+in)
					if e.req.Input = nil; in != "" {
						e.req.Input = resource.MustStructJSON(in)
					}
				case n == 3:
					// The other one's records of now come after this one's request.
					if random.IntN(2) == 0 {
						spec := specs[random.IntN(len(specs))]
						did = append(did, "both ask "+spec)
						a.ask(spec)
						b.ask(spec)
					}
					did = append(did, claimOf(e)+" is reconciled from what was before the other")
					e.stale = maps.Clone(e.cluster)
					both[(slices.Index(both, e)+1)%2].reconcile()
					e.reconcile()
					e.stale = nil
				case n < 8:
					did = append(did, claimOf(e)+" is reconciled")
					e.reconcile()
				default:
					did = append(did, claimOf(e)+" is healed")
					e.ingresses = random.IntN(2)
					e.heal()
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
