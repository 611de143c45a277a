package node

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	// diskOfACluster is what images, containers and volumes of a run of all tests take, in bytes.
	diskOfACluster = 8 << 30
	// evictedBelow is the part of the disk below which kubelet evicts pods: nodefs.available
	// in etc/kubelet.yaml.
	evictedBelow = 0.01
)

// enoughDisk says when a cluster below dir would fill the disk: kubelet would evict its
// pods in the middle of whatever they are used for.
func enoughDisk(dir string) error {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return fmt.Errorf("cannot see how full the disk of %s is: %w", dir, err)
	}
	size := uint64(st.Bsize)
	return diskSuffices(dir, st.Blocks*size, st.Bavail*size)
}

func diskSuffices(dir string, total, free uint64) error {
	if needed := diskOfACluster + uint64(evictedBelow*float64(total)); free < needed {
		return fmt.Errorf("the disk of %s has %.1f GiB free and a cluster needs %.1f GiB, since kubelet evicts pods when less than %.0f percent are free: make room, for example with `go clean -cache`",
			dir, gib(free), gib(needed), 100*evictedBelow)
	}
	return nil
}

func gib(bytes uint64) float64 { return float64(bytes) / (1 << 30) }
