package web

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// hosts are the names at which a server is reached. A browser that shows by itself who asks does so for every page that is open in it: such a
// request counts only if it is for one of these names, and if the page that has the browser ask is this server's own (isFromElsewhere).
type hosts []string

func newHosts(names []string) hosts {
	out := make(hosts, 0, len(names))
	for _, name := range names {
		out = append(out, nameOf(name))
	}
	return out
}

// refuse says why a request does not count; nil: it does.
func (h hosts) refuse(r *http.Request) *refusal {
	if !h.has(r.Host) {
		return &refusal{status: http.StatusMisdirectedRequest, why: "Nobody has said that the page is served at " + r.Host + ", and somebody else's name may lead here: name the host in the chart's web.hosts"}
	}
	return nil
}

// has says whether a header Host has one of the names. Nobody can have an address, or localhost, lead to another server.
func (h hosts) has(host string) bool {
	if _, port, err := net.SplitHostPort(host); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return false // the host also becomes part of an address
		}
	}
	name := nameOf(host)
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.Contains(h, name)
}

// nameOf gives the name in a header Host, in the one form in which names are compared.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// isFromElsewhere says whether a page of another origin has had the browser ask, as browsers tell (Fetch Metadata; older ones Origin). A link from
// elsewhere may open the page itself.
func isFromElsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		origin := r.Header.Get("Origin")
		if origin == "" {
			return false // no browser, or one that asks for a page of its own
		}
		from, err := url.Parse(origin)
		return err != nil || !strings.EqualFold(from.Host, r.Host)
	default:
		reads := r.Method == http.MethodGet || r.Method == http.MethodHead
		return !reads || r.Header.Get("Sec-Fetch-Mode") != "navigate" || strings.HasPrefix(r.URL.Path, "/api/")
	}
}

// isUnsaid says whether a request that is more than a look does not say where it comes from, as every browser does.
func isUnsaid(r *http.Request) bool {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	return !reads && r.Header.Get("Sec-Fetch-Site") == "" && r.Header.Get("Origin") == ""
}
