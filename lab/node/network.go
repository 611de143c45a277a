package node

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// connect wires the machine to the network namespace of a process: a pair of
// interfaces, and routes to the cluster's pods and Services.
func connect(a Addresses, pid int) error {
	return ip(
		fmt.Sprintf("link add %s type veth peer name uplink netns %d", a.Interface, pid),
		fmt.Sprintf("addr add %s/30 dev %s", a.Machine, a.Interface),
		fmt.Sprintf("link set %s up", a.Interface),
		fmt.Sprintf("route add %s via %s dev %s", a.Pods, a.Uplink, a.Interface),
		fmt.Sprintf("route add %s via %s dev %s", a.Services, a.Uplink, a.Interface),
	)
}

// disconnect removes the machine's end of the wire; its routes go with it.
func disconnect(a Addresses) error {
	if !hasInterface(a.Interface) {
		return nil
	}
	if err := ip("link del " + a.Interface); err != nil && hasInterface(a.Interface) {
		return err // Else it went with the namespace at the same moment.
	}
	return nil
}

func hasInterface(name string) bool {
	_, err := os.Stat("/sys/class/net/" + name)
	return err == nil
}

// networkInside sets up the cluster's end. Whatever is not of the cluster or the
// machine's end of the wire is unreachable: programs learn at once.
func networkInside(a Addresses, upstream bool) error {
	elsewhere := "route add unreachable default"
	if upstream {
		elsewhere = "route add default via " + a.Machine
	}
	if err := ip(
		"link set lo up",
		fmt.Sprintf("addr add %s/30 dev uplink", a.Uplink),
		"link set uplink up",
		// An address of its own, or the bridge would take that of its lowest port,
		// and change it while pods come and go.
		"link add cni0 address 0a:58:0a:f4:00:01 type bridge",
		fmt.Sprintf("addr add %s/24 dev cni0", a.Node),
		"link set cni0 up",
		// Connections to a Service start from somewhere too: kube-proxy redirects
		// only what has a route.
		fmt.Sprintf("route add %s dev cni0 src %s", a.Services, a.Node),
		elsewhere,
	); err != nil {
		return err
	}
	for _, s := range [][2]string{
		{"net/ipv4/ip_forward", "1"},
		{"net/bridge/bridge-nf-call-iptables", "1"},
		// Say "unreachable" to everybody who asks, not to one a second.
		{"net/ipv4/icmp_ratelimit", "0"},
	} {
		if err := os.WriteFile(filepath.Join("/proc/sys", s[0]), []byte(s[1]), 0); err != nil {
			if strings.HasPrefix(s[0], "net/bridge/") {
				err = fmt.Errorf("%w (load the kernel module: modprobe br_netfilter)", err)
			}
			return fmt.Errorf("cannot set up the cluster's network: %w", err)
		}
	}
	return queueToNode(a)
}

// networkPoliciesQueue is the number of the queue that kube-network-policies reads.
const networkPoliciesQueue = 98

// queueToNode hands what pods send to the node itself, to its API server and its
// kubelet, to kube-network-policies. It sees to the packets that leave the node
// for somewhere, and those go no further.
func queueToNode(a Addresses) error {
	args := strings.Fields(fmt.Sprintf("--append INPUT --in-interface cni0 --source %s --match conntrack --ctstate NEW --jump NFQUEUE --queue-num %d --queue-bypass",
		a.Pods, networkPoliciesQueue))
	if out, err := exec.Command("iptables-nft", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("cannot set up the cluster's network (iptables-nft %s): %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// ip runs commands of ip(8), all or none past the first that fails.
func ip(commands ...string) error {
	cmd := exec.Command("ip", "-batch", "-")
	cmd.Stdin = strings.NewReader(strings.Join(commands, "\n"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot set up the network (ip %s): %w: %s", strings.Join(commands, "; "), err, strings.TrimSpace(string(out)))
	}
	return nil
}
