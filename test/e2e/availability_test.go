//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// A listener asks a server all the time, each time on a connection of its own: a client would go on with one to a pod
// that is gone.
type listener struct {
	stop context.CancelFunc
	done sync.WaitGroup

	mu      sync.Mutex
	answers int
	// answered is when the last answer came, and longest the longest time between two of them.
	answered time.Time
	longest  time.Duration
	// failures are what went wrong, one for each request that failed, with the time at which it began.
	failures []string
}

// listen asks for a URL at an interval, until end or atMost is called, whether or not the requests before have been answered: one that waits hides no
// others that would fail. A request that isn't answered within a time has failed. The configuration has the credentials.
func listen(ctx context.Context, url string, config *rest.Config, interval, within time.Duration) *listener {
	ctx, stop := context.WithCancel(ctx)
	l := &listener{stop: stop, answered: time.Now()}
	l.done.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for ctx.Err() == nil {
			l.done.Go(func() {
				began := time.Now()
				err := ask(ctx, url, config, within)
				if ctx.Err() == nil {
					l.heard(began, err)
				}
			})
			select {
			case <-ctx.Done():
			case <-tick.C:
			}
		}
		// Whatever is silent to the end counts.
		l.mu.Lock()
		defer l.mu.Unlock()
		l.longest = max(l.longest, time.Since(l.answered))
	})
	return l
}

// heard counts a request that has ended.
func (l *listener) heard(began time.Time, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failures = append(l.failures, fmt.Sprintf("%s after %s: %v", began.UTC().Format(time.TimeOnly), time.Since(began).Round(10*time.Millisecond), err))
		return
	}
	l.answers++
	l.longest = max(l.longest, time.Since(l.answered))
	l.answered = time.Now()
}

// anyCertificate is for servers with a certificate of their own.
var anyCertificate = &rest.Config{TLSClientConfig: rest.TLSClientConfig{Insecure: true}}

func ask(ctx context.Context, url string, config *rest.Config, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport, err := rest.HTTPWrappersForConfig(config, &http.Transport{DisableKeepAlives: true, TLSClientConfig: tls, DialContext: dialer.DialContext})
	if err != nil {
		return err
	}
	client := &http.Client{Transport: transport}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

func (l *listener) end() {
	l.stop()
	l.done.Wait()
}

// atMost ends the listening: the server was never silent for longer.
func (l *listener) atMost(t *testing.T, within time.Duration, what string) {
	t.Helper()
	l.end()
	measured.add(what, l.longest)
	last := "none"
	if n := len(l.failures); n > 0 {
		last = l.failures[n-1]
	}
	t.Logf("%s: %s, with %d answers; the last failure: %s", what, l.longest.Round(100*time.Millisecond), l.answers, last)
	if l.answers == 0 || l.longest > within {
		t.Errorf("no answer for %s, more than %s: %s", l.longest, within, last)
	}
}
