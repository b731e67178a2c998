package mongodb

import (
	"cmp"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orkspace/orkestra/engine/provider"
)

const (
	fieldPassword = "passwordSecretRef" // #nosec G101 -- the name of a field, not a password
	fieldRoles    = "roles"
	fieldVersion  = "passwordVersion" // of the claim
)

type userSpec struct {
	Database          string         `json:"database"`
	Name              string         `json:"name"`
	Roles             []role         `json:"roles"`
	PasswordSecretRef map[string]any `json:"passwordSecretRef"`
}

type role struct {
	Role string `json:"role" bson:"role"`
	DB   string `json:"db" bson:"db"`
}

type userDriver struct{}

// user is one user, for one call.
type user struct {
	claims

	spec userSpec
}

func (userSpec) check() error { return nil }

func (s userSpec) place() string { return s.Database }

func inUser[T any](ctx context.Context, r *provider.Request, do func(*user) (T, error)) (T, error) {
	return within(ctx, r, func(spec userSpec, in claims) (T, error) { return do(&user{spec: spec, claims: in}) })
}

func (u *user) id() string { return prefixUser + u.spec.Name }
func (u *user) what() string {
	return "the user " + u.spec.Name + " of the database " + u.spec.Database
}

// find reads the roles of the user; exists says whether there is one.
func (u *user) find(ctx context.Context) (roles []role, exists bool, err error) {
	var out struct {
		Users []struct {
			Roles []role `bson:"roles"`
		} `bson:"users"`
	}
	name := bson.D{{Key: "user", Value: u.spec.Name}, {Key: "db", Value: u.spec.Database}}
	if err := u.db.RunCommand(ctx, bson.D{{Key: "usersInfo", Value: name}}).Decode(&out); err != nil {
		return nil, false, explain(ctx, u.r, "usersInfo", err)
	}
	if len(out.Users) == 0 {
		return nil, false, nil
	}
	return out.Users[0].Roles, true, nil
}

// look says whose the user is, and whether it is there.
func (u *user) look(ctx context.Context, command string) (own *claim, roles []role, exists bool, err error) {
	if own, err = u.read(ctx, u.id()); err != nil {
		return nil, nil, false, err
	}
	if roles, exists, err = u.find(ctx); err != nil {
		return nil, nil, false, err
	}
	return own, roles, exists, u.refusal(command, u.what(), own, exists)
}

// wanted are the declared roles. One without a database is of the user's.
func (u *user) wanted() []role {
	out := []role{}
	for _, one := range u.spec.Roles {
		out = append(out, role{one.Role, cmp.Or(one.DB, u.spec.Database)})
	}
	return sorted(out)
}

func sorted(roles []role) []role {
	out := slices.Clone(roles)
	slices.SortFunc(out, func(a, b role) int { return cmp.Or(cmp.Compare(a.DB, b.DB), cmp.Compare(a.Role, b.Role)) })
	return slices.Compact(out)
}

// differs names what is not as declared. The password can't be read: it differs where another version of it was set last.
func (u *user) differs(own *claim, roles []role) []string {
	var out []string
	if own == nil || own.PasswordVersion != u.r.Secrets[fieldPassword].Version {
		out = append(out, fieldPassword)
	}
	if u.r.Has(fieldRoles) && !slices.Equal(u.wanted(), sorted(roles)) {
		out = append(out, fieldRoles)
	}
	return out
}

// Ensure makes the user, or sets its roles and its password.
func (userDriver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	if r.Secrets[fieldPassword].Value == "" {
		return nil, &provider.Error{Class: provider.Invalid, Operation: "Declared", Message: fieldPassword + ": the key of the Secret is empty: a user needs a password"}
	}
	return inUser(ctx, r, func(u *user) (*provider.Observed, error) {
		own, roles, exists, err := u.look(ctx, "createUser")
		if err != nil {
			return nil, err
		}
		if err := u.take(ctx, u.id(), own); err != nil {
			return nil, err
		}
		out := &provider.Observed{Outputs: u.outputs(), Created: !exists}
		if !exists {
			err = u.create(ctx)
		} else {
			out.Differs = u.differs(own, roles)
			err = u.update(ctx, out.Differs)
		}
		if err != nil {
			return nil, err
		}
		return out, nil
	})
}

func (u *user) create(ctx context.Context) error {
	secret := u.r.Secrets[fieldPassword]
	err := u.db.RunCommand(ctx, bson.D{{Key: "createUser", Value: u.spec.Name}, {Key: "pwd", Value: secret.Value}, {Key: fieldRoles, Value: u.wanted()}}).Err()
	if hasCode(err, codeUserExists) {
		return u.lateComer(ctx, u.id(), "createUser", u.what())
	}
	if err != nil {
		return explain(ctx, u.r, "createUser", err)
	}
	return u.set(ctx, u.id(), fieldVersion, secret.Version)
}

// update sets what differs. The version is noted when the password is set: where that is lost, the password is set once more.
func (u *user) update(ctx context.Context, differs []string) error {
	if len(differs) == 0 {
		return nil
	}
	command := bson.D{{Key: "updateUser", Value: u.spec.Name}}
	secret := u.r.Secrets[fieldPassword]
	if slices.Contains(differs, fieldPassword) {
		command = append(command, bson.E{Key: "pwd", Value: secret.Value})
	}
	if slices.Contains(differs, fieldRoles) {
		command = append(command, bson.E{Key: fieldRoles, Value: u.wanted()})
	}
	if err := u.db.RunCommand(ctx, command).Err(); err != nil {
		return explain(ctx, u.r, "updateUser", err)
	}
	if !slices.Contains(differs, fieldPassword) {
		return nil
	}
	return u.set(ctx, u.id(), fieldVersion, secret.Version)
}

// Observe compares.
func (userDriver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return inUser(ctx, r, func(u *user) (*provider.Observed, error) {
		own, roles, exists, err := u.look(ctx, "usersInfo")
		if err != nil {
			return nil, err
		}
		if !exists {
			return nil, &provider.Error{Class: provider.NotFound, Operation: "usersInfo", Message: u.what() + " is not there"}
		}
		return seen(provider.Observed{Outputs: u.outputs(), Differs: u.differs(own, roles)}, own), nil
	})
}

// Delete drops the user.
func (userDriver) Delete(ctx context.Context, r *provider.Request) (gone bool, err error) {
	return inUser(ctx, r, func(u *user) (bool, error) {
		own, err := u.read(ctx, u.id())
		if err != nil {
			return false, err
		}
		if !u.mine(own) {
			return true, nil
		}
		if err := u.db.RunCommand(ctx, bson.D{{Key: "dropUser", Value: u.spec.Name}}).Err(); err != nil && !hasCode(err, codeUserNotFound) {
			return false, explain(ctx, r, "dropUser", err)
		}
		if err := u.release(ctx, u.id()); err != nil {
			return false, err
		}
		return true, nil
	})
}

func (u *user) outputs() map[string]any {
	return map[string]any{"name": u.spec.Name, fieldDatabase: u.spec.Database, "authSource": u.spec.Database}
}
