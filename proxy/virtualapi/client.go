// Package virtualapi sends requests to the API server of one virtual cluster, within the limits.
package virtualapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy"
	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

const (
	connections = 16
	// IdleTimeout is how long an unused connection stays open. The API server closes it after 90 seconds.
	IdleTimeout = 30 * time.Second
	dialTimeout = 10 * time.Second
	headerBytes = 64 << 10
)

// A Dialer connects to a virtual API server.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// A Client sends requests to one virtual API server with the credentials of one token.
type Client struct {
	// URL of the Service in front of the virtual API server. It identifies the virtual cluster: it stays the same when the credentials
	// change.
	URL     string
	Limits  limits.Limits
	Breaker *limits.Breaker
	Memory  *limits.Share

	transport *http.Transport
}

// NewClient returns a client for the virtual API server of the credentials. Without a dialer, it connects over the network. Errors don't
// contain the credentials.
func NewClient(c *proxy.Credentials, l limits.Limits, memory *limits.Memory, dial Dialer) (*Client, error) {
	cas := x509.NewCertPool()
	if !cas.AppendCertsFromPEM(c.CA) {
		return nil, errors.New("the CA in the request's credentials is no certificate in PEM")
	}
	certificate, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return nil, errors.New("the certificate and the key in the request's credentials don't belong together")
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	transport := &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: cas, Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialTimeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: headerBytes,
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        IdleTimeout,
	}
	return &Client{URL: c.Server, Limits: l, Breaker: limits.NewBreaker(l.Blocked), Memory: memory.Share(), transport: transport}, nil
}

// Do sends a provider's request with the tenant's certificate in place of the token. It follows no redirects. The caller closes the body of
// the response, whose form isn't checked.
func (c *Client) Do(ctx context.Context, r *http.Request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(ctx, r.Method, c.URL+r.URL.RequestURI(), r.Body)
	if err != nil {
		return nil, err
	}
	out.ContentLength = r.ContentLength
	for _, h := range []string{"Accept", "Content-Type", "User-Agent"} {
		out.Header[h] = r.Header[h]
	}
	out.Header.Set("Accept", onlyJSON(r.Header.Get("Accept")))
	return c.transport.RoundTrip(out)
}

// onlyJSON removes other media types from an Accept header: client-go prefers protobuf, which the proxy can't inspect. The parameters of
// discovery stay.
func onlyJSON(accept string) string {
	types := slices.DeleteFunc(strings.Split(accept, ","), func(t string) bool {
		mediaType, _, err := mime.ParseMediaType(t)
		return err != nil || mediaType != MediaJSON
	})
	if len(types) == 0 {
		return MediaJSON
	}
	return strings.Join(types, ",")
}

// Get sends a request of the proxy's own for a path and query, and returns the response if it has a form that may be read. The caller
// closes the body.
func (c *Client) Get(ctx context.Context, uri, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, uri, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", accept)
	response, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := CheckForm(response, false); err != nil {
		_ = response.Body.Close()
		return nil, err
	}
	return response, nil
}

// Fetch gets a path and query as JSON, and calls decode with the response, whatever its status, once all of it is within these bounds.
func (c *Client) Fetch(ctx context.Context, uri string, most Bounds, decode func(status int, body []byte) error) error {
	return c.FetchAs(ctx, uri, MediaJSON, most, decode)
}

// FetchAs is Fetch with a form of the object or the list, as in an Accept header.
func (c *Client) FetchAs(ctx context.Context, uri, accept string, most Bounds, decode func(status int, body []byte) error) error {
	response, err := c.Get(ctx, uri, accept)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, release, err := c.Read(ctx, response, most)
	defer release()
	if err != nil {
		return err
	}
	return c.Memory.Decode(ctx, func() error { return decode(response.StatusCode, body) })
}
