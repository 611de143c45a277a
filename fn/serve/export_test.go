package serve

import (
	"runtime"
	"runtime/debug"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// CheckReckoned checks that a request takes no more when it is decoded than is reckoned with. What is allocated is more than what is kept:
// lists grow by being copied.
func CheckReckoned(t *testing.T, raw []byte) {
	t.Helper()
	reckoned, err := inMemory(raw)
	if err != nil {
		t.Fatal(err)
	}
	var req fnv1.RunFunctionRequest
	got := memtest.Allocated(func() { err = unmarshal(raw, &req) })
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes: %d are allocated, %d reckoned with", len(raw), got, reckoned)
	if got > uint64(reckoned)*5/4 {
		t.Errorf("%d bytes are allocated, and %d reckoned with", got, reckoned)
	}
}

// Reckon does what is done with a request before it is decoded.
func Reckon(raw []byte) (string, error) {
	of := callerOf(raw)
	_, err := inMemory(raw)
	return of.xr, err
}

// CheckStack checks that decoding a request, and answering it, takes no more of a goroutine's stack than is reckoned with.
func CheckStack(t *testing.T, raw []byte, answer func(*fnv1.RunFunctionRequest)) {
	t.Helper()
	reckoned, err := inMemory(raw)
	if err != nil {
		t.Fatal(err)
	}
	// A stack shrinks only when garbage is collected.
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan error)
	go func() {
		var req fnv1.RunFunctionRequest
		err := unmarshal(raw, &req)
		answer(&req)
		runtime.ReadMemStats(&after)
		done <- err
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	got := int64(after.StackInuse) - int64(before.StackInuse)
	t.Logf("%d bytes: the stack takes %d, %d are reckoned with", len(raw), got, reckoned)
	if got > reckoned {
		t.Errorf("the stack takes %d bytes, and %d are reckoned with", got, reckoned)
	}
}
