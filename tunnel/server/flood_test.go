package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/function-sdk-go/logging"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
	"github.com/virtual-argocd/virtual-argocd/tunnel/server"
)

// flooded is set for a process that is a server of tunnels, as it runs in its container, with an agent a.
const flooded = "TUNNEL_TEST_FLOODED"

func TestMain(m *testing.M) {
	if os.Getenv(flooded) == "" {
		os.Exit(m.Run())
	}
	s := server.New(logging.NewNopLogger())
	configure(s, tunnel.Config{Key: keyOf("server").text(), Agents: map[string]string{"a": keyOf("a").authorized()}})
	for _, port := range []int{tunnel.AgentsPort, tunnel.MetricsPort} {
		at, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // The process is killed.
		if err != nil {
			panic(err)
		}
		fmt.Println(at.Addr())
		go func() { panic(s.HTTP(port).Serve(at)) }()
	}
	// It ends with the test.
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// aProcess starts a server of tunnels of its own, and returns its addresses for agents and for metrics.
func aProcess(t *testing.T) (pid int, agents, metrics string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0]) //nolint:gosec // It is this test.
	c.Env = append(os.Environ(), flooded+"=true", fmt.Sprintf("GOMEMLIMIT=%d", tunnel.MemoryLimit/10*9))
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	if err == nil {
		_, err = c.StdinPipe()
	}
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = c.Process.Kill(), c.Wait() })
	lines := bufio.NewScanner(out)
	for _, to := range []*string{&agents, &metrics} {
		if !lines.Scan() {
			t.Fatal("the server doesn't start")
		}
		*to = lines.Text()
	}
	return c.Process.Pid, agents, metrics
}

// peakOf is the most memory that a process has had, in bytes.
func peakOf(t *testing.T, pid int) int {
	t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("this needs Linux: ", err)
	}
	kB, err := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindStringSubmatch(string(raw))[1])
	if err != nil {
		t.Fatal(err)
	}
	return kB << 10
}

// aFlood are outsiders, each of whom has a connection to an address, says something, and connects again whenever it has ended. It reports how
// many connections there have been, and how many there are.
func aFlood(t *testing.T, address string, connections int, says string, more func(*bufio.Reader, net.Conn)) (begun, open *atomic.Int64) {
	t.Helper()
	begun, open = &atomic.Int64{}, &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	for range connections {
		wg.Go(func() {
			for ctx.Err() == nil {
				c, err := (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", address)
				if err != nil {
					continue
				}
				begun.Add(1)
				open.Add(1)
				stop := context.AfterFunc(ctx, func() { _ = c.Close() })
				if _, err := io.WriteString(c, says); err == nil {
					r := bufio.NewReaderSize(c, 512)
					if more != nil {
						more(r, c)
					}
					_, _ = io.Copy(io.Discard, r)
				}
				stop()
				_ = c.Close()
				open.Add(-1)
				// All of this runs on the machine of the server, whose processors are to have time for the agent, too.
				select {
				case <-ctx.Done():
				case <-time.After(2 * time.Second):
				}
			}
		})
	}
	return begun, open
}

// upgrade is a request of somebody without a key.
const upgrade = "GET /tunnel HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: " + tunnel.Protocol + "\r\n"

// claimsLargePacket is a WebSocket's message with the version of SSH and most of a packet of 256 KiB, the largest that there is.
func claimsLargePacket() string {
	const packet = 256 << 10
	text := "SSH-2.0-x\r\n" + "\x00\x04\x00\x00\x04" + strings.Repeat("\x14", packet-4096)
	// Binary, masked with zeros.
	return "\x82\xff\x00\x00\x00\x00" + string([]byte{byte(len(text) >> 24), byte(len(text) >> 16), byte(len(text) >> 8), byte(len(text))}) + "\x00\x00\x00\x00" + text
}

// TestFlood: thousands of outsiders take the server less than half of the memory that it has, and all the while an agent with its key
// connects within twenty seconds, also where other tests run at the same time.
func TestFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("it opens thousands of connections")
	}
	large := claimsLargePacket()
	// As somebody may have seen one who decrypts the connections.
	known, err := tunnel.Prove(keyOf("a").sign(), keyOf("another server").sign().PublicKey(), tunnel.TimeOf(time.Now()))
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]struct {
		says string
		more func(*bufio.Reader, net.Conn)
	}{
		"SayNothing":  {},
		"SlowHeaders": {says: upgrade + "X: " + strings.Repeat("x", 32<<10)},
		"SlowBodies":  {says: upgrade + "Content-Length: 1000000\r\n\r\n" + strings.Repeat("x", 64<<10)},
		"WrongProofs": {says: upgrade + tunnel.ProofHeader + ": " + known + "\r\n\r\n"},
		"LargePackets": {says: upgrade + "\r\n", more: func(r *bufio.Reader, c net.Conn) {
			response, err := http.ReadResponse(r, nil)
			if err != nil {
				return
			}
			_ = response.Body.Close()
			_, _ = io.WriteString(c, large)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			pid, agents, metrics := aProcess(t)
			begun, open := aFlood(t, agents, 2048, f.says, f.more)
			for begun.Load() < 2048 {
				time.Sleep(10 * time.Millisecond)
			}
			eventually(t, "there is a bounded number of outsiders", func() bool { return open.Load() <= int64(server.New(nil).MaxStrangers) })
			start := time.Now()
			of := &tunnels{t: t, agentsURL: "http://" + agents, metricsURL: "http://" + metrics}
			of.anAgent(keyOf("a"), "127.0.0.1:1")
			of.await(stateOf("a", tunnel.Connected))
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("the agent is connected after %s", took)
			}
			time.Sleep(time.Second)
			peak := peakOf(t, pid)
			t.Logf("connected after %s; %d connections, %d MiB", time.Since(start)-time.Second, begun.Load(), peak>>20)
			if peak > tunnel.MemoryLimit/2 {
				t.Errorf("the server takes %d MiB of %d", peak>>20, tunnel.MemoryLimit>>20)
			}
		})
	}
}
