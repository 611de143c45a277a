package ingress_test

import (
	"slices"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// routeOf is the spec of a tenant's HTTPRoute.
func routeOf(e *crossplanetest.Engine) map[string]any {
	return crossplanetest.Field(e.Observed(tenant.Route), "spec", "forProvider", "manifest", "spec").AsMap()
}

func policiesOfRoute(e *crossplanetest.Engine) []string {
	return wire.Of(e.Observed(tenant.Route)).Strings("spec", "managementPolicies")
}

func setInput(e *crossplanetest.Engine, input string) {
	e.Request.Input = resource.MustStructJSON(input)
}

// keepsIngress is GatewayInput with Ingresses beside the HTTPRoutes.
var keepsIngress = strings.Replace(crossplanetest.GatewayInput, `"sectionName"`, `"keepIngress":true,"sectionName"`, 1)

func TestRoute(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, spec string
		plan         string
		hostnames    []any
		parent       map[string]any
		path         string
		port         float64
	}{
		"Domain": {
			reason: "A claim that says nothing gets a name below the platform's domain.", spec: `{}`,
			hostnames: []any{"customer1--team-a.apps.example.org"},
		},
		"Hosts": {
			reason: "All hostnames of a claim, the one of its URL first.", spec: `{"ingress":{"host":"b.example.org","additionalHosts":["a.example.org"]}}`,
			hostnames: []any{"b.example.org", "a.example.org"},
		},
		"Path": {
			reason: "Argo CD serves everything below its path.", spec: `{"argocd":{"values":{"configs":{"params":{"server.rootpath":"/argocd"}}}}}`,
			hostnames: []any{"customer1--team-a.apps.example.org"}, path: "/argocd",
		},
		"Port": {
			reason: "The Service may have another port.", spec: `{"argocd":{"values":{"server":{"service":{"servicePortHttp":8081}}}}}`,
			hostnames: []any{"customer1--team-a.apps.example.org"}, port: 8081,
		},
		"Plan": {
			reason: "A plan may have a Gateway of its own.", spec: `{"plan":"own"}`, plan: `{"ingress":{"gateway":{"namespace":"own","name":"own"}}}`,
			hostnames: []any{"customer1--team-a.apps.example.org"}, parent: map[string]any{"namespace": "own", "name": "own"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, crossplanetest.GatewayInput)
			if tc.plan != "" {
				e.AddPlan("own", tc.plan)
			}
			e.SetGateway("192.0.2.7")
			e.Install()
			if tc.parent == nil {
				tc.parent = map[string]any{"namespace": "gateways", "name": "public", "sectionName": "https"}
			}
			if tc.path == "" {
				tc.path = "/"
			}
			if tc.port == 0 {
				tc.port = 80
			}
			want := map[string]any{
				"parentRefs": []any{tc.parent}, "hostnames": tc.hostnames,
				"rules": []any{map[string]any{
					"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": tc.path}}},
					"backendRefs": []any{map[string]any{"name": "argocd-server-x-argocd-x-vcluster", "port": tc.port}},
				}},
			}
			if diff := cmp.Diff(want, routeOf(e)); diff != "" {
				t.Errorf("\n%s\nHTTPRoute: -want, +got:\n%s", tc.reason, diff)
			}
			v := argocdValues(e)
			if v["ingress"] != nil || e.Has(tenant.IngressObject) || e.Has(tenant.IngressesBinding) {
				t.Errorf("\n%s\nthe tenant has an Ingress, or may write some: %v", tc.reason, v["ingress"])
			}
			url := "https://" + tc.hostnames[0].(string) + strings.TrimSuffix(tc.path, "/")
			if v["domain"] != tc.hostnames[0] || v["params"].(map[string]any)["server.insecure"] != "true" || e.Status("argocd", "url") != url {
				t.Errorf("\n%s\nArgo CD has %v, at %s", tc.reason, v, e.Status("argocd", "url"))
			}
			at := "192.0.2.7"
			if tc.plan != "" {
				at = "by the platform's Gateway, whose address isn't observed"
			}
			if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.HasPrefix(c.GetMessage(), url) || !strings.HasSuffix(c.GetMessage(), at) {
				t.Errorf("\n%s\nIngressReady: %v", tc.reason, c)
			}
			if slices.Contains(policiesOfRoute(e), "Delete") || len(policiesOfRoute(e)) == 0 {
				t.Errorf("\n%s\nthe tenant's deletion would wait for the HTTPRoute: %v", tc.reason, policiesOfRoute(e))
			}
		})
	}
}

