package server_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/gorilla/websocket"
	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
	"github.com/virtual-argocd/virtual-argocd/tunnel/agent"
	"github.com/virtual-argocd/virtual-argocd/tunnel/server"
	"github.com/virtual-argocd/virtual-argocd/tunnel/stream"
)

// A key of somebody, which follows from a name.
type key struct{ private ed25519.PrivateKey }

func keyOf(name string) key {
	seed := sha256.Sum256([]byte(name))
	return key{ed25519.NewKeyFromSeed(seed[:])}
}

// text is the key in PEM. A key of Ed25519 has one.
func (k key) text() string {
	der, _ := x509.MarshalPKCS8PrivateKey(k.private)
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func (k key) sign() ssh.Signer {
	s, _ := ssh.NewSignerFromKey(k.private)
	return s
}

func (k key) authorized() string { return string(ssh.MarshalAuthorizedKey(k.sign().PublicKey())) }

// configure gives a server its configuration.
func configure(s *server.Server, c tunnel.Config) {
	raw, err := json.Marshal(c)
	if err == nil {
		err = s.Configure(raw)
	}
	if err != nil {
		panic(err)
	}
}

// tunnels are a server of tunnels, and what is around it.
type tunnels struct {
	t      *testing.T
	server *server.Server
	// agents, proxy and metrics are the server's ports; agentsURL and metricsURL are where it is another process.
	agents, proxy, metrics *httptest.Server
	agentsURL, metricsURL  string
}

func serve(t *testing.T, change func(*server.Server)) *tunnels {
	t.Helper()
	s := server.New(logging.NewNopLogger())
	s.Every = 100 * time.Millisecond
	if change != nil {
		change(s)
	}
	of := &tunnels{t: t, server: s}
	for port, to := range map[int]**httptest.Server{tunnel.AgentsPort: &of.agents, tunnel.ProxyPort: &of.proxy, tunnel.MetricsPort: &of.metrics} {
		is := httptest.NewServer(s.Handler(port))
		*to = is
		t.Cleanup(func() { is.CloseClientConnections(); is.Close() })
	}
	of.agentsURL, of.metricsURL = of.agents.URL, of.metrics.URL
	return of
}

// configure gives the server the keys of agents, by their names.
func (of *tunnels) configure(keys map[string]key) {
	of.t.Helper()
	c := tunnel.Config{Key: keyOf("server").text(), Agents: map[string]string{}}
	for name, k := range keys {
		c.Agents[name] = k.authorized()
	}
	configure(of.server, c)
}

func (of *tunnels) url() string { return strings.Replace(of.agentsURL, "http", "ws", 1) }

// anAPI is the API server of a closed cluster.
func anAPI(t *testing.T, says string) *httptest.Server {
	t.Helper()
	is := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, says, r.URL.Path) }))
	t.Cleanup(is.Close)
	return is
}

// anAgent runs an agent, and returns the addresses that it was made to connect to.
func (of *tunnels) anAgent(k key, api string) (*agent.Agent, *atomic.Value) {
	of.t.Helper()
	folder := of.t.TempDir()
	for name, text := range map[string]string{tunnel.KeyFile: k.text(), tunnel.ServerFile: keyOf("server").authorized()} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			of.t.Fatal(err)
		}
	}
	a := agent.New(of.url(), folder, api, logging.NewNopLogger())
	a.Every, a.Retry = 5*time.Second, 300*time.Millisecond
	dialed := &atomic.Value{}
	a.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dialed.Store(network + " " + address)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	ctx, cancel := context.WithCancel(of.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); a.Run(ctx) }()
	of.t.Cleanup(func() { cancel(); <-done })
	return a, dialed
}

// get reads a page of an agent's API server as Argo CD does. It verifies the API server's certificate.
func (of *tunnels) get(name string, api *httptest.Server) (string, error) {
	of.t.Helper()
	proxy, err := url.Parse(of.proxy.URL)
	if err != nil {
		of.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(api.Certificate())
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		Proxy: http.ProxyURL(proxy), DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "example.com", MinVersion: tls.VersionTLS12},
	}}
	response, err := client.Get(tunnel.APIServer(name) + "/version") //nolint:noctx // It has a timeout.
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

