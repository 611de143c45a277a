package sigstore

import (
	"os"
	"os/exec"
	"testing"

	"github.com/sigstore/cosign/v3/pkg/cosign"
	"github.com/sigstore/sigstore/pkg/fulcioroots"
)

// TestRoot asks for what Crossplane asks for at its start with --enable-signature-verification:
// https://github.com/crossplane/crossplane-runtime/blob/v2.4.0/pkg/xpkg/signature/validate.go. The library keeps what it has read for the
// whole process, so another process asks.
func TestRoot(t *testing.T) {
	if os.Getenv("TEST_ROOT_ASKS") != "" {
		ask(t)
		return
	}
	s := Start(t.Context(), t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRoot$", "-test.v")
	// Nobody listens at the proxy, so nothing but the folder can answer.
	cmd.Env = []string{"TEST_ROOT_ASKS=1", "TUF_ROOT=" + s.Root, "HTTPS_PROXY=http://127.0.0.1:1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("who has the folder doesn't know all keys: %v\n%s", err, out)
	}
}

func ask(t *testing.T) {
	if _, err := fulcioroots.Get(); err != nil {
		t.Error(err)
	}
	if keys, err := cosign.GetCTLogPubs(t.Context()); err != nil || len(keys.Keys) != 1 {
		t.Errorf("GetCTLogPubs(...): want one key, got %v, %v", keys, err)
	}
	if keys, err := cosign.GetRekorPubs(t.Context()); err != nil || len(keys.Keys) != 1 {
		t.Errorf("GetRekorPubs(...): want one key, got %v, %v", keys, err)
	}
}
