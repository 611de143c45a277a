//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// The embedded cluster's Gateway, and its listener.
	gatewayNamespace, gatewayName, gatewayListener = "traefik", "tenants", "https"
	// routedPlan is a plan whose claims that Gateway serves, and movingPlan one whose claims move to it.
	routedPlan, movingPlan = "e2e-routed", "e2e-moving"
	// routeWithin is how long the provider may take to see what a controller says of an HTTPRoute: it looks every 30 seconds.
	routeWithin = 3 * time.Minute
)

var httpRoute = schema.GroupVersionKind{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"}

// routed is a customer whose URL a Gateway serves; rival wants its hostname, and moved has an Ingress first.
type routed struct {
	live, rival, moved *claim.Live
	plan, moving       *installedPlan
	host, movedHost    string
	authorities        []byte
	password           string
}

// TestGateway has claims whose URLs the Gateway of the embedded cluster serves, by the Gateway API.
func TestGateway(t *testing.T) {
	if ingress.Address == "" {
		t.Skip("GATEWAYS ARE NOT TRIED: THAT TAKES THE ONE OF THE EMBEDDED CLUSTER, AND THE TESTS RUN ON ANOTHER ONE")
	}
	t.Parallel()
	r := &routed{host: "routed." + ingress.Domain, movedHost: "relocated." + ingress.Domain}
	t.Cleanup(func() { r.remove(context.Background(), t) })
	testenv.Test(t, features.New("gateway").
		Setup(r.install).
		Assess("URLIsServed", r.served).
		Assess("CLIWorksThroughIt", r.cli).
		Assess("BrowserShowsIt", r.browse).
		Assess("HostIsTheFirstClaims", r.taken).
		Assess("NoTenantWritesRoutes", r.forged).
		Assess("RouteOfAVirtualClusterStaysThere", r.notSynced).
		Assess("URLMovesFromIngressToGateway", r.moves).
		Assess("HostGivenUpIsTheNextClaims", r.givenUp).
		Feature())
}

// observed are the objects of examples/install/gateway.yaml, for the embedded cluster's Gateway.
func (r *routed) observed(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile("../../examples/install/gateway.yaml")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.NewReplacer("edge", gatewayNamespace, "public", gatewayName).Replace(string(text))
	var out []*unstructured.Unstructured
	for _, doc := range strings.Split(own, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal([]byte(doc), &o.Object); err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	return out
}

func (r *routed) install(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	var err error
	if r.authorities, err = os.ReadFile(ingress.CA); err != nil {
		t.Fatal(err)
	}
	for _, o := range r.observed(t) {
		client, err := host.Resource(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Create(ctx, o, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	gateway := map[string]any{"namespace": gatewayNamespace, "name": gatewayName, "sectionName": gatewayListener}
	r.plan = installPlan(ctx, t, "small", routedPlan, with(t, gateway, "ingress", "gateway"))
	r.moving = installPlan(ctx, t, "small", movingPlan)
	r.live = claim.Create(ctx, t, host, newClaim("routed").Set(routedPlan, "spec", "plan").Set(r.host, "spec", "ingress", "host"))
	r.moved = claim.Create(ctx, t, host, newClaim("relocated").Set(movingPlan, "spec", "plan").Set(r.movedHost, "spec", "ingress", "host"))
	return ctx
}

func (r *routed) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, r.live, r.rival, r.moved)
	r.plan.remove(ctx, t)
	r.moving.remove(ctx, t)
	if t.Failed() && keep {
		return
	}
	for _, o := range r.observed(t) {
		client, err := host.Resource(o.GroupVersionKind(), o.GetNamespace())
		if err != nil {
			t.Error(err)
			continue
		}
		if err := client.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
			t.Error(err)
		}
	}
}

func (r *routed) routes(t *testing.T, namespace string) dynamic.ResourceInterface {
	t.Helper()
	client, err := host.Resource(httpRoute, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// routeHosts are the hostnames of the HTTPRoutes in a namespace of the host.
func (r *routed) routeHosts(ctx context.Context, t *testing.T, namespace string) []string {
	t.Helper()
	list, err := r.routes(t, namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, o := range list.Items {
		hostnames, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "hostnames")
		out = append(out, hostnames...)
	}
	slices.Sort(out)
	return out
}

// ingressesIn are the names of the Ingresses in a namespace of the host.
func ingressesIn(ctx context.Context, t *testing.T, namespace string) []string {
	t.Helper()
	var out []string
	for _, o := range (&site{}).ingresses(ctx, t, namespace) {
		out = append(out, o.Name)
	}
	return out
}

// served looks at what a claim gets whose platform has a Gateway.
func (r *routed) served(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	r.live.AwaitReady(ctx, t, readyWithin)
	(&site{}).servedAt(ctx, t, r.live, r.host, r.authorities)
	r.password = connectionDetails(ctx, t, r.live)["password"]
	state := r.live.Await(ctx, t, routeWithin, "is served at the Gateway's address", func(state *claim.State) bool {
		return state.Condition(claim.IngressReady).Message == "https://"+r.host+" is served at "+ingress.Address
	})
	if got := r.routeHosts(ctx, t, state.Namespace); !slices.Equal(got, []string{r.host}) {
		t.Errorf("the host has HTTPRoutes for %v", got)
	}
	if got := ingressesIn(ctx, t, state.Namespace); len(got) > 0 {
		t.Errorf("the host has Ingresses %v", got)
	}
	measured.add("gateway: claim to served", time.Since(r.live.Created))
	return ctx
}

// cli logs in with the argocd program. A Gateway speaks HTTP/1 to Argo CD, so gRPC goes in gRPC-web's form, which the program finds out by
// itself.
func (r *routed) cli(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const fallsBack = "Use flag --grpc-web"
	for name, way := range map[string]struct {
		warns bool
		flags []string
	}{
		"gRPC-web": {false, []string{"--grpc-web"}},
		"no flags": {true, nil},
	} {
		cli := argocd.NewCLI(t, map[string]string{r.host: ingress.Address}, ingress.CA)
		run := func(args ...string) (out string) {
			t.Helper()
			eventually.True(ctx, t, loginWithin, fmt.Sprintf("%s: Argo CD answers argocd %s", name, args[0]), func(ctx context.Context) (bool, string) {
				var warnings string
				var err error
				out, warnings, err = cli.Run(ctx, append(args, way.flags...)...)
				return err == nil && strings.Contains(warnings, fallsBack) == way.warns, fmt.Sprint(err, warnings)
			})
			return out
		}
		run("login", r.host, "--username", "admin", "--password", r.password)
		if out := run("account", "get-user-info", "-o", "json"); !strings.Contains(out, `"username": "admin"`) {
			t.Errorf("%s: argocd account get-user-info prints\n%s", name, out)
		}
		run("cluster", "list")
	}
	return ctx
}

func (r *routed) browse(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	b := browser.Open(t, browser.Options{Hosts: map[string]string{ingress.Domain: ingress.Address}, Width: 1280, Height: 680})
	url := "https://" + r.host
	b.LogIn(t, url, "admin", r.password)
	b.Visit(t, url+"/settings/clusters", pageWithin, "in-cluster")
	b.Visit(t, url+"/user-info", pageWithin, "Username: admin")
	return ctx
}

// taken has another claim of the Gateway want the first one's hostname.
func (r *routed) taken(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	r.rival = claim.Create(ctx, t, host, newClaim("rerouted").Set(routedPlan, "spec", "plan").Set(r.host, "spec", "ingress", "host"))
	hostRefused(ctx, t, r.rival, r.host, "claim routed")
	state := r.rival.AwaitReady(ctx, t, readyWithin)
	if got := r.routeHosts(ctx, t, state.Namespace); len(got) > 0 {
		t.Errorf("the rival has HTTPRoutes for %v", got)
	}
	(&site{}).servedAt(ctx, t, r.live, r.host, r.authorities)
	return ctx
}

// route is an HTTPRoute of the embedded cluster's Gateway.
func (r *routed) route(namespace, name string, hostnames ...any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"parentRefs": []any{map[string]any{"namespace": gatewayNamespace, "name": gatewayName}},
		"rules":      []any{map[string]any{"backendRefs": []any{map[string]any{"name": "argocd-server-x-argocd-x-vcluster", "port": int64(80)}}}},
	}}}
	if len(hostnames) > 0 {
		o.Object["spec"].(map[string]any)["hostnames"] = hostnames
	}
	o.SetGroupVersionKind(httpRoute)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// forged writes HTTPRoutes for the first claim's hostname on the host, as each account of the rival's namespace, and as its installer.
func (r *routed) forged(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	namespace := tenantNamespace(ctx, r.rival)
	accounts, err := host.Typed.CoreV1().ServiceAccounts(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(accounts.Items) == 0 {
		t.Fatalf("the rival has ServiceAccounts %v, %v", accounts, err)
	}
	try := func(account, name, refusal string, hostnames ...any) {
		t.Helper()
		client, err := as(t, account, "system:serviceaccounts").Resource(httpRoute, namespace)
		if err != nil {
			t.Fatal(err)
		}
		// As the provider that composes the HTTPRoute does.
		_, err = client.Apply(ctx, name, r.route(namespace, name, hostnames...), metav1.ApplyOptions{FieldManager: "provider-kubernetes/e2e", Force: true})
		if err == nil || !strings.Contains(err.Error(), refusal) {
			t.Errorf("%s may have HTTPRoute %s for %v: want %q, got %v", account, name, hostnames, refusal, err)
		}
	}
	for _, account := range accounts.Items {
		name := "system:serviceaccount:" + namespace + ":" + account.Name
		try(name, "virtual-argocd", "cannot patch resource", r.host)
		try(name, "mine", "cannot patch resource", r.host)
	}
	installer := "system:serviceaccount:" + crossplane + ":" + namespace
	try(installer, "virtual-argocd", "the hostnames of a tenant's HTTPRoute are those of its claim", r.host)
	try(installer, "virtual-argocd", "the hostnames of a tenant's HTTPRoute are those of its claim")
	try(installer, "mine", "ValidatingAdmissionPolicy 'virtual-argocd-", r.host)
	if got := r.routeHosts(ctx, t, namespace); len(got) > 0 {
		t.Errorf("the rival has HTTPRoutes for %v", got)
	}
	return ctx
}

// notSynced has the rival install the Gateway API in its virtual cluster, and make an HTTPRoute there.
func (r *routed) notSynced(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	cluster, namespace := open(ctx, t, r.rival), tenantNamespace(ctx, r.rival)
	files, err := toolchain.GatewayAPI(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		o := &unstructured.Unstructured{}
		if err := utilyaml.Unmarshal(text, &o.Object); err != nil {
			t.Fatal(err)
		}
		kinds, err := cluster.Resource(o.GroupVersionKind(), "")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := kinds.Create(ctx, o, metav1.CreateOptions{}); err != nil && !kerrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	var client dynamic.ResourceInterface
	eventually.True(ctx, t, time.Minute, "the virtual cluster has HTTPRoutes", func(context.Context) (bool, string) {
		cluster.Forget()
		client, err = cluster.Resource(httpRoute, "argocd")
		return err == nil, fmt.Sprint(err)
	})
	made := r.route("argocd", "mine", r.host)
	eventually.True(ctx, t, time.Minute, "somebody makes an HTTPRoute there", func(ctx context.Context) (bool, string) {
		_, err := client.Create(ctx, made, metav1.CreateOptions{})
		return err == nil || kerrors.IsAlreadyExists(err), fmt.Sprint(err)
	})
	// An object that the syncer copies, made later, has come to the host.
	marker := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}}}}
	marker.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
	marker.SetName("marker")
	services, err := cluster.Resource(marker.GroupVersionKind(), "argocd")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := services.Create(ctx, marker, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "what is made later has come to the host", func(ctx context.Context) (bool, string) {
		_, err := host.Typed.CoreV1().Services(namespace).Get(ctx, "marker-x-argocd-x-vcluster", metav1.GetOptions{})
		return err == nil, fmt.Sprint(err)
	})
	if got := r.routeHosts(ctx, t, namespace); len(got) > 0 {
		t.Errorf("the host has HTTPRoutes of the virtual cluster, for %v", got)
	}
	(&site{}).servedAt(ctx, t, r.live, r.host, r.authorities)
	return ctx
}

