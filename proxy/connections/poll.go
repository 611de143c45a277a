package connections

import (
	"context"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/virtualapi"
)

// A poll observes the connections of one Argo CD once: from the metrics of its application controllers, the errors of Applications, and how
// its API server answers somebody who wants to sign on.
type poll struct {
	store     *Store
	client    *virtualapi.Client
	namespace string
	asked     map[proxy.ConnectionKey]bool
	// before are the counts of requests at the last poll, and requests those of this one, by the pod that counts and by host.
	before, requests map[string]map[string]requests
	found            map[proxy.ConnectionKey]proxy.Connection
	// quiet are clusters to which Argo CD has sent no request since the last poll: they are as they were, unless they were found.
	quiet map[proxy.ConnectionKey]bool
	// metricBytes is how many bytes of metrics were read.
	metricBytes int64
}

func newPoll(s *Store, c *virtualapi.Client, namespace string, keys []proxy.ConnectionKey) *poll {
	p := &poll{
		store: s, client: c, namespace: namespace, asked: map[proxy.ConnectionKey]bool{},
		found: map[proxy.ConnectionKey]proxy.Connection{}, quiet: map[proxy.ConnectionKey]bool{},
	}
	for _, k := range keys {
		p.asked[k] = true
	}
	return p
}

// run finds what it can.
func (p *poll) run(ctx context.Context) {
	var clusters, repositories, signOn, agents bool
	for k := range p.asked {
		_, _, isSignOn := k.SignOn()
		clusters, repositories, signOn, agents = clusters || k.IsCluster(), repositories || k.IsRepository(), signOn || isSignOn, agents || k.IsAgent()
	}
	if agents {
		p.readAgents(ctx)
	}
	if clusters || repositories {
		p.readControllers(ctx)
	}
	if signOn {
		p.signOn(ctx)
	}
}

// set sets what was found of a connection, if it was asked for. That it fails counts more than that it works.
func (p *poll) set(k proxy.ConnectionKey, connected bool, message string) {
	if !p.asked[k] {
		return
	}
	if was, ok := p.found[k]; ok && !was.Connected {
		if was.Message == "" && !connected {
			p.found[k] = proxy.Connection{Message: message}
		}
		return
	}
	p.found[k] = proxy.Connection{Connected: connected, Message: message}
}

// serverName is the component that is Argo CD's API server.
const serverName = "argocd-server"