// TestRouteCondition: the condition is what the Gateway's controller says.
func TestRouteCondition(t *testing.T) {
	const yes, resolved = `{"type":"Accepted","status":"True","reason":"Accepted"}`, `{"type":"ResolvedRefs","status":"True","reason":"ResolvedRefs"}`
	for name, tc := range map[string]struct {
		conditions []string
		addresses  []string
		reason     string
		want       string
	}{
		"Served":         {[]string{yes, resolved}, []string{"192.0.2.7", "2001:db8::7"}, v1alpha1.ReasonAvailable, "https://a.example.org is served at 192.0.2.7, 2001:db8::7"},
		"ByName":         {[]string{yes, resolved}, []string{"gw.example.org"}, v1alpha1.ReasonAvailable, "is served at gw.example.org"},
		"NoAddress":      {[]string{yes, resolved}, []string{}, v1alpha1.ReasonWaitingForAddress, "The platform's Gateway, which is to serve hostname a.example.org, has no address"},
		"WrongAddresses": {[]string{yes, resolved}, []string{"a b", "<script>"}, v1alpha1.ReasonWaitingForAddress, "has no address"},
		"NotLooked":      {nil, []string{"192.0.2.7"}, v1alpha1.ReasonWaitingForAddress, "hasn't accepted the HTTPRoute for hostname a.example.org yet: its controller must run"},
		"NoListener": {
			[]string{`{"type":"Accepted","status":"False","reason":"NoMatchingListenerHostname","message":"no listener for a.example.org"}`, resolved},
			[]string{"192.0.2.7"}, v1alpha1.ReasonRouteRefused, "refuses the HTTPRoute for hostname a.example.org, with Accepted False, NoMatchingListenerHostname: no listener for a.example.org",
		},
		"NotAllowed": {[]string{`{"type":"Accepted","status":"False","reason":"NotAllowedByListeners"}`}, []string{"192.0.2.7"}, v1alpha1.ReasonRouteRefused, "NotAllowedByListeners"},
		"NoService":  {[]string{yes, `{"type":"ResolvedRefs","status":"False","reason":"BackendNotFound"}`}, []string{"192.0.2.7"}, v1alpha1.ReasonRouteRefused, "with ResolvedRefs False, BackendNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
			e.SetGateway(tc.addresses...)
			e.SetRoute(tc.conditions...)
			e.Reconcile()
			if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != tc.reason || !strings.Contains(c.GetMessage(), tc.want) {
				t.Errorf("want %s, %q, got %s: %s", tc.reason, tc.want, c.GetReason(), c.GetMessage())
			}
		})
	}
}

// TestRouteOfAnotherGeneration: what a controller said of an earlier HTTPRoute isn't about this one, nor what it says of another Gateway.
func TestRouteOfAnotherGeneration(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	is := crossplanetest.Field(e.Observed(tenant.Route), "status", "atProvider", "manifest")
	crossplanetest.Field(is, "metadata").Fields["generation"] = structpb.NewNumberValue(2)
	for _, c := range crossplanetest.Field(is, "status").GetFields()["parents"].GetListValue().GetValues()[0].GetStructValue().GetFields()["conditions"].GetListValue().GetValues() {
		c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(1)
	}
	if e.Reconcile(); e.Condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonWaitingForAddress {
		t.Errorf("of another generation: %v", e.Condition(v1alpha1.ConditionIngressReady))
	}
	e.RunProviders()
	e.Reconcile()
	if e.Condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonAvailable {
		t.Fatalf("the HTTPRoute isn't served: %v", e.Condition(v1alpha1.ConditionIngressReady))
	}
	setInput(e, strings.Replace(crossplanetest.GatewayInput, `"public"`, `"private"`, 1))
	if e.Reconcile(); e.Condition(v1alpha1.ConditionIngressReady).GetReason() == v1alpha1.ReasonAvailable {
		t.Errorf("of another Gateway: %v", e.Condition(v1alpha1.ConditionIngressReady))
	}
}

