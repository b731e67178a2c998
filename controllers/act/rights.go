package act

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine/web/person"
)

// resourceBoxes is the name of OperatorBoxes in the API.
const resourceBoxes = "operatorboxes"

// allowed gives the refusal of who lacks a right; nil: they have all. It names each that is missing.
func (h *Hand) allowed(ctx context.Context, wanted ...person.Right) error {
	var missing []string
	var first person.Right
	for _, want := range wanted {
		may, err := h.May(ctx, want)
		if err != nil {
			return apierrors.NewServiceUnavailable(err.Error())
		}
		if may {
			continue
		}
		if len(missing) == 0 {
			first = want
		}
		missing = append(missing, described(want))
	}
	if len(missing) == 0 {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: first.Group, Resource: first.Resource}, first.Name, fmt.Errorf("you may not %s", strings.Join(missing, ", nor ")))
}

// described is a right in words.
func described(r person.Right) string {
	of := r.Resource
	if r.Group != "" {
		of += "." + r.Group
	}
	if r.Subresource != "" {
		of += "/" + r.Subresource
	}
	text := r.Verb + " " + of
	if r.Name != "" {
		text += fmt.Sprintf(" %q", r.Name)
	}
	if r.Namespace != "" {
		text += fmt.Sprintf(" in namespace %q", r.Namespace)
	}
	return text
}

// overObject are the rights to do something to an object: Kubernetes' own, and where somebody else writes, the verb of Orkestra.
func (h *Hand) overObject(verb string, of schema.GroupResource, namespace, name string) []person.Right {
	rights := []person.Right{{Verb: verbPatch, Group: of.Group, Resource: of.Resource, Namespace: namespace, Name: name}}
	if h.For != nil {
		rights = append(rights, person.Right{Verb: verb, Group: of.Group, Resource: of.Resource, Namespace: namespace, Name: name})
	}
	return rights
}

// overSpec are the rights to write the spec of a box: those that the policies box-account and box-crd ask of who does it by hand. The manager passes
// them, so it asks in their place. Where the person writes, the policies ask themselves.
func (h *Hand) overSpec(verb string, before, after *v1alpha1.OperatorBox) []person.Right {
	rights := h.overObject(verb, schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: resourceBoxes}, "", before.Name)
	if h.For == nil {
		return rights
	}
	if ref := before.Spec.ServiceAccountRef; ref != nil {
		rights = append(rights, person.Right{Verb: "impersonate", Resource: "serviceaccounts", Namespace: ref.Namespace, Name: ref.Name})
	} else {
		rights = append(rights, person.Right{Verb: "use", Group: v1alpha1.GroupVersion.Group, Resource: resourceBoxes, Subresource: "manager-identity", Name: before.Name})
	}
	of := schema.ParseGroupResource(crds.NameOf(before))
	rights = append(rights, person.Right{Verb: "operate", Group: of.Group, Resource: of.Resource})
	if before.Spec.Admission != nil || after.Spec.Admission != nil {
		rights = append(rights, person.Right{Verb: "enforce", Group: of.Group, Resource: of.Resource})
	}
	return rights
}
