// Package external makes the HTTP calls that boxes declare. It is the only way by which Orkestra reaches anything but the API
// server, and it is guarded: which addresses may be reached is decided when a connection is made, and for each redirect again.
//
// The package knows rendered requests and nothing of boxes, templates, Secrets or the cluster. What it reports never holds a
// header, a credential, a path or a query.
package external
