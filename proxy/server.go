package proxy

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

	"github.com/sony/gobreaker/v2"
	"golang.org/x/sync/semaphore"
)

// Serve answers providers until the context ends. Then it ends all watches, and finishes the requests that are in progress: a provider
// that stops, too, may be in the middle of a change.
func (p *Proxy) Serve(ctx context.Context) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", Address)
	if err != nil {
		return err
	}
	return p.serve(ctx, l)
}

func (p *Proxy) serve(ctx context.Context, l net.Listener) error {
	s := &http.Server{Handler: p, ReadHeaderTimeout: dialWithin}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	p.endWatches()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), p.limits.Write)
	defer cancel()
	return errors.Join(s.Shutdown(ending), s.Close())
}

// server is a virtual API server.
type server struct {
	url       string
	transport *http.Transport
	breaker   *gobreaker.TwoStepCircuitBreaker[any]
	// held has a value for each large answer that is in memory.
	held *semaphore.Weighted
}

// dialer is how to connect; nil is over the network.
type dialer func(ctx context.Context, network, address string) (net.Conn, error)

func transportOf(c *Credentials, dial dialer) (*http.Transport, error) {
	cas := x509.NewCertPool()
	if !cas.AppendCertsFromPEM(c.CA) {
		return nil, errors.New("the CA in the request's credentials is no certificate in PEM")
	}
	client, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return nil, errors.New("the certificate and the key in the request's credentials don't belong together")
	}
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialWithin}).DialContext
	}
	return &http.Transport{
		DialContext:            dial,
		TLSClientConfig:        &tls.Config{RootCAs: cas, Certificates: []tls.Certificate{client}, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    dialWithin,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 64 << 10,
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        idleFor,
	}, nil
}

// ask sends a provider's request with the tenant's certificate. Redirects aren't followed.
func (s *server) ask(ctx context.Context, r *http.Request) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, r.Method, s.url+r.URL.RequestURI(), r.Body)
	if err != nil {
		return nil, err
	}
	q.ContentLength = r.ContentLength
	for _, h := range []string{"Accept", "Content-Type", "User-Agent"} {
		q.Header[h] = r.Header[h]
	}
	q.Header.Set("Accept", onlyJSON(r.Header.Get("Accept")))
	return s.transport.RoundTrip(q)
}

// onlyJSON takes other formats out of an Accept header: client-go prefers protobuf, which
// the proxy can't look into. The forms of discovery stay.
func onlyJSON(accept string) string {
	types := slices.DeleteFunc(strings.Split(accept, ","), func(t string) bool {
		kind, _, err := mime.ParseMediaType(t)
		return err != nil || kind != mediaJSON
	})
	if len(types) == 0 {
		return mediaJSON
	}
	return strings.Join(types, ",")
}
