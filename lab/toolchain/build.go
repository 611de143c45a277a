package toolchain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
)

// parallel is how many modules are compiled at once. One go command keeps all cores busy
// but while it downloads modules and while it links: others fill these gaps.
const parallel = 3

// Build compiles the named tools, or all that the embedded cluster needs, unless the cache has them. Tools of one
// module are built together. What is missing is built even when something else
// fails; the error names each that failed. Progress is told in lines, now and then.
func (c Cache) Build(ctx context.Context, p Progress, names ...string) error {
	if p == nil {
		p = func(string) {}
	}
	wanted, err := wantedModules(names)
	if err != nil {
		return err
	}
	wanted = slices.DeleteFunc(wanted, c.built)
	if len(wanted) == 0 {
		return nil
	}
	if err := checkCompilers(wanted); err != nil {
		return err
	}
	r := newReporter(p, wanted)
	stop := every(15*time.Second, func() {
		if s := r.summary(); s != "" {
			p(s)
		}
	})
	defer stop()
	return schedule(ctx, wanted, func(m module) error {
		r.start(m)
		cpu, err := c.buildModule(ctx, m)
		r.done(m, cpu, err)
		return err
	})
}

// schedule builds modules in their order, some at the same time, and goes on
// where one fails. When ctx ends, so do the builds under way, and no other begins.
func schedule(ctx context.Context, ms []module, build func(module) error) error {
	g := errgroup.Group{}
	g.SetLimit(parallel)
	errs := make([]error, len(ms))
	for i, m := range ms {
		if ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			if ctx.Err() == nil {
				errs[i] = build(m)
			}
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("builds were stopped: %w", ctx.Err())
	}
	return errors.Join(errs...)
}

func wantedModules(names []string) ([]module, error) {
	if len(names) == 0 {
		return slices.DeleteFunc(slices.Clone(modules), func(m module) bool { return m.purpose == Lint }), nil
	}
	for _, n := range names {
		if _, err := moduleOf(n); err != nil {
			return nil, err
		}
	}
	// What a tool embeds is wanted with it.
	names = slices.Clone(names)
	for _, n := range names {
		m, _ := moduleOf(n)
		names = slices.AppendSeq(names, maps.Values(m.embeds))
	}
	var out []module
	for _, m := range modules {
		if slices.ContainsFunc(m.names(), func(n string) bool { return slices.Contains(names, n) }) {
			out = append(out, m)
		}
	}
	return out, nil
}

// checkCompilers fails early where a build would fail late.
func checkCompilers(ms []module) error {
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("the go command is not on PATH: install Go from https://go.dev/dl")
	}
	if slices.ContainsFunc(ms, func(m module) bool { return m.cgo }) {
		if _, err := exec.LookPath("gcc"); err != nil {
			return errors.New("gcc is not on PATH, and kine's SQLite needs it: apt-get install gcc libc6-dev")
		}
	}
	if slices.ContainsFunc(ms, func(m module) bool { return m.web }) {
		for _, name := range []string{"node", "npm"} {
			if _, err := exec.LookPath(name); err != nil {
				return fmt.Errorf("%s is not on PATH, and web interfaces need it: apt-get install nodejs npm", name)
			}
		}
	}
	return nil
}

// buildModule compiles a module's tools in a folder of its own and moves them into
// the cache when all are there: what stands in the cache is whole. It returns the
// time that the processors worked on it.
func (c Cache) buildModule(ctx context.Context, m module) (cpu time.Duration, err error) {
	unlock, err := c.lock(ctx, m)
	if err != nil {
		return 0, err
	}
	defer unlock()
	// Another process may have built it while this one waited.
	if c.built(m) {
		return 0, nil
	}
	source, err := m.download(ctx)
	if err != nil {
		return 0, err
	}
	// Below the cache, because a rename does not cross file systems. A build that
	// was killed may have left its folder.
	dir := filepath.Join(c.dir, "bin", ".build-"+m.id())
	if err := os.RemoveAll(dir); err != nil {
		return 0, fmt.Errorf("cannot clear the folder to build in: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // Holds nothing that is a secret.
		return 0, fmt.Errorf("cannot make a folder to build in: %w", err)
	}
	defer os.RemoveAll(dir)                                            //nolint:errcheck // Best effort: the folder is only rubbish.
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o755); err != nil { //nolint:gosec // As above.
		return 0, err
	}
	if m.web {
		cpu, err = m.buildWeb(ctx, dir, source)
	} else {
		cpu, err = c.buildCommands(ctx, m, dir, source)
	}
	if err != nil {
		return cpu, err
	}
	for _, n := range m.names() {
		to := c.path(m, n)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { //nolint:gosec // Programs that users other than root run in containers.
			return cpu, err
		}
		if err := os.Rename(filepath.Join(dir, "out", n), to); err != nil {
			return cpu, fmt.Errorf("cannot keep %s: %w", n, err)
		}
	}
	return cpu, nil
}

