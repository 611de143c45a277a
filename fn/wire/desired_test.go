package wire

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/resource"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
)

// TestReport: what other functions of the pipeline desire stays.
func TestReport(t *testing.T) {
	type argocd struct {
		Version string   `json:"version,omitempty"`
		List    []string `json:"list,omitempty"`
	}
	type status struct {
		Phase  string `json:"phase"`
		ArgoCD argocd `json:"argocd"`
	}
	xr := Of(resource.MustStructJSON(`{"apiVersion":"a/v1","kind":"X","spec":{"a":1}}`))
	is := status{Phase: "Ready", ArgoCD: argocd{Version: "2", List: []string{"ours"}}}
	const ours = `{"apiVersion":"a/v1","kind":"X","status":{"phase":"Ready","argocd":{"version":"2","list":["ours"]}}}`
	for name, tc := range map[string]struct{ before, want string }{
		"FirstFunction": {``, ours},
		"Nothing":       {`{}`, ours},
		"OtherStatus": {
			`{"apiVersion":"a/v1","kind":"X","status":{"cost":7,"argocd":{"version":"1","list":["theirs","more"],"owner":"b"}}}`,
			`{"apiVersion":"a/v1","kind":"X","status":{"cost":7,"phase":"Ready","argocd":{"version":"2","list":["ours"],"owner":"b"}}}`,
		},
		"OtherKindOfValue": {`{"status":{"argocd":"text","phase":{"a":1}},"metadata":{"labels":{"a":"b"}}}`, `{"apiVersion":"a/v1","kind":"X","metadata":{"labels":{"a":"b"}},"status":{"phase":"Ready","argocd":{"version":"2","list":["ours"]}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			rsp := &fnv1.RunFunctionResponse{}
			if tc.before != "" {
				rsp.Desired = &fnv1.State{
					Resources: map[string]*fnv1.Resource{"theirs": {}},
					Composite: &fnv1.Resource{Resource: resource.MustStructJSON(tc.before), ConnectionDetails: map[string][]byte{"theirs": []byte("a")}},
				}
			}
			desired := rsp.GetDesired()
			before := proto.Clone(desired)
			composite, err := Report(rsp, xr, &is)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(resource.MustStructJSON(tc.want), rsp.GetDesired().GetComposite().GetResource(), protocmp.Transform()); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
			if composite != rsp.GetDesired().GetComposite() {
				t.Error("another composite resource than the desired one is returned")
			}
			if tc.before != "" && (string(composite.GetConnectionDetails()["theirs"]) != "a" || rsp.GetDesired().GetResources()["theirs"] == nil) {
				t.Errorf("what others desire is lost: %v", rsp.GetDesired())
			}
			if diff := cmp.Diff(before, proto.Message(desired), protocmp.Transform()); diff != "" {
				t.Errorf("the request's desired state is changed:\n%s", diff)
			}
		})
	}
}

// TestReportLeavesOutEmptyObjects: server-side apply would make null of one in whose place there was one with fields.
func TestReportLeavesOutEmptyObjects(t *testing.T) {
	type backup struct {
		Size int `json:"size,omitempty"`
	}
	type status struct {
		Phase  string    `json:"phase,omitempty"`
		Backup *backup   `json:"backup,omitempty"`
		All    []*backup `json:"all,omitempty"`
	}
	xr := Of(resource.MustStructJSON(`{"apiVersion":"a/v1","kind":"X"}`))
	for want, is := range map[string]status{
		`{"apiVersion":"a/v1","kind":"X","status":{"phase":"Ready","all":[{}]}}`: {Phase: "Ready", Backup: &backup{}, All: []*backup{{}}},
		`{"apiVersion":"a/v1","kind":"X"}`:                                       {Backup: &backup{}},
	} {
		rsp := &fnv1.RunFunctionResponse{}
		if _, err := Report(rsp, xr, &is); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(resource.MustStructJSON(want), rsp.GetDesired().GetComposite().GetResource(), protocmp.Transform()); diff != "" {
			t.Errorf("-want, +got:\n%s", diff)
		}
	}
}
