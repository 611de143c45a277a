// Package server is the side of tunnels beside an Argo CD.
package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/gorilla/websocket"
	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
	"github.com/virtual-argocd/virtual-argocd/tunnel/stream"
)

// A Server knows the agents, and gives Argo CD connections by them.
type Server struct {
	Log logging.Logger
	// Every is how often each side asks whether the other is there, and Handshake how long somebody may take to show who it is.
	Every, Handshake time.Duration
	// MaxHandshakes is how many of those there may be at once, more than a server has agents. One more ends the oldest: whoever has a key needs
	// a moment.
	MaxHandshakes int

	mu     sync.Mutex
	key    ssh.Signer
	agents map[string]*agent
	// pending are connections of those that haven't shown yet who they are, the oldest first.
	pending []net.Conn
}

// An agent that is known.
type agent struct {
	key   ssh.PublicKey
	conn  ssh.Conn
	state string
	since time.Time
	// twice is when somebody else with its key has tried to connect last, while it was connected.
	twice time.Time
}

// New returns a server that knows no agents.
func New(log logging.Logger) *Server {
	return &Server{Log: log, Every: 20 * time.Second, Handshake: 30 * time.Second, MaxHandshakes: 2048, agents: map[string]*agent{}}
}

// Configure takes over a configuration. Whoever isn't in it any more, or has another key there, is cut off; nobody else notices.
func (s *Server) Configure(raw []byte) error {
	key, agents, err := tunnel.Read(raw)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key
	for name, is := range s.agents {
		if to, ok := agents[name]; !ok || !same(to, is.key) {
			if delete(s.agents, name); is.conn != nil {
				_ = is.conn.Close()
			}
		}
	}
	for name, public := range agents {
		if s.agents[name] == nil {
			s.agents[name] = &agent{key: public, state: tunnel.Waiting, since: time.Now()}
		}
	}
	return nil
}

func same(a, b ssh.PublicKey) bool { return string(a.Marshal()) == string(b.Marshal()) }

var upgrader = websocket.Upgrader{
	HandshakeTimeout: 10 * time.Second, Subprotocols: []string{tunnel.Protocol},
	// Agents are no browsers, and bring no credentials of any.
	CheckOrigin: func(*http.Request) bool { return true },
}

// Agents serves agents.
func (s *Server) Agents(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) || !slices.Contains(websocket.Subprotocols(r), tunnel.Protocol) {
		http.NotFound(w, r)
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	conn := stream.New(ws)
	defer func() { _ = conn.Close() }()
	name, c, channels, requests, err := s.handshake(conn)
	if err != nil {
		s.Log.Debug("Refused an agent", "error", err.Error())
		return
	}
	go stream.Answer(requests)
	go func() {
		// An agent opens nothing on this side.
		for channel := range channels {
			_ = channel.Reject(ssh.Prohibited, "agents have connections opened, and open none")
		}
	}()
	if !s.connect(name, c) {
		s.Log.Info("Refused an agent that is connected already", "agent", name)
		_ = c.Close()
		return
	}
	s.Log.Info("An agent is connected", "agent", name)
	stream.KeepAlive(c, s.Every)
	s.disconnect(name, c)
	s.Log.Info("An agent is disconnected", "agent", name)
}

// handshake returns which agent has connected.
func (s *Server) handshake(conn net.Conn) (string, *ssh.ServerConn, <-chan ssh.NewChannel, <-chan *ssh.Request, error) {
	s.mu.Lock()
	key := s.key
	if len(s.pending) >= s.MaxHandshakes {
		_ = s.pending[0].Close()
		s.pending = s.pending[1:]
	}
	s.pending = append(s.pending, conn)
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.pending = slices.DeleteFunc(s.pending, func(c net.Conn) bool { return c == conn })
	}()
	if key == nil {
		return "", nil, nil, nil, errors.New("there is no configuration")
	}
	config := &ssh.ServerConfig{MaxAuthTries: 2, PublicKeyCallback: func(_ ssh.ConnMetadata, is ssh.PublicKey) (*ssh.Permissions, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for name, a := range s.agents {
			if same(a.key, is) {
				return &ssh.Permissions{Extensions: map[string]string{"agent": name}}, nil
			}
		}
		return nil, errors.New("no agent has this key")
	}}
	config.AddHostKey(key)
	if err := conn.SetDeadline(time.Now().Add(s.Handshake)); err != nil {
		return "", nil, nil, nil, err
	}
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return "", nil, nil, nil, err
	}
	return c.Permissions.Extensions["agent"], c, channels, requests, conn.SetDeadline(time.Time{})
}

