package main

import (
	"testing"

	"github.com/crossplane/function-sdk-go/logging"
	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"
)

// readyRequest is the request for a Ready tenant, as bytes on the wire.
func readyRequest(b *testing.B) []byte {
	b.Helper()
	e := newEngine(b, tenantXR(`{"argocd":{"values":{"dex":{"enabled":false},"server":{"replicas":1}}}}`), "").install()
	raw, err := proto.Marshal(e.req)
	if err != nil {
		b.Fatal(err)
	}
	return raw
}

// BenchmarkRunFunction is a whole call for a Ready tenant: decode the request,
// run the function, encode the response.
func BenchmarkRunFunction(b *testing.B) {
	raw := readyRequest(b)
	f := NewFunction(logging.NewNopLogger())
	b.ReportAllocs()
	for b.Loop() {
		req := &fnv1.RunFunctionRequest{}
		if err := proto.Unmarshal(raw, req); err != nil {
			b.Fatal(err)
		}
		rsp, err := f.RunFunction(b.Context(), req)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := proto.Marshal(rsp); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkFloor is what no function can do without: decode the same request,
// encode the same response, nothing between.
func BenchmarkFloor(b *testing.B) {
	raw := readyRequest(b)
	first := &fnv1.RunFunctionRequest{}
	if err := proto.Unmarshal(raw, first); err != nil {
		b.Fatal(err)
	}
	rsp, err := NewFunction(logging.NewNopLogger()).RunFunction(b.Context(), first)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		req := &fnv1.RunFunctionRequest{}
		if err := proto.Unmarshal(raw, req); err != nil {
			b.Fatal(err)
		}
		if _, err := proto.Marshal(rsp); err != nil {
			b.Fatal(err)
		}
	}
}
