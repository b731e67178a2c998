package children

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// given is what one template gives as a whole object.
type given struct {
	short    map[string]any // the rendered short fields, with the object among them
	identity map[string]any // the metadata, where the object may be known by it
}

// ownName is the name that the object has by itself; "" where it has none, or where it was not given whole.
func (g *given) ownName() string { return g.text("name") }

// namespace is the namespace that the object has by itself; "" where it has none, or where it was not given whole.
func (g *given) namespace() string { return g.text("namespace") }

func (g *given) text(part string) string {
	if g == nil {
		return ""
	}
	text, _ := g.identity[part].(string)
	return text
}

// Known gives the instance with the kind of its object. Where one template gives the whole object, that is evaluated. Its errors hold nothing
// that a Secret holds.
func (in Instance) Known(ctx context.Context, c *Cycle) (Instance, error) {
	if !in.Whole || in.given != nil {
		return in, nil
	}
	short, err := stage.Tree(ctx, "", in.Short, in.allData(c))
	if _, ownWords := errors.AsType[*functions.FailError](err); ownWords && in.UsesSecrets {
		err = stage.NewPermanent(v1alpha1.ReasonTemplateError, errQuietFail)
	}
	if err != nil {
		return in, err
	}
	gvk, err := kinds.ManifestGVK(short)
	if err != nil {
		return in, stage.NewPermanent(v1alpha1.ReasonTemplateError, in.Unfit(err))
	}
	if !slices.Contains(in.Kinds, gvk) {
		return in, stage.NewPermanent(v1alpha1.ReasonInvalidChild, in.notListed(kinds.Listed(gvk)))
	}
	in.GVK, in.given = gvk, &given{short: short}
	return in, in.identify(c)
}

// notListed says that the template gives an object of a kind that is not listed.
func (in Instance) notListed(found string) error {
	allowed := make([]string, 0, len(in.Kinds))
	for _, gvk := range in.Kinds {
		allowed = append(allowed, kinds.Listed(gvk))
	}
	if !in.MayShowAt("manifest") {
		found = "a kind that is not shown"
	}
	return fmt.Errorf("manifest: the template gives %s, and kinds allows %s; list it there, or give one of these", found, strings.Join(allowed, ", "))
}

// identify takes name and namespace from the object, unless they may come from a Secret: people read them.
func (in Instance) identify(c *Cycle) error {
	manifest, _ := in.given.short["manifest"].(map[string]any)
	metadata, _ := manifest["metadata"].(map[string]any)
	for _, part := range []struct {
		name, own string
		beside    bool
	}{{"name", c.Stored.GetName(), in.Name != nil}, {"namespace", c.Home(), in.Namespace != nil}} {
		text, isText := metadata[part.name].(string)
		switch {
		case metadata[part.name] == nil || part.beside:
		case !isText:
			return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("manifest.metadata.%s: want text, got %s", part.name, value.TypeName(metadata[part.name])))
		case in.WholeOfSecret && text != part.own:
			return stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf(
				"manifest.metadata.%s: the template reads a Secret, and what an object is known by can't be made of one; write %s beside manifest", part.name, part.name))
		}
	}
	if !in.WholeOfSecret {
		in.given.identity = metadata
	}
	return nil
}
