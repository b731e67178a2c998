package outside

import (
	"context"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// labelExpression is one entry of matchExpressions, compiled.
type labelExpression struct {
	key      string
	operator selection.Operator
	values   []*expr.Template
}

// operators are those of label selectors.
var operators = map[metav1.LabelSelectorOperator]selection.Operator{
	metav1.LabelSelectorOpIn: selection.In, metav1.LabelSelectorOpNotIn: selection.NotIn,
	metav1.LabelSelectorOpExists: selection.Exists, metav1.LabelSelectorOpDoesNotExist: selection.DoesNotExist,
}

// labelExpressions compiles matchExpressions.
func labelExpressions(b *compile.Box, all []v1alpha1.LabelExpression, scope *expr.Scope, at *field.Path) []labelExpression {
	var out []labelExpression
	for i := range all {
		in, where := &all[i], at.Index(i)
		e := labelExpression{key: in.Key, operator: operators[in.Operator]}
		b.OneOf(string(in.Operator), []string{"In", "NotIn", "Exists", "DoesNotExist"}, where.Child("operator"))
		for _, problem := range apivalidation.IsQualifiedName(in.Key) {
			b.Fail(field.Invalid(where.Child("key"), in.Key, "no key of labels: "+problem))
		}
		ofValues := in.Operator == metav1.LabelSelectorOpIn || in.Operator == metav1.LabelSelectorOpNotIn
		switch {
		case ofValues && len(in.Values) == 0:
			b.Fail(field.Required(where.Child("values"), fmt.Sprintf("%s compares the label with values", in.Operator)))
		case operators[in.Operator] != "" && !ofValues && len(in.Values) > 0:
			b.Fail(field.Forbidden(where.Child("values"), fmt.Sprintf("%s asks whether the label is there, and takes no values", in.Operator)))
		}
		for j, text := range in.Values {
			if t := b.Text(scope, text, where.Child("values").Index(j)); t != nil {
				e.values = append(e.values, t)
			}
		}
		out = append(out, e)
	}
	return out
}

// matchLabels gives the labels that the objects must have. An entry that is null is left out; where none is left of several, what was meant to be a
// few objects would be all of them.
func (s *crossSource) matchLabels(ctx context.Context, data expr.Data) (map[string]string, error) {
	written, err := stage.Tree(ctx, "selector.matchLabels", s.labels, data)
	if err != nil {
		return nil, err
	}
	wanted, err := stage.Texts(ctx, "selector.matchLabels", s.labels, data)
	if err == nil && len(written) > 0 && len(wanted) == 0 && len(s.expressions) == 0 {
		err = stage.NewPermanent(v1alpha1.ReasonTemplateError, errors.New(
			"selector.matchLabels: each entry is null, which leaves it out, and without any label every object would be selected; give one of them a value"))
	}
	return wanted, err
}

// selector gives what the labels of the objects must be.
func (s *crossSource) selector(ctx context.Context, data expr.Data) (labels.Selector, error) {
	wanted, err := s.matchLabels(ctx, data)
	if err != nil {
		return nil, err
	}
	selector, err := labels.ValidatedSelectorFromSet(wanted)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("selector.matchLabels: %w", err))
	}
	for i, e := range s.expressions {
		var values []string
		for j, t := range e.values {
			text, err := stage.Text(ctx, fmt.Sprintf("selector.matchExpressions[%d].values[%d]", i, j), t, data)
			if err != nil {
				return nil, err
			}
			values = append(values, text)
		}
		more, err := labels.NewRequirement(e.key, e.operator, values)
		if err != nil {
			return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("selector.matchExpressions[%d]: %w", i, err))
		}
		selector = selector.Add(*more)
	}
	return selector, nil
}
