package serve_test

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/proto/v1beta1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/virtual-argocd/virtual-argocd/fn/serve"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const maxRequest = 16 << 20

// served serves a function, with so much memory for requests, and returns the server and a connection to it.
func served(t *testing.T, f fnv1.FunctionRunnerServiceServer, log logging.Logger, memory int64, dial ...grpc.DialOption) (*grpc.Server, *grpc.ClientConn) {
	t.Helper()
	listener := bufconn.Listen(1 << 20)
	server := serve.New(f, log, serve.Options{Credentials: insecure.NewCredentials(), MaxRequest: maxRequest, Memory: memory})
	healthpb.RegisterHealthServer(server, health.NewServer())
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-done
	})
	conn, err := grpc.NewClient("passthrough:///function", append(dial, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return server, conn
}

// An echo answers with what it has got, and counts the bytes of requests under way.
type echo struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	under, most, calls atomic.Int64
}

func (e *echo) RunFunction(_ context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	size := int64(proto.Size(req))
	if now := e.under.Add(size); now > e.most.Load() {
		e.most.Store(now)
	}
	time.Sleep(time.Millisecond)
	e.under.Add(-size)
	e.calls.Add(1)
	return &fnv1.RunFunctionResponse{Meta: &fnv1.ResponseMeta{Tag: req.GetMeta().GetTag()}}, nil
}

func tagged(size int) *fnv1.RunFunctionRequest {
	return &fnv1.RunFunctionRequest{Meta: &fnv1.RequestMeta{Tag: strings.Repeat("a", size)}}
}

// TestServed: both versions of the protocol are answered, and so are questions for health.
func TestServed(t *testing.T) {
	_, conn := served(t, &echo{}, logging.NewNopLogger(), 1<<20)
	if rsp, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), tagged(3)); err != nil || rsp.GetMeta().GetTag() != "aaa" {
		t.Errorf("got %v, %v", rsp, err)
	}
	if rsp, err := v1beta1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), &v1beta1.RunFunctionRequest{Meta: &v1beta1.RequestMeta{Tag: "b"}}); err != nil || rsp.GetMeta().GetTag() != "b" {
		t.Errorf("v1beta1: got %v, %v", rsp, err)
	}
	if rsp, err := healthpb.NewHealthClient(conn).Check(t.Context(), &healthpb.HealthCheckRequest{}); err != nil || rsp.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health: got %v, %v", rsp, err)
	}
	if _, err := fnv1.NewFunctionRunnerServiceClient(conn).RunFunction(t.Context(), tagged(maxRequest+1)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("want a request that is too large to be refused, got %v", err)
	}
}

// TestLargeCallsWait: many large requests at once are decoded and answered one after the other, and small ones together. One that would
// take more than there is names the claim.
func TestLargeCallsWait(t *testing.T) {
	const size, memory = 1 << 20, 6 << 20
	f := &echo{}
	_, conn := served(t, f, logging.NewNopLogger(), memory)
	client := fnv1.NewFunctionRunnerServiceClient(conn)
	var calls sync.WaitGroup
	for i := range 40 {
		calls.Go(func() {
			if _, err := client.RunFunction(t.Context(), tagged(1+i%2*size)); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if f.calls.Load() != 40 || f.most.Load() > size*3/2 || f.most.Load() < size {
		t.Errorf("want 40 calls with one large request at a time, got %d with %d bytes", f.calls.Load(), f.most.Load())
	}
	e := crossplanetest.New(t, `{}`, "")
	e.SetSpec(`{"argocd":{"values":{"a":[` + strings.Repeat("{},", 100_000) + `{}]}}}`)
	f.calls.Store(0)
	_, err := client.RunFunction(t.Context(), e.Request)
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), "claim team-a/customer1 would take ") || f.calls.Load() != 0 {
		t.Errorf("got %v", err)
	}
}

// A lazy function answers once leave is closed.
type lazy struct {
	fnv1.UnimplementedFunctionRunnerServiceServer

	entered chan struct{}
	leave   chan struct{}
}

func (l *lazy) RunFunction(context.Context, *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	l.entered <- struct{}{}
	<-l.leave
	return &fnv1.RunFunctionResponse{}, nil
}

// TestFewAreReceived: while others wait for memory, requests remain with Crossplane, and one that is given up makes room.
func TestFewAreReceived(t *testing.T) {
	f := &lazy{entered: make(chan struct{}, 100), leave: make(chan struct{})}
	lines := &lines{}
	_, conn := served(t, f, lines, 6<<20)
	client := fnv1.NewFunctionRunnerServiceClient(conn)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if _, err := client.RunFunction(ctx, tagged(1<<20)); err != nil && status.Code(err) != codes.Canceled {
				t.Error(err)
			}
		})
	}
	<-f.entered
	time.Sleep(500 * time.Millisecond)
	// The one that is answered, and those that are received.
	if got := lines.count("called"); got != 1+2 {
		t.Errorf("%d requests were received", got)
	}
	cancel()
	close(f.leave)
	calls.Wait()
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := client.RunFunction(ctx, tagged(1<<20)); err != nil {
		t.Errorf("those that were given up are in the way: %v", err)
	}
}

