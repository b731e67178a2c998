package external

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
)

// Guard decides what may be reached by one caller. It is immutable. The zero value lets everything through that is public.
type Guard struct {
	allowed rules
	only    rules
}

// rules are hosts, hosts with a port, and networks.
type rules struct {
	hosts    map[string]bool // "host" or "host:port"
	networks []netip.Prefix
}

// NewGuard reads the rules of the cluster's administrator. allow names hosts, host:port and networks (CIDR) that may be reached although
// their addresses are not public. only names the only hosts, or host:port, that may be reached; none: all may.
func NewGuard(allow, only []string) (*Guard, error) {
	g := &Guard{}
	var err error
	if g.allowed, err = parseRules(allow, true); err != nil {
		return nil, fmt.Errorf("external-allow: %w", err)
	}
	if g.only, err = parseRules(only, false); err != nil {
		return nil, fmt.Errorf("external-only: %w", err)
	}
	return g, nil
}

// Restricted says whether only certain hosts may be reached, so that a resource can do no harm by naming one.
func (g *Guard) Restricted() bool { return len(g.only.hosts) > 0 }

func parseRules(list []string, networks bool) (rules, error) {
	r := rules{hosts: map[string]bool{}}
	for _, entry := range list {
		entry = strings.TrimSpace(entry)
		if strings.Contains(entry, "/") {
			prefix, err := netip.ParsePrefix(entry)
			switch {
			case err != nil:
				return rules{}, fmt.Errorf("%q is neither a host nor a network such as 10.0.0.0/8: write a host without scheme and path", entry)
			case !networks:
				return rules{}, fmt.Errorf("%q is a network: name hosts", entry)
			case prefix.Addr().Is4In6():
				return rules{}, fmt.Errorf("%q: write an IPv4 network as one, such as 10.0.0.0/8", entry)
			}
			r.networks = append(r.networks, prefix.Masked())
			continue
		}
		host, port, err := splitRule(entry)
		if err != nil {
			return rules{}, err
		}
		if port != "" {
			host = net.JoinHostPort(host, port)
		}
		r.hosts[host] = true
	}
	return r, nil
}

// splitRule reads a host, or a host and a port.
func splitRule(entry string) (host, port string, err error) {
	host = entry
	if ip, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return ip.Unmap().String(), "", nil
	}
	if strings.Contains(entry, ":") {
		if host, port, err = net.SplitHostPort(entry); err != nil || !validPort(port) {
			return "", "", fmt.Errorf("%q is neither host nor host:port", entry)
		}
	}
	host = normalHost(host)
	if host == "" || strings.ContainsAny(host, "*?@ ") {
		return "", "", fmt.Errorf("%q is not the name of a host", entry)
	}
	return host, port, nil
}

// names says whether the rules name a host, whichever its addresses are.
func (r rules) names(host, port string) bool {
	return r.hosts[host] || r.hosts[net.JoinHostPort(host, port)]
}

func (r rules) holds(ip netip.Addr) bool {
	for _, n := range r.networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// CheckURL says what is wrong with a URL wherever it is called from. The error is an *Error.
func CheckURL(text string) error {
	u, err := (&Request{URL: text}).target()
	if err != nil {
		return err
	}
	return shape(u)
}

// shape refuses URLs of another scheme than http and https, without a host, and with user names in them.
func shape(u *url.URL) error {
	if u.Scheme != schemeHTTP && u.Scheme != schemeHTTPS {
		return refused("the scheme of the URL is %q; only http and https may be called", clip(u.Scheme))
	}
	switch host, port := hostPort(u); {
	case host == "" || u.Opaque != "":
		return refused("the URL has no host")
	case u.User != nil:
		return refused("the URL holds a user name; give credentials by auth")
	case !validPort(port):
		return refused("the port of the URL is no port")
	}
	return nil
}

// CheckURL refuses what can be told from a URL alone: another scheme than http and https, user names in it, hosts that are not
// named where only certain ones may be reached, and addresses that may not be. The error is an *Error.
func (g *Guard) CheckURL(u *url.URL) error {
	if err := shape(u); err != nil {
		return err
	}
	host, port := hostPort(u)
	if g.Restricted() && !g.only.names(host, port) {
		return refused("host %q may not be called: the operator of this cluster allows certain hosts only (--external-only, or --egress-rules for this box or its account)", clip(host))
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.checkIP(host, port, ip)
	}
	return nil
}

// checkIP refuses an address that is not public, unless the operator allows it, or the host that it belongs to.
func (g *Guard) checkIP(host, port string, ip netip.Addr) error {
	if g.allowed.names(host, port) {
		return nil
	}
	for _, to := range reaches(ip) {
		if what := reservedAs(to); what != "" && !g.allowed.holds(to) && !g.allowed.names(to.String(), port) {
			return refused("host %q has an address that is not public (%s); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)", clip(host), what)
		}
	}
	return nil
}

// DialContext connects to address, a host and a port. The address that the name resolved to is checked when the socket is about to
// connect, and not by a lookup before: a second lookup could give another address (DNS rebinding). Only ctx bounds the time.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, refused("%q is no address", clip(address))
	}
	d := net.Dialer{
		ControlContext: func(_ context.Context, _, resolved string, _ syscall.RawConn) error {
			ip, err := netip.ParseAddrPort(resolved)
			if err != nil {
				return refused("host %q has no IP address", clip(host))
			}
			return g.checkIP(normalHost(host), port, ip.Addr())
		},
	}
	return d.DialContext(ctx, network, address)
}

const (
	schemeHTTP  = "http"
	schemeHTTPS = "https"
)

// hostPort gives host and port of a URL as rules spell them.
func hostPort(u *url.URL) (host, port string) {
	host, port = normalHost(u.Hostname()), u.Port()
	if ip, err := netip.ParseAddr(host); err == nil {
		host = ip.WithZone("").Unmap().String()
	}
	if port == "" {
		port = "443"
		if u.Scheme == schemeHTTP {
			port = "80"
		}
	}
	return host, port
}

// normalHost spells a host in one way: a name may be written in capitals, and with the dot of the root.
func normalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0
}

// parseURL reads the URL of a request. Errors of net/url hold the URL, which may hold a secret.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err == nil {
		return u, nil
	}
	if parse, ok := errors.AsType[*url.Error](err); ok {
		err = parse.Err
	}
	what, _, _ := strings.Cut(err.Error(), "\"")
	return nil, refused("the URL can't be read: %s", clip(strings.TrimSpace(what)))
}
