package crossplanetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// Secrets that the providers publish in these tests.
const (
	// Password is the initial password of Argo CD's user admin.
	Password = "correct-horse-battery"
	// Token is the token of each account on the host.
	Token = "tok-of-an-account-0123456789"
)

// RunProviders does the work of the providers, of Helm, vcluster, Kubernetes and Argo CD: everything that exists becomes what it should.
func (e *Engine) RunProviders() {
	e.T.Helper()
	for name, o := range e.Request.GetObserved().GetResources() {
		if !strings.Contains(o.GetResource().GetFields()["apiVersion"].GetStringValue(), "crossplane.io") {
			if name == tenant.HibernateJob || name == tenant.WakeJob {
				e.FinishJob(name)
				continue
			}
			// There as soon as it is created, and without conditions.
			delete(o.GetResource().GetFields(), "status")
			if strings.HasSuffix(name, "-credentials") {
				e.SetToken(name, Token)
			}
			if record := e.Request.GetObserved().GetResources()[tenant.RestoreRecord]; record != nil && o.GetResource().GetFields()["kind"].GetStringValue() == "Job" && strings.HasPrefix(name, tenant.RestorePrefix) {
				record.GetResource().Fields["data"] = structpb.NewStructValue(resource.MustStructJSON(`{"name":"2026-01-01T000000Z","restoredAt":"2026-01-02T00:00:00Z","objects":"500","active":"true"}`))
			}
			continue
		}
		if wire.Of(o.GetResource()).String("metadata", "annotations", "crossplane.io/paused") == "true" {
			SetCondition(o.GetResource(), "Synced", "False", "ReconcilePaused", "Reconciliation is paused via the pause annotation")
			continue
		}
		SetCondition(o.GetResource(), "Synced", "True", "ReconcileSuccess", "")
		SetCondition(o.GetResource(), "Ready", "True", "Available", "")
		switch name {
		case tenant.VClusterRelease:
			e.PublishKubeconfig(Kubeconfig)
			e.Deploy(name)
		case tenant.Namespace:
			e.SetManifest(name, `{"phase":"Active"}`)
			Field(o.GetResource(), "status", "atProvider", "manifest", "metadata").Fields["uid"] = structpb.NewStringValue("uid-of-the-namespace")
		case tenant.IngressObject:
			e.SetIngress(`{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}`)
		case tenant.Route:
			e.SetRoute(`{"type":"Accepted","status":"True","reason":"Accepted"}`, `{"type":"ResolvedRefs","status":"True","reason":"ResolvedRefs"}`)
		case tenant.IngressCount:
			all := e.Ingresses
			if !e.IngressDeleted && len(e.IngressHosts()) > 0 {
				all++
			}
			if !wire.Of(o.GetResource()).Has("metadata", "creationTimestamp") {
				e.SetAge(name, 0)
			}
			e.SetManifest(name, fmt.Sprintf(`{"used":{"count/ingresses.networking.k8s.io":"%d"}}`, all))
		case tenant.IngressOnHost:
			e.ShowIngress()
		case tenant.PullAccount:
			e.SetManifest(name, `{}`)
		case tenant.Bootstrap:
			e.SetApplication(`{"sync":{"status":"Synced","revision":"0123abc"},"health":{"status":"Healthy"}}`)
		case tenant.ArgoCDRelease:
			// What a Release has read stays in its Secret while it has one.
			spec := Field(o.GetResource(), "spec").GetFields()
			if spec["writeConnectionSecretToRef"] == nil {
				o.ConnectionDetails = nil
			} else if spec["connectionDetails"] != nil {
				o.ConnectionDetails = map[string][]byte{"password": []byte(Password)}
			}
			e.Deploy(name)
			if e.Generations {
				e.deployAccounts()
			}
		case tenant.ComponentWorkloads:
			Field(o.GetResource(), "status").Fields["atProvider"] = structpb.NewNullValue()
			e.SetComponentWorkload("", nil)
		case tenant.Workloads:
			Field(o.GetResource(), "status").Fields["atProvider"] = structpb.NewNullValue()
			e.SetWorkload("", nil)
		case tenant.Connections:
			e.SetConnections()
		default:
			if strings.HasPrefix(name, tenant.ComponentPrefix) {
				e.DeployComponent(name)
			}
		}
	}
}

