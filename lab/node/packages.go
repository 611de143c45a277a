package node

// pluginDir is where Debian puts the CNI plugins.
const pluginDir = "/usr/lib/cni"

// needed maps a file to the Debian package that has it.
var needed = map[string]string{
	"/usr/bin/containerd":     "containerd",
	"/usr/sbin/runc":          "runc",
	pluginDir + "/bridge":     "containernetworking-plugins",
	pluginDir + "/host-local": "containernetworking-plugins",
	"/usr/sbin/iptables":      "iptables",
	"/usr/sbin/nft":           "nftables",
	"/usr/sbin/conntrack":     "conntrack",
	"/usr/sbin/ip":            "iproute2",
}
