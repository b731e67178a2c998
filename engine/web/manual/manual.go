// Package manual says what may stand in boxes, from the tables that decide it: functions of templates, operators of conditions, and kinds.
package manual

import (
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/when"
)

// Reference is what may stand in boxes. It is the same for everybody, and must not be changed.
var Reference = sync.OnceValue(func() *api.Vocabulary {
	out := &api.Vocabulary{}
	for _, f := range functions.All() {
		out.Functions = append(out.Functions, api.Function{Name: f.Name, Aliases: f.Aliases, Group: f.Group, Usage: f.Usage, Doc: f.Doc, Example: f.Example, Result: f.Result})
	}
	for _, o := range when.Descriptions() {
		one := api.Operator{Name: string(o.Name), Short: o.Short, Wants: o.Phrase, Absent: o.Absent, Clock: o.Clock}
		for _, t := range o.Types {
			one.Types = append(one.Types, string(t))
		}
		out.Operators = append(out.Operators, one)
	}
	for _, key := range kinds.Keys() {
		kind, _ := kinds.Lookup(key)
		one := api.KindKey{Key: key, Kind: kind.GVK.Kind, Text: kind.Text()}
		if !kind.GVK.Empty() {
			one.APIVersion, one.Namespaced = kind.GVK.GroupVersion().String(), !kind.ClusterScoped
		}
		out.Kinds = append(out.Kinds, one)
	}
	return out
})

// Fields says what may stand in a declaration, or in a field of one. The error of a path that leads nowhere is that something is not found.
func Fields(path string) (*api.Fields, error) {
	names := strings.Split(path, ".")
	kind, ok := kinds.Lookup(names[0])
	if !ok {
		return nil, noSuchField(path, fmt.Sprintf("there is no key %q; GET /api/v1/reference has all", names[0]))
	}
	out := &api.Fields{Path: path, Type: kind.GVK.Kind, Text: kind.Text(), Fields: fieldsOf(kind.ShortFields()), Common: fieldsOf(kind.CommonFields())}
	if len(names) == 1 {
		return out, nil
	}
	found, left, _ := kinds.Follow(append(kind.ShortFields(), kind.CommonFields()...), names[1:])
	if len(left) > 0 {
		return nil, noSuchField(path, fmt.Sprintf("there is no field %q", left[0]))
	}
	out.Type, out.Text, out.Fields, out.Common = found.Type, found.Text, fieldsOf(found.Fields()), nil
	return out, nil
}

func noSuchField(path, why string) error {
	return fmt.Errorf("%s: %w", why, apierrors.NewNotFound(schema.GroupResource{Resource: "fields"}, path))
}

func fieldsOf(fields []kinds.FieldDoc) []api.Field {
	out := []api.Field{}
	for _, f := range fields {
		one := api.Field{Name: f.Name, Type: f.Type, Text: f.Text, Required: f.Required(), Example: f.Example, Below: len(f.Fields()) > 0}
		if !one.Required {
			one.Default = f.Default
		}
		out = append(out, one)
	}
	return out
}
