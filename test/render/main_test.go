package render

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/lab/toolchain"
)

const root = "../.."

var update = flag.Bool("update", false, "write the golden files anew")

// env is what all tests share: the programs they run, and the function.
var env struct {
	// cli is Crossplane's command line, crossplane its core with the engine.
	cli, crossplane string
	// function is the address of the function that is under test.
	function string
	// home is the home folder of the programs: a person's settings have no say.
	home string
	// modules are the source folders of the modules whose schemas are used.
	modules map[string]string
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintf(os.Stderr, "test/render: %v\n", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	if env.home, err = os.MkdirTemp("", "render-"); err != nil {
		return 1, err
	}
	defer os.RemoveAll(env.home) //nolint:errcheck // Best effort: the folder is only rubbish.
	if err := findTools(); err != nil {
		return 1, err
	}
	stop, err := startFunction()
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return m.Run(), nil
}

func findTools() error {
	cache, err := toolchain.Default()
	if err != nil {
		return err
	}
	for tool, path := range map[string]*string{"crossplane-cli": &env.cli, "crossplane": &env.crossplane} {
		if *path, err = cache.Binary(tool); err != nil {
			return fmt.Errorf("a program that these tests run is missing, `make tools-unit` builds it: %w", err)
		}
	}
	env.modules = map[string]string{}
	for _, tool := range []string{"provider-helm", "provider-kubernetes", "crossplane", "argocd"} {
		if env.modules[tool], err = cache.ModuleDir(context.Background(), tool); err != nil {
			return err
		}
	}
	return nil
}

// startFunction builds the function and runs it as it runs in a cluster, but for
// TLS. The returned function ends it, and fails when it doesn't end well.
func startFunction() (stop func() error, err error) {
	binary := filepath.Join(env.home, "function")
	build := exec.Command("go", "build", "-o", binary, "./fn")
	build.Dir = root
	build.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("cannot build the function: %w\n%s", err, out)
	}
	if env.function, err = freeAddress(); err != nil {
		return nil, err
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, "--insecure", "--address="+env.function, "--metrics-address=")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the function: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.DialTimeout("tcp", env.function, time.Second); err == nil {
			_ = c.Close()
			break
		}
		select {
		case err := <-ended:
			return nil, fmt.Errorf("the function ended at once: %w\n%s", err, log.String())
		default:
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			<-ended
			return nil, fmt.Errorf("the function doesn't listen on %s after 15 s:\n%s", env.function, log.String())
		}
	}
	return func() error {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			return fmt.Errorf("cannot end the function, which ran before: %w", err)
		}
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("the function failed: %w\n%s", err, log.String())
			}
			return nil
		case <-time.After(15 * time.Second):
			_ = cmd.Process.Kill()
			<-ended
			return errors.New("the function did not end within 15 s of SIGTERM")
		}
	}, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a free port: %w", err)
	}
	defer l.Close() //nolint:errcheck // Nothing was sent.
	return l.Addr().String(), nil
}

// crossplane runs Crossplane's command line.
func crossplane(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, env.cli, args...)
	cmd.Env = append(os.Environ(), "HOME="+env.home)
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("crossplane %s %s: %w\n%s", args[0], args[1], err, msg.String())
	}
	return out.Bytes(), nil
}
