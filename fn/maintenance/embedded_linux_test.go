package maintenance

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestWithoutDatabase: time zones are known where the machine has no database of them, as in the function's image.
func TestWithoutDatabase(t *testing.T) {
	const variable, passed, impossible = "TEST_EMPTY_ROOT", "the zone is known", "this machine lets nobody change its root"
	if root := os.Getenv(variable); root != "" {
		if err := syscall.Chroot(root); err != nil {
			t.Skip(impossible, err)
		}
		if _, err := Parse("m", zoned("Europe/Berlin", "220000", "030000")); err != nil {
			t.Fatal(err)
		}
		t.Log(passed)
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWithoutDatabase$", "-test.v")
	again.Env = append(os.Environ(), variable+"="+t.TempDir())
	// In a user namespace of its own it needs no rights for that.
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
	}
	out, err := again.CombinedOutput()
	switch {
	case again.Process == nil || strings.Contains(string(out), impossible):
		t.Skip(impossible, err)
	case err != nil || !strings.Contains(string(out), passed):
		t.Errorf("%v: %s", err, out)
	}
}
