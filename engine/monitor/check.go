package monitor

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/when"
)

// Check says whether a resource that another operator runs is healthy. It is immutable and safe for concurrent use.
type Check struct {
	gate *when.Gate // nil: the condition Ready must be True
}

// Compile checks the conditions of a CRDHealth without a box against the schema of its CRD; at is where they stand.
// Without conditions, the check is for Ready=True, which the schema must then have room for. It says everything that is wrong;
// the check is nil then.
func Compile(list []v1alpha1.Condition, crd stage.CRD, at *field.Path) (*Check, field.ErrorList) {
	scope := expr.NewScope(crd.Schema).WithoutBox()
	if len(list) == 0 {
		if _, err := scope.SchemaAt(expr.Path{compile.RootStatus, "conditions"}); err != nil {
			return nil, field.ErrorList{field.Required(at, fmt.Sprintf("resources of %s have no status.conditions: say when one is healthy", crd.Name))}
		}
		return &Check{}, nil
	}
	gate, errs := when.CompileAll(list, scope, at)
	if len(errs) > 0 {
		return nil, errs
	}
	return &Check{gate: gate}, nil
}

// Check says what a resource lacks; "" when it is healthy. again is when that may change just because time passes; zero: never. A
// condition that can't be evaluated counts as not met.
func (c *Check) Check(ctx context.Context, resource *unstructured.Unstructured, now time.Time) (unmet string, again time.Time) {
	if c.gate == nil {
		return notReady(resource), time.Time{}
	}
	data := expr.Data{}
	maps.Copy(data, resource.Object)
	res, err := c.gate.Eval(ctx, data, now)
	if err != nil {
		return stage.OneLine(err.Error()), time.Time{}
	}
	return res.Message(), res.NextFlip
}

// notReady says why the condition Ready of a resource is not True; "" where it is.
func notReady(resource *unstructured.Unstructured) string {
	c := status.ConditionOf(resource, v1alpha1.ConditionReady)
	switch {
	case c == nil:
		return "Ready: wanted True, actual absent"
	case c["status"] == string(metav1.ConditionTrue):
		return ""
	}
	said := []string{fmt.Sprintf("Ready: wanted True, actual %v", c["status"])}
	for _, detail := range []any{c["reason"], c["message"]} {
		if text, ok := detail.(string); ok && text != "" {
			said = append(said, stage.OneLine(text))
		}
	}
	return strings.Join(said, ": ")
}
