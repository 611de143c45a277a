package virtualapi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/virtual-argocd/virtual-argocd/proxy/limits"
)

// TestOnlyJSON: of what a client accepts, a virtual API server is asked for JSON alone, with the parameters of discovery.
func TestOnlyJSON(t *testing.T) {
	const discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for accept, want := range map[string]string{
		"":    MediaJSON,
		"*/*": MediaJSON,
		"application/vnd.kubernetes.protobuf,application/json":                                                 MediaJSON,
		discovery + ",application/json":                                                                        discovery + "," + MediaJSON,
		"application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList," + discovery: discovery,
		";": MediaJSON,
	} {
		if got := onlyJSON(accept); got != want {
			t.Errorf("%s: want %s, got %s", accept, want, got)
		}
	}
}

// TestCheckForm: a response is refused that a provider would follow, decompress or wait for, and one that the proxy can't inspect.
func TestCheckForm(t *testing.T) {
	for name, tc := range map[string]struct {
		status    int
		header    http.Header
		text, ok  bool
		wantMedia string
	}{
		"JSON":        {200, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, false, true, MediaJSON},
		"Text":        {200, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, false, false, ""},
		"TextAllowed": {200, http.Header{"Content-Type": {"text/plain; charset=utf-8"}}, true, true, MediaText},
		"Protobuf":    {200, http.Header{"Content-Type": {"application/vnd.kubernetes.protobuf"}}, true, false, ""},
		"NoType":      {200, http.Header{}, true, false, ""},
		"Error":       {503, http.Header{"Content-Type": {"text/html"}}, false, true, MediaText},
		"Compressed":  {200, http.Header{"Content-Type": {MediaJSON}, "Content-Encoding": {"gzip"}}, false, false, ""},
		"Redirect":    {302, http.Header{"Content-Type": {MediaJSON}}, false, false, ""},
		"Upgrade":     {101, http.Header{"Content-Type": {MediaJSON}}, false, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			response := &http.Response{StatusCode: tc.status, Header: tc.header}
			err := CheckForm(response, tc.text)
			if (err == nil) != tc.ok || err != nil && !limits.IsExceeded(err) || err == nil && MediaType(response) != tc.wantMedia {
				t.Errorf("got %v, and a response of type %q", err, MediaType(response))
			}
		})
	}
}

// TestTimedOut: only what is the fault of the virtual API server exceeds a limit.
func TestTimedOut(t *testing.T) {
	late, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	gone, leave := context.WithCancel(context.Background())
	leave()
	timeout := &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}
	lookup := &net.OpError{Op: "dial", Err: &net.DNSError{Err: "i/o timeout", IsTimeout: true}}
	for name, tc := range map[string]struct {
		ctx      context.Context
		err      error
		exceeded bool
	}{
		"Late":        {late, context.DeadlineExceeded, true},
		"LateNoError": {late, nil, true},
		"NodeIsLost":  {context.Background(), timeout, true},
		"Exceeded":    {context.Background(), limits.TooLarge(1), true},
		"ClientGone":  {gone, context.Canceled, false},
		"DNS":         {context.Background(), lookup, false},
		"Refused":     {context.Background(), errors.New("connection refused"), false},
		"Busy":        {late, fmt.Errorf("wrapped: %w", limits.ErrBusy), false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := TimedOut(tc.ctx, tc.err, time.Second); limits.IsExceeded(err) != tc.exceeded {
				t.Errorf("got %v", err)
			}
		})
	}
}
