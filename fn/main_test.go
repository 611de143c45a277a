package main

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

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
