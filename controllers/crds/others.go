package crds

import (
	"cmp"
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
)

// Others is the kind of others that a box names; an empty one: it names none.
func Others(box *v1alpha1.OperatorBox) schema.GroupVersionKind {
	if box.Spec.CRD.Kind == "" {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(box.Spec.CRD.APIVersion, box.Spec.CRD.Kind)
}

// OthersName is how the kind of others that a box names is called: <plural>.<group>, as a CRD is; empty: it names none. The policy box-crd
// derives the same name, and asks whether the author of the box may operate it.
func OthersName(box *v1alpha1.OperatorBox) string {
	kind := Others(box)
	if kind.Empty() {
		return ""
	}
	plural := box.Spec.CRD.Plural
	if plural == "" {
		plural = usualPlural(kind)
	}
	return schema.GroupResource{Group: kind.Group, Resource: plural}.String()
}

// Older orders boxes by their age. One that is not made yet is the youngest.
func Older(a, b *v1alpha1.OperatorBox) int {
	if a.CreationTimestamp.IsZero() != b.CreationTimestamp.IsZero() {
		if a.CreationTimestamp.IsZero() {
			return 1
		}
		return -1
	}
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
}

func usualPlural(kind schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(kind)
	return plural.Resource
}

// wantedVersion is the version that a box names; empty: none.
func wantedVersion(box *v1alpha1.OperatorBox) string {
	if kind := Others(box); !kind.Empty() {
		return kind.Version
	}
	return box.Spec.CRD.Version
}

// Of is Find for the CRD of a box, whose name is given. A kind of others that comes with Kubernetes is given as the CRD that would define it. A
// CRD of that name that defines another kind than the box names is none of it.
func (s *Store) Of(ctx context.Context, box *v1alpha1.OperatorBox, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if crd := OfKubernetes(box); crd != nil {
		return crd, nil
	}
	crd, err := s.Find(ctx, box.Name, name)
	if err == nil && box.Spec.CRD.Kind != "" && crd.Spec.Names.Kind != box.Spec.CRD.Kind {
		return nil, apierrors.NewNotFound(apiextensionsv1.Resource("customresourcedefinitions"), name)
	}
	return crd, err
}

// MissingOf says that the CRD of a box is not there, and names what may have been meant.
func (s *Store) MissingOf(ctx context.Context, box *v1alpha1.OperatorBox, name string) string {
	kind := Others(box)
	if kind.Empty() {
		return s.Missing(ctx, name)
	}
	if hint, unknown := kinds.Unknown(kind); unknown {
		return fmt.Sprintf("%s has no kind %s%s", kind.GroupVersion(), kind.Kind, hint)
	}
	return fmt.Sprintf("no CustomResourceDefinition %q defines the kind %s; it is picked up when it is created; if its plural is another one, say so in spec.crd.plural", name, kind.Kind)
}

// OfKubernetes gives the kind of others that a box names as the CRD that would define it, where it comes with Kubernetes under the plural that
// the box names; nil: it does not.
func OfKubernetes(box *v1alpha1.OperatorBox) *apiextensionsv1.CustomResourceDefinition {
	kind := Others(box)
	known := kinds.Schema(kind)
	if kind.Empty() || known == nil || OthersName(box) != (schema.GroupResource{Group: kind.Group, Resource: usualPlural(kind)}).String() {
		return nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: OthersName(box), UID: "kubernetes", Generation: 1}}
	crd.Spec.Group = kind.Group
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: usualPlural(kind), Kind: kind.Kind}
	crd.Spec.Scope = apiextensionsv1.NamespaceScoped
	if check.Scope(kind, nil) == meta.RESTScopeNameRoot {
		crd.Spec.Scope = apiextensionsv1.ClusterScoped
	}
	version := apiextensionsv1.CustomResourceDefinitionVersion{Name: kind.Version, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: known}}
	if _, has := known.Properties["status"]; has {
		version.Subresources = &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}}
	}
	crd.Spec.Versions = []apiextensionsv1.CustomResourceDefinitionVersion{version}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue}}
	return crd
}
