package node

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// forwarding lets the machine pass on packets that are not its own.
const forwarding = "/proc/sys/net/ipv4/ip_forward"

// openUpstream lets the cluster reach the machine's network, under the machine's
// address. It is the only thing that is changed on the machine beside the wire.
func openUpstream(r *record) error {
	if err := forward(r); err != nil {
		return fmt.Errorf("cannot let the cluster reach the network: %w", err)
	}
	return nft(masquerade(r.config()))
}

// forward lets the machine pass on packets, and writes down what is to be restored when the cluster ends.
func forward(r *record) error {
	b, err := os.ReadFile(forwarding)
	if err != nil {
		return err
	}
	was := strings.TrimSpace(string(b))
	if was == "1" {
		return nil
	}
	r.Forwarding = was
	if err := r.write(r.config().dir().record()); err != nil {
		return err
	}
	return os.WriteFile(forwarding, []byte("1"), 0)
}

// stopForwarding undoes forward.
func stopForwarding(r *record) error {
	if r.Forwarding == "" {
		return nil
	}
	if err := os.WriteFile(forwarding, []byte(r.Forwarding), 0); err != nil {
		return fmt.Errorf("cannot set the machine's ip_forward back to %s: %w", r.Forwarding, err)
	}
	return nil
}

// masquerade is an nftables table of the cluster's own on the machine.
func masquerade(cfg Config) string {
	a := cfg.Addresses()
	return fmt.Sprintf(`table ip %s {
	chain postrouting {
		type nat hook postrouting priority srcnat;
		ip saddr { %s, %s } oifname != %q masquerade
	}
}
`, cfg.id(), a.Pods, a.Uplink, a.Interface)
}

func closeUpstream(r *record) error {
	if !r.Upstream {
		return nil
	}
	id := r.config().id()
	// Naming it first makes deletion work when it is not there.
	return nft(fmt.Sprintf("table ip %s\ndelete table ip %s\n", id, id))
}

func nft(ruleset string) error {
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(ruleset)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot change the machine's nftables: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}
