// Package apply is the only writer of children, and of the metadata of resources. It decides what is ours, sends nothing
// where nothing differs, and never takes over what it does not own (design: semantics.md, "How children are written",
// "Drift", "Ownership, finding, pruning").
//
// It knows nothing of boxes' specs, templates or gates: it is handed rendered objects.
package apply
