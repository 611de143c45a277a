package metrics //nolint:revive // As the package.

import (
	"strings"
	"testing"
)

// TestManyLabels: of a line of a tenant's own, no more is read than of one of Argo CD's.
func TestManyLabels(t *testing.T) {
	labels, value, ok := Read(Apps + `health_status="Healthy",sync_status="Synced",` + strings.Repeat(`a="",`, 1500) + `b="c"} 1`)
	if !ok || value != 1 || labels["health_status"] != "Healthy" || labels["sync_status"] != "Synced" || labels["b"] != "" {
		t.Errorf("got %d labels, %g, %t", len(labels), value, ok)
	}
}
