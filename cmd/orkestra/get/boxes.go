package get

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/cluster"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/engine/suggest"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// boxes shows each box with its health, as the fleet of the Control Center does. It implements shelf.
type boxes struct {
	boxes   map[string]*v1alpha1.OperatorBox
	healths map[string]*v1alpha1.CRDHealth
	known   []string // the names of boxes, for suggestions
}

func newBoxes(all ...v1alpha1.OperatorBox) *boxes {
	b := &boxes{boxes: map[string]*v1alpha1.OperatorBox{}, healths: map[string]*v1alpha1.CRDHealth{}}
	for n := range all {
		b.known = append(b.known, all[n].Name)
	}
	return b
}

const kindHealth = "CRDHealth"

func (*boxes) follows() []cluster.Follow {
	return []cluster.Follow{{Kind: v1alpha1.GroupVersion.WithKind(kindHealth)}, {Kind: v1alpha1.GroupVersion.WithKind(session.KindBox)}}
}

// put implements shelf.
func (b *boxes) put(obj *unstructured.Unstructured, gone bool) (line, bool) {
	name := obj.GetName()
	if obj.GetKind() == kindHealth {
		health := &v1alpha1.CRDHealth{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, health); err != nil || gone {
			health = nil // what can't be read says nothing
		}
		b.healths[name] = health
	} else {
		box := &v1alpha1.OperatorBox{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, box); err != nil {
			box = &v1alpha1.OperatorBox{}
			box.Name, box.CreationTimestamp = name, obj.GetCreationTimestamp()
		}
		if b.boxes[name] = box; gone {
			delete(b.boxes, name)
			return boxLine(box, b.healths[name], true), true
		}
	}
	box := b.boxes[name]
	if box == nil {
		return line{}, false // a CRDHealth of a CRD that another operator runs
	}
	return boxLine(box, b.healths[name], false), true
}

func boxLine(box *v1alpha1.OperatorBox, health *v1alpha1.CRDHealth, gone bool) line {
	shown := view.Box(box, health)
	if gone {
		shown.State = stateDeleted
	}
	return line{key: shown.Name, name: shown.Name, value: shown, gone: gone, cells: func(now time.Time, wide bool) []string { return boxCells(shown, now, wide) }}
}

// stateDeleted is shown of what is gone.
const stateDeleted api.State = "Deleted"

func (*boxes) header(wide bool) []string {
	header := []string{"NAME", "KIND", "STATE", "REASON", "SETTLED", "FAILING", "REVISION", "AGE"}
	if wide {
		header = append(header, "CRD", "WORKERS", "QUEUE", "LAST RECONCILE", "MESSAGE")
	}
	return header
}

func boxCells(b api.Box, now time.Time, wide bool) []string {
	settled, failing := fmt.Sprintf("%d/%d", b.Resources.Ready, b.Resources.Total), strconv.Itoa(int(b.Resources.Failing))
	if b.Resources.Total == 0 && (b.State == api.Pending || b.State == api.Unknown) {
		settled, failing = "-", "-" // a box that has not run yet has not counted any
	}
	cells := []string{
		b.Name, cmp.Or(b.Kind, "-"), string(b.State), cmp.Or(b.Reason, "-"), settled, failing,
		cmp.Or(b.Revision, "-"), duration.HumanDuration(now.Sub(b.Created)),
	}
	if wide {
		last := "-"
		if b.LastReconcile != nil {
			last = duration.HumanDuration(now.Sub(*b.LastReconcile))
		}
		cells = append(cells, cmp.Or(b.CRD, "-"), strconv.Itoa(int(b.Workers)), strconv.Itoa(int(b.QueueDepth)), last, b.Message)
	}
	return cells
}

func (*boxes) none() string { return "No boxes found." }

// absent implements shelf.
func (b *boxes) absent(name string) error {
	return fmt.Errorf("OperatorBox %q not found%s", name, suggest.DidYouMean(name, b.known))
}
