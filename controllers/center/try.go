package center

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/value"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/when"
)

// The longest template and condition that are tried, and how much of a value is shown, in bytes.
const maxTried, maxValue = 16 << 10, 64 << 10

// Try evaluates a template or a condition for a resource, as its box would.
func (c *Center) Try(ctx context.Context, q api.TryQuestion) (*api.Tried, error) {
	if (q.Template == "") == (strings.TrimSpace(q.Condition) == "") {
		return nil, apierrors.NewBadRequest("Give a template or a condition, and not both")
	}
	if len(q.Template)+len(q.Condition) > maxTried {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("What is tried has %d bytes: give at most %d", len(q.Template)+len(q.Condition), maxTried))
	}
	box, err := c.boxNamed(ctx, q.Of.Box)
	if err != nil {
		return nil, err
	}
	live, err := c.live(ctx, box, q.Of.Namespace, q.Of.Name)
	if err != nil {
		return nil, err
	}
	compiled, err := c.running(ctx, box)
	if err != nil {
		return nil, err
	}
	inspector, err := c.Inspecting.Inspector(ctx, c.Clock.Now())
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what was read
	}
	data, notes := inspector.Data(ctx, compiled.Plan, live)
	out := &api.Tried{Notes: notes}
	scope := pipeline.ScopeOf(compiled.Written, compiled.Env)
	if q.Template != "" {
		template(ctx, scope, q.Template, data, out)
	} else {
		c.condition(ctx, scope, q.Condition, data, out)
	}
	return out, nil
}

// running compiles the spec of a box of the cluster.
func (c *Center) running(ctx context.Context, box *v1alpha1.OperatorBox) (*validation.Box, error) {
	text, err := yaml.Marshal(&v1alpha1.OperatorBox{TypeMeta: box.TypeMeta, ObjectMeta: metav1.ObjectMeta{Name: box.Name}, Spec: box.Spec})
	if err != nil {
		return nil, fmt.Errorf("writing OperatorBox %q: %w", box.Name, err)
	}
	v, compiled, err := c.compile(ctx, string(text))
	if err != nil {
		return nil, err
	}
	if !compiled.Valid || len(v.Boxes) != 1 {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("OperatorBox %q does not compile: its page says why", box.Name))
	}
	return &v.Boxes[0], nil
}

// template says what a template gives.
func template(ctx context.Context, scope *expr.Scope, text string, data expr.Data, out *api.Tried) {
	t, err := scope.Compile(text)
	if err != nil {
		out.Mistake = err.Error()
		return
	}
	out.Reads = said(t.Paths())
	found, err := t.Eval(ctx, data)
	if err != nil {
		out.Mistake = err.Error()
		return
	}
	out.Type = value.TypeName(found)
	shown, err := yaml.Marshal(found)
	if err != nil {
		out.Mistake = err.Error()
		return
	}
	if out.Value = string(shown); len(shown) > maxValue {
		out.Value = strings.ToValidUTF8(string(shown[:maxValue]), "") + fmt.Sprintf("\n# %d bytes more are not shown\n", len(shown)-maxValue)
	}
}

// condition says whether a condition holds.
func (c *Center) condition(ctx context.Context, scope *expr.Scope, text string, data expr.Data, out *api.Tried) {
	test, err := testOf(text)
	if err != nil {
		out.Mistake = err.Error()
		return
	}
	condition, errs := when.Compile(test, scope, nil)
	if len(errs) > 0 {
		out.Path, out.Mistake = strings.TrimPrefix(errs[0].Field, "<nil>"), errs[0].ErrorBody()
		return
	}
	out.Reads = said(condition.Paths())
	verdict, err := condition.Eval(ctx, data, c.Clock.Now())
	if err != nil {
		out.Mistake = err.Error()
		return
	}
	out.Verdict = &api.Verdict{Holds: verdict.True, Field: verdict.Field, Wanted: verdict.Wanted, Actual: verdict.Actual}
}

// testOf reads a condition.
func testOf(text string) (v1alpha1.Test, error) {
	var test v1alpha1.Test
	docs := input.Parse("the condition", []byte(text))
	switch {
	case len(docs) != 1 || docs[0].Wrong == nil && len(docs[0].Content) == 0:
		return test, errors.New("wanted one condition, such as {field: spec.replicas, greaterThan: 1}")
	case docs[0].Wrong != nil:
		return test, errors.New(docs[0].Wrong.Message)
	}
	if keys := docs[0].Keys(); len(keys) > 0 {
		return test, errors.New(keys[0].Path + ": " + keys[0].Message)
	}
	written, err := json.Marshal(docs[0].Content)
	if err == nil {
		err = yaml.UnmarshalStrict(written, &test)
	}
	if err != nil {
		return test, fmt.Errorf("wanted a condition, such as {field: spec.replicas, greaterThan: 1}: %w", err)
	}
	return test, nil
}

// said are paths as people write them, each once.
func said(paths []expr.Path) []string {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		out = append(out, p.String())
	}
	slices.Sort(out)
	return slices.Compact(out)
}
