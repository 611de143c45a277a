package schema

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

const defaultPlan = `
metadata: {name: standard, labels: {virtualargocd.io/default-plan: "true"}}
spec: {channel: stable, argocd: {ha: true}}
status:
  quota: {cpu: "80", memory: 64Gi}
  conditions: [{type: Synced, status: "True"}, {type: SpecAccepted, status: "False", message: "spec.ingress: is wrong"}]
`

// TestColumns holds the columns that kubectl shows against what the function says, with the API server's own code, and
// against those that the documentation shows. Crossplane adds its own around ours.
func TestColumns(t *testing.T) {
	type cells map[string]any
	for name, tc := range map[string]struct {
		reason, xrd, golden string
		change              func(status map[string]any)
		want                cells
		doc                 string
	}{
		"Channel": {
			"A channel of one tenant, as the function writes it.", ChannelXRDFile, "channel/3-one-tenant/xr.yaml", nil,
			cells{
				"REVISION": int64(1), "STATE": "Complete", "TENANTS": int64(1), "SUCCEEDED": int64(1), "FAILED": int64(0), "ACCEPTED": "True",
				"PERCENT": int64(100), "PROGRESSING": int64(0), "ARGOCD-CHART": "10.1.1", "KUBERNETES": "v1.36.0", "MESSAGE": nil,
			},
			"docs/channels.md",
		},
		"HaltedChannel": {
			"Each number is in its column.", ChannelXRDFile, "channel/3-one-tenant/xr.yaml", func(status map[string]any) {
				status["percent"], status["tenants"] = int64(10), map[string]any{"total": int64(1000), "succeeded": int64(97), "progressing": int64(3), "failed": int64(2), "toApply": int64(12), "skipped": int64(4)}
				for _, c := range status["conditions"].([]any) {
					if c := c.(map[string]any); c["type"] == "Progressing" {
						c["reason"], c["message"] = "Halted", "halted since then"
					}
				}
			},
			cells{
				"REVISION": int64(1), "STATE": "Halted", "TENANTS": int64(1000), "SUCCEEDED": int64(97), "FAILED": int64(2), "ACCEPTED": "True",
				"PERCENT": int64(10), "PROGRESSING": int64(3), "ARGOCD-CHART": "10.1.1", "KUBERNETES": "v1.36.0", "MESSAGE": "halted since then",
			},
			"docs/channels.md",
		},
		"Plan": {
			"The default plan, as fn/plans reports about it.", PlanXRDFile, "", nil,
			cells{"DEFAULT": "true", "CHANNEL": "stable", "HA": true, "CPU": "80", "MEMORY": "64Gi", "ACCEPTED": "False", "MESSAGE": "spec.ingress: is wrong"},
			"docs/plans.md",
		},
		"Pool": {
			"A pool whose only spare was taken, as the function writes it.", PoolXRDFile, "pool/7-let-go/xr.yaml", nil,
			cells{"PLAN": "small", "SIZE": int64(1), "OFFERED": int64(0), "ASLEEP": int64(0), "MAKING": int64(1), "TAKEN": int64(1), "ACCEPTED": "True", "MESSAGE": "0 of 1 spares can be taken"},
			"docs/crossplane2.md",
		},
		"Tenant": {
			"A new tenant of a channel, as the function writes it.", XRDFile, "channel/2-new-tenant/xr.yaml", nil,
			cells{"PHASE": "Pending", "ACCEPTED": "True", "PROGRESS": int64(0), "PLAN": "standard", "ARGOCD": nil, "KUBERNETES": nil, "UPDATE": false, "URL": nil, "APPS": nil, "NOT-HEALTHY": nil, "NOT-SYNCED": nil, "COMPONENTS": nil, "BACKUP": nil, "ASLEEP": nil, "MESSAGE": "Waiting for namespace vargo-customer1-7rw8j on the host, with its account and its bounds"},
			"README.md",
		},
		"TenantThatWaits": {
			"One that waits for its turn.", XRDFile, "smallest/5-ready/xr.yaml", func(status map[string]any) { status["channel"] = map[string]any{"updateAvailable": true} },
			cells{"PHASE": "Ready", "ACCEPTED": "True", "PROGRESS": int64(100), "PLAN": "standard", "ARGOCD": "v3.4.4", "KUBERNETES": "v1.36.0", "UPDATE": true, "URL": "https://argocd-server-x-argocd-x-vcluster.vargo-customer1-7rw8j.svc", "APPS": nil, "NOT-HEALTHY": nil, "NOT-SYNCED": nil, "COMPONENTS": nil, "BACKUP": nil, "ASLEEP": nil, "MESSAGE": "Argo CD is ready"},
			"README.md",
		},
	} {
		t.Run(name, func(t *testing.T) {
			x := xrd{}
			read(t, tc.xrd, &x)
			columns := x.Spec.Versions[0].PrinterColumns
			data, err := []byte(defaultPlan), error(nil)
			if tc.golden != "" {
				data, err = os.ReadFile(filepath.Join(root, "test/render/testdata/golden", tc.golden))
			}
			if err != nil {
				t.Fatal(err)
			}
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(data, &o.Object); err != nil {
				t.Fatal(err)
			}
			status := o.Object["status"].(map[string]any)
			if tc.change != nil {
				tc.change(status)
			}
			convertor, err := tableconvertor.New(columns)
			if err != nil {
				t.Fatal(err)
			}
			table, err := convertor.ConvertToTable(t.Context(), o, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, shown := cells{}, []string{}
			for i, c := range columns {
				// The first cell is the name.
				got[c.Name] = table.Rows[0].Cells[i+1]
				if c.Priority == 0 {
					shown = append(shown, c.Name)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			doc, err := os.ReadFile(filepath.Join(root, tc.doc))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(strings.Split(string(doc), "\n"), func(line string) bool {
				return strings.Contains(strings.Join(strings.Fields(line), " "), strings.Join(shown, " "))
			}) {
				t.Errorf("%s doesn't show the columns %s", tc.doc, strings.Join(shown, " "))
			}
		})
	}
}
