package main

import (
	"context"
	"net"
	"strings"
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

	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

// A panicking logger stands for an error of ours anywhere in the function.
type panicking struct{ logging.Logger }

func (p panicking) WithValues(...any) logging.Logger { return p }

func (p panicking) Debug(string, ...any) { panic("an error of ours") }

// TestNoPanicReachesGRPC: a call that trips over an error of ours gets an answer
// that stops Crossplane from changing anything, and so does the next one.
func TestNoPanicReachesGRPC(t *testing.T) {
	listener := bufconn.Listen(1 << 20)
	server := grpc.NewServer()
	fnv1.RegisterFunctionRunnerServiceServer(server, &drainer{FunctionRunnerServiceServer: function.New(panicking{logging.NewNopLogger()}, time.Now)})
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
	d := &drainer{FunctionRunnerServiceServer: f}
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
