package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/controllers/center"
	"github.com/orkspace/orkestra/engine/web/api"
)

// follow prints the events that are there, and then each that comes, until the context ends.
func (f *flags) follow(ctx context.Context, watching client.WithWatch, about *subject, out io.Writer) error {
	p := &printer{flags: f, out: out}
	synced := false
	events := cluster.Follow{
		Client: watching, Kind: corev1.SchemeGroupVersion.WithKind("Event"), Options: []client.ListOption{client.InNamespace(center.EventNamespace(about.namespace))},
		Synced: func() (bool, error) { synced = true; return false, p.first() },
	}
	err := events.Run(ctx, func(obj *unstructured.Unstructured, gone bool) (bool, error) {
		if gone {
			return false, nil // one that the API server forgets is none that comes
		}
		event := &corev1.Event{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, event); err != nil {
			return false, fmt.Errorf("reading Event %q: %w", obj.GetName(), err)
		}
		if !about.speaks(ctx, watching, event) {
			return false, nil
		}
		e := center.EventOf(event)
		if !f.shows(e) {
			return false, nil
		}
		if !synced {
			p.before = append(p.before, e)
			return false, nil
		}
		return false, p.print(e)
	})
	if errors.Is(err, context.Canceled) {
		return nil // somebody has told it to stop
	}
	return err
}

// speaks says whether an event is about the subject. What is not known yet may be a child that was made since: then it is looked at once.
func (s *subject) speaks(ctx context.Context, reader client.Reader, event *corev1.Event) bool {
	if s.Has(event) {
		return true
	}
	of := &event.InvolvedObject
	known, asked := s.UIDs[of.UID]
	if asked || s.resource == "" {
		return known
	}
	child := &metav1.PartialObjectMetadata{}
	child.SetGroupVersionKind(schema.FromAPIVersionAndKind(of.APIVersion, of.Kind))
	err := reader.Get(ctx, types.NamespacedName{Namespace: of.Namespace, Name: of.Name}, child)
	s.UIDs[of.UID] = err == nil && child.UID == of.UID && child.Labels[v1alpha1.LabelOwnerUID] == string(s.resource)
	return s.UIDs[of.UID]
}

// printer prints events one by one.
type printer struct {
	*flags

	out    io.Writer
	grid   output.Grid
	before []api.Event // those that were there at first
}

// first prints those that were there, the newest last.
func (p *printer) first() error {
	slices.SortStableFunc(p.before, func(a, b api.Event) int { return a.Time.Compare(b.Time) })
	if p.format != "" {
		for _, e := range p.before {
			if err := p.print(e); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{header}
	for _, e := range p.before {
		rows = append(rows, p.row(e))
	}
	return p.grid.Write(p.out, rows...)
}

func (p *printer) print(e api.Event) error {
	switch p.format {
	case output.JSON:
		return output.WriteJSON(p.out, e)
	case output.YAML:
		if _, err := fmt.Fprintln(p.out, "---"); err != nil {
			return fmt.Errorf("writing an event: %w", err)
		}
		return output.WriteYAML(p.out, e)
	default:
		return p.grid.Write(p.out, p.row(e))
	}
}
