package node

import (
	"fmt"
	"os/exec"
	"strings"
)

// Join lets two running clusters reach each other's nodes, pods and Services, through the machine, until one of them ends. The first one is to
// end last: with it, the machine's forwarding of packets ends, if it did none before.
func Join(first, second Config) error {
	return join(first, second, routesTo(second.Addresses(), first.Addresses()))
}

// JoinClosed is like Join for a second cluster behind a firewall: it reaches the ingress controller of the first one and nothing else of it, and
// nobody but the machine begins a connection to it.
func JoinClosed(first, closed Config) error {
	a := closed.Addresses()
	for _, chain := range []string{"INPUT", "FORWARD"} {
		if err := filter(closed, fmt.Sprintf("--insert %s --in-interface uplink ! --source %s --match conntrack --ctstate NEW --jump DROP", chain, a.Machine)); err != nil {
			return err
		}
	}
	return join(first, closed, []string{fmt.Sprintf("route replace %s via %s", first.Addresses().Ingress, a.Machine)})
}

// Cut drops all that a cluster sends to another one, until it is mended.
func Cut(cfg Config) error { return filter(cfg, "--insert "+cut) }

// Mend ends a Cut.
func Mend(cfg Config) error { return filter(cfg, "--delete "+cut) }

const cut = "FORWARD --out-interface uplink --jump DROP"

// join gives the machine and two clusters the ways to each other; back is that of the second one to the first.
func join(first, second Config, back []string) error {
	a, err := running(first)
	if err != nil {
		return err
	}
	b, err := running(second)
	if err != nil {
		return err
	}
	if err := forward(a); err != nil {
		return fmt.Errorf("cannot join clusters %s and %s: %w", first.Name, second.Name, err)
	}
	if err := ipIn(a.PID, routesTo(first.Addresses(), second.Addresses())...); err != nil {
		return fmt.Errorf("cannot join clusters %s and %s: %w", first.Name, second.Name, err)
	}
	if err := ipIn(b.PID, back...); err != nil {
		return fmt.Errorf("cannot join clusters %s and %s: %w", first.Name, second.Name, err)
	}
	return nil
}

// running is the record of a cluster that runs.
func running(cfg Config) (*record, error) {
	r, err := readRecord(cfg.dir().record())
	if err == nil && !r.running() {
		err = fmt.Errorf("cluster %s doesn't run", cfg.Name)
	}
	return r, err
}

// filter changes a cluster's filters of packets.
func filter(cfg Config, rule string) error {
	r, err := running(cfg)
	if err != nil {
		return err
	}
	args := append([]string{fmt.Sprintf("--net=/proc/%d/ns/net", r.PID), "iptables-nft"}, strings.Fields(rule)...)
	if out, err := exec.Command("nsenter", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("iptables-nft %s: %w: %s", rule, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// routesTo are the routes of a cluster to another one.
func routesTo(from, to Addresses) (out []string) {
	for _, network := range []string{to.Pods, to.Services, to.Uplink} {
		out = append(out, fmt.Sprintf("route replace %s via %s", network, from.Machine))
	}
	return out
}

// ipIn runs commands of ip(8) in the network of a process.
func ipIn(pid int, commands ...string) error {
	cmd := exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pid), "ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(commands, "; "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
