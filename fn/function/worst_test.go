package function

import (
	"encoding/json"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/internal/memtest"
)

// TestWorstClaims: the inputs that test/helm measures are ones that the function accepts, and it takes less memory for a call with
// one than half of its limit in examples/install/runtime.yaml.
func TestWorstClaims(t *testing.T) {
	const half = 256 << 20
	for name, values := range memtest.Claims() {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(map[string]any{"argocd": map[string]any{"values": values}})
			if err != nil {
				t.Fatal(err)
			}
			e := newEngine(t, tenantXR(string(text)), "").install()
			got := allocated(t, e.f, e.req)
			t.Logf("a call allocates %d MiB", got>>20)
			if got > half {
				t.Errorf("a call allocates %d MiB, want at most %d", got>>20, half>>20)
			}
		})
	}
}
