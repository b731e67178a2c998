package external

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	testclock "k8s.io/utils/clock/testing"
)

func TestAddresses(t *testing.T) {
	for address, public := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "172.32.0.1": true, "100.128.0.1": true, "2606:4700:4700::1111": true, "64:ff9b::808:808": true,
		"2002:808:808::1": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "127.255.255.255": false, "::1": false, "0.0.0.0": false, "0.1.2.3": false, "::": false,
		"10.0.0.1": false, "172.16.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "fd00:ec2::254": false, "fc00::1": false,
		"169.254.169.254": false, "169.254.0.1": false, "fe80::1": false, "fe80::1%eth0": false, "fec0::1": false, "168.63.129.16": false,
		"100.64.0.1": false, "100.100.100.200": false, "100.127.255.255": false, "192.0.0.192": false,
		"224.0.0.1": false, "239.255.255.255": false, "ff02::1": false, "255.255.255.255": false, "240.0.0.1": false,
		"198.18.0.1": false, "192.0.2.1": false, "198.51.100.1": false, "203.0.113.1": false, "2001:db8::1": false, "100::1": false,
		"::ffff:127.0.0.1": false, "::ffff:169.254.169.254": false, "::ffff:10.0.0.1": false,
		"64:ff9b::127.0.0.1": false, "64:ff9b::169.254.169.254": false, "64:ff9b::10.0.0.1": false, "64:ff9b:1::1": false,
		"::127.0.0.1": false, "::10.0.0.1": false, "::8.8.8.8": false,
		"::ffff:0:127.0.0.1": false, "::ffff:0:10.0.0.1": false, "::ffff:0:8.8.8.8": false, // SIIT
		"1000::1": false, "4000::1": false, "200::1": false, "1fff::1": false, // nothing of this is assigned
		"2002:7f00:1::": false, "2002:a9fe:a9fe::1": false, "2002:a00:1::": false,
		"2001:0:a00:1::":               false, // the server of a tunnel is private
		"2001:0:808:808:0:0:80ff:fffe": false, // its client is 127.0.0.1
		"2001:0:808:808:0:0:f7f7:f7f7": true,  // and here 8.8.8.8
		"2001:0:808:808:0:0:5601:5601": false, // 169.254.169.254
		"2001:4860:4860::8888":         true,  // no tunnel
	} {
		t.Run(address, func(t *testing.T) {
			g := NewWithT(t)
			ip := netip.MustParseAddr(address)
			err := (&Guard{}).checkIP("example.com", "443", ip)
			g.Expect(err == nil).To(Equal(public), "%v", err)
			literal, err := url.Parse("http://" + bracketed(ip) + "/")
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect((&Guard{}).CheckURL(literal) == nil).To(Equal(public))
		})
	}
}

func bracketed(ip netip.Addr) string {
	if ip.Is4() {
		return ip.String()
	}
	return "[" + strings.ReplaceAll(ip.String(), "%", "%25") + "]"
}

