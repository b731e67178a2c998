package manager

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	"github.com/orkspace/orkestra/engine/web/signin"
)

func TestFlagsOfTheSignIn(t *testing.T) {
	const issuer = "--web-oidc-issuer-url=https://login.example.com"
	least := []string{"--web-bind-address=:1", issuer, "--web-oidc-client-id=c", "--web-session-key-file=/k", "--web-hosts=a"}
	for name, tc := range map[string]struct {
		args   []string
		change func(*signin.Options)
		err    string
	}{
		"the least":              {least, func(*signin.Options) {}, ""},
		"an address as name":     {append([]string{"--web-oidc-username-claim=email"}, least...), func(o *signin.Options) { o.Claims = signin.Claims{Username: "email"} }, ""},
		"no prefix":              {append([]string{"--web-oidc-username-prefix=-"}, least...), func(o *signin.Options) { o.Claims.UsernamePrefix = "" }, ""},
		"a prefix":               {append([]string{"--web-oidc-username-prefix=x:"}, least...), func(o *signin.Options) { o.Claims.UsernamePrefix = "x:" }, ""},
		"groups":                 {append([]string{"--web-oidc-groups-claim=g", "--web-oidc-groups-prefix=x:"}, least...), func(o *signin.Options) { o.Claims.Groups, o.Claims.GroupsPrefix = "g", "x:" }, ""},
		"scopes":                 {append([]string{"--web-oidc-scopes=groups,email"}, least...), func(o *signin.Options) { o.Scopes = []string{"groups", "email"} }, ""},
		"files":                  {append([]string{"--web-oidc-ca-file=/ca", "--web-oidc-client-secret-file=/s"}, least...), func(o *signin.Options) { o.CAFile, o.ClientSecretFile = "/ca", "/s" }, ""},
		"a life":                 {append([]string{"--web-session-life=1h"}, least...), func(o *signin.Options) { o.SessionLife = time.Hour }, ""},
		"too long a life":        {append([]string{"--web-session-life=25h"}, least...), nil, "--web-session-life 25h0m0s: wanted 1m0s to 24h0m0s"},
		"no life":                {append([]string{"--web-session-life=0s"}, least...), nil, "--web-session-life 0s: wanted"},
		"a prefix of no groups":  {append([]string{"--web-oidc-groups-prefix=x:"}, least...), nil, "name by --web-oidc-groups-claim where they are"},
		"no claim":               {append([]string{"--web-oidc-username-claim="}, least...), nil, "--web-oidc-username-claim is needed"},
		"plain text":             {append([]string{"--web-oidc-issuer-url=http://login.example.com"}, append([]string{}, least[0], least[2], least[3], least[4])...), nil, "wanted an address such as https://"},
		"no client":              {[]string{"--web-bind-address=:1", issuer, "--web-session-key-file=/k", "--web-hosts=a"}, nil, "--web-oidc-client-id is needed"},
		"no key":                 {[]string{"--web-bind-address=:1", issuer, "--web-oidc-client-id=c", "--web-hosts=a"}, nil, "--web-session-key-file is needed"},
		"no host":                {least[:4], nil, "--web-hosts is needed"},
		"no provider":            {[]string{"--web-bind-address=:1", "--web-oidc-client-id=c"}, nil, "name by --web-oidc-issuer-url where"},
		"a key without provider": {[]string{"--web-bind-address=:1", "--web-session-key-file=/k"}, nil, "name by --web-oidc-issuer-url where"},
		"a life of nothing":      {[]string{"--web-bind-address=:1", "--web-session-life=1h"}, nil, "--web-session-life: found, but nobody signs in"},
		"a client, nowhere":      {[]string{"--web-oidc-client-id=c"}, nil, "--web-oidc-client-id: found, but the Control Center is not served"},
		"nowhere":                {least[1:4], nil, "name by --web-bind-address where"},
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
			want := &signin.Options{
				Issuer: "https://login.example.com", ClientID: "c", Scopes: []string{"profile", "email"}, SessionKeyFile: "/k", SessionLife: 8 * time.Hour,
				Claims: signin.Claims{Username: "sub", UsernamePrefix: "https://login.example.com#"},
			}
			tc.change(want)
			g.Expect(got.SignIn).To(Equal(want))
		})
	}
}
