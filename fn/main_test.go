package main

import (
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// A panicking logger stands for an error of ours anywhere in the function.
type panicking struct{ logging.Logger }

func (p panicking) WithValues(...any) logging.Logger { return p }

func (p panicking) Info(msg string, _ ...any) {
	if msg == "composed" {
		panic("an error of ours")
	}
}

// TestNoPanicReachesGRPC: a call that trips over an error of ours gets an answer
// that stops Crossplane from changing anything, and so does the next one.
func TestNoPanicReachesGRPC(t *testing.T) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, newGate(function.New(panicking{logging.NewNopLogger()}, time.Now), 16<<20))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	conn, err := grpc.NewClient("passthrough:///function", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	req := crossplanetest.New(t, `{}`, "").Install().Request
	for range 2 {
		rsp, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(crossplanetest.Refusal(rsp), "the function failed on this resource") || len(rsp.GetDesired().GetResources()) > 0 {
			t.Errorf("want a fatal result and nothing else: %v", rsp)
		}
	}
}

// A slow function answers its first call once leave is closed.
type slow struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	calls          atomic.Int32
	entered, leave chan struct{}
}

func (s *slow) RunFunction(context.Context, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	if s.calls.Add(1) == 1 {
		close(s.entered)
		<-s.leave
	}
	return &fnv1.RunFunctionResponse{}, nil
}

// TestDrain: a function that stops answers the calls that are under way, and refuses others.
func TestDrain(t *testing.T) {
	f := &slow{entered: make(chan struct{}), leave: make(chan struct{})}
	d := newGate(f, 16<<20)
	call := func() error {
		_, err := d.RunFunction(t.Context(), &fnv1.RunFunctionRequest{})
		return err
	}
	answered, drained := make(chan error), make(chan struct{})
	go func() { answered <- call() }()
	<-f.entered
	if err := call(); err != nil {
		t.Fatalf("a function that doesn't stop refuses a call: %v", err)
	}
	go func() {
		d.calls.Lock()
		close(drained)
	}()
	for began := time.Now(); status.Code(call()) != codes.Unavailable; {
		if time.Since(began) > time.Minute {
			t.Fatal("a function that stops answers calls")
		}
	}
	select {
	case <-drained:
		t.Error("the function has stopped, and a call is under way")
	default:
	}
	close(f.leave)
	if err := <-answered; err != nil {
		t.Errorf("a call that was under way: %v", err)
	}
	<-drained
}

// A counter counts the bytes of requests under way.
type counter struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	under, most, calls atomic.Int64
}

func (c *counter) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	size := int64(proto.Size(req))
	if now := c.under.Add(size); now > c.most.Load() {
		c.most.Store(now)
	}
	time.Sleep(time.Millisecond)
	c.under.Add(-size)
	c.calls.Add(1)
	return &fnv1.RunFunctionResponse{}, nil
}

// TestLargeCallsWait: many large requests at once are answered one after the other, and small ones together.
func TestLargeCallsWait(t *testing.T) {
	const most = 1 << 20
	f := &counter{}
	g := newGate(f, most)
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			req := &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("a", 1+i%2*most*2/3)}}
			if _, err := g.RunFunction(t.Context(), req); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if f.calls.Load() != 40 || f.most.Load() > most || f.most.Load() < most/2 {
		t.Errorf("want 40 calls with at most %d bytes at once, got %d with %d", most, f.calls.Load(), f.most.Load())
	}
	// One that is larger than all together is no deadlock, and who doesn't wait any more is told so.
	if _, err := g.RunFunction(t.Context(), &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("a", 2*most)}}); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.under.Acquire(t.Context(), most); err != nil {
		t.Fatal(err)
	}
	if _, err := g.RunFunction(ctx, &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: "a"}}); status.Code(err) != codes.Canceled {
		t.Errorf("want a call that is given up to be cancelled, got %v", err)
	}
}
