package networktest

import (
	"fmt"
	"net/netip"
)

// Embedded returns the IPv6 addresses by which a translator or a tunnel reaches an IPv4 address, by how it does. IPv4-mapped addresses
// aren't among them: a node sends to the IPv4 address itself.
func Embedded(ipv4 string) map[string]string {
	a := netip.MustParseAddr(ipv4).As4()
	high, low := fmt.Sprintf("%02x%02x", a[0], a[1]), fmt.Sprintf("%02x%02x", a[2], a[3])
	return map[string]string{
		"IPv4-compatible, RFC 4291":          "::" + high + ":" + low,
		"IPv4-translated, RFC 2765":          "::ffff:0:" + high + ":" + low,
		"NAT64, RFC 6052":                    "64:ff9b::" + high + ":" + low,
		"NAT64 of one's own, RFC 8215":       "64:ff9b:1::" + high + ":" + low,
		"Teredo's server, RFC 4380":          "2001:0:" + high + ":" + low + "::1",
		"Teredo's client, RFC 4380":          fmt.Sprintf("2001:0:7f00:1:0:ffff:%02x%02x:%02x%02x", a[0]^0xff, a[1]^0xff, a[2]^0xff, a[3]^0xff),
		"6to4, RFC 3056":                     "2002:" + high + ":" + low + "::1",
		"6to4, a machine behind the address": "2002:" + high + ":" + low + ":1:2:3:4:5",
	}
}
