package external

import (
	"net/netip"
	"slices"
)

// The names of the two largest groups of reserved addresses, as messages say them.
const (
	ownNetwork = "private"
	noNetwork  = "reserved"
)

// reserved are the addresses that lead into a private network, to the machine itself, or nowhere. Boxes may call only hosts on the
// public Internet, unless the administrator of the cluster allows others: else a box could reach what only the manager can reach, such
// as the metadata service of a cloud, with its credentials.
var reserved = []struct {
	prefix netip.Prefix
	what   string
}{
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},
	{netip.MustParsePrefix("::1/128"), "loopback"},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local, where clouds serve credentials"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata service"},
	{netip.MustParsePrefix("10.0.0.0/8"), ownNetwork},
	{netip.MustParsePrefix("172.16.0.0/12"), ownNetwork},
	{netip.MustParsePrefix("192.168.0.0/16"), ownNetwork},
	{netip.MustParsePrefix("fc00::/7"), ownNetwork},
	{netip.MustParsePrefix("fec0::/10"), ownNetwork},
	{netip.MustParsePrefix("64:ff9b:1::/48"), ownNetwork},
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's own network"},
	{netip.MustParsePrefix("0.0.0.0/8"), "this machine"},
	{netip.MustParsePrefix("::/128"), "this machine"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
	{netip.MustParsePrefix("240.0.0.0/4"), noNetwork},
	{netip.MustParsePrefix("192.0.0.0/24"), noNetwork},
	{netip.MustParsePrefix("192.0.2.0/24"), noNetwork},
	{netip.MustParsePrefix("192.88.99.0/24"), noNetwork},
	{netip.MustParsePrefix("198.18.0.0/15"), noNetwork},
	{netip.MustParsePrefix("198.51.100.0/24"), noNetwork},
	{netip.MustParsePrefix("203.0.113.0/24"), noNetwork},
	{netip.MustParsePrefix("100::/64"), noNetwork},
	{netip.MustParsePrefix("2001:db8::/32"), noNetwork},
	{netip.MustParsePrefix("3fff::/20"), noNetwork},
	{netip.MustParsePrefix("5f00::/16"), noNetwork},
}

// globalUnicast is all of IPv6 that is routed on the public Internet.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// Prefixes of IPv6 addresses that contain an IPv4 address, to which a gateway on the way may forward the connection.
var (
	compatible = netip.MustParsePrefix("::/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
)

// reservedAs says what an address is that is not public; "" for a public one.
func reservedAs(ip netip.Addr) string {
	for _, r := range reserved {
		if r.prefix.Contains(ip) {
			return r.what
		}
	}
	if ip.Is6() && !globalUnicast.Contains(ip) && !nat64.Contains(ip) { // of NAT64 the address inside decides
		return noNetwork
	}
	return ""
}

// reaches gives every address to which a connection to ip may lead: itself, and IPv4 addresses inside it.
func reaches(ip netip.Addr) []netip.Addr {
	ip = ip.WithZone("").Unmap()
	out := []netip.Addr{ip}
	if ip.Is4() {
		return out
	}
	b := ip.As16()
	v4 := func(part []byte) netip.Addr { return netip.AddrFrom4([4]byte(part)) }
	switch {
	case ip == netip.IPv6Unspecified() || ip.IsLoopback():
	case compatible.Contains(ip), nat64.Contains(ip):
		out = append(out, v4(b[12:]))
	case sixToFour.Contains(ip):
		out = append(out, v4(b[2:6]))
	case teredo.Contains(ip):
		client := slices.Clone(b[12:])
		for i := range client {
			client[i] ^= 0xff // Teredo inverts the client's address, so that gateways which rewrite addresses do not find it
		}
		out = append(out, v4(b[4:8]), v4(client))
	}
	return out
}
