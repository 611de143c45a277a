// Package memtest helps to test how much memory input of strangers takes. It has the inputs that take the most of those that are accepted,
// which tests hold against the limits of examples/install/runtime.yaml.
package memtest

import "runtime"

// Allocated returns how many bytes a call allocates. Nothing else may allocate at the same time.
func Allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
