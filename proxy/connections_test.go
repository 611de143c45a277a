package proxy

import (
	"fmt"
	"strings"
	"testing"
)

// TestNamesOfConnections: only a list of keys, and a bounded one, is a name.
func TestNamesOfConnections(t *testing.T) {
	t.Parallel()
	good := ConnectionsName([]ConnectionKey{ClusterKey("https://203.0.113.7:6443"), RepositoryKey("https://git.example.org/team/apps.git"), SignOnKey("/argo", true), SignOnKey("/argo", true)})
	if keys, err := ReadConnectionsName(good); err != nil || len(keys) != 3 {
		t.Errorf("%s: %v, %v", good, keys, err)
	}
	if keys, err := ReadConnectionsName(ConnectionsName(nil)); err != nil || len(keys) != 0 {
		t.Errorf("nothing: %v, %v", keys, err)
	}
	many := make([]string, maxConnections+1)
	for i := range many {
		many[i] = string(ClusterKey(fmt.Sprint(i)))
	}
	for _, bad := range []string{"c.short", "c." + strings.Repeat("g", 12), "s.oidc.Li4vLi4", "s.oidc.!", string(SignOnKey("/a/../b?c", false)), strings.Join(many, ",")} {
		if _, err := ReadConnectionsName(ConnectionsPrefix + bad); err == nil {
			t.Errorf("%s is a name", bad)
		}
	}
	for _, same := range [][2]string{{"git@git.example.org:team/apps.git", "ssh://git@git.example.org/team/apps"}, {"https://Git.example.org/apps/", "https://git.example.org/apps.git"}, {"oci://r.example.org/a", "r.example.org/a"}} {
		if RepositoryKey(same[0]) != RepositoryKey(same[1]) {
			t.Errorf("%s isn't %s", same[0], same[1])
		}
	}
}