// TestRouteProblem: where the host has no Gateway API, or refuses the HTTPRoute, the condition says so, and the tenant is Ready.
func TestRouteProblem(t *testing.T) {
	e := crossplanetest.New(t, `{}`, crossplanetest.GatewayInput).Install()
	o := e.Observed(tenant.Route)
	delete(crossplanetest.Field(o, "status").GetFields(), "atProvider")
	crossplanetest.SetCondition(o, "Synced", "False", "ReconcileError", `no matches for kind "HTTPRoute" in version "gateway.networking.k8s.io/v1"`)
	e.Reconcile()
	if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetReason() != v1alpha1.ReasonInstalling || !strings.Contains(c.GetMessage(), `no matches for kind "HTTPRoute"`) {
		t.Errorf("IngressReady: %v", c)
	}
	if e.Status("phase") != "Ready" {
		t.Errorf("the tenant is %s", e.Status("phase"))
	}
}

// TestFromIngressToGateway: a tenant's URL moves to a Gateway, and back, without a change of anything that restarts pods.
func TestFromIngressToGateway(t *testing.T) {
	const domain = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org"}}`
	const spec = `{"ingress":{"host":"a.example.org","className":"nginx","annotations":{"nginx.ingress.kubernetes.io/proxy-body-size":"10m"},"tls":{"issuer":{"name":"letsencrypt"}}}}`
	e := crossplanetest.New(t, spec, domain).Install()
	vcluster := crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider").AsMap()
	withoutIngress := func() map[string]any {
		v := crossplanetest.Field(e.Observed(tenant.ArgoCDRelease), "spec", "forProvider", "values").AsMap()
		delete(v["server"].(map[string]any), "ingress")
		return v
	}
	argocd := withoutIngress()
	unchanged := func() {
		t.Helper()
		if diff := cmp.Diff(vcluster, crossplanetest.Field(e.Observed(tenant.VClusterRelease), "spec", "forProvider").AsMap()); diff != "" {
			t.Errorf("the virtual cluster changes:\n%s", diff)
		}
		if diff := cmp.Diff(argocd, withoutIngress()); diff != "" {
			t.Errorf("Argo CD changes:\n%s", diff)
		}
		if got := crossplanetest.Refusal(e.Response); got != "" || e.Status("argocd", "url") != "https://a.example.org" || owns(e) != withGRPC("a.example.org") {
			t.Errorf("the tenant is at %s with %q, refused: %s", e.Status("argocd", "url"), owns(e), got)
		}
	}
	setInput(e, keepsIngress)
	e.Cycle(3)
	unchanged()
	if c := e.Condition(v1alpha1.ConditionIngressReady); !e.Has(tenant.Route) || !slices.Equal(e.IngressHosts(), []string{"a.example.org"}) ||
		!strings.Contains(c.GetMessage(), "served by the platform's Gateway, whose address isn't observed; the Ingress is served at 192.0.2.1; whether cert-manager") {
		t.Errorf("while both serve it, the tenant has an HTTPRoute: %t, an Ingress for %v: %v", e.Has(tenant.Route), e.IngressHosts(), c)
	}
	setInput(e, crossplanetest.GatewayInput)
	e.Cycle(3)
	unchanged()
	c := e.Condition(v1alpha1.ConditionIngressReady)
	want := "; without effect, because a Gateway serves it: spec.ingress.annotations[nginx.ingress.kubernetes.io/proxy-body-size], spec.ingress.className, spec.ingress.tls.issuer"
	if len(e.IngressHosts()) > 0 || e.Has(tenant.IngressObject) || c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE || !strings.HasSuffix(c.GetMessage(), want) {
		t.Errorf("with the Gateway, the tenant has an Ingress for %v: %v", e.IngressHosts(), c)
	}
	// vcluster still deletes what it has created.
	if !e.Has(tenant.IngressesBinding) {
		t.Error("vcluster may not delete the Ingress on the host")
	}
	setInput(e, domain)
	e.Reconcile()
	if slices.Contains(policiesOfRoute(e), "Observe") || !slices.Equal(e.RouteHosts(), []string{"a.example.org"}) {
		t.Errorf("the Object may not delete the HTTPRoute: %v, for %v", policiesOfRoute(e), e.RouteHosts())
	}
	e.RunProviders()
	e.Cycle(2)
	unchanged()
	if e.Has(tenant.Route) || !slices.Equal(e.IngressHosts(), []string{"a.example.org"}) {
		t.Errorf("back, the tenant has an HTTPRoute: %t, and an Ingress for %v", e.Has(tenant.Route), e.IngressHosts())
	}
}

