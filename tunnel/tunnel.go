// Package tunnel is what the function, the server and the agents of tunnels agree on. A tunnel connects an Argo CD to a cluster that lets no
// connections in.
//
//	agent, in the closed cluster ──WebSocket over TLS──> the claim's hostname ──> server, beside Argo CD in the virtual cluster <── Argo CD
//
// The agent dials out, shows by a Proof that it has its key, and keeps the connection, which is one of SSH inside of a WebSocket: each side
// knows the other by its key, whatever is between them. Argo CD reaches the cluster by the server as its HTTP proxy, with CONNECT, and speaks TLS with the cluster's API server
// through all of it. Package server and package agent are the two sides, and package stream is what both have.
//
// No tunnel that could be had as it is keeps both ends from each other. In chisel 1.11.3, a server's list of addresses for a user is compared
// with what the client says once, and not with what it opens then, and a client connects to any address that the server names
// (share/tunnel/tunnel_out_ssh.go). Here an agent opens nothing on the server's side, and connects to one address, which nobody can name.
package tunnel

import (
	"encoding/json"
	"fmt"
	"strings"

	"golang.org/x/crypto/ssh"
)

const (
	// Path of the claim's URL at which agents connect, below that of Argo CD.
	Path = "/tunnel"
	// Protocol is that of the WebSocket.
	Protocol = "v1.tunnel.virtualargocd.io"
	// Channel is the type of channel by which the server asks an agent for a connection to the API server.
	Channel = "api@virtualargocd.io"
	// Alive is the request by which each side asks whether the other is there.
	Alive = "alive@virtualargocd.io"

	// Service of the server, and the name of all that belongs to it, in Argo CD's namespace.
	Service = "argocd-tunnel"
	// AgentsPort is the port of the server that agents connect to.
	AgentsPort = 8080
	// ProxyPort is the port of the server that Argo CD connects to.
	ProxyPort = 8081
	// MetricsPort is the port of the server with metrics, as that of Argo CD's own components.
	MetricsPort = 8082

	// MaxConnections is how many connections Argo CD has at once to one cluster. It needs a few.
	MaxConnections = 256
	// MemoryLimit is how many bytes of memory the server's container has.
	MemoryLimit = 256 << 20

	// ConfigFile is the name of the file with a Config.
	ConfigFile = "config.json"
	// KeyFile is the name of the file with an agent's key.
	KeyFile = "agent.key"
	// ServerFile is the name of an agent's file with the server's public key.
	ServerFile = "server.pub"
	// AuthorityFile is the name of an agent's file with the certificate authority of the server's URL.
	AuthorityFile = "ca.crt"
)

// Config is what the server has to know. It is read again when it changes.
type Config struct {
	// Key of the server, in PEM.
	Key string `json:"key"`
	// Agents are their public keys, as in authorized_keys, by their names.
	Agents map[string]string `json:"agents"`
}

// Read returns the server's key, and those of the agents.
func Read(raw []byte) (ssh.Signer, map[string]ssh.PublicKey, error) {
	c := Config{}
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, nil, fmt.Errorf("the configuration isn't JSON: %w", err)
	}
	key, err := ssh.ParsePrivateKey([]byte(c.Key))
	if err != nil {
		return nil, nil, fmt.Errorf("the server's key can't be read: %w", err)
	}
	agents := map[string]ssh.PublicKey{}
	for name, text := range c.Agents {
		public, _, _, _, err := ssh.ParseAuthorizedKey([]byte(text))
		if err != nil {
			return nil, nil, fmt.Errorf("the key of agent %s can't be read: %w", name, err)
		}
		agents[name] = public
	}
	return key, agents, nil
}

// suffix ends the names of API servers, which exist in the server alone.
const suffix = "." + Service + ".argocd.svc"

// APIServer returns the URL by which Argo CD knows the cluster of an agent.
func APIServer(agent string) string { return "https://" + agent + suffix }

// Proxy is the URL of the server for Argo CD.
var Proxy = fmt.Sprintf("http://%s.argocd.svc:%d", Service, ProxyPort)

// AgentOf returns the agent whose API server has an address with a port; false for other addresses.
func AgentOf(address string) (string, bool) { return strings.CutSuffix(address, suffix+":443") }

// Metric is the time of the last change of an agent's state, in seconds since 1970. Its labels are the agent, the state, and whether somebody
// else tries to connect with the agent's key, beside the fingerprint of that key.
const Metric = "virtualargocd_tunnel_agent"

// States of an agent. One that was never seen is Waiting.
const (
	Waiting   = "waiting"
	Connected = "connected"
	Lost      = "lost"
)
