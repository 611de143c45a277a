package node

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// siginfoPID is si_pid of a SIGCHLD's siginfo: on 64-bit Linux the first field
// after three integers and padding to 16 bytes.
func siginfoPID(info *unix.Siginfo) int {
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), 16)))
}
