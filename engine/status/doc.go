// Package status is the only writer of a resource's status: it says what the status becomes, and which patch makes it so
// (design: api.md, "What a resource shows").
//
// The pipeline makes a Writer when it compiles a plan, and a Result when a cycle ends. The engine asks the Writer what the
// status becomes, also after an error, and sends the patch. The package sends nothing itself, knows no children and no
// templates, and shows no value that it was not given: that no Secret is among them is for its callers to see to.
package status
