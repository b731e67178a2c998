package crds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// NameOf is the name of the CRD that a box serves; empty for a box whose definition can't be read and that has installed none. A CRD that
// the box has installed stays its CRD when the definition can't be read any more, or names another.
func NameOf(box *v1alpha1.OperatorBox) string {
	if box.Spec.CRD.Name == "" && box.Status.CRD.Version != "" {
		return box.Status.CRD.Name
	}
	return cmp.Or(box.Spec.CRD.Name, OthersName(box), Defined(box))
}

// Index is the name of an index of boxes: by the CRD that each serves, and by the one that it defines, where that is another. Without it
// every event of a CRD would copy all boxes, and read all that they define.
const Index = "crd"

// Indexed are the keys of a box in Index.
func Indexed(obj client.Object) []string {
	box, ok := obj.(*v1alpha1.OperatorBox)
	if !ok {
		return nil
	}
	names := []string{NameOf(box)}
	if defined := Defined(box); defined != names[0] {
		names = append(names, defined)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// Named selects the boxes of Index that serve, or define, a CRD of a name.
func Named(crd string) client.ListOption { return client.MatchingFields{Index: crd} }

// Defined is the name of the CRD that a box defines; empty where it defines none that can be read.
func Defined(box *v1alpha1.OperatorBox) string {
	if box.Spec.CRD.Definition == nil {
		return ""
	}
	crd, errs := boxspec.Definition(box)
	if len(errs) > 0 {
		return ""
	}
	return crd.Name
}

// OwnVersion is the version that a box asks for, or the one that was chosen before, or the storage version; ok is false when
// it is not served.
func OwnVersion(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) (picked pipeline.CRD, ok bool) {
	if wanted := wantedVersion(box); wanted != "" {
		return pipeline.NewCRD(crd, wanted)
	}
	if picked, ok := pipeline.NewCRD(crd, WorkedIn(box, crd)); ok {
		return picked, true
	}
	return pipeline.NewCRD(crd, "")
}

// WorkedIn is the version of a CRD that a box has worked in, by its status; empty: in none.
func WorkedIn(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) string {
	if box.Status.CRD.Name != crd.Name {
		return ""
	}
	return box.Status.CRD.Version
}

// First is the first of the wanted versions that is served ("" stands for the storage version), or else the first of the CRD that is. ok is
// false when the CRD serves none.
func First(crd *apiextensionsv1.CustomResourceDefinition, wanted ...string) (picked pipeline.CRD, ok bool) {
	for _, version := range crd.Spec.Versions {
		wanted = append(wanted, version.Name)
	}
	for _, version := range wanted {
		if picked, ok := pipeline.NewCRD(crd, version); ok {
			return picked, true
		}
	}
	return pipeline.CRD{}, false
}

// NotServed says that the box's own version is not served, and what helps.
func NotServed(box *v1alpha1.OperatorBox, crd *apiextensionsv1.CustomResourceDefinition) string {
	others := cmp.Or(served(crd), "none")
	if wanted := wantedVersion(box); wanted != "" {
		return fmt.Sprintf("CustomResourceDefinition %q does not serve version %q; it serves %s", crd.Name, wanted, others)
	}
	return fmt.Sprintf("CustomResourceDefinition %q does not serve its storage version; serve it, or name one of the others in crd.version: %s", crd.Name, others)
}

func served(crd *apiextensionsv1.CustomResourceDefinition) string {
	var names []string
	for _, version := range crd.Spec.Versions {
		if version.Served {
			names = append(names, version.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// NotEstablished says that a CRD is not served yet, and why, where that is known; empty: it is served.
func NotEstablished(crd *apiextensionsv1.CustomResourceDefinition) string {
	why := ""
	for _, c := range crd.Status.Conditions {
		switch {
		case c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue:
			return ""
		case c.Type == apiextensionsv1.NamesAccepted && c.Status == apiextensionsv1.ConditionFalse:
			why = ": " + c.Message // another CRD has its names
		}
	}
	return fmt.Sprintf("CustomResourceDefinition %q is not established yet%s", crd.Name, why)
}
