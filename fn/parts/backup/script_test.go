package backup_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fakeKubectl answers as a control plane whose snapshot has no end, and notes what is patched in the file did.
const fakeKubectl = `#!/bin/sh
case $1 in
get) echo pod/vcluster-0 ;;
exec) [ ! -e hangs ] || exec sleep 20; head -c 1000000 /dev/zero && echo 'sh: write error: No space left on device' >&2 && exit 1 ;;
patch) echo "$*" >>did ;;
esac
`

// runStep runs a step of a script in a directory that stands for the pod's volumes.
func runStep(t *testing.T, dir, script, step string) {
	t.Helper()
	text := ""
	for _, file := range []string{"common.sh", script} {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += string(raw)
	}
	text = regexp.MustCompile(`within \d+ `).ReplaceAllString(text, "within 1 ")
	text = strings.NewReplacer("cd /work", "cd "+dir, "/work/", dir+"/", "/tmp/err", dir+"/err").Replace(text)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text, step, step)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "NAMESPACE=vargo-a", "RECORD=a-backup", "MAX_SIZE=1Mi", "ACTIVE=false"}
	_ = cmd.Run() // It reports by what it writes.
}

func inDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o700); err != nil { //nolint:gosec // One of them is a program.
			t.Fatal(err)
		}
	}
	return dir
}

// TestWithoutEnd: of a backup that is too large, the reason is reported, and nothing of it is left in memory, or there would be no room for that.
func TestWithoutEnd(t *testing.T) {
	dir := inDir(t, map[string]string{"kubectl": fakeKubectl})
	runStep(t, dir, "backup.sh", "snapshot")
	left, err := filepath.Glob(filepath.Join(dir, "*.gz"))
	if err != nil || len(left) > 0 {
		t.Errorf("in memory there is still %v, %v", left, err)
	}
	for _, step := range []string{"export", "store", "report"} {
		runStep(t, dir, "backup.sh", step)
	}
	did, err := os.ReadFile(filepath.Join(dir, "did"))
	if err != nil || !strings.Contains(string(did), "taking vcluster's snapshot: the backup is larger than 1Mi, which is input.backup.maxSize") {
		t.Errorf("it reports %s, %v", did, err)
	}
}

// TestTakesTooLong: what hangs is ended, and told of, by each kind of program that ends others.
func TestTakesTooLong(t *testing.T) {
	for name, timeout := range map[string]string{"GNU": "#!/bin/sh\nexec /usr/bin/timeout \"$@\"\n", "BusyBox": "#!/bin/sh\nexec busybox timeout \"$@\"\n"} {
		if _, err := exec.LookPath("busybox"); err != nil && name == "BusyBox" {
			t.Log("NOT TRIED: BUSYBOX ISN'T HERE")
			continue
		}
		dir := inDir(t, map[string]string{"kubectl": fakeKubectl, "timeout": timeout, "hangs": ""})
		began := time.Now()
		runStep(t, dir, "backup.sh", "snapshot")
		if took := time.Since(began); took > 8*time.Second {
			t.Errorf("%s: it takes %s", name, took)
		}
		if why, err := os.ReadFile(filepath.Join(dir, "failed")); err != nil || !strings.Contains(string(why), "taking vcluster's snapshot: it took longer than 1 seconds") {
			t.Errorf("%s: it says %s, %v", name, why, err)
		}
	}
}

// TestReportsSomething: a step that could not even say why it has failed isn't taken for one without a report.
func TestReportsSomething(t *testing.T) {
	for _, script := range []string{"backup.sh", "restore.sh"} {
		for name, files := range map[string]map[string]string{"NoRoom": {"failed": ""}, "Killed": {}} {
			files["kubectl"] = fakeKubectl
			dir := inDir(t, files)
			runStep(t, dir, script, "report")
			if did, err := os.ReadFile(filepath.Join(dir, "did")); err != nil || !strings.Contains(string(did), `"message":"a step ended early"`) {
				t.Errorf("%s, %s: it reports %s, %v", script, name, did, err)
			}
		}
	}
}