// moves has the plan of a claim with an Ingress get a Gateway, beside the Ingress at first. No pod is replaced.
func (r *routed) moves(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	namespace := r.moved.AwaitReady(ctx, t, readyWithin).Namespace
	(&site{}).servedAt(ctx, t, r.moved, r.movedHost, r.authorities)
	before, _ := podsOf(ctx, t, namespace, nil)
	gateway := fmt.Sprintf(`{"namespace":%q,"name":%q,"sectionName":%q`, gatewayNamespace, gatewayName, gatewayListener)
	message := "https://" + r.movedHost + " is served at " + ingress.Address
	for _, step := range []struct {
		name, patch, message string
		routed               []string
		ingresses            int
	}{
		{"a Gateway beside the Ingress", `{"spec":{"ingress":{"gateway":` + gateway + `,"keepIngress":true}}}}`, message + "; the Ingress is served at " + ingress.Address, []string{r.movedHost}, 1},
		{"the Gateway alone", `{"spec":{"ingress":{"gateway":` + gateway + `,"keepIngress":false}}}}`, message, []string{r.movedHost}, 0},
		{"the Ingress again", `{"spec":{"ingress":{"gateway":null}}}`, message, nil, 1},
	} {
		r.moving.patch(ctx, t, step.patch)
		eventually.True(ctx, t, routeWithin, "the claim has "+step.name, func(ctx context.Context) (bool, string) {
			state, err := r.moved.State(ctx)
			if err != nil {
				return false, err.Error()
			}
			routes, ingresses := r.routeHosts(ctx, t, namespace), ingressesIn(ctx, t, namespace)
			is := state.Condition(claim.IngressReady)
			return is.Status == metav1.ConditionTrue && is.Message == step.message && slices.Equal(routes, step.routed) && len(ingresses) == step.ingresses,
				fmt.Sprintf("%s, %s; HTTPRoutes for %v, Ingresses %v", is.Status, is.Message, routes, ingresses)
		})
		(&site{}).servedAt(ctx, t, r.moved, r.movedHost, r.authorities)
		after, _ := podsOf(ctx, t, namespace, nil)
		keepsPods(t, step.name, before, after)
	}
	return ctx
}

// givenUp has the first claim take another hostname: then the rival gets the one that it wants.
func (r *routed) givenUp(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	r.live.Patch(ctx, t, "routed-again."+ingress.Domain, "spec", "ingress", "host")
	(&site{}).servedAt(ctx, t, r.live, "routed-again."+ingress.Domain, r.authorities)
	(&site{}).servedAt(ctx, t, r.rival, r.host, r.authorities)
	return ctx
}
