// Package mongodb makes databases, users and collections of MongoDB, with the official driver.
//
// # Connections
//
// Each call makes a client and ends it before it returns: a client of the driver has goroutines that watch the servers, and so none of them
// outlives a call. A call is made when something has changed, and at each resync; its handshake costs less than clients that nobody closes.
// All connections go through the dialer of the request. Options of a connection string that read files, the environment or services of the
// manager's Pod are refused.
//
// # Who owns what
//
// MongoDB marks nothing, so owners are noted in the collection orkestra.ownership of the same database: one document for the database, each
// user and each collection. It is written before the thing is made, and only where the thing is not there, and deleted after the thing is.
// A thing without a document is somebody else's. A process that ends at any point finds by the document what it has begun. What
// is left: somebody who does not heed the document and makes a thing of that name in the moment between document and thing, while the
// process ends, makes it for us. The empty collection orkestra.ownership stays until the database goes: dropping it could take the document
// that another resource writes at that moment.
package mongodb

import "github.com/orkspace/orkestra/engine/provider"

// Name is the one by which boxes declare these resources.
const Name = "mongodb"

// The keys of the Secret.
const (
	keyUsername = "username"
	keyPassword = "password"
	keyCA       = "ca.crt"
)

// New gives the provider. Nothing is set up before it is asked for something.
func New() provider.Provider { return servers{} }

// servers are those of MongoDB.
type servers struct{}

// Kinds are database, user and collection.
func (servers) Kinds() map[string]provider.Kind {
	kinds := map[string]provider.Kind{
		fieldDatabase: {Summary: "A database of MongoDB.", Schema: databaseSchema(), Identity: []string{"name"}, Outputs: databaseOutputs(), Driver: databaseDriver{}},
		"user":        {Summary: "A user of MongoDB, with roles.", Schema: userSchema(), Identity: []string{fieldDatabase, "name"}, Outputs: userOutputs(), Secrets: []string{fieldPassword}, Driver: userDriver{}},
		"collection":  {Summary: "A collection of MongoDB, with indexes and a validator.", Schema: collectionSchema(), Identity: []string{fieldDatabase, "name"}, Outputs: collectionOutputs(), Driver: collectionDriver{}},
	}
	for name, kind := range kinds {
		kind.Credentials = []provider.Key{{Name: keyUsername, Optional: true}, {Name: keyPassword, Optional: true}, {Name: keyCA, Optional: true}}
		kind.NeedsEndpoint = true
		kinds[name] = kind
	}
	return kinds
}