// FinishJob says that a Job is complete, now for the first time.
func (e *Engine) FinishJob(name string) {
	o := e.Observed(name)
	if wire.Of(o).Condition("Complete").True() {
		return
	}
	e.SetAge(name, time.Minute)
	o.Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(`{"completionTime":"` + e.Now().UTC().Format(time.RFC3339) + `"}`))
	SetCondition(o, "Complete", "True", "CompletionsReached", "")
}

// Deploy does what Helm does with a Release.
func (e *Engine) Deploy(name string) {
	e.SetDeployed(name, Field(e.Observed(name), "spec", "forProvider", "chart").GetFields()["version"].GetStringValue())
}

// DeployComponent does what provider-helm does with the Release of a component: it notes which patches it has applied. Of one that it may only
// observe it says whether Helm has it.
func (e *Engine) DeployComponent(name string) {
	o := e.Observed(name)
	if slices.Equal(wire.Of(o).Strings("spec", "managementPolicies"), []string{"Observe"}) {
		if wire.Of(o).String("status", "atProvider", "state") == "" {
			SetCondition(o, "Synced", "False", "ReconcileError", "observe failed: external resource does not exist")
		}
		return
	}
	e.Deploy(name)
	sha := ""
	if len(wire.Of(e.Observed(name)).List("spec", "forProvider", "patchesFrom")) > 0 {
		sha = "sha-of-the-patch"
	}
	Field(e.Observed(name), "status").Fields["patchesSha"] = structpb.NewStringValue(sha)
}

// SetDeployed sets which version of a Release's chart is deployed, by Helm's record.
func (e *Engine) SetDeployed(name, version string) {
	SetAtProvider(e.Observed(name), `{"state":"deployed","version":"`+version+`"}`)
}

// deployAccounts does what provider-helm does with the values of accounts.
func (e *Engine) deployAccounts() {
	o := e.Observed(tenant.ArgoCDRelease)
	e.DeployedAccounts = map[string]any{}
	for _, from := range wire.Of(o).List("spec", "forProvider", "valuesFrom") {
		name, key := from.String("secretKeyRef", "name"), from.String("secretKeyRef", "key")
		if !strings.HasSuffix(name, "-argocd-accounts") {
			continue
		}
		raw := e.SecretKey(tenant.AccountsSecret, key)
		if len(raw) == 0 {
			SetCondition(o, "Synced", "False", "ReconcileError", "missing key "+key)
			return
		}
		if err := text.Own(raw, &e.DeployedAccounts); err != nil {
			e.T.Fatal(err)
		}
	}
	for _, c := range Field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
		if s := c.GetStructValue(); s.GetFields()["type"].GetStringValue() == "Synced" {
			s.Fields["observedGeneration"] = Field(o, "metadata").GetFields()["generation"]
		}
	}
}

// SetRollingOut leaves a Release as it is between a change of its spec and the
// provider's having seen it.
func (e *Engine) SetRollingOut(name string) {
	o := e.Observed(name)
	Field(o, "metadata").Fields["generation"] = structpb.NewNumberValue(2)
	for _, c := range Field(o, "status").GetFields()["conditions"].GetListValue().GetValues() {
		c.GetStructValue().Fields["observedGeneration"] = structpb.NewNumberValue(1)
	}
}

// SetManifest sets the status of the object that an Object is about, as JSON.
func (e *Engine) SetManifest(name, status string) {
	m := proto.Clone(Field(e.Observed(name), "spec", "forProvider", "manifest")).(*structpb.Struct)
	m.Fields["status"] = structpb.NewStructValue(resource.MustStructJSON(status))
	show(e.Observed(name), m)
}

// show says that an Object has read a manifest.
func show(o, manifest *structpb.Struct) {
	if Field(o, "status") == nil {
		o.Fields["status"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
	}
	Field(o, "status").Fields["atProvider"] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"manifest": structpb.NewStructValue(manifest)}})
}

// SetAtProvider sets status.atProvider of a composed resource, as JSON.
func SetAtProvider(s *structpb.Struct, atProvider string) {
	Field(s, "status").Fields["atProvider"] = structpb.NewStructValue(resource.MustStructJSON(atProvider))
}

// SetAge sets how long a composed resource has been there.
func (e *Engine) SetAge(name string, ago time.Duration) {
	e.T.Helper()
	Field(e.Observed(name), "metadata").Fields["creationTimestamp"] = structpb.NewStringValue(e.Now().Add(-ago).UTC().Format(time.RFC3339))
}
