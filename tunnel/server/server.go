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

// maxHeaders is how many bytes the headers of a request may have, and ofStranger how many bytes of memory a connection takes at most of somebody
// who has shown no key: its headers, as they come and as they are read, and buffers.
const (
	maxHeaders = 8 << 10
	ofStranger = 64 << 10
)

// A Server knows the agents, and gives Argo CD connections by them.
type Server struct {
	Log logging.Logger
	// Every is how often each side asks whether the other is there, Handshake how long an agent may take for its handshake, and Open how long to
	// connect to its API server.
	Every, Handshake, Open time.Duration
	// MaxStrangers is how many connections there may be of those who have shown no key. One more ends the oldest: an agent needs a moment.
	MaxStrangers int

	mu     sync.Mutex
	key    ssh.Signer
	agents map[string]*agent
	// strangers are connections of those who have shown no key, the oldest first.
	strangers []net.Conn
}

// An agent that is known.
type agent struct {
	key ssh.PublicKey
	// fingerprint of the key.
	fingerprint string
	conn        ssh.Conn
	// pending is a connection that is in its handshake.
	pending net.Conn
	// free has a place for each connection to the API server that there may be by conn.
	free  chan struct{}
	state string
	since time.Time
	// twice is when somebody else with its key has tried to connect last, while it was connected.
	twice time.Time
}

// New returns a server that knows no agents. Strangers take a quarter of its memory at most, and as much again before it is collected as garbage.
func New(log logging.Logger) *Server {
	return &Server{
		Log: log, Every: 20 * time.Second, Handshake: 30 * time.Second, Open: 20 * time.Second, MaxStrangers: tunnel.MemoryLimit / 4 / ofStranger,
		agents: map[string]*agent{},
	}
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
			if is.pending != nil {
				_ = is.pending.Close()
			}
		}
	}
	for name, public := range agents {
		if s.agents[name] == nil {
			s.agents[name] = &agent{key: public, fingerprint: ssh.FingerprintSHA256(public), state: tunnel.Waiting, since: time.Now()}
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

// Agents serves agents. Whoever brings no proof of a key costs a request, and is told what time it is.
func (s *Server) Agents(w http.ResponseWriter, r *http.Request) {
	if !websocket.IsWebSocketUpgrade(r) || !slices.Contains(websocket.Subprotocols(r), tunnel.Protocol) {
		http.NotFound(w, r)
		return
	}
	name, is, key := s.proven(r.Header.Get(tunnel.ProofHeader))
	if is == nil {
		w.Header().Set(tunnel.TimeHeader, tunnel.TimeOf(time.Now()))
		http.Error(w, "no agent has this key", http.StatusUnauthorized)
		return
	}
	ws, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	conn := stream.New(ws)
	defer func() { _ = conn.Close() }()
	c, channels, requests, err := s.handshake(conn, is, key)
	if err != nil {
		s.Log.Debug("Refused an agent", "agent", name, "error", err.Error())
		return
	}
	go stream.Answer(requests)
	go func() {
		// An agent opens nothing on this side.
		for channel := range channels {
			_ = channel.Reject(ssh.Prohibited, "agents have connections opened, and open none")
		}
	}()
	if !s.connect(name, is, c) {
		s.Log.Info("Refused an agent that is connected already", "agent", name)
		_ = c.Close()
		return
	}
	s.Log.Info("An agent is connected", "agent", name)
	stream.KeepAlive(c, s.Every)
	s.disconnect(name, c)
	s.Log.Info("An agent is disconnected", "agent", name)
}

// proven returns which agent has written a proof, and the server's key that it was for; no agent for none.
func (s *Server) proven(text string) (string, *agent, ssh.Signer) {
	proof, ok := tunnel.ReadProof(text)
	if !ok {
		return "", nil, nil
	}
	s.mu.Lock()
	key, of, is := s.key, "", (*agent)(nil)
	for name, a := range s.agents {
		if a.fingerprint == proof.Fingerprint {
			of, is = name, a
		}
	}
	s.mu.Unlock()
	if is == nil || !proof.IsOf(is.key, key.PublicKey(), time.Now()) {
		return "", nil, nil
	}
	return of, is, key
}

// handshake shows that whoever has connected is an agent. An agent has one handshake at once: another ends the one before, of which the network
// may have been cut.
func (s *Server) handshake(conn net.Conn, is *agent, key ssh.Signer) (*ssh.ServerConn, <-chan ssh.NewChannel, <-chan *ssh.Request, error) {
	s.mu.Lock()
	before := is.pending
	is.pending = conn
	s.mu.Unlock()
	if before != nil {
		_ = before.Close()
	}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if is.pending == conn {
			is.pending = nil
		}
	}()
	config := &ssh.ServerConfig{MaxAuthTries: 2, PublicKeyCallback: func(_ ssh.ConnMetadata, shown ssh.PublicKey) (*ssh.Permissions, error) {
		if !same(is.key, shown) {
			return nil, errors.New("this isn't the key of the agent")
		}
		return nil, nil
	}}
	config.AddHostKey(key)
	if err := conn.SetDeadline(time.Now().Add(s.Handshake)); err != nil {
		return nil, nil, nil, err
	}
	c, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return nil, nil, nil, err
	}
	return c, channels, requests, conn.SetDeadline(time.Time{})
}

