package manager

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/orkspace/orkestra/cmd/orkestra/version"
	"github.com/orkspace/orkestra/controllers/serve"
	serveweb "github.com/orkspace/orkestra/engine/web"
	"github.com/orkspace/orkestra/engine/web/person"
)

func TestFlagsOfThePage(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want *serve.Options
		err  string
	}{
		"none":                {nil, nil, ""},
		"off":                 {[]string{"--web-bind-address=0"}, nil, ""},
		"an address":          {[]string{"--web-bind-address=:8090"}, &serve.Options{Address: ":8090"}, ""},
		"everything":          {[]string{"--web-bind-address=:8090", "--web-cert-dir=/c", "--web-anonymous-user=all", "--web-anonymous-groups=a,b", "--web-hosts=a.example.com,b"}, &serve.Options{Address: ":8090", CertDir: "/c", Hosts: []string{"a.example.com", "b"}, Anonymous: &person.Person{Name: "all", Groups: []string{"a", "b"}}}, ""},
		"no address":          {[]string{"--web-bind-address=8090"}, nil, `--web-bind-address "8090": wanted host:port`},
		"somebody, nowhere":   {[]string{"--web-anonymous-user=all"}, nil, "name by --web-bind-address where"},
		"groups, nowhere":     {[]string{"--web-anonymous-groups=all"}, nil, "name by --web-bind-address where"},
		"a name, nowhere":     {[]string{"--web-hosts=a"}, nil, "name by --web-bind-address where"},
		"a name with a port":  {[]string{"--web-bind-address=:1", "--web-hosts=a:443"}, nil, `--web-hosts "a:443": wanted a name without a port`},
		"a proxy":             {[]string{"--web-bind-address=:1", "--web-proxy-ca-file=/ca", "--web-proxy-names=a,b", "--web-proxy-user-header=X-U", "--web-proxy-group-header=X-G"}, &serve.Options{Address: ":1", Proxy: &serveweb.ProxyOptions{CAFile: "/ca", Names: []string{"a", "b"}, UserHeader: "X-U", GroupHeader: "X-G"}}, ""},
		"any proxy":           {[]string{"--web-bind-address=:1", "--web-proxy-ca-file=/ca"}, &serve.Options{Address: ":1", Proxy: &serveweb.ProxyOptions{CAFile: "/ca", UserHeader: "X-Remote-User", GroupHeader: "X-Remote-Group"}}, ""},
		"a proxy, nowhere":    {[]string{"--web-proxy-ca-file=/ca"}, nil, "name by --web-bind-address where"},
		"proxies of nobody":   {[]string{"--web-bind-address=:1", "--web-proxy-names=a"}, nil, "name by --web-proxy-ca-file whose certificates they have"},
		"headers of nobody":   {[]string{"--web-bind-address=:1", "--web-proxy-user-header=X-U"}, nil, "name by --web-proxy-ca-file whose certificates they have"},
		"no header":           {[]string{"--web-bind-address=:1", "--web-proxy-ca-file=/ca", "--web-proxy-group-header=X G"}, nil, `--web-proxy-group-header "X G": wanted the name of a header`},
		"one header for both": {[]string{"--web-bind-address=:1", "--web-proxy-ca-file=/ca", "--web-proxy-group-header=x-remote-user"}, nil, "wanted two headers"},
		"other replicas":      {[]string{"--web-bind-address=:1", "--web-advertise-host=10.0.0.1"}, &serve.Options{Address: ":1", AdvertiseHost: "10.0.0.1"}, ""},
		"replicas, nowhere":   {[]string{"--web-advertise-host=10.0.0.1"}, nil, "name by --web-bind-address where"},
		"a folder, nowhere":   {[]string{"--web-cert-dir=/c", "--web-bind-address=0"}, nil, "name by --web-bind-address where"},
		"language models":     {[]string{"--web-bind-address=:1", "--web-mcp"}, &serve.Options{Address: ":1", Tools: &serveweb.Tools{Version: version.Get().Version}}, ""},
		"models that act":     {[]string{"--web-bind-address=:1", "--web-mcp", "--web-mcp-allow-actions"}, &serve.Options{Address: ":1", Tools: &serveweb.Tools{Actions: true, Version: version.Get().Version}}, ""},
		"models, nowhere":     {[]string{"--web-mcp"}, nil, "name by --web-bind-address where"},
		"models, unasked":     {[]string{"--web-bind-address=:1", "--web-mcp-allow-actions"}, nil, "add --web-mcp"},
		"groups without user": {[]string{"--web-bind-address=:1", "--web-anonymous-groups=all"}, nil, "--web-anonymous-groups are those of --web-anonymous-user, and there is none"},
	} {
		t.Run(name, func(t *testing.T) {
			g, w, fs := NewWithT(t), &web{}, pflag.NewFlagSet("manager", pflag.ContinueOnError)
			w.bind(fs)
			g.Expect(fs.Parse(tc.args)).To(Succeed())
			got, err := w.options()
			if tc.err != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.err)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(tc.want))
		})
	}
}
