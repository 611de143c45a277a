package render

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// patience with the function, which takes some tens of milliseconds.
	patience = 15 * time.Second
	// ownPackages lists the folders of this project's packages in a program.
	ownPackages = `{{with .Module}}{{if .Main}}{{$.Dir}}{{end}}{{end}}`
)

// startFunction builds the function and runs it as it runs in a cluster, but for
// TLS. env.stop ends it, and fails when it doesn't end well.
func startFunction() error {
	binary := filepath.Join(env.home, "function")
	if _, err := goCommand("build", "-o", binary, "./fn"); err != nil {
		return err
	}
	packages, err := goCommand("list", "-deps", "-f", ownPackages, "./fn")
	if err != nil {
		return err
	}
	for _, dir := range strings.Fields(packages) {
		rest, err := relative(dir)
		if err != nil {
			return err
		}
		if err := noticeFiles(rest); err != nil {
			return err
		}
	}

	if env.function, err = freeAddress(); err != nil {
		return err
	}
	var log bytes.Buffer
	cmd := exec.Command(binary, "--insecure", "--address="+env.function, "--metrics-address=")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot start the function: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	env.stop = func() error {
		// An error says that it has ended before, and Wait says how.
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-ended:
			if err != nil {
				return fmt.Errorf("the function failed: %w\n%s", err, log.String())
			}
			return nil
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
			return errors.New("the function did not end when it was told to")
		}
	}
	return listens(env.function)
}

func listens(address string) error {
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return c.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the function doesn't listen: %w", err)
		}
	}
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("cannot find a free port: %w", err)
	}
	return l.Addr().String(), l.Close()
}

func goCommand(args ...string) (string, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var out, msg bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &msg
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, msg.String())
	}
	return out.String(), nil
}

// relative is a folder of the project as seen from its root, as a path here.
func relative(dir string) (string, error) {
	abs, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	rest, err := filepath.Rel(abs, dir)
	return filepath.Join(root, rest), err
}

// noticeFiles looks at files of the project that other programs will read for
// these tests, so that `go test` doesn't repeat an old result when they change.
func noticeFiles(path string) error {
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && p != path {
			return fs.SkipDir
		}
		_, err = os.Stat(p)
		return err
	})
}
