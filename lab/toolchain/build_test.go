package toolchain

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func fakeModules(names ...string) []module {
	var out []module
	for _, n := range names {
		out = append(out, module{path: "example.org/" + n, version: "v1.0.0", tools: map[string]string{n: ""}})
	}
	return out
}

func TestScheduleGoesOnAfterAFailure(t *testing.T) {
	var mu sync.Mutex
	var built []string
	err := schedule(t.Context(), fakeModules("a", "b", "c", "d"), func(m module) error {
		mu.Lock()
		defer mu.Unlock()
		built = append(built, m.names()[0])
		if m.names()[0] == "a" || m.names()[0] == "c" {
			return errors.New("no " + m.names()[0])
		}
		return nil
	})
	slices.Sort(built)
	if !slices.Equal(built, []string{"a", "b", "c", "d"}) {
		t.Errorf("want all four built, got %q", built)
	}
	if err == nil || !strings.Contains(err.Error(), "no a") || !strings.Contains(err.Error(), "no c") {
		t.Errorf("want an error that names both failures, got %v", err)
	}
}

func TestScheduleBuildsSomeAtATime(t *testing.T) {
	var mu sync.Mutex
	now, most := 0, 0
	count := func(d int) {
		mu.Lock()
		defer mu.Unlock()
		now += d
		most = max(most, now)
	}
	err := schedule(t.Context(), fakeModules("a", "b", "c", "d", "e", "f"), func(module) error {
		count(1)
		time.Sleep(10 * time.Millisecond)
		count(-1)
		return nil
	})
	if err != nil || most != parallel {
		t.Errorf("want %d builds at a time, got %d, %v", parallel, most, err)
	}
}

func TestScheduleBeginsNothingAfterTheEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var began atomic.Int32
	err := schedule(ctx, fakeModules("a", "b", "c", "d", "e", "f"), func(module) error {
		began.Add(1)
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	if began.Load() > parallel || !errors.Is(err, context.Canceled) || strings.Count(err.Error(), "\n") > 0 {
		t.Errorf("want one error and %d builds begun at most, got %d, %v", parallel, began.Load(), err)
	}
}

// fakeGo puts a program named go before all others: it downloads nothing, and
// builds a tool that says how often it was asked to. While the folder holds a file
// named broken, it fails to.
func fakeGo(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	files := map[string]string{
		"source/go.mod": "module go.etcd.io/etcd/server/v3\ngo 1.24.0\n",
		"source/go.sum": "",
		"go": `#!/bin/sh
if [ "$1" = mod ]; then echo '{"Dir": "` + dir + `/source"}'; exit; fi
echo build >>` + dir + `/builds
if [ -e ` + dir + `/broken ]; then echo "downloading"; echo "main.go:1: undefined: x"; exit 1; fi
while [ "$1" != -o ]; do shift; done
cp ` + dir + `/builds "$2"
`,
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil { //nolint:gosec // One of them is a program.
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return dir
}

func TestBuildKeepsWhatItBuilt(t *testing.T) {
	fakeGo(t)
	c := At(t.TempDir())
	var lines []string
	for range 2 {
		if err := c.Build(t.Context(), func(l string) { lines = append(lines, l) }, "etcd"); err != nil {
			t.Fatal(err)
		}
	}
	path, err := c.Binary("etcd")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "build\n" {
		t.Errorf("want etcd built once, got %q, %v", got, err)
	}
	if len(lines) != 1 || !strings.HasPrefix(lines[0], "built etcd v") || !strings.HasSuffix(lines[0], "1 of 1") {
		t.Errorf("want one line of progress, got %q", lines)
	}
	left, err := filepath.Glob(filepath.Join(c.Dir(), "bin", ".build-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("want nothing left behind, got %q, %v", left, err)
	}
}

func TestTwoBuildsAtOnceBuildOnce(t *testing.T) {
	dir := fakeGo(t)
	c := At(t.TempDir())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := c.Build(t.Context(), nil, "etcd"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got, err := os.ReadFile(filepath.Join(dir, "builds")); err != nil || string(got) != "build\n" {
		t.Errorf("want one build, got %q, %v", got, err)
	}
}

func TestFailedBuildKeepsNothing(t *testing.T) {
	dir := fakeGo(t)
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := At(t.TempDir())
	err := c.Build(t.Context(), nil, "etcd")
	if err == nil || !strings.Contains(err.Error(), "go.etcd.io/etcd/server/v3@"+Version("etcd")) || !strings.Contains(err.Error(), "undefined: x") {
		t.Errorf("want an error with the module and what the compiler said, got %v", err)
	}
	if path, err := c.Binary("etcd"); err == nil {
		t.Errorf("want no binary after a failure, got %s", path)
	}
	if err := os.Remove(broken); err != nil {
		t.Fatal(err)
	}
	if err := c.Build(t.Context(), nil, "etcd"); err != nil {
		t.Errorf("want the next build to succeed, got %v", err)
	}
}

func TestFilesOfAnotherToolAreEmbedded(t *testing.T) {
	c, source, dir := At(t.TempDir()), t.TempDir(), t.TempDir()
	ui, err := moduleOf("argocd-ui")
	if err != nil {
		t.Fatal(err)
	}
	built := c.path(ui, "argocd-ui")
	for path, content := range map[string]string{
		filepath.Join(source, "go.mod"):                "module m",
		filepath.Join(source, "ui/dist/app/gitkeep"):   "",
		filepath.Join(built, "index.html"):             "<html>",
		filepath.Join(built, "assets", "favicon.ico"):  "icon",
		filepath.Join(built, "main.0123456789abcd.js"): "js",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o400); err != nil {
			t.Fatal(err)
		}
	}
	m := module{path: "m", embeds: map[string]string{"ui/dist/app": "argocd-ui"}}
	if err := c.fill(t.Context(), m, dir, source); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "ui/dist/app/index.html", "ui/dist/app/assets/favicon.ico"} {
		if _, err := os.Stat(filepath.Join(dir, filledFolder, name)); err != nil {
			t.Errorf("the source to build lacks a file: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, filledFolder, "ui/dist/app/gitkeep")); err == nil {
		t.Error("the folder's own files must go: upstream's build removes them too")
	}
}

func TestWaitingForALockEnds(t *testing.T) {
	c, m := At(t.TempDir()), fakeModules("a")[0]
	unlock, err := c.lock(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := c.lock(ctx, m); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("want the second to wait until its context ends, got %v", err)
	}
	unlock()
	if unlock, err = c.lock(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestCompilerIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	ms := fakeModules("a")
	if err := checkCompilers(ms); err == nil || !strings.Contains(err.Error(), "go.dev/dl") {
		t.Errorf("want an error that says where Go is, got %v", err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o700); err != nil { //nolint:gosec // Found as a program.
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if err := checkCompilers(ms); err != nil {
		t.Errorf("want no C compiler asked for where none is needed, got %v", err)
	}
	ms[0].cgo = true
	if err := checkCompilers(ms); err == nil || !strings.Contains(err.Error(), "apt-get install gcc libc6-dev") {
		t.Errorf("want an error that names the packages, got %v", err)
	}
	ms[0].cgo, ms[0].web = false, true
	if err := checkCompilers(ms); err == nil || !strings.Contains(err.Error(), "apt-get install nodejs npm") {
		t.Errorf("want an error that names the packages, got %v", err)
	}
}

func TestProgress(t *testing.T) {
	ms := fakeModules("a", "b", "c")
	var lines []string
	r := newReporter(func(l string) { lines = append(lines, l) }, ms)
	if got := r.summary(); got != "" {
		t.Errorf("summary before anything: got %q", got)
	}
	r.start(ms[0])
	r.start(ms[1])
	if got, want := r.summary(), "building a v1.0.0 for 0:00, b v1.0.0 for 0:00; 0 of 3 done after 0:00"; got != want {
		t.Errorf("summary: want %q, got %q", want, got)
	}
	r.done(ms[0], 61*time.Second, nil)
	r.done(ms[1], 0, errors.New("no"))
	want := []string{"built a v1.0.0 in 0:00 (processor time 1:01), 1 of 3", "FAILED to build b v1.0.0 after 0:00, 2 of 3"}
	if !slices.Equal(want, lines) {
		t.Errorf("lines: want %q, got %q", want, lines)
	}
}
