package function

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"google.golang.org/protobuf/proto"
)

// TestEarlierFunctions: what an earlier function of the pipeline has written of a tenant and of a channel stays.
func TestEarlierFunctions(t *testing.T) {
	w := newWorld(t)
	w.offer("stable", offer("10.2.0", inSteps))
	for name, e := range map[string]*engine{"Tenant": newEngine(t, tenantXR(`{}`), "").install(), "Channel": w.channels["stable"]} {
		t.Run(name, func(t *testing.T) {
			e.req.Desired = &fnv1.State{
				Resources: map[string]*fnv1.Resource{"theirs": {Resource: resource.MustStructJSON(`{"apiVersion":"v1","kind":"ConfigMap"}`)}},
				Composite: &fnv1.Resource{
					Resource:          resource.MustStructJSON(`{"status":{"cost":"7 EUR","argocd":{"owner":"team-b"}}}`),
					ConnectionDetails: map[string][]byte{"theirs": []byte("value"), "username": []byte("nobody")},
				},
			}
			before := proto.Clone(e.req.GetDesired())
			rsp := e.call()
			desired := rsp.GetDesired()
			status := field(desired.GetComposite().GetResource(), "status")
			if status.GetFields()["cost"].GetStringValue() != "7 EUR" || field(status, "argocd").GetFields()["owner"].GetStringValue() != "team-b" {
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
			if !proto.Equal(before, e.req.GetDesired()) {
				t.Error("the request was changed")
			}
		})
	}
}
