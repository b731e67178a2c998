package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/orkspace/orkestra/engine/provider"
)

// reserved is the collection in which owners are noted.
const reserved = "orkestra.ownership"

// isReserved says whether a collection is the server's own, or ours.
func isReserved(name string) bool { return name == reserved || strings.HasPrefix(name, "system.") }

const (
	idDatabase       = "database"
	prefixUser       = "user/"
	prefixCollection = "collection/"
)

// claim is the document that says whose a thing is.
type claim struct {
	ID        string `bson:"_id"`
	UID       string `bson:"uid"`
	Token     string `bson:"token,omitempty"`
	Box       string `bson:"box"`
	Namespace string `bson:"namespace"`
	Name      string `bson:"name"`
	// PasswordVersion is the version of the password that was set last. It tells nothing of the password.
	PasswordVersion string `bson:"passwordVersion,omitempty"`
}

// owner is whose it is.
func (c claim) owner() provider.Owner {
	return provider.Owner{UID: c.UID, Box: c.Box, Namespace: c.Namespace, Name: c.Name}
}

// claims are those of one database, for one call.
type claims struct {
	r          *provider.Request
	db         *mongo.Database
	collection *mongo.Collection
}

// declared is what a box declares of one kind.
type declared interface {
	// check refuses a name that is the server's own, or ours.
	check() error
	// place is the name of the database in which it is.
	place() string
}

// within reads what is declared, connects, and hands over the database in which it is, with its claims.
func within[S declared, T any](ctx context.Context, r *provider.Request, do func(spec S, in claims) (T, error)) (out T, err error) {
	var spec S
	if err := r.Decode(&spec); err != nil {
		return out, err
	}
	if err := spec.check(); err != nil {
		return out, err
	}
	return with(ctx, r, func(client *mongo.Client) (T, error) {
		db := client.Database(spec.place())
		return do(spec, claims{r: r, db: db, collection: db.Collection(reserved)})
	})
}

// read gives a claim; nil: there is none.
func (c claims) read(ctx context.Context, id string) (*claim, error) {
	var out claim
	err := c.collection.FindOne(ctx, bson.D{{Key: "_id", Value: id}}).Decode(&out)
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, nil
	}
	if err != nil {
		return nil, explain(ctx, c.r, "find", err)
	}
	return &out, nil
}

// all are the claims of the database.
func (c claims) all(ctx context.Context) (map[string]claim, error) {
	cursor, err := c.collection.Find(ctx, bson.D{})
	if err != nil {
		return nil, explain(ctx, c.r, "find", err)
	}
	var list []claim
	if err := cursor.All(ctx, &list); err != nil {
		return nil, explain(ctx, c.r, "find", err)
	}
	out := map[string]claim{}
	for _, one := range list {
		out[one.ID] = one
	}
	return out, nil
}

// family says that a claim is of the same custom resource.
func (c claims) family(one *claim) bool { return one != nil && one.UID == c.r.Owner.UID }

// mine says that a claim is of this very declaration.
func (c claims) mine(one *claim) bool {
	return c.family(one) && (one.Token == "" || c.r.Token == "" || one.Token == c.r.Token)
}

// seen is what Observe has found, with the token of its claim.
func seen(out provider.Observed, own *claim) *provider.Observed {
	if own != nil {
		out.Token = own.Token
	}
	return &out
}

// refusal says why a thing is not touched; nil: it may be. A claim of ours on what is not there is a remnant, whatever its token is.
func (c claims) refusal(command, what string, one *claim, exists bool) error {
	switch {
	case c.mine(one), c.family(one) && !exists, one == nil && (!exists || c.r.Adopt):
		return nil
	case c.family(one):
		return provider.Twice(command, what)
	case one == nil:
		return &provider.Error{Class: provider.NotOwned, Operation: command, Message: what + " is there already, and has no owner: declare another name, or adopt: IfUnowned"}
	default:
		return &provider.Error{Class: provider.NotOwned, Operation: command, Message: c.r.Owner.Foreign(what, one.owner(), fmt.Sprintf("delete the document %q of the collection %s", one.ID, reserved))}
	}
}

// take notes the owner and the token, where own, the claim that is there, does not have them. Who is second learns it from the server, and is
// refused at the next call.
func (c claims) take(ctx context.Context, id string, own *claim) error {
	o := c.r.Owner
	if own != nil {
		if own.Token == c.r.Token {
			return nil
		}
		return c.set(ctx, id, "token", c.r.Token)
	}
	_, err := c.collection.InsertOne(ctx, claim{ID: id, UID: o.UID, Token: c.r.Token, Box: o.Box, Namespace: o.Namespace, Name: o.Name})
	return explain(ctx, c.r, "insert", err)
}

// release removes the note.
func (c claims) release(ctx context.Context, id string) error {
	_, err := c.collection.DeleteOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "uid", Value: c.r.Owner.UID}})
	return explain(ctx, c.r, "delete", err)
}

// set notes something in a claim of ours.
func (c claims) set(ctx context.Context, id, field, value string) error {
	_, err := c.collection.UpdateOne(ctx, bson.D{{Key: "_id", Value: id}, {Key: "uid", Value: c.r.Owner.UID}},
		bson.D{{Key: "$set", Value: bson.D{{Key: field, Value: value}}}})
	return explain(ctx, c.r, "update", err)
}

// lateComer is the answer where a thing was absent when it was looked for, and is there when it is to be made: it is somebody else's.
func (c claims) lateComer(ctx context.Context, id, command, what string) error {
	if err := c.release(ctx, id); err != nil {
		return err
	}
	return c.refusal(command, what, nil, true)
}
