package virtualapi

import (
	"context"
	"errors"
	"mime"
	"net"
	"net/http"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// Media types of responses.
const (
	MediaJSON = "application/json"
	MediaText = "text/plain"
)

// Bounds of a response: its size in bytes, and how many objects, lists and members it may have.
type Bounds struct {
	Bytes  int64
	Values int
}

// Ordinary returns the bounds of a response with an object.
func (c *Client) Ordinary() Bounds { return Bounds{c.Limits.Response, c.Limits.Values} }

// Read returns the body of a response once all of it was read within these bounds; an error of the server may be shorter only. The caller
// calls release when it needs the body no more, also after an error.
func (c *Client) Read(ctx context.Context, response *http.Response, most Bounds) (body []byte, release func(), err error) {
	if response.StatusCode >= http.StatusBadRequest {
		most.Bytes = c.Limits.ErrorResponse
	}
	if body, release, err = c.Memory.ReadAll(ctx, response.Body, most.Bytes); err != nil {
		return nil, release, err
	}
	counted := limits.Count(body)
	if counted.Values > most.Values {
		return nil, release, limits.Exceeded("it answers with %d values, more than %d", counted.Values, most.Values)
	}
	return body, release, c.Limits.CheckDepth(counted)
}

// CheckForm refuses a response that would have a provider decompress, follow or wait for something, or that the proxy can't inspect. A
// success has to be JSON; with text, it may be called text. An error that isn't JSON is passed on as text, which most are.
func CheckForm(response *http.Response, text bool) error {
	switch {
	case response.StatusCode < 200 || response.StatusCode >= 300 && response.StatusCode < 400:
		return limits.Exceeded("it answers with status %d, which is no answer of an API server", response.StatusCode)
	case response.Header.Get("Content-Encoding") != "":
		return limits.Exceeded("it answers compressed, which it wasn't asked for")
	}
	if is := MediaType(response); is == MediaJSON || is == MediaText && text {
		return nil
	}
	if response.StatusCode < 300 {
		return limits.Exceeded("it doesn't answer with JSON")
	}
	response.Header.Set("Content-Type", MediaText)
	return nil
}

// MediaType returns the media type of a response without its parameters; "" if it has none.
func MediaType(response *http.Response) string {
	mediaType, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return ""
	}
	return mediaType
}

// TimedOut returns the error of a request with a deadline: that of an exceeded limit if the virtual API server took too long. It is no
// fault of the server that its client has gone, that the host's DNS fails, or that the proxy has no memory.
func TimedOut(ctx context.Context, err error, within time.Duration) error {
	if errors.Is(err, limits.ErrBusy) || limits.IsExceeded(err) {
		return err
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return limits.Exceeded("no answer within %s", within)
	}
	if dns := (*net.DNSError)(nil); errors.As(err, &dns) {
		return err
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		return limits.Exceeded("%s", err)
	}
	return err
}
