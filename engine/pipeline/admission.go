package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// partAdmission is the field that asks for policies, of the spec and of a rule.
const partAdmission = "admission"

// ownConditions is what the names of our match conditions begin with.
const ownConditions = "orkestra-"

// admission collects what the API server is to enforce, from the stages that are compiled.
func (c *compiler) admission() {
	if c.Spec.Admission == nil {
		c.Fail(unasked(&c.Spec)...)
		return
	}
	c.Fail(admissionMistakes(c.Spec.Admission)...)
	rules := &admission.Rules{
		Spec: *c.Spec.Admission, Resource: c.Env.CRD.Resource, Include: c.plan.Selection.include, Exclude: c.plan.Selection.exclude, Selector: c.Spec.Selector,
	}
	for _, s := range c.plan.stages {
		switch s := s.(type) {
		case normalize:
			for _, f := range s.fields {
				rules.Computed, rules.Reads = append(rules.Computed, f.path), append(rules.Reads, f.value.Paths()...)
			}
		case mutation:
			for i, r := range s.rules {
				rules.Defaults = append(rules.Defaults, r.admission(c.Spec.Mutation.Rules[i].Admission == v1alpha1.AdmissionRequired))
			}
		case validation:
			for i, r := range s.rules {
				rules.Validations = append(rules.Validations, admission.Validation{
					Test: r.test, Gate: r.gate, Message: stage.OneLine(r.message), Warn: r.warn,
					Required: c.Spec.Validation.Rules[i].Admission == v1alpha1.AdmissionRequired,
				})
			}
		}
	}
	if len(c.Mistakes()) > 0 {
		return // some rules are not there
	}
	c.Fail(admission.Compile(rules, true).Required()...)
	c.plan.Admission = rules
}

// unasked refuses rules that the API server must enforce in a box that does not ask it to.
func unasked(box *v1alpha1.OperatorBoxSpec) field.ErrorList {
	var errs field.ErrorList
	refuse := func(part string, i int) {
		at := field.NewPath("spec", part, "rules").Index(i).Child(partAdmission)
		errs = append(errs, field.Invalid(at, v1alpha1.AdmissionRequired, fmt.Sprintf("needs spec.admission.%s: true", part)))
	}
	if box.Mutation != nil {
		for i, r := range box.Mutation.Rules {
			if r.Admission != "" {
				refuse("mutation", i)
			}
		}
	}
	if box.Validation != nil {
		for i, r := range box.Validation.Rules {
			if r.Admission != "" {
				refuse("validation", i)
			}
		}
	}
	return errs
}

// admissionMistakes are those of spec.admission itself, for boxes that did not pass through an API server.
func admissionMistakes(spec *v1alpha1.AdmissionSpec) field.ErrorList {
	var errs field.ErrorList
	at := field.NewPath("spec", partAdmission)
	if !spec.Validation && !spec.Mutation {
		errs = append(errs, field.Required(at, "set validation, mutation or both"))
	}
	policies := []v1alpha1.AdmissionFailurePolicy{v1alpha1.AdmissionFail, v1alpha1.AdmissionIgnore}
	if spec.FailurePolicy != "" && !slices.Contains(policies, spec.FailurePolicy) {
		errs = append(errs, field.NotSupported(at.Child("failurePolicy"), spec.FailurePolicy, policies))
	}
	known := map[string]bool{}
	for i, m := range spec.MatchConditions {
		where := at.Child("matchConditions").Index(i)
		if strings.HasPrefix(m.Name, ownConditions) {
			errs = append(errs, field.Invalid(where.Child("name"), m.Name, "names that begin with "+ownConditions+" are Orkestra's own"))
		}
		if known[m.Name] {
			errs = append(errs, field.Duplicate(where.Child("name"), m.Name))
		}
		known[m.Name] = true
		if m.Expression == "" {
			errs = append(errs, field.Required(where.Child("expression"), "say in CEL which requests are judged"))
		}
	}
	return errs
}

// admission is the rule as the API server could have it.
func (m mutationRule) admission(required bool) admission.Default {
	d := admission.Default{Path: m.path, Gate: m.gate, Reads: m.value.Paths(), Required: required}
	literal, ok := m.value.Literal()
	switch {
	case m.override:
		d.Why = "overrides never change what is stored"
	case !ok:
		d.Why = "its value is a template"
	default:
		d.Value, _ = value.ToSchema(literal, m.schema) // the compilation of the rule has asked
	}
	return d
}

// Breaks says whether the API server would refuse a resource by a rule, in this version of the box.
func (p *Plan) Breaks(ctx context.Context, compiled *admission.Compiled, resource *unstructured.Unstructured) bool {
	data := expr.Data{
		"apiVersion": resource.Object["apiVersion"], "kind": resource.Object["kind"], "metadata": resource.Object["metadata"], "spec": resource.Object["spec"],
	}
	for _, s := range p.stages {
		v, ok := s.(validation)
		if !ok {
			continue
		}
		for i, rule := range v.rules {
			if compiled.Refuses(i) && rule.breaks(ctx, data) {
				return true
			}
		}
	}
	return false
}

// breaks says whether a resource breaks a rule, or can't be asked, which is refused as well.
func (r validationRule) breaks(ctx context.Context, data expr.Data) bool {
	open, err := r.gate.Eval(ctx, data, time.Time{})
	if err != nil || !open.Open {
		return err != nil
	}
	verdict, err := r.test.Eval(ctx, data, time.Time{})
	return err != nil || !r.kept(verdict)
}
