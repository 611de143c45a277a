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

//go:embed page/main.go
var pageSource string

// own builds a program of ours, which uses nothing but the standard library, from
// its source in this binary: so the lab can run from any folder.
func (k *kit) own(name, source string) string {
	key := fmt.Sprintf("%x", sha256.Sum256([]byte(source+runtime.Version())))
	file := filepath.Join(imagesDir(k.cache), name+"-"+key[:12])
	if exists(file) {
		return file
	}
	k.note(compile(k, name, source, file))
	return file
}

func compile(k *kit, name, source, target string) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return fmt.Errorf("cannot make the cache folder of images: %w", err)
	}
	dir, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return fmt.Errorf("cannot build %s: %w", name, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // A temporary folder.
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		return fmt.Errorf("cannot build %s: %w", name, err)
	}
	tmp := target + ".incomplete"
	cmd := exec.CommandContext(k.ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", tmp, "main.go")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GO111MODULE=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build %s: %w\n%s", name, err, tail(out))
	}
	return os.Rename(tmp, target)
}