// TestRouteWithoutHostname: the HTTPRoute of a tenant that has no hostname any more is deleted.
func TestRouteWithoutHostname(t *testing.T) {
	const input = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"gateway":{"namespace":"gateways","name":"public"}}}`
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, input).Install()
	e.SetSpec(`{}`)
	e.Cycle(6)
	if e.Has(tenant.Route) || e.Has(tenant.HostnameResource("a.example.org")) {
		t.Errorf("the tenant keeps its HTTPRoute: %t, its hostname: %t", e.Has(tenant.Route), e.Has(tenant.HostnameResource("a.example.org")))
	}
}

// TestHostnameStaysWithItsRoute: a hostname is another's only once the host's HTTPRoute doesn't have it any more.
func TestHostnameStaysWithItsRoute(t *testing.T) {
	e := claimedAs(t, nil, "first", "team-a", `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	e.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	for range 3 {
		e.Reconcile()
	}
	// The provider hasn't read what the HTTPRoute has now: the host refuses its change, for instance.
	before := crossplanetest.Field(e.Observed(tenant.Route), "status", "atProvider", "manifest", "spec")
	for range 6 {
		e.RunProviders()
		crossplanetest.Field(e.Observed(tenant.Route), "status", "atProvider", "manifest").Fields["spec"] = structpb.NewStructValue(before)
		e.Reconcile()
		if recordedFor(e, "a.example.org") != "team-a/first" || !strings.Contains(owns(e), "a.example.org") {
			t.Fatalf("the hostname is given up: it is of %q, and the namespace has %s", recordedFor(e, "a.example.org"), owns(e))
		}
	}
	e.Cycle(8)
	if e.Has(tenant.HostnameResource("a.example.org")) || owns(e) != withGRPC("b.example.org") || !slices.Equal(e.RouteHosts(), []string{"b.example.org"}) {
		t.Errorf("the tenant keeps what it has given up: %q, %v", owns(e), e.RouteHosts())
	}
}

// TestRouteWaitsForItsNamespace: no HTTPRoute has a hostname that the host doesn't allow the tenant yet, since it would be refused.
func TestRouteWaitsForItsNamespace(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	e.SetSpec(`{"ingress":{"host":"a.example.org","additionalHosts":["b.example.org"]}}`)
	e.Reconcile()
	ns := e.Observed(tenant.Namespace)
	for range 3 {
		crossplanetest.SetCondition(ns, "Synced", "False", "ReconcileError", "")
		if e.Reconcile(); !slices.Equal(e.RouteHosts(), []string{"a.example.org"}) {
			t.Errorf("before the namespace is changed, the HTTPRoute is for %v", e.RouteHosts())
		}
		if c := e.Condition(v1alpha1.ConditionIngressReady); c.GetReason() == v1alpha1.ReasonAvailable {
			t.Errorf("before the HTTPRoute is for both: %v", c)
		}
	}
	e.Cycle(2)
	if !slices.Equal(e.RouteHosts(), []string{"a.example.org", "b.example.org"}) {
		t.Errorf("the HTTPRoute is for %v", e.RouteHosts())
	}
}

