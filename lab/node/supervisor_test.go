package node

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestSupervisorStartsAgain(t *testing.T) {
	l := layout(t.TempDir())
	if err := os.Mkdir(l.in("logs"), 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	starts := 0
	newSupervisor(l).run(ctx, daemon{Name: "short", Command: func() *exec.Cmd {
		if starts++; starts == 3 {
			cancel()
		}
		return exec.Command("echo", "hello")
	}})
	b, err := os.ReadFile(l.log("short"))
	if starts != 3 || strings.Count(string(b), "hello\n") != 3 || err != nil {
		t.Errorf("run(...): want three starts in one log, got %d starts, log %q, error %v", starts, b, err)
	}
}

func TestReaperLeavesOwnChildren(t *testing.T) {
	r := newReaper()
	cmd := exec.Command("sh", "-c", "exit 7")
	if err := r.start(cmd); err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // It has ended; nobody has waited for it.
	if r.reapOne() {
		t.Error("reapOne(): took a child that its starter waits for")
	}
	if err := r.wait(cmd); err == nil || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("wait(...): want exit code 7, got %v", err)
	}
}

func TestReaperTakesOthers(t *testing.T) {
	r := newReaper()
	p, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if r.reapOne() {
			if _, err := os.Stat("/proc/" + strconv.Itoa(p.Pid)); err == nil {
				t.Error("reapOne(): the child is still there")
			}
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("reapOne(): never took the child")
}

func TestProbes(t *testing.T) {
	ready := false
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !ready {
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	defer server.Close()
	if err := answers(server.URL)(t.Context()); err == nil {
		t.Error("answers(...): want an error while the answer is 403")
	}
	ready = true
	if err := answers(server.URL)(t.Context()); err != nil {
		t.Errorf("answers(...): want none, got %v", err)
	}

	socket := t.TempDir() + "/s"
	if err := accepts("unix", socket)(t.Context()); err == nil {
		t.Error("accepts(...): want an error when nobody listens")
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // The test is over.
	waitFor(t.Context(), []probe{accepts("unix", socket), accepts("tcp", server.Listener.Addr().String())})
}