// TestDrain: a function that stops answers the calls that are under way, and refuses others.
func TestDrain(t *testing.T) {
	f := &lazy{entered: make(chan struct{}, 100), leave: make(chan struct{})}
	server, conn := served(t, f, logging.NewNopLogger(), 1<<20)
	client := fnv1.NewFunctionRunnerServiceClient(conn)
	answered, drained := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := client.RunFunction(t.Context(), tagged(1))
		answered <- err
	}()
	<-f.entered
	go func() {
		server.GracefulStop()
		close(drained)
	}()
	for began := time.Now(); ; {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, err := client.RunFunction(ctx, tagged(1))
		cancel()
		if status.Code(err) == codes.Unavailable {
			break
		}
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

// lines are those of a log.
type lines struct {
	lock sync.Mutex
	said []string
}

func (l *lines) Info(msg string, values ...any) {
	l.lock.Lock()
	defer l.lock.Unlock()
	for _, v := range values {
		if s, ok := v.(string); ok {
			msg += " " + s
		}
	}
	l.said = append(l.said, msg)
}

func (l *lines) Debug(string, ...any) {}

func (l *lines) WithValues(...any) logging.Logger { return l }

func (l *lines) count(prefix string) int {
	l.lock.Lock()
	defer l.lock.Unlock()
	return len(slices.DeleteFunc(slices.Clone(l.said), func(s string) bool { return !strings.HasPrefix(s, prefix) }))
}

// as is a codec of messages that are encoded already.
type as struct{}

func (as) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

func (as) Unmarshal([]byte, any) error { return nil }

func (as) Name() string { return "proto" }

// TestCalledIsLoggedFirst: the log names the claim before its request is decoded.
func TestCalledIsLoggedFirst(t *testing.T) {
	e := crossplanetest.New(t, `{}`, "")
	e.Request.Meta = &fnv1.RequestMeta{Tag: "the-tag"}
	raw := crossplanetest.Must(proto.Marshal(e.Request))
	name := crossplanetest.Field(e.XR(), "metadata").GetFields()["name"].GetStringValue()
	lines := &lines{}
	f := &echo{}
	_, conn := served(t, f, lines, 1<<30, grpc.WithDefaultCallOptions(grpc.ForceCodec(as{})))
	// A field that ends too early: what can't be decoded.
	if err := conn.Invoke(t.Context(), fnv1.FunctionRunnerService_RunFunction_FullMethodName, append(raw, 0x0a, 0x7f), nil); status.Code(err) != codes.Internal {
		t.Errorf("got %v", err)
	}
	if want := "called tag the-tag xr " + name + " claim team-a/customer1"; len(lines.said) != 1 || lines.said[0] != want || f.calls.Load() != 0 {
		t.Errorf("want %q and no call, got %q", want, lines.said)
	}
}

// TestAnyWidth: no request takes much more memory than is reckoned with before it is decoded.
func TestAnyWidth(t *testing.T) {
	for name, value := range map[string]string{
		"Maps": "[" + strings.Repeat("{},", 50_000) + "{}]", "Lists": "[" + strings.Repeat("[],", 50_000) + "[]]", "Texts": "[" + strings.Repeat(`"",`, 50_000) + `""]`,
		"Pairs": "[" + strings.Repeat(`{"":{}},`, 50_000) + "{}]", "Numbers": "[" + strings.Repeat("0,", 50_000) + "0]", "Deep": strings.Repeat(`{"a":`, 2000) + "1" + strings.Repeat("}", 2000),
	} {
		t.Run(name, func(t *testing.T) {
			raw := crossplanetest.Must(proto.Marshal(&fnv1.RunFunctionRequest{Input: &structpb.Struct{Fields: map[string]*structpb.Value{"a": crossplanetest.JSON(value)}}}))
			serve.CheckReckoned(t, raw)
		})
	}
}

// BenchmarkReckon is what a call of a Ready tenant takes before its request is decoded, and BenchmarkDecode to decode it.
func BenchmarkReckon(b *testing.B) {
	raw := crossplanetest.Must(proto.Marshal(crossplanetest.New(b, `{}`, "").Install().Request))
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := serve.Reckon(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	raw := crossplanetest.Must(proto.Marshal(crossplanetest.New(b, `{}`, "").Install().Request))
	b.ReportAllocs()
	for b.Loop() {
		if err := proto.Unmarshal(raw, &fnv1.RunFunctionRequest{}); err != nil {
			b.Fatal(err)
		}
	}
}