// TestRouteOfAnothersHostname: what another claim has, no HTTPRoute gets.
func TestRouteOfAnothersHostname(t *testing.T) {
	victim := claimedAs(t, nil, "victim", "team-a", `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	for name, spec := range map[string]string{
		"host":            `{"ingress":{"host":"a.example.org"}}`,
		"additionalhosts": `{"ingress":{"host":"b.example.org","additionalHosts":["a.example.org"]}}`,
	} {
		attacker := claimedAs(t, victim, name, "team-b", `{}`, crossplanetest.GatewayInput).Install()
		attacker.SetSpec(spec)
		attacker.Cycle(6)
		if slices.Contains(attacker.RouteHosts(), "a.example.org") || attacker.Condition(v1alpha1.ConditionIngressReady).GetReason() != v1alpha1.ReasonHostTaken {
			t.Errorf("%s: the attacker's HTTPRoute is for %v: %v", name, attacker.RouteHosts(), attacker.Condition(v1alpha1.ConditionIngressReady))
		}
	}
	victim.Cycle(2)
	if !slices.Equal(victim.RouteHosts(), []string{"a.example.org"}) {
		t.Errorf("the victim's HTTPRoute is for %v", victim.RouteHosts())
	}
}

// TestNoEffectWithGateway: what a claim writes of an Ingress, and can't take effect, is refused.
func TestNoEffectWithGateway(t *testing.T) {
	const why = "has no effect, because a Gateway of this platform serves claims, and not an Ingress: leave it out"
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"Class":         {`{"ingress":{"className":"nginx"}}`, []string{"spec.ingress.className: " + why}},
		"Annotations":   {`{"ingress":{"annotations":{"a/a":"x","b/b":"y"}}}`, []string{"spec.ingress.annotations[a/a]: " + why, "spec.ingress.annotations[b/b]: " + why}},
		"Certificate":   {`{"ingress":{"tls":{"secretName":"cert"}}}`, []string{"spec.ingress.tls.secretName: " + why + "; TLS ends at the Gateway, whose certificates are the platform's"}},
		"Issuer":        {`{"ingress":{"tls":{"issuer":{"name":"ca"}}}}`, []string{"spec.ingress.tls.issuer: " + why}},
		"ForGRPC":       {`{"argocd":{"values":{"server":{"ingressGrpc":{"enabled":true}}}}}`, []string{"spec.argocd.values.server.ingressGrpc: " + why}},
		"ForWebhooks":   {`{"argocd":{"values":{"applicationSet":{"ingress":{"enabled":true}}}}}`, []string{"spec.argocd.values.applicationSet.ingress: " + why}},
		"Own":           {`{"argocd":{"values":{"extraObjects":[{"apiVersion":"networking.k8s.io/v1","kind":"Ingress","metadata":{"name":"a"}}]}}}`, []string{"spec.argocd.values.extraObjects[0]: " + why}},
		"OfTheChart":    {`{"argocd":{"values":{"server":{"ingress":{"enabled":true,"hostname":"a.example.org"}}}}}`, []string{"spec.argocd.values.server.ingress"}},
		"RouteOfAClaim": {`{"argocd":{"chartVersion":"10.1.1","values":{"server":{"httproute":{"enabled":true}}}}}`, []string{"spec.argocd.values.server.httproute.enabled"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, tc.spec, crossplanetest.GatewayInput)
			e.AddSecret("cert", "kubernetes.io/tls", map[string]string{})
			e.CheckRefused(tc.want...)
		})
	}
	e := crossplanetest.New(t, `{"ingress":{"className":"nginx"}}`, keepsIngress).Install()
	if got := crossplanetest.Refusal(e.Response); got != "" || len(e.IngressHosts()) != 1 {
		t.Errorf("beside an Ingress: %s, %v", got, e.IngressHosts())
	}
}

// TestWrongGateway: what can't be named in an HTTPRoute is the platform's mistake.
func TestWrongGateway(t *testing.T) {
	for name, tc := range map[string]struct{ gateway, want string }{
		"Namespace": {`{"namespace":"Gate ways","name":"public"}`, `input.ingress.gateway.namespace: "Gate ways" is not the name of a namespace`},
		"Nameless":  {`{"namespace":"gateways"}`, `input.ingress.gateway.name: "" is not the name of a Gateway`},
		"Listener":  {`{"namespace":"gateways","name":"public","sectionName":"HTTPS"}`, `input.ingress.gateway.sectionName: "HTTPS" is not the name of a listener`},
		"Unknown":   {`{"namespace":"gateways","name":"public","listener":"https"}`, `input.ingress.gateway.listener`},
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{}`, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"gateway":`+tc.gateway+`}}`)
			e.CheckRefused(tc.want)
		})
	}
}

// TestRouteWhileNothingIsKnown: while nobody knows whose the hostname is, the HTTPRoute stays as it is, and its Object may not delete it.
func TestRouteWhileNothingIsKnown(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	req := proto.Clone(e.Request).(*fnv1.RunFunctionRequest)
	record := tenant.HostnameResource("a.example.org")
	delete(req.GetObserved().GetResources(), record)
	delete(req.GetRequiredResources(), record)
	rsp, err := e.Function.RunFunction(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	route := wire.Of(rsp.GetDesired().GetResources()[tenant.Route].GetResource())
	if hostnames := route.Strings("spec", "forProvider", "manifest", "spec", "hostnames"); !slices.Equal(hostnames, []string{"a.example.org"}) || len(route.Strings("spec", "managementPolicies")) == 0 {
		t.Errorf("the HTTPRoute is for %v, with the policies %v", hostnames, route.Strings("spec", "managementPolicies"))
	}
}

// TestRouteOfALostHostname: a tenant whose hostname another has now, since somebody has deleted its record, doesn't go on with it.
func TestRouteOfALostHostname(t *testing.T) {
	e := claimedAs(t, nil, "first", "team-a", `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	delete(e.Cluster, "ConfigMap/crossplane-system/"+tenant.HostnameRecord("a.example.org"))
	delete(e.Request.GetObserved().GetResources(), tenant.HostnameResource("a.example.org"))
	second := claimedAs(t, e, "second", "team-b", `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	if !slices.Equal(second.RouteHosts(), []string{"a.example.org"}) {
		t.Fatalf("the second has %v", second.RouteHosts())
	}
	e.SetSpec(`{"ingress":{"host":"b.example.org"}}`)
	for range 4 {
		if e.Reconcile(); e.Has(tenant.Route) && slices.Contains(e.RouteHosts(), "a.example.org") && len(policiesOfRoute(e)) > 0 || strings.Contains(owns(e), "a.example.org") {
			t.Errorf("the first has %v, and its namespace %q", e.RouteHosts(), owns(e))
		}
		e.RunProviders()
	}
	if !slices.Equal(e.RouteHosts(), []string{"b.example.org"}) {
		t.Errorf("the first has %v", e.RouteHosts())
	}
}

// TestRouteOfASleeper: a tenant that is asleep keeps its HTTPRoute and its hostname.
func TestRouteOfASleeper(t *testing.T) {
	e := crossplanetest.New(t, `{"ingress":{"host":"a.example.org"}}`, crossplanetest.GatewayInput).Install()
	before := e.Observed(tenant.Route).String()
	e.SetSpec(`{"ingress":{"host":"a.example.org"},"hibernation":{"enabled":true}}`)
	e.Cycle(4)
	if e.Status("phase") != "Hibernated" || e.Observed(tenant.Route).String() != before || e.Status("argocd", "url") != "https://a.example.org" {
		t.Errorf("the tenant is %s at %s, with %v", e.Status("phase"), e.Status("argocd", "url"), e.RouteHosts())
	}
}
