package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/when"
)

// validation denies resources, or warns. Every rule is evaluated, so that a user reads all mistakes at once.
type validation struct{ rules []validationRule }

type validationRule struct {
	test    *when.Condition
	exists  bool
	gate    *when.Gate
	message string
	warn    bool
}

func compileValidation(c *compiler) Stage {
	if c.Spec.Validation == nil || len(c.Spec.Validation.Rules) == 0 {
		return nil
	}
	at := field.NewPath("spec", "validation", "rules")
	scope := c.ResourceScope() // one for all, because what CEL needs is made once for each
	var v validation
	for i, in := range c.Spec.Validation.Rules {
		where := at.Index(i)
		gate, errs := when.CompileGate(in.Gate, scope, where)
		c.Fail(errs...)
		test, errs := when.Compile(in.Test, scope, where)
		c.Fail(errs...)
		if test == nil {
			continue
		}
		c.Reads(test.Paths())
		if gate != nil {
			c.Reads(gate.Paths())
		}
		v.rules = append(v.rules, validationRule{
			test: test, gate: gate, message: in.Message, warn: in.Action == v1alpha1.ValidationWarn,
			exists: test.Operator() == v1alpha1.OperatorExists,
		})
	}
	return v
}

// Name implements Stage.
func (validation) Name() string { return stage.StepValidation }

// Run implements Stage.
func (v validation) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	data := r.Data(false)
	var denied []string
	for i, rule := range v.rules {
		open, err := r.IsOpen(ctx, rule.gate, data)
		if err != nil {
			return stage.Hold, err
		}
		if !open {
			continue
		}
		verdict, err := rule.test.Eval(ctx, data, r.Now)
		if err != nil {
			return stage.Hold, stage.Evaluating(fmt.Sprintf("rules[%d]", i), v1alpha1.ReasonConditionError, err)
		}
		r.ReconcileAt(verdict.NextFlip)
		if rule.kept(verdict) {
			continue
		}
		if rule.warn {
			r.Warn(v1alpha1.ReasonValidationWarning, rule.text(verdict))
			continue
		}
		denied = append(denied, rule.text(verdict))
	}
	if len(denied) > 0 {
		return stage.Hold, stage.NewPermanent(v1alpha1.ReasonValidationFailed, errors.New(strings.Join(denied, "; ")))
	}
	return stage.Next, nil
}

// kept says whether a resource keeps the rule. A rule on an absent field passes: optional fields need no gate. Only the operator exists asks
// whether the field is there.
func (r validationRule) kept(v when.Verdict) bool { return v.True || v.Absent && !r.exists }

// text says which field broke the rule, what its author says of that, and what was found.
func (r validationRule) text(v when.Verdict) string {
	return v.Broken(stage.OneLine(r.message))
}
