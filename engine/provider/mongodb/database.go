package mongodb

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/orkspace/orkestra/engine/provider"
)

const (
	notedForce = "forceDestroy"
	noted      = "true"
	// named is how many names a message has at most.
	named = 3
)

type databaseSpec struct {
	Name         string `json:"name"`
	ForceDestroy bool   `json:"forceDestroy"`
}

type databaseDriver struct{}

// database is one database, for one call.
type database struct {
	claims

	spec databaseSpec
}

func (s databaseSpec) check() error {
	if slices.Contains([]string{"admin", "config", "local"}, strings.ToLower(s.Name)) {
		return &provider.Error{Class: provider.Invalid, Operation: "Declared", Message: fmt.Sprintf("name: the database %s is the server's own: declare another name", s.Name)}
	}
	return nil
}

func (s databaseSpec) place() string { return s.Name }

func inDatabase[T any](ctx context.Context, r *provider.Request, do func(*database) (T, error)) (T, error) {
	return within(ctx, r, func(spec databaseSpec, in claims) (T, error) { return do(&database{spec: spec, claims: in}) })
}

func (d *database) what() string { return "the database " + d.spec.Name }

// contents are the collections, without those of the server and ours.
func (d *database) contents(ctx context.Context) ([]string, error) {
	names, err := d.db.ListCollectionNames(ctx, bson.D{})
	if err != nil {
		return nil, explain(ctx, d.r, "listCollections", err)
	}
	names = slices.DeleteFunc(names, isReserved)
	slices.Sort(names)
	return names, nil
}

// look says whose the database is, and whether it is there: it is, as soon as it holds something that is not ours.
func (d *database) look(ctx context.Context) (own *claim, exists bool, err error) {
	all, err := d.all(ctx)
	if err != nil {
		return nil, false, err
	}
	if one, found := all[idDatabase]; found {
		return &one, true, nil
	}
	names, err := d.contents(ctx)
	for _, name := range names {
		if one, found := all[prefixCollection+name]; !found || !d.family(&one) {
			return nil, true, err
		}
	}
	return nil, false, err
}

// Ensure makes the database, which is to note its owner in it.
func (databaseDriver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return inDatabase(ctx, r, func(d *database) (*provider.Observed, error) {
		own, exists, err := d.look(ctx)
		if err != nil {
			return nil, err
		}
		if err := d.refusal("insert", d.what(), own, exists); err != nil {
			return nil, err
		}
		if err := d.take(ctx, idDatabase, own); err != nil {
			return nil, err
		}
		out := &provider.Observed{Outputs: d.outputs(), Created: !exists}
		if d.spec.ForceDestroy {
			out.Noted = map[string]string{notedForce: noted}
		}
		return out, nil
	})
}

// Observe says whether the database is there.
func (databaseDriver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return inDatabase(ctx, r, func(d *database) (*provider.Observed, error) {
		own, exists, err := d.look(ctx)
		if err != nil {
			return nil, err
		}
		if err := d.refusal("listCollections", d.what(), own, exists); err != nil {
			return nil, err
		}
		if !exists {
			return nil, &provider.Error{Class: provider.NotFound, Operation: "listCollections", Message: "there is no database " + d.spec.Name}
		}
		return seen(provider.Observed{Outputs: d.outputs()}, own), nil
	})
}

// Delete drops the database, where nothing is in it that others need.
func (databaseDriver) Delete(ctx context.Context, r *provider.Request) (gone bool, err error) {
	return inDatabase(ctx, r, func(d *database) (bool, error) {
		all, err := d.all(ctx)
		if err != nil {
			return false, err
		}
		if own, found := all[idDatabase]; !found || !d.mine(&own) {
			return true, nil
		}
		if err := d.inUse(ctx, all); err != nil {
			return false, err
		}
		err = explain(ctx, r, "dropDatabase", d.db.Drop(ctx))
		return err == nil, err
	})
}

// inUse says what is in the database that keeps it; nil: nothing. Users, and collections of other resources, keep it in any case: with the
// database, the notes about their owners would go.
func (d *database) inUse(ctx context.Context, all map[string]claim) error {
	var kept []string
	for id, one := range all {
		if strings.HasPrefix(id, prefixUser) || strings.HasPrefix(id, prefixCollection) && !d.family(&one) {
			kept = append(kept, fmt.Sprintf("%s of %s", strings.Replace(id, "/", " ", 1), one.owner()))
		}
	}
	if len(kept) > 0 {
		return d.keeps("has resources that are declared", kept, "delete them first")
	}
	if d.spec.ForceDestroy || d.r.Noted[notedForce] != "" {
		return nil
	}
	names, err := d.contents(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		one, found := all[prefixCollection+name]
		if found && d.family(&one) {
			count, err := d.db.Collection(name).EstimatedDocumentCount(ctx)
			if err != nil {
				return explain(ctx, d.r, "count", err)
			}
			if count == 0 {
				continue
			}
		}
		kept = append(kept, name)
	}
	if len(kept) > 0 {
		return d.keeps("has collections", kept, "drop them, or declare forceDestroy: true before the resource is deleted")
	}
	return nil
}

func (d *database) keeps(why string, names []string, advice string) error {
	slices.Sort(names)
	list := strings.Join(names[:min(len(names), named)], ", ")
	if len(names) > named {
		list += fmt.Sprintf(" and %d more", len(names)-named)
	}
	return &provider.Error{Class: provider.InUse, Operation: "dropDatabase", Message: d.r.Line(fmt.Sprintf("%s %s (%s): %s", d.what(), why, list, advice))}
}

func (d *database) outputs() map[string]any {
	return map[string]any{"name": d.spec.Name, "uri": uri(d.r, d.spec.Name)}
}

// uri is the connection string to a database, without credentials.
func uri(r *provider.Request, name string) string {
	address, query, asked := strings.Cut(r.Endpoint, "?")
	out := strings.TrimSuffix(address, "/") + "/" + name
	if asked {
		out += "?" + query
	}
	return out
}
