package check

import (
	"context"
	"net"
	"time"
)

// settles is how long a network plugin may take until it enforces the policies of a new pod.
const settles = 30 * time.Second

// Enforced tries to reach an address that a NetworkPolicy keeps this pod from, until it can't be reached any more.
func Enforced(ctx context.Context, address string) Finding {
	ctx, cancel := context.WithTimeout(ctx, settles)
	defer cancel()
	for {
		dialer := net.Dialer{Timeout: 3 * time.Second}
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil && ctx.Err() == nil {
			return Finding{OK, "NetworkPolicies are enforced", ""}
		}
		if conn != nil {
			_ = conn.Close()
		}
		select {
		case <-ctx.Done():
			return Finding{Missing, "NetworkPolicies have no effect: a pod reaches " + address + ", which one of them forbids",
				"use a network plugin that enforces them, such as Calico or Cilium: without, tenants reach each other and the host"}
		case <-time.After(time.Second):
		}
	}
}
