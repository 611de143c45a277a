package kube

import (
	"context"
	"net"
	"testing"
)

func TestLookup(t *testing.T) {
	d := NewDialer(nil)
	d.Resolve("10-96-0-11.sslip.io", "10.96.0.11")
	d.Resolve("shop.example.org", "10.96.0.12")
	for name, want := range map[string]string{
		"a-b.10-96-0-11.sslip.io": "10.96.0.11",
		"10-96-0-11.sslip.io":     "10.96.0.11",
		"x10-96-0-11.sslip.io":    "",
		"shop.example.org":        "10.96.0.12",
		"example.org":             "",
	} {
		if got := d.Lookup(name); got != want {
			t.Errorf("Lookup(%s): want %q, got %q", name, want, got)
		}
	}
}

func TestDialerConnectsToResolvedNames(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // Only a test's.
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d := NewDialer(nil)
	d.Resolve("example.org", "127.0.0.1")
	conn, err := d.DialContext(context.Background(), "tcp", "shop.example.org:"+port)
	if err != nil {
		t.Fatalf("a name that is resolved must connect to its address: %v", err)
	}
	_ = conn.Close()
}
