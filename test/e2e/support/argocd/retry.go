package argocd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"syscall"
	"time"

	"github.com/hashicorp/go-retryablehttp"
)

// gateways' answers for a server that is away: its pod isn't ready for a moment, or it restarts its listener, as Argo CD does
// when its URL or sign-on changes.
var gateways = []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

// hungUp are errors of a connection to a server that is away.
var hungUp = []error{syscall.ECONNREFUSED, syscall.ECONNRESET, io.EOF}

// noRoute is the body of Traefik's 404 for a host whose Service has no ready pod.
var noRoute = []byte("404 page not found")

// retrying sends a request again for up to 15 seconds while the server is away, as a browser's user does. The last answer is
// returned as it is.
func retrying(base http.RoundTripper) http.RoundTripper {
	c := retryablehttp.NewClient()
	c.Logger = nil
	c.HTTPClient = &http.Client{
		Transport: base,
		// The caller follows redirects: it has the cookies.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	c.RetryMax, c.RetryWaitMin, c.RetryWaitMax = 15, time.Second, time.Second
	c.Backoff = func(wait, _ time.Duration, _ int, _ *http.Response) time.Duration { return wait }
	c.ErrorHandler = retryablehttp.PassthroughErrorHandler
	c.CheckRetry = func(ctx context.Context, resp *http.Response, err error) (bool, error) {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil {
			return slices.ContainsFunc(hungUp, func(of error) bool { return errors.Is(err, of) }), nil
		}
		return isAway(resp)
	}
	return &retryablehttp.RoundTripper{Client: c}
}

// isAway reports whether an answer is a gateway's for a server that is away. The answer can be read again.
func isAway(resp *http.Response) (bool, error) {
	if slices.Contains(gateways, resp.StatusCode) {
		return true, nil
	}
	if resp.StatusCode != http.StatusNotFound {
		return false, nil
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Equal(bytes.TrimSpace(body), noRoute), err
}
