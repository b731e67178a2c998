// Package outcome says what a resource shows after a cycle: the fields and conditions of its status, and what stands between it and Ready.
package outcome

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/when"
)

// Plan is spec.status of a box, compiled. It is immutable and safe for concurrent use.
type Plan struct {
	// Writer writes the status of resources; nil where the CRD's schema has no room for one, which is a mistake of the box.
	Writer *status.Writer
	// Ready says when a resource is Ready.
	Ready v1alpha1.ReadyPolicy

	scope         *expr.Scope // knows the schema of the status, for what code sets
	fields        []*statusField
	readyWhen     *when.Gate // nil: nothing but the ready policy
	readsChildren bool       // readyWhen does
}

// Compile compiles spec.status.
func Compile(b *compile.Box) *Plan {
	p := &Plan{Ready: v1alpha1.ReadyReconciled, scope: b.Scope}
	var err error
	if p.Writer, err = status.NewWriter(b.Env.CRD.Schema, b.Env.CRD.HasStatus); err != nil {
		b.Fail(field.Invalid(field.NewPath("spec", "crd"), b.Env.CRD.Name, err.Error()))
		return p
	}
	if b.Env.CRD.OfOthers {
		p.Writer = p.Writer.FieldsOnly()
	}
	in := b.Spec.Status
	if in == nil {
		return p
	}
	if in.Ready != "" {
		p.Ready = in.Ready
	}
	p.compileFields(b, in.Fields)
	gate, errs := when.CompileAll(in.ReadyWhen, b.Scope, field.NewPath("spec", "status", "readyWhen"))
	b.Fail(errs...)
	if gate != nil {
		p.readyWhen, p.readsChildren = gate, b.Reads(gate.Paths())
	}
	return p
}

// ChildFailure is what a cycle came to that left a child behind which has failed, and goes no further; nil: there is none. It is no
// error of the cycle, and counts as none, but it is a reason to go back.
func ChildFailure(ready metav1.Condition) *stage.StepError {
	if ready.Reason != v1alpha1.ReasonChildFailed {
		return nil
	}
	return &stage.StepError{Step: stage.StepChildren, Class: stage.Refused, Reason: v1alpha1.ReasonChildFailed, Err: errors.New(ready.Message)}
}
