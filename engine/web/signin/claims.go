package signin

import (
	"fmt"
	"strings"

	"github.com/orkspace/orkestra/engine/web/person"
)

// Claims say who somebody is, as the API server is told by flags of the same names.
type Claims struct {
	// Username is the claim that has the name of the user, and UsernamePrefix what is put before it.
	Username, UsernamePrefix string
	// Groups is the claim that has the groups of the user, and GroupsPrefix what is put before each. Empty: there are no groups.
	Groups, GroupsPrefix string
}

// reserved is how names of Kubernetes' own users and groups begin. A provider can't say that somebody is one of them.
const reserved = "system:"

// claimEmail is a claim of which another one says whether somebody has looked at it.
const claimEmail = "email"

// refusedError says to who signs in why they are not let in.
type refusedError struct{ why string }

func (e *refusedError) Error() string { return e.why }

func refusef(format string, args ...any) error {
	return &refusedError{why: fmt.Sprintf(format, args...)}
}

// person gives whom claims speak of.
func (c Claims) person(claims map[string]any) (person.Person, error) {
	nobody := person.Person{}
	name, ok := claims[c.Username].(string)
	if !ok || name == "" {
		return nobody, refusef("The provider does not say who you are: its token has no text in the claim %q. Who runs Orkestra names another one in web.oidc.usernameClaim, or further scopes", c.Username)
	}
	if verified, found := claims["email_verified"]; c.Username == claimEmail && found && verified != true {
		return nobody, refusef("The provider has not verified that the address %q is yours. Have it verified, and sign in once more", plain(name))
	}
	if name = c.UsernamePrefix + name; strings.HasPrefix(name, reserved) {
		return nobody, refusef("The provider says that you are %q, which is one of Kubernetes' own users. Who runs Orkestra sets web.oidc.usernamePrefix", plain(name))
	}
	groups, err := c.groups(claims)
	if err != nil {
		return nobody, err
	}
	return person.Person{Name: name, Groups: groups}, nil
}

// groups gives those of a claim that is a text or a list of texts; without the claim there are none.
func (c Claims) groups(claims map[string]any) ([]string, error) {
	if c.Groups == "" {
		return nil, nil
	}
	// Entra ID says in either way that it tells none, because they are too many.
	if elsewhere, ok := claims["_claim_names"].(map[string]any); ok && elsewhere[c.Groups] != nil || claims["hasgroups"] == true {
		return nil, refusef("You are in more groups than the provider puts into a token. Have it tell only those that matter here")
	}
	var all []any
	switch said := claims[c.Groups].(type) {
	case nil:
	case string:
		all = []any{said}
	case []any:
		all = said
	default:
		return nil, refusef("The claim %q of the provider's token has no groups: wanted a text or a list of texts. Who runs Orkestra names another one in web.oidc.groupsClaim", c.Groups)
	}
	var out []string
	for _, one := range all {
		group, ok := one.(string)
		if !ok {
			return nil, refusef("The claim %q of the provider's token has something that is no text. Who runs Orkestra names another one in web.oidc.groupsClaim", c.Groups)
		}
		if group = c.GroupsPrefix + group; strings.HasPrefix(group, reserved) {
			return nil, refusef("The provider says that you are in %q, which is one of Kubernetes' own groups. Who runs Orkestra sets web.oidc.groupsPrefix", plain(group))
		}
		out = append(out, group)
	}
	return out, nil
}
