// Package agent is the side of a tunnel in a closed cluster.
package agent

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"github.com/gorilla/websocket"
	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
	"github.com/virtual-argocd/virtual-argocd/tunnel/stream"
)

// An Agent connects to a server, and gives it one address: that of its cluster's API server.
type Agent struct {
	// Server is the URL of the server, and Folder has the files with its key and the agent's.
	Server, Folder string
	// API is the address of the API server. Nobody but whoever starts the agent can name it.
	API string
	// Dial connects to it.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	Log  logging.Logger
	// Every is how often each side asks whether the other is there, and Retry the longest time between two attempts to connect.
	Every, Retry time.Duration

	connected atomic.Bool
}

// New returns an agent as it runs in a cluster.
func New(server, folder, api string, log logging.Logger) *Agent {
	return &Agent{Server: server, Folder: folder, API: api, Dial: (&net.Dialer{Timeout: 10 * time.Second}).DialContext, Log: log, Every: 20 * time.Second, Retry: 30 * time.Second}
}

// Run connects, again and again, until ctx is done.
func (a *Agent) Run(ctx context.Context) {
	const first = time.Second
	wait := first
	for {
		begun := time.Now()
		err := a.connect(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(begun) > a.Retry {
			wait = first
		}
		// Agents of a server that was restarted don't come back at once.
		pause := wait/2 + rand.N(wait) //nolint:gosec // It is no secret.
		a.Log.Info("The tunnel isn't connected", "error", err.Error(), "again in", pause.Round(time.Millisecond).String())
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		wait = min(2*wait, a.Retry)
	}
}

// connect connects once, and returns why the connection ended. It reads its files each time: another key takes effect without a restart.
func (a *Agent) connect(ctx context.Context) error {
	f, err := a.read()
	if err != nil {
		return err
	}
	ws, err := a.dial(ctx, f)
	if err != nil {
		return err
	}
	conn := stream.New(ws)
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	config := &ssh.ClientConfig{User: "agent", Auth: []ssh.AuthMethod{ssh.PublicKeys(f.key)}, HostKeyCallback: ssh.FixedHostKey(f.server), HostKeyAlgorithms: []string{f.server.Type()}}
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	c, channels, requests, err := ssh.NewClientConn(conn, "", config)
	if err != nil {
		return err
	}
	_ = conn.SetDeadline(time.Time{})
	a.connected.Store(true)
	defer a.connected.Store(false)
	a.Log.Info("The tunnel is connected", "server", a.Server)
	go stream.Answer(requests)
	go a.accept(ctx, channels)
	stream.KeepAlive(c, a.Every)
	return errors.New("the connection has ended")
}

// dial opens a WebSocket. A server asks whoever comes without a proof for one, and says for which time.
func (a *Agent) dial(ctx context.Context, f files) (*websocket.Conn, error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: 20 * time.Second, Subprotocols: []string{tunnel.Protocol}, TLSClientConfig: &tls.Config{RootCAs: f.authority, MinVersion: tls.VersionTLS12}}
	ws, response, err := dialer.DialContext(ctx, a.Server, nil)
	if at := asked(response); at != "" {
		proof, failed := tunnel.Prove(f.key, f.server, at)
		if failed != nil {
			return nil, failed
		}
		if ws, response, err = dialer.DialContext(ctx, a.Server, http.Header{tunnel.ProofHeader: {proof}}); asked(response) != "" {
			return nil, errors.New("unable to authenticate: the server knows another key of this agent, or none")
		}
	}
	if err != nil && response != nil {
		err = fmt.Errorf("%s answers with %s: %w", a.Server, response.Status, err)
	}
	return ws, err
}

// asked returns which time a server wants a proof for; "" if it wants none.
func asked(response *http.Response) string {
	if response == nil {
		return ""
	}
	// After a handshake, there is none.
	_ = response.Body.Close()
	return response.Header.Get(tunnel.TimeHeader)
}

// files of an agent, as they are read. The authority is nil where those that the system knows do.
type files struct {
	key       ssh.Signer
	server    ssh.PublicKey
	authority *x509.CertPool
}

// read reads the agent's files.
func (a *Agent) read() (f files, err error) {
	file := func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(a.Folder, name)) } //nolint:gosec // It is the agent's own folder.
	raw, err := file(tunnel.KeyFile)
	if err != nil {
		return f, err
	}
	if f.key, err = ssh.ParsePrivateKey(raw); err != nil {
		return f, fmt.Errorf("%s is not the key of an agent: %w", tunnel.KeyFile, err)
	}
	if raw, err = file(tunnel.ServerFile); err != nil {
		return f, err
	}
	if f.server, _, _, _, err = ssh.ParseAuthorizedKey(raw); err != nil {
		return f, fmt.Errorf("%s is not the key of a server: %w", tunnel.ServerFile, err)
	}
	if raw, err = file(tunnel.AuthorityFile); err == nil {
		if f.authority = x509.NewCertPool(); !f.authority.AppendCertsFromPEM(raw) {
			return f, fmt.Errorf("%s has no certificates", tunnel.AuthorityFile)
		}
	}
	return f, nil
}

// accept gives the server connections to the API server, whatever else it says in its requests.
func (a *Agent) accept(ctx context.Context, channels <-chan ssh.NewChannel) {
	free := make(chan struct{}, tunnel.MaxConnections)
	for c := range channels {
		if c.ChannelType() != tunnel.Channel {
			_ = c.Reject(ssh.Prohibited, "an agent has its API server alone")
			continue
		}
		select {
		case free <- struct{}{}:
		default:
			_ = c.Reject(ssh.ResourceShortage, "the agent has too many connections")
			continue
		}
		go func() {
			defer func() { <-free }()
			a.forward(ctx, c)
		}()
	}
}

func (a *Agent) forward(ctx context.Context, c ssh.NewChannel) {
	api, err := a.Dial(ctx, "tcp", a.API)
	if err != nil {
		_ = c.Reject(ssh.ConnectionFailed, "the agent can't reach its API server")
		a.Log.Info("Cannot reach the API server", "error", err.Error())
		return
	}
	channel, requests, err := c.Accept()
	if err != nil {
		_ = api.Close()
		return
	}
	go ssh.DiscardRequests(requests)
	half, ok := api.(stream.Half)
	if !ok {
		_, _ = channel.Close(), api.Close()
		return
	}
	stream.Pipe(channel, half)
}

// ServeHTTP tells whether the agent is connected.
func (a *Agent) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	if !a.connected.Load() {
		http.Error(w, "not connected", http.StatusServiceUnavailable)
	}
}
