package children

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// convertCustom gives the leaves of a custom kind's manifest the types that its schema wants, as the short forms and the Go
// types do for built-in kinds: a template yields text where the schema may want a number.
func (in Instance) convertCustom(c *Cycle, obj *unstructured.Unstructured) error {
	if !in.Kind.GVK.Empty() {
		return nil
	}
	props := c.Ports.Kinds.Schema(in.GVK)
	if props == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(obj.Object)) {
		part, known := props.Properties[name]
		if name == "metadata" || !known {
			continue
		}
		converted, err := value.ToSchema(obj.Object[name], &part)
		if err != nil {
			return stage.NewPermanent(v1alpha1.ReasonTemplateError, in.misfit(name, err))
		}
		obj.Object[name] = converted
	}
	return nil
}

// misfit says where a manifest does not fit its schema, and what stands there, if that may be shown.
func (in Instance) misfit(name string, err error) error {
	where := "manifest." + name
	misfit, ok := errors.AsType[*value.MisfitError](err)
	if !ok {
		return fmt.Errorf("%s: %w", where, err)
	}
	if !in.MayShowAt(where + misfit.At) {
		return fmt.Errorf("%s%s: does not fit the schema of %s; what stands there is not shown, because it is not the resource's own", where, misfit.At, in.GVK.Kind)
	}
	return fmt.Errorf("%s%s: %w", where, misfit.At, misfit.Problem)
}
