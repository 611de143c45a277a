package artifacts

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Debian 13: the first release whose coreutils Argo CD's chart accepts.
const (
	debianRelease = "trixie"
	debianMirror  = "http://deb.debian.org/debian"
	busyboxBinary = "/bin/busybox"
)

// needed maps a file to the package of the machine's own Debian that has it.
var needed = map[string]string{
	busyboxBinary:         "busybox-static",
	"/usr/bin/mmdebstrap": "mmdebstrap",
	"/usr/share/keyrings/debian-archive-keyring.gpg": "debian-archive-keyring",
	"/etc/ssl/certs/ca-certificates.crt":             "ca-certificates",
}

// rootfs returns the tar archive of a Debian root file system with the given
// packages, from the cache below dir or made now.
func rootfs(ctx context.Context, dir string, packages []string, say func(string)) (string, error) {
	args := []string{
		"--mode=root", "--variant=minbase", "--include=" + strings.Join(packages, ","),
		"--dpkgopt=path-exclude=/usr/share/doc/*",
		"--dpkgopt=path-exclude=/usr/share/man/*",
		"--dpkgopt=path-exclude=/usr/share/locale/*",
		"--keyring=/usr/share/keyrings/debian-archive-keyring.gpg",
		debianRelease, "-", debianMirror,
	}
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(args, " "))))
	file := filepath.Join(dir, debianRelease+"-"+key[:12]+".tar")
	if exists(file) {
		return file, nil
	}
	say("unpacking Debian " + debianRelease + " with " + strings.Join(packages, ", "))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("cannot make the cache folder of root file systems: %w", err)
	}
	tmp, err := os.CreateTemp(dir, "incomplete-*.tar")
	if err != nil {
		return "", fmt.Errorf("cannot make a root file system: %w", err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // It was renamed if all went well.
	defer tmp.Close()           //nolint:errcheck // Closed below if all went well.

	var log strings.Builder
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=0")
	cmd.Stdout, cmd.Stderr = tmp, &log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("cannot make a Debian %s root file system (mmdebstrap): %w\n%s", debianRelease, err, tail([]byte(log.String())))
	}
	if err := tmp.Close(); err != nil {
		return "", fmt.Errorf("cannot write a root file system: %w", err)
	}
	return file, os.Rename(tmp.Name(), file)
}

// tail is the end of a command's output: the part that says what went wrong.
func tail(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}
