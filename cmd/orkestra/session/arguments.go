package session

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/suggest"
)

// KindBox is the kind of boxes.
const KindBox = "OperatorBox"

// Argument is what somebody has written: BOX, or KIND/NAME.
type Argument struct {
	// Kind as it is written; empty: the name of a box stands alone.
	Kind string
	// Name of the box or the object.
	Name string
}

// Parse reads arguments. The error is one of wrong use.
func Parse(args []string) ([]Argument, error) {
	out := make([]Argument, 0, len(args))
	for _, arg := range args {
		if arg != "" && !strings.Contains(arg, "/") {
			out = append(out, Argument{Name: arg})
			continue
		}
		kind, name, found := strings.Cut(arg, "/")
		if !found || kind == "" || name == "" || strings.Contains(name, "/") {
			return nil, fmt.Errorf("%q: wanted BOX, or KIND/NAME, such as website/hello", arg)
		}
		out = append(out, Argument{Kind: kind, Name: name})
	}
	return out, nil
}

// Find says what an argument means: a box, whose target has the kind OperatorBox, or another object.
func (i *Inspector) Find(a Argument) (inspect.Target, error) {
	if a.Kind == "" {
		return inspect.Target{Kind: v1alpha1.GroupVersion.WithKind(KindBox), CRD: crdOfBoxes, Name: a.Name}, nil
	}
	return i.Resolve(a.Kind, a.Name)
}

// crdOfBoxes is how the kind of boxes is called in the API.
const crdOfBoxes = "operatorboxes." + v1alpha1.GroupName

// IsBox says whether a target is a box.
func IsBox(t inspect.Target) bool {
	return t.Kind.Group == v1alpha1.GroupName && t.Kind.Kind == KindBox
}

// Box reads a box as it is now. The error of one that is not there names the nearest.
func (i *Inspector) Box(ctx context.Context, name string) (*v1alpha1.OperatorBox, error) {
	box := &v1alpha1.OperatorBox{}
	err := i.Client().Get(ctx, types.NamespacedName{Name: name}, box)
	if apierrors.IsNotFound(err) {
		all, _ := i.Boxes() // without them there is nothing to suggest
		names := make([]string, 0, len(all))
		for n := range all {
			names = append(names, all[n].Name)
		}
		return nil, fmt.Errorf("OperatorBox %q not found%s", name, suggest.DidYouMean(name, names))
	}
	if err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", name, err)
	}
	return box, nil
}
