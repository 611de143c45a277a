package connections_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/internal/proxytest"
	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// TestAgents: what the server of tunnels says of agents that the claim has, in the form that it has, and nothing else that stands in its place.
func TestAgents(t *testing.T) {
	t.Parallel()
	const fingerprint = "SHA256:abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
	line := func(agent, state, twice, since string) string {
		return fmt.Sprintf("%s{agent=%q,state=%q,twice=%q} %s\n", tunnel.Metric, agent, state, twice, since)
	}
	for name, tc := range map[string]struct {
		metrics string
		want    *proxy.Agent
	}{
		"Connected": {"# HELP x y\n" + line("b", "lost", "false", "1") + line("a", "connected", "false", "1764331200"), &proxy.Agent{State: "connected", Since: 1764331200}},
		"Key":       {strings.Replace(line("a", "lost", "false", "1764331200"), "{", `{key="`+fingerprint+`",`, 1), &proxy.Agent{State: "lost", Key: fingerprint, Since: 1764331200}},
		"NoKey":     {strings.Replace(line("a", "lost", "false", "1764331200"), "{", `{key="the key",`, 1), &proxy.Agent{State: "lost", Since: 1764331200}},
		"Lost":      {line("a", "lost", "false", "1764331200"), &proxy.Agent{State: "lost", Since: 1764331200}},
		"Waiting":   {line("a", "waiting", "false", "1764331200"), &proxy.Agent{State: "waiting", Since: 1764331200}},
		"Twice":     {line("a", "connected", "true", "1764331200"), &proxy.Agent{State: "connected", Since: 1764331200, Twice: true}},
		"NotAsked":  {line("b", "connected", "false", "1764331200"), nil},
		"Lies":      {line("a", "better than ever", "false", "1764331200"), nil},
		"Far":       {line("a", "connected", "false", "9e99"), nil},
		"Endless":   {strings.Repeat(line("b", "connected", "false", "1"), 2000) + line("a", "connected", "false", "1"), nil},
		"Nothing":   {"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := serveArgoCD(t, proxytest.Roomy())
			c.tunnels = tc.metrics
			key := proxy.AgentKey("a")
			if diff := cmp.Diff(tc.want, c.poll(t, key)[key].Agent); diff != "" {
				t.Errorf("-want, +got:\n%s", diff)
			}
		})
	}
	// Each change is told.
	c := serveArgoCD(t, proxytest.Roomy())
	key := proxy.AgentKey("a")
	for _, since := range []string{"1", "2"} {
		c.change(func() { c.tunnels = line("a", "lost", "false", since) })
		if is := c.poll(t, key)[key].Agent; is == nil || fmt.Sprint(is.Since) != since {
			t.Errorf("since %s: %v", since, is)
		}
	}
}