// buildCommands puts the module's Go commands into dir/out.
func (c Cache) buildCommands(ctx context.Context, m module, dir, source string) (time.Duration, error) {
	if err := c.fill(ctx, m, dir, source); err != nil {
		return 0, err
	}
	if err := m.writeGoMod(ctx, dir, source); err != nil {
		return 0, err
	}
	return m.compile(ctx, dir)
}

// filledFolder is where the source is that upstream's generated files were added to.
const filledFolder = "source"

// fill copies the source of a module that embeds files which another tool makes,
// and adds them.
func (c Cache) fill(ctx context.Context, m module, dir, source string) error {
	if len(m.embeds) == 0 {
		return nil
	}
	filled := filepath.Join(dir, filledFolder)
	if err := os.CopyFS(filled, os.DirFS(source)); err != nil {
		return fmt.Errorf("cannot copy the source of %s: %w", m.path, err)
	}
	for folder, tool := range m.embeds {
		of, err := moduleOf(tool)
		if err != nil {
			return err
		}
		// It stands before this one in the table: most often it is there by now, or
		// its builder is waited for.
		if _, err := c.buildModule(ctx, of); err != nil {
			return err
		}
		to := filepath.Join(filled, filepath.FromSlash(folder))
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.CopyFS(to, os.DirFS(c.path(of, tool))); err != nil {
			return fmt.Errorf("cannot add %s to the source of %s: %w", tool, m.path, err)
		}
	}
	return nil
}

func (m module) compile(ctx context.Context, dir string) (cpu time.Duration, err error) {
	// The linker drops debug information (-s -w): not making it saves a tenth of the
	// time and a fifth of Go's build cache. Stack traces need none.
	args := []string{"build", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", strings.Join(append([]string{"-s -w"}, m.ldflags...), " ")}
	if m.tags != "" {
		args = append(args, "-tags", m.tags)
	}
	names := m.names()
	// With several packages -o names a folder, and the go command names the files after the packages.
	out := "out/"
	if len(names) == 1 {
		out += names[0]
	}
	args = append(args, "-o", out)
	for _, n := range names {
		args = append(args, strings.TrimSuffix(m.name()+"/"+m.tools[n], "/"))
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// Interrupted, the go command begins nothing more.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cgo := "CGO_ENABLED=0"
	if m.cgo {
		cgo = "CGO_ENABLED=1"
	}
	// Temporary files, which are gigabytes, go with the folder however the build ends.
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o700); err != nil {
		return 0, err
	}
	// Compilers that collect their garbage less often take a tenth less time, and some more memory.
	cmd.Env = append(os.Environ(), "GOGC=400", "GOFLAGS=-mod=mod", "GOWORK=off", "GOOS=linux", "GOTMPDIR="+tmp, cgo)
	msg, err := cmd.CombinedOutput()
	if s := cmd.ProcessState; s != nil {
		// The compilers that the go command ran count in.
		cpu = s.UserTime() + s.SystemTime()
	}
	if err != nil {
		return cpu, fmt.Errorf("cannot build %s@%s: %w\n%s", m.path, m.version, err, tail(string(msg), 20))
	}
	if len(names) > 1 {
		for _, n := range names {
			if err := os.Rename(filepath.Join(dir, "out", filepath.Base(m.tools[n])), filepath.Join(dir, "out", n)); err != nil {
				return cpu, err
			}
		}
	}
	return cpu, nil
}

// tail is the last lines of a compiler's output: there the error stands, after the downloads.
func tail(s string, lines int) string {
	all := strings.Split(strings.TrimSpace(s), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
