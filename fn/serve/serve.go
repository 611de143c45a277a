// Package serve serves the function over gRPC. It receives and decodes no more at the same time than the process has memory for: a claim's
// author decides how large a request becomes once it is decoded, and Crossplane calls for 100 claims at a time. A server generated from
// the protocol receives and decodes each request at once, before anything of the function is asked.
package serve

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/crossplane/function-sdk-go/proto/v1beta1"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

const (
	// received is how many requests are received, or wait to be decoded, at the same time. Each takes up to twice its size while it is put
	// together. The rest of them remain with Crossplane.
	received = 2
	// window is how much of a request gRPC takes before it is received, in bytes. It is the least that gRPC allows.
	window = 64 << 10
	// connection is how much it takes of all requests of a connection until it has handed them on, in bytes.
	connection = 1 << 20
	// usual is GOMEMLIMIT of examples/install/runtime.yaml, in bytes, for processes without any.
	usual = 460 << 20
)

// Options configure how the function is served.
type Options struct {
	Credentials credentials.TransportCredentials
	// MaxRequest is the most that a request has, in bytes.
	MaxRequest int
	// Memory is what all requests take at the same time once they are decoded, in bytes.
	Memory int64
	// Interceptor is called around each call. It gets no request, which isn't decoded yet.
	Interceptor grpc.UnaryServerInterceptor
}

// Memory returns how much memory requests may take once they are decoded, in bytes: of GOMEMLIMIT, less than what is received, two thirds.
// The rest is for the program and for what the garbage collector has yet to free. Usual requests of the largest size have room in any case.
func Memory(maxRequest int) int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit == math.MaxInt64 {
		limit = usual
	}
	return max((limit-2*received*int64(maxRequest))*2/3, 8*int64(maxRequest))
}

// New returns a server of the function. It logs to log for whom the function is called, before it decodes anything.
func New(f fnv1.FunctionRunnerServiceServer, log logging.Logger, o Options) *grpc.Server {
	options := []grpc.ServerOption{
		grpc.Creds(o.Credentials),
		grpc.MaxRecvMsgSize(o.MaxRequest),
		grpc.StaticStreamWindowSize(window),
		grpc.StaticConnWindowSize(connection),
		// What a client that is gone has begun to send must not keep others waiting.
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Minute, Timeout: 20 * time.Second}),
		grpc.ForceServerCodecV2(codec{encoding.GetCodecV2("proto")}),
	}
	if o.Interceptor != nil {
		options = append(options, grpc.UnaryInterceptor(o.Interceptor))
	}
	out := grpc.NewServer(options...)
	s := &server{
		function: f, log: log, intercept: o.Interceptor,
		receiving: semaphore.NewWeighted(received), under: semaphore.NewWeighted(o.Memory), memory: o.Memory,
	}
	// Both have the same messages. Crossplane calls the first, and the second where that isn't known.
	for _, of := range []grpc.ServiceDesc{fnv1.FunctionRunnerService_ServiceDesc, v1beta1.FunctionRunnerService_ServiceDesc} {
		method := "/" + of.ServiceName + "/RunFunction"
		// As a stream of one message, a call is handled before its request is received.
		of.HandlerType, of.Methods = (*any)(nil), nil
		of.Streams = []grpc.StreamDesc{{StreamName: "RunFunction", Handler: func(_ any, stream grpc.ServerStream) error { return s.call(stream, method) }}}
		out.RegisterService(&of, s)
	}
	return out
}

// A server hands calls on to the function.
type server struct {
	function  fnv1.FunctionRunnerServiceServer
	log       logging.Logger
	intercept grpc.UnaryServerInterceptor

	// receiving is held for each request that is received, until it is decoded.
	receiving *semaphore.Weighted
	// under is held for what a request takes in memory while it is decoded and answered, in bytes.
	under  *semaphore.Weighted
	memory int64
}

// call answers one call.
func (s *server) call(stream grpc.ServerStream, method string) error {
	handle := func(ctx context.Context, _ any) (any, error) { return nil, s.answer(ctx, stream) }
	if s.intercept == nil {
		_, err := handle(stream.Context(), nil)
		return err
	}
	_, err := s.intercept(stream.Context(), nil, &grpc.UnaryServerInfo{Server: s.function, FullMethod: method}, handle)
	return err
}

// answer receives the request of a call, decodes it, has the function answer it and sends that.
func (s *server) answer(ctx context.Context, stream grpc.ServerStream) error {
	req := &fnv1.RunFunctionRequest{}
	release, err := s.receive(ctx, stream, req)
	if err != nil {
		return err
	}
	defer release()
	rsp, err := s.function.RunFunction(ctx, req)
	if err != nil {
		return err
	}
	return stream.SendMsg(rsp)
}

// receive receives a request, and decodes it once there is memory for it, which the caller releases.
func (s *server) receive(ctx context.Context, stream grpc.ServerStream, req *fnv1.RunFunctionRequest) (release func(), err error) {
	if err := s.receiving.Acquire(ctx, 1); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	defer s.receiving.Release(1)
	var m message
	if err := stream.RecvMsg(&m); err != nil {
		return nil, err
	}
	defer m.Free()
	of := callerOf(m.ReadOnlyData())
	// If what follows ends the process, its log has this line, and none of what became of the call.
	s.log.Info("called", "tag", of.tag, "xr", of.xr, "claim", of.claim)
	takes, err := inMemory(m.ReadOnlyData())
	if err != nil {
		return nil, status.Errorf(codes.Internal, "cannot decode the request: %v", err)
	}
	if takes > s.memory {
		s.log.Info("refused", "tag", of.tag, "xr", of.xr, "claim", of.claim, "memory", takes)
		return nil, status.Errorf(codes.ResourceExhausted, "%s would take %d MiB of the function's memory, which has %d MiB for all: leave out values of the claim, and keys of the Secrets that it names",
			of, takes>>20, s.memory>>20)
	}
	if err := s.under.Acquire(ctx, takes); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	release = func() { s.under.Release(takes) }
	if err := unmarshal(m.ReadOnlyData(), req); err != nil {
		release()
		return nil, status.Errorf(codes.Internal, "cannot decode the request: %v", err)
	}
	return release, nil
}

// A message is a request as it was received.
type message struct{ mem.Buffer }

// A codec leaves messages as they were received, and is gRPC's own for everything else.
type codec struct{ encoding.CodecV2 }

func (c codec) Unmarshal(data mem.BufferSlice, v any) error {
	m, ok := v.(*message)
	if !ok {
		return c.CodecV2.Unmarshal(data, v)
	}
	m.Buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
	return nil
}

// String names for whom the function is called, in messages.
func (c caller) String() string {
	if c.claim != "" {
		return fmt.Sprintf("claim %s", c.claim)
	}
	return fmt.Sprintf("composite resource %s", c.xr)
}
