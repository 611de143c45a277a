// Package stream has what both sides of a tunnel have: bytes in a WebSocket, and in channels of SSH.
package stream

import (
	"io"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/crypto/ssh"

	"github.com/virtual-argocd/virtual-argocd/tunnel"
)

// maxMessage is how many bytes a message may have. A packet of SSH has less, and becomes one message.
const maxMessage = 256 << 10

// Conn is a WebSocket as a connection. It is read by one goroutine at a time, and written by one at a time.
type Conn struct {
	*websocket.Conn
	message io.Reader
}

// New returns a WebSocket as a connection.
func New(ws *websocket.Conn) *Conn {
	ws.SetReadLimit(maxMessage)
	return &Conn{Conn: ws}
}

// Read reads from binary messages.
func (c *Conn) Read(b []byte) (int, error) {
	for {
		if c.message == nil {
			_, message, err := c.NextReader()
			if err != nil {
				return 0, err
			}
			c.message = message
		}
		n, err := c.message.Read(b)
		if err == io.EOF {
			c.message, err = nil, nil
		}
		if n > 0 || err != nil {
			return n, err
		}
	}
}

// Write writes a binary message.
func (c *Conn) Write(b []byte) (int, error) {
	if err := c.WriteMessage(websocket.BinaryMessage, b); err != nil {
		return 0, err
	}
	return len(b), nil
}

// SetDeadline sets the time at which reads and writes fail.
func (c *Conn) SetDeadline(at time.Time) error {
	if err := c.SetReadDeadline(at); err != nil {
		return err
	}
	return c.SetWriteDeadline(at)
}

// IsAlive reports whether the other side answers in time.
func IsAlive(c ssh.Conn, within time.Duration) bool {
	answered := make(chan error, 1)
	go func() {
		_, _, err := c.SendRequest(tunnel.Alive, true, nil)
		answered <- err
	}()
	select {
	case err := <-answered:
		return err == nil
	case <-time.After(within):
		return false
	}
}

// Answer answers the other side's requests until there are none any more.
func Answer(requests <-chan *ssh.Request) {
	for r := range requests {
		if r.WantReply {
			// If it fails, the connection is over.
			_ = r.Reply(r.Type == tunnel.Alive, nil)
		}
	}
}

// KeepAlive closes a connection once the other side doesn't answer. It returns when the connection is over.
func KeepAlive(c ssh.Conn, every time.Duration) {
	over := make(chan struct{})
	go func() {
		_ = c.Wait()
		close(over)
	}()
	for {
		select {
		case <-over:
			return
		case <-time.After(every):
			if !IsAlive(c, every) {
				_ = c.Close()
			}
		}
	}
}

// A Half is a stream of which either direction ends by itself.
type Half interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// Pipe copies in both directions until both have ended.
func Pipe(a, b Half) {
	done := make(chan struct{}, 2)
	one := func(to, from Half) {
		// However it ends, this direction is over.
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite()
		done <- struct{}{}
	}
	go one(a, b)
	go one(b, a)
	<-done
	<-done
	_, _ = a.Close(), b.Close()
}