// connect makes a connection that of an agent. It reports false if the agent has one that works, or isn't known any more.
func (s *Server) connect(name string, c ssh.Conn) bool {
	s.mu.Lock()
	is := s.agents[name]
	if is == nil {
		s.mu.Unlock()
		return false
	}
	before := is.conn
	s.mu.Unlock()
	// A network that was cut leaves connections behind of which only the agent knows that they are over.
	alive := before != nil && stream.IsAlive(before, min(s.Handshake/2, 5*time.Second))
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.agents[name] != is || is.conn != before:
		return false
	case alive:
		is.twice = time.Now()
		return false
	case before != nil:
		_ = before.Close()
	}
	is.conn, is.state, is.since = c, tunnel.Connected, time.Now()
	return true
}

func (s *Server) disconnect(name string, c ssh.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := s.agents[name]; is != nil && is.conn == c {
		is.conn, is.state, is.since = nil, tunnel.Lost, time.Now()
	}
}

// Proxy serves Argo CD, with CONNECT to the API servers of agents alone.
func (s *Server) Proxy(w http.ResponseWriter, r *http.Request) {
	name, ok := tunnel.AgentOf(r.Host)
	if r.Method != http.MethodConnect || !ok {
		http.Error(w, "this is a proxy to the API servers of agents alone", http.StatusForbidden)
		return
	}
	s.mu.Lock()
	var c ssh.Conn
	if is := s.agents[name]; is != nil {
		c = is.conn
	}
	s.mu.Unlock()
	if c == nil {
		// Clients show the status, and nothing else.
		refuse(w, "The agent in that cluster is not connected")
		return
	}
	channel, requests, err := c.OpenChannel(tunnel.Channel, nil)
	if err != nil {
		refuse(w, "The agent in that cluster cannot reach its API server")
		return
	}
	go ssh.DiscardRequests(requests)
	defer func() { _ = channel.Close() }()
	client, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = client.Close() }()
	half, ok := client.(stream.Half)
	if _, err := client.Write([]byte("HTTP/1.1 200 Connected\r\n\r\n")); err != nil || !ok {
		return
	}
	if n := buffered.Reader.Buffered(); n > 0 {
		early, _ := buffered.Reader.Peek(n)
		if _, err := channel.Write(early); err != nil {
			return
		}
	}
	stream.Pipe(channel, half)
}

func refuse(w http.ResponseWriter, why string) {
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = fmt.Fprintf(client, "HTTP/1.1 503 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", why)
	_ = client.Close()
}

// twiceFor is how long it is told that somebody else has tried to connect with an agent's key.
const twiceFor = 10 * time.Minute

// Metrics tells the state of each agent.
func (s *Server) Metrics(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := strings.Builder{}
	fmt.Fprintf(&out, "# HELP %[1]s Time of the last change of the state of an agent.\n# TYPE %[1]s gauge\n", tunnel.Metric)
	for _, name := range slices.Sorted(maps.Keys(s.agents)) {
		is := s.agents[name]
		twice := !is.twice.IsZero() && time.Since(is.twice) < twiceFor
		fmt.Fprintf(&out, "%s{agent=%q,state=%q,twice=\"%t\"} %d\n", tunnel.Metric, name, is.state, twice, is.since.Unix())
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(out.String()))
}

// Handler of a port; nil for a port that the server doesn't have.
func (s *Server) Handler(port int) http.Handler {
	switch port {
	case tunnel.AgentsPort:
		return http.HandlerFunc(s.Agents)
	case tunnel.ProxyPort:
		return http.HandlerFunc(s.Proxy)
	case tunnel.MetricsPort:
		return http.HandlerFunc(s.Metrics)
	}
	return nil
}

// Serve serves all ports until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 3)
	for _, port := range []int{tunnel.AgentsPort, tunnel.ProxyPort, tunnel.MetricsPort} {
		h := &http.Server{Addr: fmt.Sprintf(":%d", port), Handler: s.Handler(port), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10}
		go func() { failed <- h.ListenAndServe() }()
		defer func() { _ = h.Close() }()
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
