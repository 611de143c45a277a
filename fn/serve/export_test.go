package serve

import (
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"google.golang.org/protobuf/proto"

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
	got := memtest.Allocated(func() { err = proto.Unmarshal(raw, &req) })
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
