package pipeline

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/when"
)

// mutation sets defaults and overrides on the working copy, rule by rule.
type mutation struct{ rules []mutationRule }

type mutationRule struct {
	setter
	override bool
	gate     *when.Gate
}

func compileMutation(c *compiler) Stage {
	if c.Spec.Mutation == nil || len(c.Spec.Mutation.Rules) == 0 {
		return nil
	}
	at := field.NewPath("spec", "mutation", "rules")
	var m mutation
	for i, in := range c.Spec.Mutation.Rules {
		where := at.Index(i)
		if (in.Default == nil) == (in.Override == nil) {
			c.Fail(field.Invalid(where, in.Field, "give exactly one of default and override"))
			continue
		}
		value, name := in.Default, "default"
		if in.Override != nil {
			value, name = in.Override, "override"
		}
		gate, errs := when.CompileGate(in.Gate, c.ResourceScope(), where)
		c.Fail(errs...)
		if gate != nil {
			c.Reads(gate.Paths())
		}
		if set, ok := c.setter(in.Field, where.Child("field"), value, where.Child(name)); ok {
			m.rules = append(m.rules, mutationRule{setter: set, override: in.Override != nil, gate: gate})
		}
	}
	return m
}

// Name implements Stage.
func (mutation) Name() string { return stage.StepMutation }

// Run implements Stage.
func (m mutation) Run(ctx context.Context, r *Run) (stage.Outcome, error) {
	for _, rule := range m.rules {
		data := r.Data(false) // anew for each rule, which sees what the rules before it have set
		open, err := r.IsOpen(ctx, rule.gate, data)
		if err != nil {
			return stage.Hold, err
		}
		if !open {
			continue
		}
		// 0, false and "" are values: only what is missing gets a default.
		if old, found := value.Lookup(data, rule.path); found && old != nil && !rule.override {
			continue
		}
		v, err := rule.compute(ctx, data)
		if err != nil {
			return stage.Hold, err
		}
		if err := assign(r.Object, rule.path, v); err != nil {
			return stage.Hold, stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("setting a field: %w", err))
		}
		r.Edited()
	}
	return stage.Next, nil
}
