package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/when"
)

// declaration is one entry of a resource group, compiled.
type declaration struct {
	id       string
	explicit bool // the id was given, so that templates may use it
	where    string
	phase    string // the stage that it belongs to
	order    int
	kind     kinds.Kind
	gvk      schema.GroupVersionKind
	written  map[string]any // the short fields as written: which of them are set decides where defaults come from
	overlay  map[string]any // the spec as written

	name, namespace     *expr.Template
	labels, annotations map[string]*expr.Template
	short, spec         *expr.Value
	gate                *when.Gate

	once           bool
	optional       bool
	adopt          bool
	orphan         bool
	ownerReference bool
	keepWhenFalse  map[bool]bool // by "the gate is a false choice"
	failurePolicy  v1alpha1.JobFailurePolicy

	usesChildren bool
	workload     *declaration // the box's only workload, where a default needs it
	service      *declaration // the box's only Service, where a default needs it
	ports        *expr.Value  // the port fields alone, which others take defaults from
}

// rank is the declaration's place in its group.
func (d *declaration) rank() int {
	if d.kind.GVK.Empty() {
		return kinds.RankOf(d.gvk)
	}
	return d.kind.Rank
}

// render evaluates every template of the declaration and builds the object.
func (d *declaration) render(ctx context.Context, r *Run) (*unstructured.Unstructured, error) {
	data := r.data(d.usesChildren)
	in := kinds.Declared{Instance: r.owner.Label}
	var err error
	if in.Name, err = d.objectName(ctx, r, data); err != nil {
		return nil, err
	}
	if in.Namespace, err = d.objectNamespace(ctx, r, data); err != nil {
		return nil, err
	}
	if in.Labels, err = texts(ctx, "labels", d.labels, data); err != nil {
		return nil, err
	}
	if in.Annotations, err = texts(ctx, "annotations", d.annotations, data); err != nil {
		return nil, err
	}
	if in.Short, err = tree(ctx, "", d.short, data); err != nil {
		return nil, err
	}
	if in.Spec, err = tree(ctx, "spec", d.spec, data); err != nil {
		return nil, err
	}
	if err = d.defaults(ctx, r, &in); err != nil {
		return nil, err
	}
	obj, err := d.kind.Build(in)
	if err != nil {
		return nil, permanent(v1alpha1.ReasonTemplateError, err)
	}
	return obj, nil
}

// defaults looks up the workload and the Service that the kind's defaults are taken from.
func (d *declaration) defaults(ctx context.Context, r *Run, in *kinds.Declared) error {
	if d.workload != nil {
		name, short, err := d.workload.face(ctx, r)
		if err != nil {
			return err
		}
		w := kinds.WorkloadOf(name, short)
		in.Workload = &w
	}
	if d.service == nil {
		return nil
	}
	name, short, err := d.service.face(ctx, r)
	if err != nil {
		return err
	}
	var workload *kinds.Workload
	if d.service.workload != nil {
		wName, wShort, err := d.service.workload.face(ctx, r)
		if err != nil {
			return err
		}
		w := kinds.WorkloadOf(wName, wShort)
		workload = &w
	}
	s := kinds.ServiceOf(name, short, workload)
	in.Service = &s
	return nil
}

// face is what other declarations see of this one: its object's name and its ports.
func (d *declaration) face(ctx context.Context, r *Run) (name string, short map[string]any, err error) {
	data := r.data(d.usesChildren)
	if name, err = d.objectName(ctx, r, data); err != nil {
		return "", nil, err
	}
	short, err = tree(ctx, d.id, d.ports, data)
	return name, short, err
}

func (d *declaration) objectName(ctx context.Context, r *Run, data expr.Data) (string, error) {
	if d.name == nil {
		return r.Stored.GetName(), nil
	}
	name, err := text(ctx, "name", d.name, data)
	if err == nil && name == "" {
		err = permanent(v1alpha1.ReasonTemplateError, fmt.Errorf("name: the template %q yields an empty name", d.name))
	}
	return name, err
}

// objectNamespace is where the object goes. A template may not lead a namespaced resource's author into another namespace
// (design: security.md); one that the box names literally is the box author's decision.
func (d *declaration) objectNamespace(ctx context.Context, r *Run, data expr.Data) (string, error) {
	namespaced, err := d.namespaced(r)
	if err != nil {
		return "", err
	}
	own := r.Stored.GetNamespace()
	if !namespaced {
		// The compiler can't tell this of a kind that was not installed then.
		if own != "" && !readsNamespace(d) {
			return "", permanent(v1alpha1.ReasonTemplateError, errors.New(sharedName(d)))
		}
		return "", nil
	}
	if d.namespace == nil {
		if own == "" {
			return "", permanent(v1alpha1.ReasonTemplateError, fmt.Errorf("namespace: a cluster-scoped resource has none; say in which one the %s goes", d.gvk.Kind))
		}
		return own, nil
	}
	ns, err := text(ctx, "namespace", d.namespace, data)
	if err != nil {
		return "", err
	}
	if _, literal := d.namespace.Literal(); !literal && own != "" && ns != own {
		return "", permanent(v1alpha1.ReasonTemplateError,
			fmt.Errorf("namespace: a template may only yield the resource's own namespace %q, got %q; write other namespaces literally", own, ns))
	}
	return ns, nil
}

func (d *declaration) namespaced(r *Run) (bool, error) {
	if !d.kind.GVK.Empty() {
		return !d.kind.ClusterScoped, nil
	}
	return r.Ports.Kinds.Namespaced(d.gvk)
}

// child says how a rendered object is to be written.
func (d *declaration) child(obj *unstructured.Unstructured) apply.Child {
	return apply.Child{
		Object: obj, ID: d.id, Once: d.once, Adopt: d.adopt, Orphan: d.orphan, OwnerReference: d.ownerReference,
	}
}

func text(ctx context.Context, what string, t *expr.Template, data expr.Data) (string, error) {
	v, err := t.Eval(ctx, data)
	if err != nil {
		return "", evaluating(what, v1alpha1.ReasonTemplateError, err)
	}
	s, err := toText(v)
	if err != nil {
		return "", evaluating(what, v1alpha1.ReasonTemplateError, err)
	}
	out, _ := s.(string)
	return out, nil
}

func texts(ctx context.Context, what string, templates map[string]*expr.Template, data expr.Data) (map[string]string, error) {
	if len(templates) == 0 {
		return nil, nil
	}
	out := make(map[string]string, len(templates))
	for _, k := range slices.Sorted(maps.Keys(templates)) {
		s, err := text(ctx, fmt.Sprintf("%s[%q]", what, k), templates[k], data)
		if err != nil {
			return nil, err
		}
		out[k] = s
	}
	return out, nil
}

func tree(ctx context.Context, what string, v *expr.Value, data expr.Data) (map[string]any, error) {
	if v == nil {
		return nil, nil
	}
	out, err := v.Eval(ctx, data)
	if err != nil {
		if what == "" {
			return nil, permanent(v1alpha1.ReasonTemplateError, err)
		}
		return nil, evaluating(strings.TrimSpace(what), v1alpha1.ReasonTemplateError, err)
	}
	m, ok := out.(map[string]any)
	if !ok && out != nil {
		return nil, permanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s: wanted object, got %s", what, typeName(out)))
	}
	return m, nil
}
