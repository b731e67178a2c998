package aws

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/provider"
)

// The tags that say whose a resource is. Those of the UID and of the token decide; the others are for people.
const (
	markPrefix    = "orkestra.orkspace.io/"
	markUID       = markPrefix + "uid"
	markToken     = markPrefix + "token"
	markBox       = markPrefix + "box"
	markNamespace = markPrefix + "namespace"
	markName      = markPrefix + "name"
)

// What drivers note for their next calls.
const (
	notedMarked = "marked"
	notedForce  = "forceDestroy"
	notedTags   = "tags"
	noted       = "true"
)

func marks(r *provider.Request) map[string]string {
	o := r.Owner
	tags := map[string]string{markUID: o.UID, markBox: o.Box, markName: o.Name}
	if o.Namespace != "" {
		tags[markNamespace] = o.Namespace
	}
	if r.Token != "" {
		tags[markToken] = r.Token
	}
	return tags
}

// ownership says whose a resource is.
type ownership int

const (
	absent ownership = iota
	unmarked
	ours
	// twin has been made for the same custom resource with another token: this is another address of what another declaration stands for.
	twin
	others
)

func whose(tags map[string]string, r *provider.Request) ownership {
	token := tags[markToken]
	switch {
	case tags[markUID] == "":
		return unmarked
	case tags[markUID] != r.Owner.UID:
		return others
	case token == "" || r.Token == "" || token == r.Token:
		return ours
	default:
		return twin
	}
}

// untag says how the mark of what has tags is taken off.
const untag = "take its tag " + markUID + " off"

// refusal says why a resource is not touched. unmark says how its mark is taken off.
func refusal(r *provider.Request, operation, what, unmark string, tags map[string]string) error {
	if whose(tags, r) == twin {
		return provider.Twice(operation, what)
	}
	if tags[markUID] == "" {
		return &provider.Error{Class: provider.NotOwned, Operation: operation,
			Message: fmt.Sprintf("%s is there already, and has no owner: declare another name, or adopt: IfUnowned", what)}
	}
	owner := provider.Owner{UID: tags[markUID], Box: tags[markBox], Namespace: tags[markNamespace], Name: tags[markName]}
	return &provider.Error{Class: provider.NotOwned, Operation: operation, Message: r.Owner.Foreign(what, owner, unmark)}
}

// tagging is what there is to change in the tags of a resource.
type tagging struct {
	all     map[string]string
	removed []string
	changed bool
	// declared says that a tag of the box is among what changed; otherwise it is the mark alone.
	declared bool
}

// retag puts what is declared, and the mark, over the tags that are there. Tags of others stay; those that were declared before, and are not
// any more, go.
func retag(current, declared map[string]string, r *provider.Request) tagging {
	out := tagging{all: maps.Clone(current)}
	if out.all == nil {
		out.all = map[string]string{}
	}
	for key := range strings.SplitSeq(r.Noted[notedTags], "\n") {
		if _, still := declared[key]; still || strings.HasPrefix(key, markPrefix) {
			continue
		}
		if _, there := out.all[key]; there {
			delete(out.all, key)
			out.removed, out.changed, out.declared = append(out.removed, key), true, true
		}
	}
	for key, value := range declared {
		if was, there := current[key]; !strings.HasPrefix(key, markPrefix) && (!there || was != value) {
			out.all[key], out.changed, out.declared = value, true, true
		}
	}
	for key, value := range marks(r) {
		if current[key] != value {
			out.all[key], out.changed = value, true
		}
	}
	return out
}

// tagNote is what is noted of the declared tags.
func tagNote(tags map[string]string) string {
	return strings.Join(sortedKeys(tags), "\n")
}

func sortedKeys(tags map[string]string) []string { return slices.Sorted(maps.Keys(tags)) }

// reserved refuses tags that look like a mark.
func reserved(tags map[string]string) error {
	for _, key := range sortedKeys(tags) {
		if strings.HasPrefix(key, markPrefix) {
			return &provider.Error{Class: provider.Invalid, Operation: "Declared", Message: fmt.Sprintf("tags: the key %s is reserved: choose one that does not begin with %s", key, markPrefix)}
		}
	}
	return nil
}
