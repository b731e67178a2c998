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
	fieldCapped           = "capped"
	fieldIndexes          = "indexes"
	fieldValidator        = "validator"
	fieldValidationLevel  = "validationLevel"
	fieldValidationAction = "validationAction"
	notedIndexes          = "indexes"
)

type collectionSpec struct {
	Database         string         `json:"database"`
	Name             string         `json:"name"`
	Capped           *capped        `json:"capped"`
	Validator        map[string]any `json:"validator"`
	ValidationLevel  string         `json:"validationLevel"`
	ValidationAction string         `json:"validationAction"`
	Indexes          []index        `json:"indexes"`
	ForceDestroy     bool           `json:"forceDestroy"`
}

type capped struct {
	SizeBytes    int64 `json:"sizeBytes"`
	MaxDocuments int64 `json:"maxDocuments"`
}

// state is what the server says of a collection.
type state struct {
	Type    string `bson:"type"`
	Options struct {
		Capped           bool   `bson:"capped"`
		Size             any    `bson:"size"`
		Max              any    `bson:"max"`
		Validator        bson.D `bson:"validator"`
		ValidationLevel  string `bson:"validationLevel"`
		ValidationAction string `bson:"validationAction"`
	} `bson:"options"`
}

type collectionDriver struct{}

// collection is one collection, for one call.
type collection struct {
	claims

	spec collectionSpec
}

func (s collectionSpec) check() error {
	if isReserved(s.Name) {
		return &provider.Error{Class: provider.Invalid, Operation: "Declared", Message: fmt.Sprintf("name: the name %s is reserved: declare another name", s.Name)}
	}
	return nil
}

func (s collectionSpec) place() string { return s.Database }

func inCollection[T any](ctx context.Context, r *provider.Request, do func(*collection) (T, error)) (T, error) {
	return within(ctx, r, func(spec collectionSpec, in claims) (T, error) { return do(&collection{spec: spec, claims: in}) })
}

func (c *collection) id() string { return prefixCollection + c.spec.Name }

func (c *collection) what() string {
	return "the collection " + c.spec.Name + " of the database " + c.spec.Database
}

