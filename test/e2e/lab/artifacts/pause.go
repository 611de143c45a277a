package artifacts

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

//go:embed pause/main.go
var pauseSource string

// pause builds the pause program, which uses nothing but the standard library,
// from the source in this binary: so the lab can run from any folder.
func (k *kit) pause() string {
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(pauseSource+runtime.Version())))
	file := filepath.Join(imagesDir(k.cache), "pause-"+key[:12])
	if exists(file) {
		return file
	}
	k.note(compile(k, pauseSource, file))
	return file
}

func compile(k *kit, source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("cannot make the cache folder of images: %w", err)
	}
	dir, err := os.MkdirTemp("", "pause-")
	if err != nil {
		return fmt.Errorf("cannot build pause: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // A temporary folder.
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		return fmt.Errorf("cannot build pause: %w", err)
	}
	tmp := target + ".incomplete"
	cmd := exec.CommandContext(k.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", tmp, "main.go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GO111MODULE=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build pause: %w\n%s", err, tail(out))
	}
	return os.Rename(tmp, target)
}
