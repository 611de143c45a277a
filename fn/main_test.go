package main

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"

	"github.com/virtual-argocd/virtual-argocd/fn/function"
	"github.com/virtual-argocd/virtual-argocd/fn/serve"
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
	server := serve.New(function.New(panicking{logging.NewNopLogger()}, time.Now), logging.NewNopLogger(), serve.Options{Credentials: insecure.NewCredentials(), MaxRequest: 16 << 20, Memory: 1 << 30})
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