func TestCheckURL(t *testing.T) {
	const onlyText = "the operator of this cluster allows certain hosts only (--external-only, or --egress-rules for this box or its account)"
	for name, tc := range map[string]struct {
		url         string
		allow, only []string
		want        string // empty: fine
	}{
		"https":                 {url: "https://example.com/x?y=z"},
		"capitals and a dot":    {url: "HTTPS://EXAMPLE.com./", only: []string{"Example.com"}},
		"another scheme":        {url: "ftp://example.com/", want: `the scheme of the URL is "ftp"; only http and https may be called`},
		"no scheme":             {url: "example.com/x", want: `the scheme of the URL is ""; only http and https may be called`},
		"no host":               {url: "http:///x", want: "the URL has no host"},
		"opaque":                {url: "http:example.com", want: "the URL has no host"},
		"a user":                {url: "http://user:secret@example.com/", want: "the URL holds a user name; give credentials by auth"},
		"port 0":                {url: "http://example.com:0/", want: "the port of the URL is no port"},
		"port 65536":            {url: "http://example.com:65536/", want: "the port of the URL is no port"},
		"not only":              {url: "http://example.com/", only: []string{"example.org"}, want: `host "example.com" may not be called: ` + onlyText},
		"only, another port":    {url: "http://example.com/", only: []string{"example.com:443"}, want: `host "example.com" may not be called: ` + onlyText},
		"only, the port":        {url: "https://example.com/", only: []string{"example.com:443"}},
		"only a part":           {url: "https://notexample.com/", only: []string{"example.com"}, want: `host "notexample.com" may not be called: ` + onlyText},
		"only, below":           {url: "https://a.example.com/", only: []string{"example.com"}, want: `host "a.example.com" may not be called: ` + onlyText},
		"allowed network":       {url: "http://10.1.2.3/", allow: []string{"10.0.0.0/8"}},
		"allowed address":       {url: "http://10.1.2.3:8080/", allow: []string{"10.1.2.3"}},
		"allowed with port":     {url: "http://10.1.2.3:8080/", allow: []string{"10.1.2.3:8080"}},
		"allowed, another port": {url: "http://10.1.2.3:9090/", allow: []string{"10.1.2.3:8080"}, want: `host "10.1.2.3" has an address that is not public (private); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)`},
		"allowed IPv6":          {url: "http://[::1]:8080/", allow: []string{"[::1]:8080"}},
		"mapped to allowed":     {url: "http://[::ffff:10.1.2.3]/", allow: []string{"10.0.0.0/8"}},
		"allowed, not only":     {url: "http://10.1.2.3/", allow: []string{"10.0.0.0/8"}, only: []string{"example.com"}, want: `host "10.1.2.3" may not be called: ` + onlyText},
		"only, not allowed":     {url: "http://10.1.2.3/", only: []string{"10.1.2.3"}, want: `host "10.1.2.3" has an address that is not public (private); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			guard, err := NewGuard(tc.allow, tc.only)
			g.Expect(err).NotTo(HaveOccurred())
			u, err := url.Parse(tc.url)
			g.Expect(err).NotTo(HaveOccurred())
			if err := guard.CheckURL(u); tc.want == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(tc.want))
			}
		})
	}
}

func TestGuardChecksWhatANameStandsFor(t *testing.T) {
	g := NewWithT(t)
	target, calls := serve(t, func(http.ResponseWriter, *http.Request) {})
	port := target[strings.LastIndex(target, ":")+1:]
	call := func(allow ...string) error {
		guard, err := NewGuard(allow, nil)
		g.Expect(err).NotTo(HaveOccurred())
		c := New(&Egress{everybody: guard}, testclock.NewFakePassiveClock(start))
		_, err = c.Call(context.Background(), get("http://LocalHost:"+port))
		return err
	}
	failure := call()
	g.Expect(failure).To(MatchError(`host "localhost" has an address that is not public (loopback); the operator of this cluster may allow it (--external-allow, or --egress-rules for this box or its account)`))
	g.Expect(calls.Load()).To(BeZero())
	g.Expect(call("localhost:1")).To(HaveOccurred())
	g.Expect(call("localhost")).To(Succeed())
	g.Expect(call("localhost:" + port)).To(Succeed())
	g.Expect(call("127.0.0.0/8", "::1/128")).To(Succeed())
	g.Expect(call("127.0.0.1:"+port, "::1")).To(Succeed())
	g.Expect(calls.Load()).To(BeEquivalentTo(4))
}

func TestMistakesInRules(t *testing.T) {
	for _, tc := range []struct{ allow, only, want string }{
		{allow: "http://example.com", want: `external-allow: "http://example.com" is neither a host nor a network such as 10.0.0.0/8: write a host without scheme and path`},
		{allow: "10.0.0.0/33", want: `external-allow: "10.0.0.0/33" is neither a host nor a network such as 10.0.0.0/8: write a host without scheme and path`},
		{allow: "::ffff:10.0.0.0/104", want: `external-allow: "::ffff:10.0.0.0/104": write an IPv4 network as one, such as 10.0.0.0/8`},
		{allow: "example.com:http", want: `external-allow: "example.com:http" is neither host nor host:port`},
		{allow: "", want: `external-allow: "" is not the name of a host`},
		{only: "*.example.com", want: `external-only: "*.example.com" is not the name of a host`},
		{only: "10.0.0.0/8", want: `external-only: "10.0.0.0/8" is a network: name hosts`},
	} {
		var allow, only []string
		if tc.only == "" {
			allow = []string{tc.allow}
		} else {
			only = []string{tc.only}
		}
		_, err := NewGuard(allow, only)
		NewWithT(t).Expect(err).To(MatchError(tc.want))
	}
}

// forms are prefixes whose last four bytes are an IPv4 address.
var forms = []string{"::", "::ffff:0:0", "64:ff9b::"}

// FuzzGuardAddress compares the table with what the standard library knows of addresses.
func FuzzGuardAddress(f *testing.F) {
	for _, a := range []string{"127.0.0.1", "::1", "169.254.169.254", "::ffff:10.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::", "8.8.8.8", "fe80::1"} {
		f.Add(netip.MustParseAddr(a).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ip, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		all := []netip.Addr{ip, ip.Unmap()}
		if ip.Is6() {
			b := ip.As16()
			for _, form := range forms {
				if netip.PrefixFrom(netip.MustParseAddr(form), 96).Contains(ip) {
					all = append(all, netip.AddrFrom4([4]byte(b[12:])))
				}
			}
			if b[0] == 0x20 && b[1] == 0x02 {
				all = append(all, netip.AddrFrom4([4]byte(b[2:6])))
			}
		}
		for _, a := range all {
			bad := a.IsLoopback() || a.IsPrivate() || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() || a.IsInterfaceLocalMulticast()
			if bad && (&Guard{}).checkIP("h", "80", ip) == nil {
				t.Errorf("%s is let through: it leads to %s", ip, a)
			}
		}
	})
}

// FuzzGuardURL checks that no spelling of a URL leads past the guard, and that no error tells what the URL holds.
func FuzzGuardURL(f *testing.F) {
	for _, u := range []string{
		"http://example.com/", "https://[::1]:80/", "http://127.1/", "http://2130706433/", "http://0x7f.0.0.1/", "http://[::ffff:127.0.0.1]/",
		"http://user@example.com", "http://example.com:99999/", "gopher://x", "//x", "http://[fe80::1%25eth0]/", "http://example.com\\@127.0.0.1/",
		"http://allowed.example.com#@127.0.0.1/", "http://a/%2e%2e/b", "http://１２７.0.0.1/", "http://127。0。0。1/",
	} {
		f.Add(u)
	}
	guard, err := NewGuard(nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	restricted, err := NewGuard(nil, []string{"allowed.example.com"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := &Request{URL: text}
		u, err := r.target()
		if err != nil {
			if len(err.Error()) > 200 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			return
		}
		if guard.CheckURL(u) == nil {
			if u.Scheme != "http" && u.Scheme != "https" {
				t.Errorf("%q: scheme %q is let through", text, u.Scheme)
			}
			if ip, err := netip.ParseAddr(u.Hostname()); err == nil && (ip.Unmap().IsLoopback() || ip.Unmap().IsPrivate() || ip.Unmap().IsLinkLocalUnicast()) {
				t.Errorf("%q: %s is let through", text, ip)
			}
		}
		if restricted.CheckURL(u) == nil {
			if h := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")); h != "allowed.example.com" {
				t.Errorf("%q: host %q is let through", text, h)
			}
			// What is sent is what was checked.
			req, err := http.NewRequest(http.MethodGet, u.String(), nil)
			if err == nil && !strings.EqualFold(strings.TrimSuffix(req.URL.Hostname(), "."), "allowed.example.com") {
				t.Errorf("%q: the request goes to %q", text, req.URL.Host)
			}
		}
	})
}
