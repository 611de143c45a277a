package render

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// patience with the function, which takes some tens of milliseconds.
const patience = 15 * time.Second

// startFunction builds the function and runs it as it runs in a cluster, but for
// TLS. env.stop ends it, and fails when it doesn't end well.
func startFunction() error {
	binary := filepath.Join(env.home, "function")
	if err := goCommand("build", "-o", binary, "./fn"); err != nil {
		return err
	}
	var err error
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

func goCommand(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	var msg bytes.Buffer
	cmd.Stderr = &msg
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", args[0], err, msg.String())
	}
	return nil
}
