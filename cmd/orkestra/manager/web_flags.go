package manager

import (
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/net/http/httpguts"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/controllers/serve"
	serveweb "github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/person"
)

// web are the flags that say where the Control Center is served, and to whom.
type web struct {
	address, certDir, anonymous string
	advertiseHost               string
	groups, hosts               []string
	proxy                       serveweb.ProxyOptions
	oidc                        oidcFlags
	tools, toolsAct             bool

	flags *pflag.FlagSet // that these are among
}

// given are the flags whose names begin so, and that do not have their defaults.
func (w *web) given(prefixes ...string) string {
	var out []string
	w.flags.Visit(func(f *pflag.Flag) {
		if f.Value.String() != f.DefValue && slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(f.Name, prefix) }) {
			out = append(out, "--"+f.Name)
		}
	})
	return strings.Join(out, ", ")
}

func (w *web) bind(fs *pflag.FlagSet) {
	w.flags = fs
	fs.StringVar(&w.address, "web-bind-address", "", "where the Control Center is served by HTTPS, to those whose tokens the API server knows and those who have signed in, as far as their RBAC lets them read; default: nowhere")
	fs.StringVar(&w.certDir, "web-cert-dir", "", "where tls.crt and tls.key for the Control Center are; default: the process signs its own")
	fs.StringVar(&w.advertiseHost, "web-advertise-host", os.Getenv("POD_IP"),
		"name or address at which other replicas reach the Control Center of this one, so that they can ask it while it leads; default: POD_IP, else the host of --web-bind-address")
	fs.StringSliceVar(&w.hosts, "web-hosts", nil,
		"names, without ports, at which browsers reach the Control Center; others are refused where a browser shows by itself who asks; addresses and localhost need no name; repeatable")
	fs.StringVar(&w.proxy.CAFile, "web-proxy-ca-file", "",
		"file with the CAs that sign certificates of proxies, which may say by headers who asks for the Control Center; default: no proxy may, and such headers are refused")
	fs.StringSliceVar(&w.proxy.Names, "web-proxy-names", nil, "common names of certificates of proxies; default: each that a CA of --web-proxy-ca-file has signed; repeatable")
	fs.StringVar(&w.proxy.UserHeader, "web-proxy-user-header", serveweb.DefaultUserHeader, "header in which a proxy says the name of the user")
	fs.StringVar(&w.proxy.GroupHeader, "web-proxy-group-header", serveweb.DefaultGroupHeader, "header in which a proxy says a group of the user, once for each group")
	w.oidc.bind(fs)
	fs.StringVar(&w.anonymous, "web-anonymous-user", "", "user as whom those count who send no token to the Control Center; default: they are refused")
	fs.StringSliceVar(&w.groups, "web-anonymous-groups", nil, "groups of that user; repeatable")
	fs.BoolVar(&w.tools, "web-mcp", false, "language models may ask the Control Center, by the Model Context Protocol at /mcp, as those for whom they work")
	fs.BoolVar(&w.toolsAct, "web-mcp-allow-actions", false, "with --web-mcp: they may have resources reconciled, too")
}

// options checks the flags; nil: the Control Center is not served.
func (w *web) options() (o *serve.Options, err error) {
	if w.address == "" || w.address == "0" {
		if said := w.given("web-advertise-host", "web-cert-dir", "web-hosts", "web-proxy-", "web-oidc-", "web-session-", "web-anonymous-", "web-mcp"); said != "" {
			return nil, fmt.Errorf("%s: found, but the Control Center is not served: name by --web-bind-address where", said)
		}
		return nil, nil //nolint:nilnil // it is served nowhere
	}
	if _, _, err := net.SplitHostPort(w.address); err != nil {
		return nil, fmt.Errorf("--web-bind-address %q: wanted host:port, or :port: %w", w.address, err)
	}
	for _, host := range w.hosts {
		if problems := validation.IsDNS1123Subdomain(host); len(problems) > 0 {
			return nil, fmt.Errorf("--web-hosts %q: wanted a name without a port, in small letters, such as orkestra.example.com", host)
		}
	}
	o = &serve.Options{Address: w.address, CertDir: w.certDir, Hosts: w.hosts, AdvertiseHost: w.advertiseHost}
	if err := w.setProxy(o); err != nil {
		return nil, err
	}
	if said := w.given("web-oidc-", "web-session-"); w.oidc.Issuer == "" && said != "" {
		return nil, fmt.Errorf("%s: found, but nobody signs in: name by --web-oidc-issuer-url where", said)
	}
	if o.SignIn, err = w.oidc.options(w.hosts); err != nil {
		return nil, err
	}
	switch {
	case w.tools:
		o.Tools = &serveweb.Tools{Actions: w.toolsAct, Version: version.Get().Version}
	case w.toolsAct:
		return nil, errors.New("--web-mcp-allow-actions says what language models may do, and none may ask: add --web-mcp")
	}
	switch {
	case w.anonymous != "":
		o.Anonymous = &person.Person{Name: w.anonymous, Groups: w.groups}
	case len(w.groups) > 0:
		return nil, errors.New("--web-anonymous-groups are those of --web-anonymous-user, and there is none")
	}
	return o, nil
}

// setProxy checks what is said of proxies.
func (w *web) setProxy(o *serve.Options) error {
	p := w.proxy
	if p.CAFile == "" {
		if said := w.given("web-proxy-"); said != "" {
			return fmt.Errorf("%s: found, but no proxy is believed: name by --web-proxy-ca-file whose certificates they have", said)
		}
		return nil
	}
	for _, said := range []struct{ flag, header string }{{"--web-proxy-user-header", p.UserHeader}, {"--web-proxy-group-header", p.GroupHeader}} {
		if !httpguts.ValidHeaderFieldName(said.header) {
			return fmt.Errorf("%s %q: wanted the name of a header, such as %s", said.flag, said.header, serveweb.DefaultUserHeader)
		}
	}
	if textproto.CanonicalMIMEHeaderKey(p.UserHeader) == textproto.CanonicalMIMEHeaderKey(p.GroupHeader) {
		return fmt.Errorf("--web-proxy-user-header and --web-proxy-group-header are both %q: wanted two headers", p.UserHeader)
	}
	o.Proxy = &p
	return nil
}
