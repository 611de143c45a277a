package status_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestStatusIsShort: whatever a virtual cluster says of its objects, little of it is in the status and the conditions of the claim. A status
// that etcd refuses is never written, and Crossplane keeps each in memory.
func TestStatusIsShort(t *testing.T) {
	const most = 16 << 10
	long := strings.Repeat("x", 300<<10)
	for name, say := range map[string]func(e *crossplanetest.Engine){
		"Revision": func(e *crossplanetest.Engine) {
			e.SetApplication(`{"sync":{"status":"Synced","revision":"` + long + `"},"health":{"status":"Healthy"}}`)
		},
		"Sync": func(e *crossplanetest.Engine) {
			e.SetApplication(`{"sync":{"status":"` + long + `"},"health":{"status":"Healthy"}}`)
		},
		"Health": func(e *crossplanetest.Engine) {
			e.SetApplication(`{"sync":{"status":"Synced"},"health":{"status":"` + long + `"}}`)
		},
		"Message": func(e *crossplanetest.Engine) {
			e.SetApplication(`{"operationState":{"phase":"Failed","message":"` + long + `"}}`)
		},
		"Address": func(e *crossplanetest.Engine) {
			e.SetIngress(`{"loadBalancer":{"ingress":[{"hostname":"` + long + `"}]}}`)
		},
		"IP":    func(e *crossplanetest.Engine) { e.SetIngress(`{"loadBalancer":{"ingress":[{"ip":"` + long + `"}]}}`) },
		"Lines": func(e *crossplanetest.Engine) { e.SetIngress(`{"loadBalancer":{"ingress":[{"hostname":"a\nb"}]}}`) },
	} {
		t.Run(name, func(t *testing.T) {
			e := crossplanetest.New(t, `{"bootstrap":{"repoURL":"https://git.example.org/apps"},"ingress":{"host":"argocd.example.org"}}`, "").Install()
			e.Observed(tenant.IngressObject)
			say(e)
			rsp := e.Reconcile()
			size := proto.Size(rsp.GetDesired().GetComposite().GetResource())
			for _, c := range rsp.GetConditions() {
				size += len(c.GetMessage())
				if strings.Contains(c.GetMessage(), "\n") {
					t.Errorf("%s: a message has several lines: %q", c.GetType(), c.GetMessage())
				}
			}
			for _, r := range rsp.GetResults() {
				size += len(r.GetMessage())
			}
			if size > most {
				t.Errorf("the status and the messages of the claim take %d bytes: want %d at most", size, most)
			}
		})
	}
}