// connect makes a connection that of an agent. It reports false if the agent has one that works, or isn't known any more.
func (s *Server) connect(name string, is *agent, c ssh.Conn) bool {
	s.mu.Lock()
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
	is.conn, is.free, is.state, is.since = c, make(chan struct{}, tunnel.MaxConnections), tunnel.Connected, time.Now()
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
	var free chan struct{}
	if is := s.agents[name]; is != nil {
		c, free = is.conn, is.free
	}
	s.mu.Unlock()
	if c == nil {
		// Clients show the status, and nothing else.
		refuse(w, "The agent in that cluster is not connected")
		return
	}
	channel, done, why := s.open(r.Context(), c, free)
	if why != "" {
		refuse(w, why)
		return
	}
	defer done()
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

// open has an agent connect to its API server, and returns that as a channel, and what to call once it is over; or why there is none. An agent that
// doesn't answer keeps the place of the connection until it does, or until it is disconnected: OpenChannel can't be given up.
func (s *Server) open(ctx context.Context, c ssh.Conn, free chan struct{}) (channel ssh.Channel, done func(), why string) {
	select {
	case free <- struct{}{}:
	default:
		return nil, nil, "The agent in that cluster has too many connections"
	}
	type result struct {
		channel ssh.Channel
		err     error
	}
	opened, given := make(chan result), make(chan struct{})
	end := func(of ssh.Channel) { _ = of.Close(); <-free }
	go func() {
		is, requests, err := c.OpenChannel(tunnel.Channel, nil)
		if err != nil {
			<-free
		} else {
			go ssh.DiscardRequests(requests)
		}
		select {
		case opened <- result{is, err}:
		case <-given:
			if err == nil {
				end(is)
			}
		}
	}()
	select {
	case of := <-opened:
		if of.err != nil {
			return nil, nil, "The agent in that cluster cannot reach its API server"
		}
		return of.channel, func() { end(of.channel) }, ""
	case <-ctx.Done():
	case <-time.After(s.Open):
	}
	close(given)
	return nil, nil, "The agent in that cluster does not answer"
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
		fmt.Fprintf(&out, "%s{agent=%q,key=%q,state=%q,twice=\"%t\"} %d\n", tunnel.Metric, name, is.fingerprint, is.state, twice, is.since.Unix())
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

// HTTP returns the server of a port.
func (s *Server) HTTP(port int) *http.Server {
	h := &http.Server{Addr: fmt.Sprintf(":%d", port), Handler: s.Handler(port), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: maxHeaders}
	if port == tunnel.AgentsPort {
		h.ConnState = s.count
	}
	return h
}

// count counts connections of those who have shown no key: those of HTTP. That of an agent is taken over once it has.
func (s *Server) count(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		if len(s.strangers) >= s.MaxStrangers {
			_ = s.strangers[0].Close()
			s.strangers = s.strangers[1:]
		}
		s.strangers = append(s.strangers, c)
	case http.StateHijacked, http.StateClosed:
		if i := slices.Index(s.strangers, c); i >= 0 {
			s.strangers = slices.Delete(s.strangers, i, i+1)
		}
	}
}

// Serve serves all ports until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	failed := make(chan error, 3)
	for _, port := range []int{tunnel.AgentsPort, tunnel.ProxyPort, tunnel.MetricsPort} {
		h := s.HTTP(port)
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
