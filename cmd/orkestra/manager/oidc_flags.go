package manager

import (
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/spf13/pflag"

	"github.com/orkspace/orkestra/engine/web/signin"
)

// oidcFlags are those that say by which provider people sign in to the Control Center. Those of the API server that mean the same have the same names.
type oidcFlags struct {
	signin.Options

	usernamePrefix string
}

const (
	// maxSession is how long a session may be: a cookie that was copied counts as long.
	minSession, maxSession = time.Minute, 24 * time.Hour
	// noPrefix says that nothing is put before the names of users.
	noPrefix = "-"
	// claimEmail is the claim whose texts are addresses, which are nobody else's name.
	claimEmail = "email"
)

func (f *oidcFlags) bind(fs *pflag.FlagSet) {
	fs.StringVar(&f.Issuer, "web-oidc-issuer-url", "", "address of the OpenID Connect provider by which people sign in to the Control Center, as its tokens name it; default: nobody signs in")
	fs.StringVar(&f.ClientID, "web-oidc-client-id", "", "by what the provider knows the Control Center")
	fs.StringVar(&f.ClientSecretFile, "web-oidc-client-secret-file", "", "file with the secret of that client; default: it has none")
	fs.StringVar(&f.CAFile, "web-oidc-ca-file", "", "file with the CAs that sign the provider's certificate; default: those of the system")
	fs.StringSliceVar(&f.Scopes, "web-oidc-scopes", []string{"profile", claimEmail}, "scopes that are asked for besides openid; repeatable")
	fs.StringVar(&f.Claims.Username, "web-oidc-username-claim", "sub", "claim that has the name of the user")
	fs.StringVar(&f.usernamePrefix, "web-oidc-username-prefix", "", "what is put before the name; - for nothing; default: the issuer and #, and nothing where the claim is email")
	fs.StringVar(&f.Claims.Groups, "web-oidc-groups-claim", "", "claim that has the groups of the user; default: there are none")
	fs.StringVar(&f.Claims.GroupsPrefix, "web-oidc-groups-prefix", "", "what is put before each group; default: nothing")
	fs.StringVar(&f.SessionKeyFile, "web-session-key-file", "",
		"file with the keys that seal sessions, which all replicas share: one on each line, 32 random bytes as base64; the first one seals, and each one opens")
	fs.DurationVar(&f.SessionLife, "web-session-life", 8*time.Hour, "how long somebody stays signed in, from 1m to 24h")
}

// options checks the flags; nil: nobody signs in.
func (f *oidcFlags) options(hosts []string) (*signin.Options, error) {
	if f.Issuer == "" {
		return nil, nil //nolint:nilnil // nobody signs in
	}
	issuer, err := url.Parse(f.Issuer)
	if err != nil || issuer.Scheme != "https" || issuer.Host == "" || issuer.User != nil || issuer.RawQuery != "" || issuer.Fragment != "" {
		return nil, fmt.Errorf("--web-oidc-issuer-url %q: wanted an address such as https://login.example.com, without query", f.Issuer)
	}
	for _, needed := range []struct{ name, value, what string }{
		{"--web-oidc-client-id", f.ClientID, "the id of a client of the provider"},
		{"--web-session-key-file", f.SessionKeyFile, "a file with the keys that seal sessions"},
		{"--web-oidc-username-claim", f.Claims.Username, "a claim, such as sub or email"},
	} {
		if needed.value == "" {
			return nil, fmt.Errorf("%s is needed with --web-oidc-issuer-url: wanted %s", needed.name, needed.what)
		}
	}
	if len(hosts) == 0 {
		return nil, errors.New("--web-hosts is needed with --web-oidc-issuer-url: the provider sends people back to https://HOST/auth/callback")
	}
	if f.Claims.GroupsPrefix != "" && f.Claims.Groups == "" {
		return nil, errors.New("--web-oidc-groups-prefix is put before groups: name by --web-oidc-groups-claim where they are")
	}
	if f.SessionLife < minSession || f.SessionLife > maxSession {
		return nil, fmt.Errorf("--web-session-life %s: wanted %s to %s", f.SessionLife, minSession, maxSession)
	}
	o := f.Options
	switch {
	case f.usernamePrefix == noPrefix, f.usernamePrefix == "" && o.Claims.Username == claimEmail:
		o.Claims.UsernamePrefix = ""
	case f.usernamePrefix == "":
		o.Claims.UsernamePrefix = o.Issuer + "#"
	default:
		o.Claims.UsernamePrefix = f.usernamePrefix
	}
	return &o, nil
}
