package node

import (
	"fmt"
	"os/exec"
	"strings"
)

// Join lets two running clusters reach each other's nodes, pods and Services, through the machine, until one of them ends. The first one is to
// end last: with it, the machine's forwarding of packets ends, if it did none before.
func Join(first, second Config) error {
	records := map[string]*record{}
	for _, cfg := range []Config{first, second} {
		r, err := readRecord(cfg.dir().record())
		if err != nil {
			return err
		}
		if !r.running() {
			return fmt.Errorf("cannot join cluster %s with another one: it doesn't run", cfg.Name)
		}
		records[cfg.Name] = r
	}
	if err := forward(records[first.Name]); err != nil {
		return fmt.Errorf("cannot join clusters %s and %s: %w", first.Name, second.Name, err)
	}
	for _, pair := range [][2]Config{{first, second}, {second, first}} {
		if err := ipIn(records[pair[0].Name].PID, routesTo(pair[0].Addresses(), pair[1].Addresses())...); err != nil {
			return fmt.Errorf("cannot join clusters %s and %s: %w", first.Name, second.Name, err)
		}
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