// find reads the collection; nil: it is not there.
func (c *collection) find(ctx context.Context) (*state, error) {
	cursor, err := c.db.ListCollections(ctx, bson.D{{Key: "name", Value: c.spec.Name}})
	if err != nil {
		return nil, explain(ctx, c.r, "listCollections", err)
	}
	var list []state
	if err := cursor.All(ctx, &list); err != nil {
		return nil, explain(ctx, c.r, "listCollections", err)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return &list[0], nil
}

// look says whose the collection is, and what it is.
func (c *collection) look(ctx context.Context, command string) (own *claim, is *state, err error) {
	if own, err = c.read(ctx, c.id()); err != nil {
		return nil, nil, err
	}
	if is, err = c.find(ctx); err != nil {
		return nil, nil, err
	}
	if err := c.refusal(command, c.what(), own, is != nil); err != nil {
		return nil, nil, err
	}
	return own, is, nil
}

// Ensure makes the collection and its indexes, or corrects them.
func (collectionDriver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return inCollection(ctx, r, func(c *collection) (*provider.Observed, error) {
		own, is, err := c.look(ctx, "create")
		if err != nil {
			return nil, err
		}
		if is != nil {
			if err := c.fixed(is); err != nil {
				return nil, err
			}
		}
		if err := c.take(ctx, c.id(), own); err != nil {
			return nil, err
		}
		out := &provider.Observed{Outputs: c.outputs(), Created: is == nil, Noted: c.note()}
		if is == nil {
			err = c.create(ctx)
		} else {
			out.Differs, err = c.modify(ctx, is)
		}
		if err != nil {
			return nil, err
		}
		changed, err := c.correctIndexes(ctx)
		if err != nil {
			return nil, err
		}
		if changed && is != nil {
			out.Differs = append(out.Differs, fieldIndexes)
			slices.Sort(out.Differs)
		}
		return out, nil
	})
}

func (c *collection) create(ctx context.Context) error {
	command := bson.D{{Key: "create", Value: c.spec.Name}}
	if limits := c.spec.Capped; limits != nil {
		command = append(command, bson.E{Key: "capped", Value: true}, bson.E{Key: "size", Value: limits.SizeBytes})
		if limits.MaxDocuments > 0 {
			command = append(command, bson.E{Key: "max", Value: limits.MaxDocuments})
		}
	}
	for _, field := range []string{fieldValidator, fieldValidationLevel, fieldValidationAction} {
		if value, declared := c.validation(field); declared {
			command = append(command, bson.E{Key: field, Value: value})
		}
	}
	err := c.db.RunCommand(ctx, command).Err()
	if hasCode(err, codeNamespaceExists) {
		return c.lateComer(ctx, c.id(), "create", c.what())
	}
	return explain(ctx, c.r, "create", err)
}

// validation is the declared value of a field of the validation.
func (c *collection) validation(field string) (value any, declared bool) {
	switch field {
	case fieldValidator:
		return document(c.spec.Validator), c.spec.Validator != nil
	case fieldValidationLevel:
		return c.spec.ValidationLevel, c.spec.ValidationLevel != ""
	default:
		return c.spec.ValidationAction, c.spec.ValidationAction != ""
	}
}

// invalid names the fields of the validation that are not as declared. What the server leaves out is its default.
func (c *collection) invalid(is *state) []string {
	var out []string
	if action := c.spec.ValidationAction; action != "" && action != or(is.Options.ValidationAction, "error") {
		out = append(out, fieldValidationAction)
	}
	if level := c.spec.ValidationLevel; level != "" && level != or(is.Options.ValidationLevel, "strict") {
		out = append(out, fieldValidationLevel)
	}
	if c.spec.Validator != nil && !same(document(c.spec.Validator), is.Options.Validator) {
		out = append(out, fieldValidator)
	}
	return out
}

func or(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// modify sets the validation.
func (c *collection) modify(ctx context.Context, is *state) ([]string, error) {
	differs := c.invalid(is)
	if len(differs) == 0 {
		return nil, nil
	}
	command := bson.D{{Key: "collMod", Value: c.spec.Name}}
	for _, field := range differs {
		value, _ := c.validation(field)
		command = append(command, bson.E{Key: field, Value: value})
	}
	return differs, explain(ctx, c.r, "collMod", c.db.RunCommand(ctx, command).Err())
}

// fixed refuses what can't be changed. The size is not compared: servers round it.
func (c *collection) fixed(is *state) error {
	var message string
	switch {
	case is.Type != "" && is.Type != "collection":
		message = fmt.Sprintf("%s is a %s: declare another name", c.what(), is.Type)
	case c.spec.Capped != nil && !is.Options.Capped:
		message = "capped: the collection has no limits, and can't be given any: declare another name, or drop it"
	case c.spec.Capped != nil && c.spec.Capped.MaxDocuments > 0 && !same(c.spec.Capped.MaxDocuments, is.Options.Max):
		message = fmt.Sprintf("capped.maxDocuments: the collection has another limit than %d, which can't be changed: declare another name, or drop it", c.spec.Capped.MaxDocuments)
	default:
		return nil
	}
	return &provider.Error{Class: provider.Invalid, Operation: "listCollections", Message: message}
}

// Observe compares.
func (collectionDriver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	return inCollection(ctx, r, func(c *collection) (*provider.Observed, error) {
		own, is, err := c.look(ctx, "listCollections")
		if err != nil {
			return nil, err
		}
		if is == nil {
			return nil, &provider.Error{Class: provider.NotFound, Operation: "listCollections", Message: c.what() + " is not there"}
		}
		out := &provider.Observed{Outputs: c.outputs(), Differs: c.invalid(is)}
		if c.fixed(is) != nil {
			out.Differs = append(out.Differs, fieldCapped)
		}
		drop, create, err := c.compareIndexes(ctx)
		if err != nil {
			return nil, err
		}
		if len(drop)+len(create) > 0 {
			out.Differs = append(out.Differs, fieldIndexes)
		}
		slices.Sort(out.Differs)
		return seen(*out, own), nil
	})
}

// Delete drops the collection, where it is empty or may be destroyed.
func (collectionDriver) Delete(ctx context.Context, r *provider.Request) (gone bool, err error) {
	return inCollection(ctx, r, func(c *collection) (bool, error) {
		own, err := c.read(ctx, c.id())
		if err != nil {
			return false, err
		}
		if !c.mine(own) {
			return true, nil
		}
		if !c.spec.ForceDestroy && r.Noted[notedForce] == "" {
			if err := c.inUse(ctx); err != nil {
				return false, err
			}
		}
		if err := c.db.Collection(c.spec.Name).Drop(ctx); err != nil && !hasCode(err, codeNamespaceNotFound) {
			return false, explain(ctx, r, "drop", err)
		}
		err = c.release(ctx, c.id())
		return err == nil, err
	})
}

func (c *collection) inUse(ctx context.Context) error {
	count, err := c.db.Collection(c.spec.Name).EstimatedDocumentCount(ctx)
	if err != nil {
		return explain(ctx, c.r, "count", err)
	}
	if count == 0 {
		return nil
	}
	return &provider.Error{Class: provider.InUse, Operation: "drop", Message: fmt.Sprintf("%s holds %d documents: delete them, or declare forceDestroy: true before the resource is deleted", c.what(), count)}
}

func (c *collection) note() map[string]string {
	out := map[string]string{}
	if c.spec.ForceDestroy {
		out[notedForce] = noted
	}
	var names []string
	for _, one := range c.spec.Indexes {
		names = append(names, one.Name)
	}
	if len(names) > 0 {
		out[notedIndexes] = strings.Join(names, "\n")
	}
	return out
}

func (c *collection) outputs() map[string]any {
	return map[string]any{"name": c.spec.Name, fieldDatabase: c.spec.Database, "namespace": c.spec.Database + "." + c.spec.Name}
}
