package crossplanetest

import (
	"time"

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
