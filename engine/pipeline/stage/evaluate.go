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

// Texts evaluates a map of templates in the order of its keys, so that of several errors it is always the same.
func Texts(ctx context.Context, what string, templates map[string]*expr.Template, data expr.Data) (map[string]string, error) {
	if len(templates) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(templates))
	for _, k := range slices.Sorted(maps.Keys(templates)) {
		s, err := Text(ctx, fmt.Sprintf("%s[%q]", what, k), templates[k], data)
		if err != nil {
			return nil, err
		}
		out[k] = s
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
