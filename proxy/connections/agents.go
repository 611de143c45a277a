package connections

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/metrics"
	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// maxAgents is how many bytes of the metrics of a tunnels' server are read: those of some hundred agents.
const maxAgents = 64 << 10

// fingerprints of keys are hashes.
var fingerprints = regexp.MustCompile(`^SHA256:[A-Za-z0-9+/]{43}$`)

// readAgents finds what the server of the tunnels says of its agents.
func (p *poll) readAgents(ctx context.Context) {
	pods, _ := p.client.ReadyPods(ctx, p.namespace, tunnel.Service)
	if len(pods) == 0 {
		return
	}
	metrics.Lines(ctx, p.client, p.namespace, pods[0], maxAgents, func(line string) bool {
		if !strings.HasPrefix(line, tunnel.Metric+"{") {
			return true
		}
		labels, since, ok := metrics.Read(line)
		key, state := proxy.AgentKey(labels["agent"]), labels["state"]
		if !fingerprints.MatchString(labels["key"]) {
			labels["key"] = ""
		}
		// RFC 3339 has years of four digits.
		if ok && p.asked[key] && slices.Contains([]string{tunnel.Waiting, tunnel.Connected, tunnel.Lost}, state) && since < 1<<37 {
			p.found[key] = proxy.Connection{Connected: state == tunnel.Connected, Agent: &proxy.Agent{State: strings.Clone(state), Key: strings.Clone(labels["key"]), Since: int64(since), Twice: labels["twice"] == "true"}}
		}
		return true
	})
}
