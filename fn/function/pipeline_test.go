package function_test

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestEarlierFunctions: what an earlier function of the pipeline has written of a tenant and of a channel stays.
func TestEarlierFunctions(t *testing.T) {
	fleet := crossplanetest.NewFleet(t)
	fleet.SetChannel("stable", crossplanetest.Offer("10.2.0", crossplanetest.InSteps))
	for name, e := range map[string]*crossplanetest.Engine{"Tenant": crossplanetest.New(t, `{}`, "").Install(), "Channel": fleet.Channels["stable"]} {
		t.Run(name, func(t *testing.T) {
			e.Request.Desired = &fnv1.State{
				Resources: map[string]*fnv1.Resource{"theirs": {Resource: resource.MustStructJSON(`{"apiVersion":"v1","kind":"ConfigMap"}`)}},
				Composite: &fnv1.Resource{
					Resource:          resource.MustStructJSON(`{"status":{"cost":"7 EUR","argocd":{"owner":"team-b"}}}`),
					ConnectionDetails: map[string][]byte{"theirs": []byte("value"), "username": []byte("nobody")},
				},
			}
			before := proto.Clone(e.Request.GetDesired())
			rsp := e.Call()
			desired := rsp.GetDesired()
			status := crossplanetest.Field(desired.GetComposite().GetResource(), "status")
			if status.GetFields()["cost"].GetStringValue() != "7 EUR" || crossplanetest.Field(status, "argocd").GetFields()["owner"].GetStringValue() != "team-b" {
				t.Errorf("the status is lost: %v", status)
			}
			if len(status.GetFields()) < 4 {
				t.Errorf("no status of ours: %v", status)
			}
			details := desired.GetComposite().GetConnectionDetails()
			if string(details["theirs"]) != "value" {
				t.Errorf("the connection details are lost: %v", details)
			}
			if name == "Tenant" && string(details["username"]) != "admin" {
				t.Errorf("the connection details aren't ours: %v", details)
			}
			if desired.GetResources()["theirs"] == nil || len(desired.GetResources()) < 2 {
				t.Errorf("resources: %v", desired.GetResources())
			}
			if !proto.Equal(before, e.Request.GetDesired()) {
				t.Error("the request was changed")
			}
		})
	}
}
