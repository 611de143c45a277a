package node

import (
	"strings"
	"testing"
)

func TestDiskSuffices(t *testing.T) {
	if err := diskSuffices("/", 252<<30, 37<<30); err != nil {
		t.Errorf("a disk with 37 GiB free: %v", err)
	}
	want := "the disk of /var has 7.0 GiB free and a cluster needs 10.5 GiB"
	if err := diskSuffices("/var", 252<<30, 7<<30); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a disk with 7 GiB free: want an error with %q, got %v", want, err)
	}
}

// The error names the part of the disk that kubelet's configuration has.
func TestDiskIsThatOfKubelet(t *testing.T) {
	b, err := templates.ReadFile("etc/kubelet.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"nodefs.available: 1%", "imagefs.available: 1%"} {
		if evictedBelow != 0.01 || !strings.Contains(string(b), line) {
			t.Errorf("kubelet.yaml has no %q, of a disk below %v", line, evictedBelow)
		}
	}
}
