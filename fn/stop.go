package main

import (
	"context"
	"sync"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A drainer lets calls that are under way be answered before the process ends.
// Crossplane tries a refused call again.
type drainer struct {
	fnv1.FunctionRunnerServiceServer

	mu       sync.RWMutex
	stopping bool
	calls    sync.WaitGroup
}

// RunFunction passes the call on, unless the function is stopping.
func (d *drainer) RunFunction(ctx context.Context, req *fnv1.RunFunctionRequest) (*fnv1.RunFunctionResponse, error) {
	d.mu.RLock()
	if d.stopping {
		d.mu.RUnlock()
		return nil, status.Error(codes.Unavailable, "the function is stopping: call it again")
	}
	d.calls.Add(1)
	d.mu.RUnlock()
	defer d.calls.Done()
	return d.FunctionRunnerServiceServer.RunFunction(ctx, req)
}

// drain refuses further calls and returns when none is under way.
func (d *drainer) drain() {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
	d.calls.Wait()
}
