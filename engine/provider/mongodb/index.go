package mongodb

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

type index struct {
	Name                    string         `json:"name"`
	Keys                    []indexKey     `json:"keys"`
	Unique                  bool           `json:"unique"`
	Sparse                  bool           `json:"sparse"`
	ExpireAfterSeconds      *int64         `json:"expireAfterSeconds"`
	PartialFilterExpression map[string]any `json:"partialFilterExpression"`
}

type indexKey struct {
	Field string `json:"field"`
	Order int32  `json:"order"`
	Type  string `json:"type"`
}

// built is an index as the server has it.
type built struct {
	Name                    string `bson:"name"`
	Key                     bson.D `bson:"key"`
	Unique                  bool   `bson:"unique,omitempty"`
	Sparse                  bool   `bson:"sparse,omitempty"`
	ExpireAfterSeconds      any    `bson:"expireAfterSeconds,omitempty"`
	PartialFilterExpression bson.D `bson:"partialFilterExpression,omitempty"`
}

func (i index) toBuilt() built {
	out := built{Name: i.Name, Unique: i.Unique, Sparse: i.Sparse, PartialFilterExpression: document(i.PartialFilterExpression)}
	for _, key := range i.Keys {
		var value any = int32(1)
		switch {
		case key.Type != "":
			value = key.Type
		case key.Order != 0:
			value = key.Order
		}
		out.Key = append(out.Key, bson.E{Key: key.Field, Value: value})
	}
	if i.ExpireAfterSeconds != nil {
		out.ExpireAfterSeconds = *i.ExpireAfterSeconds
	}
	return out
}

// equal compares two indexes. The order of the keys is part of an index.
func (b built) equal(other built) bool {
	if len(b.Key) != len(other.Key) {
		return false
	}
	for i, key := range b.Key {
		if key.Key != other.Key[i].Key || !same(key.Value, other.Key[i].Value) {
			return false
		}
	}
	return b.Unique == other.Unique && b.Sparse == other.Sparse && same(b.ExpireAfterSeconds, other.ExpireAfterSeconds) &&
		same(b.PartialFilterExpression, other.PartialFilterExpression)
}

// compareIndexes says which indexes are to be dropped and made. Those that were declared before, and are not any more, go; those of others stay.
func (c *collection) compareIndexes(ctx context.Context) (drop []string, create []built, err error) {
	if !c.r.Has(fieldIndexes) && c.r.Noted[notedIndexes] == "" {
		return nil, nil, nil
	}
	cursor, err := c.db.Collection(c.spec.Name).Indexes().List(ctx)
	if err != nil {
		return nil, nil, explain(ctx, c.r, "listIndexes", err)
	}
	var list []built
	if err := cursor.All(ctx, &list); err != nil {
		return nil, nil, explain(ctx, c.r, "listIndexes", err)
	}
	there := map[string]built{}
	for _, one := range list {
		there[one.Name] = one
	}
	var declared []string
	for _, one := range c.spec.Indexes {
		declared = append(declared, one.Name)
		is, found := there[one.Name]
		want := one.toBuilt()
		if found && want.equal(is) {
			continue
		}
		if found {
			drop = append(drop, one.Name)
		}
		create = append(create, want)
	}
	for name := range strings.SplitSeq(c.r.Noted[notedIndexes], "\n") {
		if _, found := there[name]; found && !slices.Contains(declared, name) {
			drop = append(drop, name)
		}
	}
	return drop, create, nil
}

// correctIndexes drops and makes indexes. One that is another now is dropped and made again, which is how MongoDB changes indexes.
func (c *collection) correctIndexes(ctx context.Context) (changed bool, err error) {
	drop, create, err := c.compareIndexes(ctx)
	if err != nil {
		return false, err
	}
	for _, name := range drop {
		if err := c.db.Collection(c.spec.Name).Indexes().DropOne(ctx, name); err != nil && !hasCode(err, codeIndexNotFound) {
			return false, explain(ctx, c.r, "dropIndexes", err)
		}
	}
	if len(create) > 0 {
		command := bson.D{{Key: "createIndexes", Value: c.spec.Name}, {Key: fieldIndexes, Value: create}}
		if err := c.db.RunCommand(ctx, command).Err(); err != nil {
			return false, explain(ctx, c.r, "createIndexes", err)
		}
	}
	return len(drop)+len(create) > 0, nil
}