// await waits until the metrics say something.
func (of *tunnels) await(want string) {
	of.t.Helper()
	text := ""
	for range 400 {
		response, err := http.Get(of.metricsURL) //nolint:noctx // It is local.
		if err != nil {
			of.t.Fatal(err)
		}
		raw, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if text = string(raw); strings.Contains(text, want) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	of.t.Fatalf("the metrics never said %s, but\n%s", want, text)
}

// stateOf is what the metrics say of an agent whose key is that of its name, and stateWith of one with another.
func stateOf(agent, state string) string { return stateWith(agent, agent, state) }

func stateWith(agent, of, state string) string {
	return fmt.Sprintf("agent=%q,key=%q,state=%q", agent, ssh.FingerprintSHA256(keyOf(of).sign().PublicKey()), state)
}

// open opens a WebSocket with the proof of a key, as an agent does.
func open(ctx context.Context, address string, k key) (*websocket.Conn, error) {
	d := websocket.Dialer{Subprotocols: []string{tunnel.Protocol}}
	_, response, err := d.DialContext(ctx, address, nil)
	if response == nil {
		return nil, err
	}
	_ = response.Body.Close()
	proof, err := tunnel.Prove(k.sign(), keyOf("server").sign().PublicKey(), response.Header.Get(tunnel.TimeHeader))
	if err != nil {
		return nil, err
	}
	ws, response, err := d.DialContext(ctx, address, http.Header{tunnel.ProofHeader: {proof}})
	if response != nil {
		_ = response.Body.Close()
	}
	return ws, err
}

// shows connects with the proof of one key, and then shows something of its own.
func (of *tunnels) shows(proof key, user string, auth ssh.AuthMethod) (ssh.Conn, <-chan ssh.NewChannel, <-chan *ssh.Request, error) {
	of.t.Helper()
	ws, err := open(of.t.Context(), of.url(), proof)
	if err != nil {
		return nil, nil, nil, err
	}
	of.t.Cleanup(func() { _ = ws.Close() })
	return ssh.NewClientConn(stream.New(ws), "", &ssh.ClientConfig{User: user, Auth: []ssh.AuthMethod{auth}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}) //nolint:gosec // It is an attacker's.
}

// dial connects as somebody with a key, and with a client of his own.
func (of *tunnels) dial(k key) (ssh.Conn, <-chan *ssh.Request, error) {
	of.t.Helper()
	c, _, requests, err := of.shows(k, "b", ssh.PublicKeys(k.sign()))
	return c, requests, err
}

// TestTunnel: Argo CD reaches the API server of each agent by the agent's name, and what keeps it from that is in the error.
func TestTunnel(t *testing.T) {
	of, api, other := serve(t, nil), anAPI(t, "a"), anAPI(t, "b")
	of.configure(map[string]key{"a": keyOf("a"), "b": keyOf("b"), "never": keyOf("never")})
	_, dialed := of.anAgent(keyOf("a"), api.Listener.Addr().String())
	of.anAgent(keyOf("b"), other.Listener.Addr().String())
	of.await(stateOf("a", tunnel.Connected))
	of.await(stateOf("b", tunnel.Connected))
	of.await(stateOf("never", tunnel.Waiting))
	for name, api := range map[string]*httptest.Server{"a": api, "b": other} {
		if text, err := of.get(name, api); err != nil || text != name+"/version" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
	if at := dialed.Load(); at != "tcp "+api.Listener.Addr().String() {
		t.Errorf("the agent connects to %v", at)
	}
	for name, want := range map[string]string{"never": "The agent in that cluster is not connected", "unknown": "The agent in that cluster is not connected"} {
		if _, err := of.get(name, api); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	api.Close()
	if _, err := of.get("a", api); err == nil || !strings.Contains(err.Error(), "cannot reach its API server") {
		t.Errorf("without an API server: %v", err)
	}
}

// TestTunnelRevoked: an agent whose key is taken away or replaced is cut off at once, and the others don't notice.
func TestTunnelRevoked(t *testing.T) {
	of, api := serve(t, nil), anAPI(t, "a")
	of.configure(map[string]key{"a": keyOf("a"), "b": keyOf("b"), "c": keyOf("c")})
	running := map[string]*agent.Agent{}
	for _, name := range []string{"a", "b", "c"} {
		running[name], _ = of.anAgent(keyOf(name), api.Listener.Addr().String())
		of.await(stateOf(name, tunnel.Connected))
	}
	before, err := http.Get(of.metricsURL) //nolint:noctx // It is local.
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := io.ReadAll(before.Body)
	_ = before.Body.Close()
	of.configure(map[string]key{"a": keyOf("a"), "b": keyOf("another")})
	of.await(stateWith("b", "another", tunnel.Waiting))
	for _, name := range []string{"b", "c"} {
		if _, err := of.get(name, api); err == nil {
			t.Errorf("%s is still reached", name)
		}
		cut := false
		for range 100 {
			w := httptest.NewRecorder()
			if running[name].ServeHTTP(w, nil); w.Code == http.StatusServiceUnavailable {
				cut = true
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		if !cut {
			t.Errorf("%s is still connected", name)
		}
	}
	for line := range strings.Lines(string(raw)) {
		if strings.Contains(line, `agent="a"`) {
			of.await(line)
		}
	}
	if _, err := of.get("a", api); err != nil {
		t.Errorf("a: %v", err)
	}
	of.anAgent(keyOf("another"), api.Listener.Addr().String())
	of.await(stateWith("b", "another", tunnel.Connected))
}

// TestTunnelLost: an agent whose network was cut comes back, though the server didn't see the connection end.
func TestTunnelLost(t *testing.T) {
	of := serve(t, func(s *server.Server) { s.Every, s.Handshake = time.Hour, time.Second })
	of.configure(map[string]key{"a": keyOf("a")})
	// It answers nothing any more.
	if _, _, err := of.dial(keyOf("a")); err != nil {
		t.Fatal(err)
	}
	of.await(stateOf("a", tunnel.Connected))
	api := anAPI(t, "a")
	of.anAgent(keyOf("a"), api.Listener.Addr().String())
	for range 20 {
		if _, err := of.get("a", api); err == nil {
			of.agents.CloseClientConnections()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the agent doesn't come back")
}

// TestTunnelNoticesLoss: an agent that answers no more is lost, and told as that.
func TestTunnelNoticesLoss(t *testing.T) {
	of := serve(t, nil)
	of.configure(map[string]key{"a": keyOf("a")})
	if _, _, err := of.dial(keyOf("a")); err != nil {
		t.Fatal(err)
	}
	of.await(stateOf("a", tunnel.Lost))
}

// TestHostileAgent: what somebody who has a key, or none, tries at the server.
func TestHostileAgent(t *testing.T) {
	of, api := serve(t, nil), anAPI(t, "a")
	of.configure(map[string]key{"a": keyOf("a"), "b": keyOf("b")})
	of.anAgent(keyOf("a"), api.Listener.Addr().String())
	of.await(stateOf("a", tunnel.Connected))
	t.Run("Outsider", func(t *testing.T) {
		if c, _, err := of.dial(keyOf("nobody")); err == nil {
			t.Errorf("somebody without a key is connected: %v", c.RemoteAddr())
		}
		d := websocket.Dialer{Subprotocols: []string{tunnel.Protocol}}
		_, response, err := d.DialContext(t.Context(), of.url(), nil)
		if err == nil || response == nil || response.StatusCode != http.StatusUnauthorized {
			t.Errorf("without a proof: %v, %v", response, err)
		}
		_ = response.Body.Close()
		response, err = http.Get(of.agentsURL) //nolint:noctx // It is local.
		if err != nil || response.StatusCode != http.StatusNotFound {
			t.Errorf("a browser: %v, %v", response, err)
		}
		_ = response.Body.Close()
	})
	t.Run("Password", func(t *testing.T) {
		if _, _, _, err := of.shows(keyOf("b"), "a", ssh.Password("")); err == nil {
			t.Error("a password is enough")
		}
	})
	t.Run("CopiedProof", func(t *testing.T) {
		for _, other := range []string{"nobody", "b"} {
			if _, _, _, err := of.shows(keyOf("a"), "a", ssh.PublicKeys(keyOf(other).sign())); err == nil {
				t.Errorf("with the proof of a, and the key of %s", other)
			}
		}
	})
	t.Run("ForgedProof", func(t *testing.T) {
		b := keyOf("b").sign()
		proof, err := tunnel.Prove(b, keyOf("server").sign().PublicKey(), tunnel.TimeOf(time.Now()))
		if err != nil {
			t.Fatal(err)
		}
		proof = strings.Replace(proof, ssh.FingerprintSHA256(b.PublicKey()), ssh.FingerprintSHA256(keyOf("a").sign().PublicKey()), 1)
		d := websocket.Dialer{Subprotocols: []string{tunnel.Protocol}}
		_, response, err := d.DialContext(t.Context(), of.url(), http.Header{tunnel.ProofHeader: {proof}})
		if err == nil || response == nil || response.StatusCode != http.StatusUnauthorized {
			t.Fatalf("signed by b for a: %v, %v", response, err)
		}
		_ = response.Body.Close()
	})
	t.Run("PretendsToBeAnother", func(t *testing.T) {
		// The name that b says, a, counts nothing: it is the key that says who it is.
		c, channels, requests, err := of.shows(keyOf("b"), "a", ssh.PublicKeys(keyOf("b").sign()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		go stream.Answer(requests)
		go func() {
			for channel := range channels {
				_ = channel.Reject(ssh.ConnectionFailed, "")
			}
		}()
		of.await(stateOf("b", tunnel.Connected))
		if text, err := of.get("a", api); err != nil || text != "a/version" {
			t.Errorf("a: %q, %v", text, err)
		}
	})
	t.Run("Forwards", func(t *testing.T) {
		// To redis, to the host, to another agent, whatever it asks for.
		c, requests, err := of.dial(keyOf("b"))
		for range 50 {
			if err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
			c, requests, err = of.dial(keyOf("b"))
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		go stream.Answer(requests)
		for _, typ := range []string{tunnel.Channel, "direct-tcpip", "forwarded-tcpip", "session", "chisel"} {
			_, _, err := c.OpenChannel(typ, []byte(api.Listener.Addr().String()))
			if open := (*ssh.OpenChannelError)(nil); !errors.As(err, &open) || open.Reason != ssh.Prohibited {
				t.Errorf("%s: %v", typ, err)
			}
		}
		for _, typ := range []string{"tcpip-forward", "config"} {
			if ok, _, _ := c.SendRequest(typ, true, []byte("x")); ok {
				t.Errorf("%s is granted", typ)
			}
		}
	})
	t.Run("KeyUsedTwice", func(t *testing.T) {
		// Who is connected stays, and it is told.
		c, _, err := of.dial(keyOf("a"))
		if err == nil {
			_ = c.Wait()
		}
		of.await(stateOf("a", tunnel.Connected) + `,twice="true"`)
		if text, err := of.get("a", api); err != nil || text != "a/version" {
			t.Errorf("a: %q, %v", text, err)
		}
	})
	t.Run("UsesTheProxyForOthers", func(t *testing.T) {
		for _, address := range []string{api.Listener.Addr().String(), "argocd-redis.argocd.svc:6379", "a.argocd-tunnel.argocd.svc:80"} {
			conn, err := net.Dial("tcp", of.proxy.Listener.Addr().String()) //nolint:noctx // It is local.
			if err != nil {
				t.Fatal(err)
			}
			_, _ = fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address)
			answer := make([]byte, 32)
			n, _ := conn.Read(answer)
			if _ = conn.Close(); !strings.HasPrefix(string(answer[:n]), "HTTP/1.1 403 ") {
				t.Errorf("%s: %s", address, answer[:n])
			}
		}
	})
}

// TestManyHandshakes: whoever has the key of an agent, and begins with handshakes that never end, keeps one of them.
func TestManyHandshakes(t *testing.T) {
	of, api := serve(t, nil), anAPI(t, "a")
	of.configure(map[string]key{"a": keyOf("a"), "b": keyOf("b")})
	var all []*websocket.Conn
	for range 20 {
		ws, err := open(t.Context(), of.url(), keyOf("b"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ws.Close() })
		all = append(all, ws)
	}
	for _, ws := range all[:19] {
		_ = ws.SetReadDeadline(time.Now().Add(5 * time.Second))
		for {
			// It says its version first.
			if _, _, err := ws.ReadMessage(); err == nil {
				continue
			} else if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
				t.Fatal("a handshake stays beside another")
			}
			break
		}
	}
	of.anAgent(keyOf("a"), api.Listener.Addr().String())
	of.await(stateOf("a", tunnel.Connected))
}

// TestSilentAgent: an agent that answers no request for a connection keeps a bounded number of them, and nobody waits for it for long. All of it
// ends with the agent's connection.
func TestSilentAgent(t *testing.T) {
	of, api := serve(t, func(s *server.Server) { s.Every, s.Open = time.Hour, 200*time.Millisecond }), anAPI(t, "a")
	of.configure(map[string]key{"a": keyOf("a")})
	c, channels, requests, err := of.shows(keyOf("a"), "a", ssh.PublicKeys(keyOf("a").sign()))
	if err != nil {
		t.Fatal(err)
	}
	go stream.Answer(requests)
	var asked atomic.Int64
	go func() {
		for range channels {
			asked.Add(1)
		}
	}()
	of.await(stateOf("a", tunnel.Connected))
	before := runtime.NumGoroutine()
	start := time.Now()
	if _, err := of.get("a", api); err == nil || !strings.Contains(err.Error(), "The agent in that cluster does not answer") {
		t.Errorf("the first: %v", err)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it waits for %s", took)
	}
	// Argo CD gives up.
	for range tunnel.MaxConnections {
		conn, err := net.Dial("tcp", of.proxy.Listener.Addr().String()) //nolint:noctx // It is local.
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", strings.TrimPrefix(tunnel.APIServer("a"), "https://")+":443")
		t.Cleanup(func() { _ = conn.Close() })
	}
	eventually(t, "the agent has all connections", func() bool { return asked.Load() == tunnel.MaxConnections })
	if _, err := of.get("a", api); err == nil || !strings.Contains(err.Error(), "The agent in that cluster has too many connections") {
		t.Errorf("one more: %v", err)
	}
	if n := asked.Load(); n != tunnel.MaxConnections {
		t.Errorf("the agent is asked for %d connections", n)
	}
	_ = c.Close()
	of.await(stateOf("a", tunnel.Lost))
	eventually(t, "nothing is left", func() bool { return runtime.NumGoroutine() <= before })
	of.anAgent(keyOf("a"), api.Listener.Addr().String())
	of.await(stateOf("a", tunnel.Connected))
	if _, err := of.get("a", api); err != nil {
		t.Error(err)
	}
}

// TestConnectionsEnd: each connection to an API server makes room for another once it is over.
func TestConnectionsEnd(t *testing.T) {
	of, api := serve(t, func(s *server.Server) { s.Every = time.Hour }), anAPI(t, "a")
	of.configure(map[string]key{"a": keyOf("a")})
	of.anAgent(keyOf("a"), api.Listener.Addr().String())
	of.await(stateOf("a", tunnel.Connected))
	for i := range tunnel.MaxConnections + 10 {
		if _, err := of.get("a", api); err != nil {
			t.Fatalf("the %d. connection: %v", i+1, err)
		}
	}
	// Nor do those that fail take any.
	api.Close()
	for range tunnel.MaxConnections + 10 {
		if _, err := of.get("a", api); err == nil || !strings.Contains(err.Error(), "cannot reach its API server") {
			t.Fatalf("without an API server: %v", err)
		}
	}
}

// TestClientGivesUp: a request that Argo CD gives up doesn't wait for the agent.
func TestClientGivesUp(t *testing.T) {
	of := serve(t, func(s *server.Server) { s.Every, s.Open = time.Hour, time.Hour })
	of.configure(map[string]key{"a": keyOf("a")})
	_, _, requests, err := of.shows(keyOf("a"), "a", ssh.PublicKeys(keyOf("a").sign()))
	if err != nil {
		t.Fatal(err)
	}
	go stream.Answer(requests)
	of.await(stateOf("a", tunnel.Connected))
	ctx, cancel := context.WithCancel(t.Context())
	r := httptest.NewRequestWithContext(ctx, http.MethodConnect, "/", nil)
	r.Host = strings.TrimPrefix(tunnel.APIServer("a"), "https://") + ":443"
	over := make(chan struct{})
	go func() { defer close(over); of.server.Proxy(httptest.NewRecorder(), r) }()
	time.AfterFunc(100*time.Millisecond, cancel)
	select {
	case <-over:
	case <-time.After(5 * time.Second):
		t.Error("it still waits")
	}
}

// eventually waits until something is so, for less time than anything of a server of tunnels takes to end by itself.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 500 {
		if is() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// TestHostileServer: a server that its tenant has replaced gets nothing of an agent but its API server.
func TestHostileServer(t *testing.T) {
	api := anAPI(t, "a")
	config := &ssh.ServerConfig{NoClientAuth: true, PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
	config.AddHostKey(keyOf("server").sign())
	result := make(chan error, 1)
	upgrade := websocket.Upgrader{Subprotocols: []string{tunnel.Protocol}}
	hostile := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrade.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		c, _, requests, err := ssh.NewServerConn(stream.New(ws), config)
		if err != nil {
			return
		}
		go stream.Answer(requests)
		for _, typ := range []string{"direct-tcpip", "forwarded-tcpip", "session", "chisel"} {
			if _, _, err := c.OpenChannel(typ, []byte("10.0.0.1:22")); err == nil {
				result <- fmt.Errorf("the agent opens %s", typ)
				return
			}
		}
		// The address in it counts nothing.
		_, _, err = c.OpenChannel(tunnel.Channel, []byte("10.0.0.1:22"))
		result <- err
	}))
	t.Cleanup(func() { hostile.CloseClientConnections(); hostile.Close() })
	of := serve(t, nil)
	of.agentsURL = hostile.URL
	_, dialed := of.anAgent(keyOf("a"), api.Listener.Addr().String())
	if err := <-result; err != nil {
		t.Error(err)
	}
	if at := dialed.Load(); at != "tcp "+api.Listener.Addr().String() {
		t.Errorf("the agent connects to %v", at)
	}
}

// TestServerPretends: an agent doesn't connect to a server with another key, whichever proof that has asked for.
func TestServerPretends(t *testing.T) {
	of, api := serve(t, nil), anAPI(t, "a")
	configure(of.server, tunnel.Config{Key: keyOf("another server").text(), Agents: map[string]string{"a": keyOf("a").authorized()}})
	// It may ask for no proof at all, as well.
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(keyOf("another server").sign())
	upgrade := websocket.Upgrader{Subprotocols: []string{tunnel.Protocol}}
	asksNothing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ws, err := upgrade.Upgrade(w, r, nil); err == nil {
			_, _, _, _ = ssh.NewServerConn(stream.New(ws), config)
		}
	}))
	t.Cleanup(func() { asksNothing.CloseClientConnections(); asksNothing.Close() })
	for _, address := range []string{of.agentsURL, asksNothing.URL} {
		of.agentsURL = address
		a, _ := of.anAgent(keyOf("a"), api.Listener.Addr().String())
		time.Sleep(time.Second)
		w := httptest.NewRecorder()
		if a.ServeHTTP(w, nil); w.Code != http.StatusServiceUnavailable {
			t.Error("the agent is connected")
		}
	}
	of.await(stateOf("a", tunnel.Waiting))
}
