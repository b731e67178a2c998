package mongodb

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fieldDatabase is where users and collections are, and a kind.
const fieldDatabase = "database"

type (
	schema     = apiextensionsv1.JSONSchemaProps
	properties = map[string]apiextensionsv1.JSONSchemaProps
)

func object(description string, fields properties, required ...string) schema {
	return schema{Type: "object", Description: description, Properties: fields, Required: required}
}

func text(description string) schema { return schema{Type: "string", Description: description} }

func pattern(description, expression string) schema {
	return schema{Type: "string", Description: description, Pattern: expression}
}

func choice(kind, description string, values ...any) schema {
	out := schema{Type: kind, Description: description}
	for _, value := range values {
		raw, _ := json.Marshal(value) //nolint:errchkjson // Texts and numbers always encode.
		out.Enum = append(out.Enum, apiextensionsv1.JSON{Raw: raw})
	}
	return out
}

func flag(description string) schema { return schema{Type: "boolean", Description: description} }

func atLeast(description string, low float64) schema {
	return schema{Type: "integer", Format: "int64", Description: description, Minimum: &low}
}

func list(description string, item schema, most int64) schema {
	return schema{Type: "array", Description: description, Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &item}, MaxItems: &most}
}

func free(description string) schema {
	yes := true
	return schema{Type: "object", Description: description, XPreserveUnknownFields: &yes}
}

// A name goes into a namespace, a path of files and a connection string.
const (
	databasePattern   = `^[A-Za-z0-9_-]{1,63}$`
	collectionPattern = `^[A-Za-z_][A-Za-z0-9_.-]{0,119}$`
)

func databaseSchema() schema {
	return object("", properties{
		"name":         pattern("Name of the database.", databasePattern),
		"forceDestroy": flag("Whether deletion drops collections with documents, and those that others have made. Without it, they keep the database."),
	}, "name")
}

func databaseOutputs() schema {
	return object("", properties{
		"name": text("Name of the database."),
		"uri":  text("Connection string of the database, without credentials."),
	})
}

func userSchema() schema {
	return object("", properties{
		fieldDatabase: pattern("Database in which the user is: the authSource of its connections.", databasePattern),
		"name":        pattern("Name of the user.", `^[^\s/]{1,128}$`),
		fieldPassword: object("Where the password is. When the Secret changes, the password is set again.", properties{
			"name": text("Name of the Secret, in the namespace of the resource."),
			"key":  text("Key of the Secret."),
		}, "name", "key"),
		fieldRoles: list("Roles of the user. They are all its roles.", object("", properties{
			"role": text("Name of the role, such as readWrite."),
			"db":   text("Database to which the role applies. That of the user unless declared."),
		}, "role"), 256),
	}, fieldDatabase, "name", fieldPassword)
}

func userOutputs() schema {
	return object("", properties{
		"name":        text("Name of the user."),
		fieldDatabase: text("Database in which the user is."),
		"authSource":  text("Database that checks the password: the same."),
	})
}

func collectionSchema() schema {
	return object("", properties{
		fieldDatabase: pattern("Database in which the collection is.", databasePattern),
		"name":        pattern("Name of the collection.", collectionPattern),
		fieldCapped: object("Limits after which the oldest documents go. They can't be changed.", properties{
			"sizeBytes":    atLeast("Bytes that the documents have together, at most.", 1),
			"maxDocuments": atLeast("How many documents there are, at most.", 1),
		}, "sizeBytes"),
		fieldValidator:        free("What documents must be like: a filter, such as {$jsonSchema: {...}}. {} removes it."),
		fieldValidationLevel:  choice("string", "Which documents are checked.", "off", "moderate", "strict"),
		fieldValidationAction: choice("string", "What happens to documents that don't fit.", "error", "warn"),
		fieldIndexes: list("Indexes. Those of others stay; those that were declared before, and are not any more, are dropped. One that is changed is dropped and made again.", object("", properties{
			"name": pattern("Name of the index.", `^[A-Za-z][A-Za-z0-9_.-]{0,119}$`),
			"keys": list("Fields, in order.", object("", properties{
				"field": pattern("Path of the field.", `^[^\s]+$`),
				"order": choice("integer", "1 is ascending, -1 descending. 1 unless declared.", 1, -1),
				"type":  choice("string", "Kind of index for this field, in place of an order.", "hashed", "2dsphere"),
			}, "field"), 32),
			"unique":                  flag("Whether two documents must differ in these fields."),
			"sparse":                  flag("Whether documents without these fields are left out."),
			"expireAfterSeconds":      atLeast("Seconds after the time in the field, after which a document is deleted.", 0),
			"partialFilterExpression": free("Documents that are in the index: a filter."),
		}, "name", "keys"), 63),
		"forceDestroy": flag("Whether deletion drops the documents with the collection. Without it, a collection that is not empty is not deleted."),
	}, fieldDatabase, "name")
}

func collectionOutputs() schema {
	return object("", properties{
		"name":        text("Name of the collection."),
		fieldDatabase: text("Database in which the collection is."),
		"namespace":   text("Database and collection, as database.collection."),
	})
}
