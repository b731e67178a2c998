package get

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/status"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// resources shows those of the boxes over a kind. It implements shelf.
type resources struct {
	target inspect.Target // without a name
	all    bool           // of all namespaces
	boxes  []serving
}

// serving is a box over the kind.
type serving struct {
	name string
	plan *pipeline.Plan // nil: it is not known, and nothing tells which objects it selects

	unwritten *status.Unwritten // why no resource says how it fares; nil: they do
}

func newResources(ctx context.Context, i *session.Inspector, target inspect.Target, only string, all bool) (r *resources, notes []string, err error) {
	r = &resources{target: target, all: all && target.Namespace != ""}
	if all {
		r.target.Namespace = ""
	}
	over, err := boxesOver(ctx, i, target.CRD, only)
	if err != nil {
		return nil, nil, err
	}
	for _, box := range over {
		one := serving{name: box.Name}
		one.plan, err = i.Plan(ctx, box)
		switch {
		case err != nil:
			notes = append(notes, fmt.Sprintf("Which objects OperatorBox %q selects is not known, and all are shown: %v", box.Name, err))
		default:
			notes, one.unwritten = append(notes, center.NotesOn(one.plan)...), center.Unwritten(one.plan)
		}
		r.boxes = append(r.boxes, one)
	}
	switch {
	case len(r.boxes) > 0:
		return r, slices.Compact(notes), nil
	case only != "":
		return nil, nil, fmt.Errorf("OperatorBox %q does not serve %s", only, target.CRD)
	default:
		return nil, nil, fmt.Errorf("no OperatorBox serves %s: kubectl get %s shows its objects", target.CRD, target.CRD)
	}
}

// boxesOver gives the boxes over a kind, or the one that is named: who may not list boxes may be allowed to read this one.
func boxesOver(ctx context.Context, i *session.Inspector, crd, only string) ([]*v1alpha1.OperatorBox, error) {
	if only != "" {
		box, err := i.Box(ctx, only)
		if err != nil || crds.NameOf(box) != crd {
			return nil, err
		}
		return []*v1alpha1.OperatorBox{box}, nil
	}
	_, err := i.Boxes()
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("%w; name the box of %s by --box", err, crd)
	}
	return i.BoxesOver(crd), err
}

func (r *resources) follows() []cluster.Follow {
	return []cluster.Follow{{Kind: r.target.Kind, Options: []client.ListOption{client.InNamespace(r.target.Namespace)}}}
}

// resource is what is printed as JSON and YAML.
type resource struct {
	api.Row

	// Box of the resource.
	Box string `json:"box"`
}

// put implements shelf.
func (r *resources) put(obj *unstructured.Unstructured, gone bool) (line, bool) {
	at := slices.IndexFunc(r.boxes, func(s serving) bool {
		return s.plan == nil || obj.GetDeletionTimestamp() != nil || s.plan.Selection.Selects(obj)
	})
	shown := resource{Row: view.Row(obj)}
	key := obj.GetNamespace() + "/" + obj.GetName()
	if at < 0 {
		// It may have been selected before.
		gone, shown.Box = true, ""
	} else {
		shown.Box = r.boxes[at].name
	}
	if at >= 0 && r.boxes[at].unwritten != nil && shown.State == api.Unknown && shown.Reason == "" {
		shown.Reason, shown.Message = r.boxes[at].unwritten.Reason, r.boxes[at].unwritten.Message
	}
	if gone {
		shown.State = stateDeleted
	}
	return line{key: key, name: shown.Name, value: shown, gone: gone, cells: func(now time.Time, wide bool) []string { return r.cells(shown, now, wide) }}, true
}

func (r *resources) header(wide bool) []string {
	header := []string{"NAME", "STATE", "REASON", "SINCE", "AGE"}
	if r.all {
		header = append([]string{"NAMESPACE"}, header...)
	}
	if wide {
		header = append(header, "BOX", "MESSAGE")
	}
	return header
}

func (r *resources) cells(shown resource, now time.Time, wide bool) []string {
	since := "-"
	if shown.Since != nil {
		since = duration.HumanDuration(now.Sub(*shown.Since))
	}
	cells := []string{shown.Name, string(shown.State), cmp.Or(shown.Reason, "-"), since, duration.HumanDuration(now.Sub(shown.Created))}
	if r.all {
		cells = append([]string{shown.Namespace}, cells...)
	}
	if wide {
		cells = append(cells, cmp.Or(shown.Box, "-"), shown.Message)
	}
	return cells
}

func (r *resources) none() string {
	if r.target.Namespace == "" {
		return "No resources found."
	}
	return fmt.Sprintf("No resources found in %s namespace.", r.target.Namespace)
}

// absent implements shelf.
func (r *resources) absent(name string) error {
	if r.target.Namespace == "" {
		return fmt.Errorf("%s %q not found", r.target.CRD, name)
	}
	return fmt.Errorf("%s %q not found in namespace %q", r.target.CRD, name, r.target.Namespace)
}
