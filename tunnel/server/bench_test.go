package server_test

import (
	"fmt"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
	"github.com/virtual-argocd/virtual-argocd/tunnel/server"
	"github.com/virtual-argocd/virtual-argocd/tunnel/stream"
)

// BenchmarkStorm has 1,000 agents connect at once, as after a restart of their server. kB/agent is what both sides of a connection take.
func BenchmarkStorm(b *testing.B) {
	const agents = 1000
	s := server.New(logging.NewNopLogger())
	c := tunnel.Config{Key: keyOf("server").text(), Agents: map[string]string{}}
	for i := range agents {
		c.Agents[fmt.Sprint(i)] = keyOf(fmt.Sprint(i)).authorized()
	}
	configure(s, c)
	is := httptest.NewServer(s.Handler(tunnel.AgentsPort))
	defer is.Close()
	heap := func() uint64 {
		runtime.GC()
		m := runtime.MemStats{}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	for b.Loop() {
		before := heap()
		var wg sync.WaitGroup
		conns := make([]ssh.Conn, agents)
		failed := make(chan error, agents)
		for i := range agents {
			wg.Go(func() {
				ws, err := open(b.Context(), strings.Replace(is.URL, "http", "ws", 1), keyOf(fmt.Sprint(i)))
				if err != nil {
					failed <- err
					return
				}
				conn, channels, requests, err := ssh.NewClientConn(stream.New(ws), "", &ssh.ClientConfig{Auth: []ssh.AuthMethod{ssh.PublicKeys(keyOf(fmt.Sprint(i)).sign())}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}) //nolint:gosec // It is a test's.
				if err != nil {
					failed <- err
					return
				}
				conns[i] = conn
				go stream.Answer(requests)
				go func() {
					for c := range channels {
						_ = c.Reject(ssh.Prohibited, "")
					}
				}()
			})
		}
		wg.Wait()
		select {
		case err := <-failed:
			b.Fatal(err)
		default:
		}
		for connected := 0; connected < agents; time.Sleep(10 * time.Millisecond) {
			w := httptest.NewRecorder()
			s.Metrics(w, nil)
			connected = strings.Count(w.Body.String(), `state="connected"`)
		}
		b.ReportMetric(float64(heap()-before)/agents/1000, "kB/agent")
		for _, c := range conns {
			_ = c.Close()
		}
		for left := agents; left > 0; time.Sleep(10 * time.Millisecond) {
			w := httptest.NewRecorder()
			s.Metrics(w, nil)
			left = strings.Count(w.Body.String(), `state="connected"`)
		}
	}
}
