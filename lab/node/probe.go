package node

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"
)

// A probe fails until what it looks at is ready.
type probe func(context.Context) error

// accepts succeeds when somebody listens on an address.
func accepts(network, address string) probe {
	return func(ctx context.Context) error {
		c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, network, address)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// answers succeeds when a URL answers 200. Who answers is not checked: nobody
// else is there, and nothing is sent.
func answers(url string) probe {
	client := &http.Client{
		Timeout: time.Second,
		Transport: &http.Transport{
			TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // See above.
			DisableKeepAlives: true,
		},
	}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // Not read.
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, resp.Status)
		}
		return nil
	}
}

// waitFor returns when all probes have succeeded, or ctx is done.
func waitFor(ctx context.Context, probes []probe) {
	for _, p := range probes {
		for p(ctx) != nil && ctx.Err() == nil {
			select {
			case <-ctx.Done():
			case <-time.After(20 * time.Millisecond):
			}
		}
	}
}
