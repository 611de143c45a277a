package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// relayScript connects its input and output to an address. Nothing is left when the input ends.
const relayScript = `exec 3<>"/dev/tcp/$0/$1" && { cat <&3 & cat >&3; kill $!; }`

// Relay connects to an address from inside a container that has bash, as a program there would: NetworkPolicies apply. Until
// the address answers, what is read from the connection waits. The context is that of connecting, as net.Dialer's is.
func (c *Cluster) Relay(ctx context.Context, namespace, pod, container, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot split address %q: %w", address, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	in, toPod := io.Pipe()
	fromPod, out := io.Pipe()
	go func() {
		problem := &bytes.Buffer{}
		err := c.Exec(ctx, namespace, pod, container, []string{"bash", "-c", relayScript, host, port}, in, out, problem)
		if err != nil {
			err = fmt.Errorf("pod %s/%s to %s: %w: %s", namespace, pod, address, err, problem)
		}
		// Without an error these are the ends of a connection: io.EOF and io.ErrClosedPipe.
		_ = out.CloseWithError(err)
		_ = in.CloseWithError(err)
	}()
	return &relayed{Reader: fromPod, Writer: toPod, end: func() error {
		cancel()
		return errors.Join(fromPod.Close(), toPod.Close())
	}, to: address}, nil
}

// relayed makes the streams of a command a net.Conn. Deadlines are not supported: the tests bound calls by context.
type relayed struct {
	io.Reader
	io.Writer
	end func() error
	to  string
}

func (r *relayed) Close() error                     { return r.end() }
func (r *relayed) LocalAddr() net.Addr              { return address("relay") }
func (r *relayed) RemoteAddr() net.Addr             { return address(r.to) }
func (r *relayed) SetDeadline(time.Time) error      { return nil }
func (r *relayed) SetReadDeadline(time.Time) error  { return nil }
func (r *relayed) SetWriteDeadline(time.Time) error { return nil }
