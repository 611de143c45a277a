package clusters_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// TestLabelsThatDoNotArrive: labels of a cluster's Secret that its cluster can't have in Argo CD are named, and annotations that only begin
// like Argo CD's own arrive.
func TestLabelsThatDoNotArrive(t *testing.T) {
	e := crossplanetest.New(t, `{"clusters":[{"name":"prod","secretRef":{"name":"s"}}]}`, "")
	e.AddSecret("s", "Opaque", map[string]string{"server": "https://a.example.org", "config": `{"bearerToken":"tok-1","tlsClientConfig":{"insecure":true}}`})
	meta := crossplanetest.Field(e.Cluster["Secret/"+crossplanetest.Namespace+"/s"], "metadata")
	add := func(field string, all map[string]string) {
		if meta.Fields[field] == nil {
			meta.Fields[field] = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{}})
		}
		for key, value := range all {
			crossplanetest.Field(meta, field).Fields[key] = structpb.NewStringValue(value)
		}
	}
	add("labels", map[string]string{"argocd.argoproj.io/secret-type": "cluster", "app.kubernetes.io/region": "eu", "helm.sh/chart": "a", "env": "prod"})
	add("annotations", map[string]string{"managed-by": "argocd.argoproj.io", "managed-by-team": "blue"})
	e.Install()
	cluster := clustersOf(t, e)["prod"]
	if got := slices.Sorted(maps.Keys(cluster.labels)); !slices.Equal(got, []string{"env"}) {
		t.Errorf("the cluster has the labels %v", got)
	}
	if got := slices.Sorted(maps.Keys(cluster.annotations)); !slices.Equal(got, []string{"managed-by-team"}) {
		t.Errorf("the cluster has the annotations %v", got)
	}
	message := e.Condition("ClustersConnected").GetMessage()
	if want := "of its labels, these don't reach Argo CD, where the chart sets such: app.kubernetes.io/region, helm.sh/chart:"; !strings.Contains(message, want) {
		t.Errorf("the condition should say %q: %s", want, message)
	}
}
