package stage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/value"
)

// Text evaluates a template to a text. what names it in errors.
func Text(ctx context.Context, what string, t *expr.Template, data expr.Data) (string, error) {
	v, err := t.Eval(ctx, data)
	if err != nil {
		return "", Evaluating(what, v1alpha1.ReasonTemplateError, err)
	}
	text, err := value.ToText(v)
	if err != nil {
		return "", Evaluating(what, v1alpha1.ReasonTemplateError, err)
	}
	return text, nil
}

// Texts evaluates a value to texts by name; nil where there is none. Entries that are null are left out. Of several errors it is always the
// same.
func Texts(ctx context.Context, what string, v *expr.Value, data expr.Data) (map[string]string, error) {
	all, err := Tree(ctx, what, v, data)
	if err != nil || all == nil {
		return nil, err
	}
	out := make(map[string]string, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if all[name] == nil {
			continue
		}
		if out[name], err = value.ToText(all[name]); err != nil {
			return nil, Evaluating(fmt.Sprintf("%s[%q]", what, name), v1alpha1.ReasonTemplateError, err)
		}
	}
	return out, nil
}

// Tree evaluates a value to an object; nil where there is none.
func Tree(ctx context.Context, what string, v *expr.Value, data expr.Data) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	out, err := v.Eval(ctx, data)
	if err != nil {
		if what == "" {
			return nil, NewPermanent(v1alpha1.ReasonTemplateError, err)
		}
		return nil, Evaluating(strings.TrimSpace(what), v1alpha1.ReasonTemplateError, err)
	}
	m, ok := out.(map[string]any)
	if !ok && out != nil {
		return nil, NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s: wanted object, got %s", what, value.TypeName(out)))
	}
	return m, nil
}
