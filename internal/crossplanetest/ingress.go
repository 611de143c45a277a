package crossplanetest

import (
	"strings"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// SetIngress sets the status of the Ingress, as JSON.
func (e *Engine) SetIngress(status string) { e.SetManifest(tenant.IngressObject, status) }

// IngressHosts are the hostnames of Argo CD's Ingress, by the values of its Release.
func (e *Engine) IngressHosts() []string {
	v := wire.Of(e.Request.GetObserved().GetResources()[tenant.ArgoCDRelease].GetResource()).Get("spec", "forProvider", "values", "server", "ingress")
	hostname := v.String("hostname")
	if hostname == "" || !v.Bool("enabled") {
		return nil
	}
	hosts := []string{hostname}
	for _, extra := range v.List("extraHosts") {
		hosts = append(hosts, extra.String("name"))
	}
	return hosts
}

// ShowIngress has the Object for Argo CD's Ingress read it on the host, as the Release has it.
func (e *Engine) ShowIngress() {
	e.T.Helper()
	o := e.Observed(tenant.IngressOnHost)
	if e.IngressDeleted {
		SetCondition(o, "Synced", "False", "ReconcileError", "observe failed: not found")
		return
	}
	m := proto.Clone(Field(o, "spec", "forProvider", "manifest")).(*structpb.Struct)
	Field(m, "metadata").Fields["creationTimestamp"] = structpb.NewStringValue(e.IngressCreated.UTC().Format(time.RFC3339))
	var rules, certified []any
	for _, hostname := range e.IngressHosts() {
		rules, certified = append(rules, map[string]any{"host": hostname}), append(certified, hostname)
	}
	spec, err := structpb.NewStruct(map[string]any{"rules": rules, "tls": []any{map[string]any{"hosts": certified}}})
	if err != nil {
		e.T.Fatal(err)
	}
	m.Fields["spec"] = structpb.NewStructValue(spec)
	show(o, m)
}

// SetRoute has the Object for the HTTPRoute read it, with what a controller says of it: conditions, as JSON.
func (e *Engine) SetRoute(conditions ...string) {
	parent := wire.Of(e.Observed(tenant.Route)).List("spec", "forProvider", "manifest", "spec", "parentRefs")
	if len(parent) != 1 {
		e.T.Fatalf("the HTTPRoute has %d parents", len(parent))
	}
	ref := string(Must(parent[0].JSON()))
	e.SetManifest(tenant.Route, `{"parents":[{"parentRef":`+ref+`,"controllerName":"example.org/gateway","conditions":[`+strings.Join(conditions, ",")+`]}]}`)
}

// RouteHosts are the hostnames of the HTTPRoute on the host, as it was composed last.
func (e *Engine) RouteHosts() []string {
	return wire.Of(e.Request.GetObserved().GetResources()[tenant.Route].GetResource()).Strings("spec", "forProvider", "manifest", "spec", "hostnames")
}

// GatewayKey is the key of the Object that observes the Gateway of GatewayInput.
const GatewayKey = "Object//virtual-argocd-gateway.gateways.public"

// SetGateway has the platform observe the Gateway of GatewayInput, with its addresses.
func (e *Engine) SetGateway(addresses ...string) {
	at := make([]string, 0, len(addresses))
	for _, address := range addresses {
		at = append(at, `{"type":"IPAddress","value":"`+address+`"}`)
	}
	e.Cluster[GatewayKey] = resource.MustStructJSON(`{"apiVersion":"kubernetes.crossplane.io/v1alpha2","kind":"Object","metadata":{"name":"virtual-argocd-gateway.gateways.public"},
		"status":{"atProvider":{"manifest":{"apiVersion":"gateway.networking.k8s.io/v1","kind":"Gateway","metadata":{"namespace":"gateways","name":"public"},"status":{"addresses":[` + strings.Join(at, ",") + `]}}}}}`)
}
