package argocd

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

func TestWorkloads(t *testing.T) {
	base := []string{"server", "repo-server", "controller", "applicationset"}
	cases := map[string]struct {
		values string
		want   []string
	}{
		"Defaults":       {`{}`, append(base[:4:4], "notifications", "dex", "redis")},
		"SwitchedOff":    {`{"dex":{"enabled":false},"notifications":{"enabled":false},"redis":{"enabled":false}}`, base},
		"RedisHA":        {`{"redis-ha":{"enabled":true}}`, append(base[:4:4], "notifications", "dex", "redis-ha", "redis-proxy")},
		"RedisHADirect":  {`{"redis-ha":{"enabled":true,"haproxy":{"enabled":false}},"dex":{"enabled":null}}`, append(base[:4:4], "notifications", "redis-ha")},
		"CommitServer":   {`{"commitServer":{"enabled":true}}`, append(base[:4:4], "notifications", "commit-server", "dex", "redis")},
		"Idle":           {`{"applicationSet":{"replicas":0}}`, append(base[:4:4], "notifications", "dex", "redis")},
		"DynamicCluster": {`{"controller":{"dynamicClusterDistribution":true}}`, append(base[:4:4], "notifications", "dex", "redis")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := values.Values{}
			if err := json.Unmarshal([]byte(tc.values), &v); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range ExpectedWorkloads(v) {
				got = append(got, w.Component)
				if want := name == "Idle" && w.Component == "applicationset"; w.Idle != want {
					t.Errorf("%s is idle: want %t, got %t", w.Component, want, w.Idle)
				}
				if want := name != "DynamicCluster"; w.Component == "controller" && (w.Kind == statefulSet) != want {
					t.Errorf("the controller is a %s", w.Kind)
				}
			}
			if !reflect.DeepEqual(tc.want, got) {
				t.Errorf("want %v, got %v", tc.want, got)
			}
		})
	}
}
