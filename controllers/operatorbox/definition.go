package operatorbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/check"
)

// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,verbs=create;patch;delete

// installer makes the CRDs that boxes define, changes them, and removes them.
type installer struct{ Ports }

// install makes the CRD of a box's definition, or brings it up to date. ok is false when that is refused; the scope says why.
func (i *installer) install(ctx context.Context, s *scope) (ok bool, err error) {
	box := s.box
	wanted, errs := boxspec.Definition(box)
	if len(errs) > 0 {
		s.wrongDefinition(errs)
		return false, nil
	}
	if s.crdName != wanted.Name {
		if err := i.rename(ctx, s, wanted.Name); err != nil || s.reason != "" {
			return false, err
		}
	}
	if err := check.DefinitionGrants(box, wanted); err != nil && !i.Compiler.AllowGrantingKinds {
		s.wrongDefinition(field.ErrorList{err})
		return false, nil
	}
	live, err := i.CRDs.FindLive(ctx, box.Name, wanted.Name) // a CRD that somebody has just made may not be in the cache, and is not ours
	if err != nil {
		return false, err
	}
	if live != nil {
		if reason, message := refuse(box, live, wanted); reason != "" {
			s.noCRD(health.Pending, reason, message)
			return false, nil
		}
	}
	if !i.Engine.Leading() {
		return true, nil
	}
	obj, err := definedObject(box, live, wanted)
	if err != nil || sameCRD(live, wanted, obj) {
		return err == nil, err
	}
	if problem := s.account.problem; problem.Reason != "" {
		s.noCRD(health.Pending, problem.Reason, "crd.definition is installed and changed as the box's account: "+problem.Message)
		return false, nil
	}
	if ok, err := i.fits(ctx, s, wanted); err != nil || !ok {
		return false, err
	}
	err = i.apply(ctx, s, live, obj)
	if apierrors.IsInvalid(err) || apierrors.IsConflict(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) && !s.account.IsManager() {
		s.noCRD(health.Pending, v1alpha1.ReasonCRDRefused, refusal(err))
		s.requeueAfter = access.RetryInterval
		return false, nil
	}
	// The cache may still show the version of before the apply. The next step compiles, and must read what was just applied.
	i.CRDs.Forget(box.Name)
	return err == nil, err
}

// rename lets a box define a CRD of another name once the one that it installed is gone. While that exists, the change is refused: nobody
// would serve its resources any more.
func (i *installer) rename(ctx context.Context, s *scope, name string) error {
	_, err := i.CRDs.Find(ctx, s.box.Name, s.crdName)
	switch {
	case apierrors.IsNotFound(err):
		s.crdName = name
		s.box.Status.CRD = v1alpha1.CRDStatus{} // it speaks of the former one, its version too
		return nil
	case err != nil:
		return err
	}
	s.noCRD(health.Pending, v1alpha1.ReasonCRDRefused, fmt.Sprintf(
		"crd.definition changes the name of the CRD from %q to %q; make another box for the new one, or delete the old one first", s.crdName, name))
	return nil
}

// wrongDefinition says what is wrong with the CRD that a box defines, or with the box for that CRD.
func (s *scope) wrongDefinition(errs field.ErrorList) {
	s.errors = errs
	s.noCRD(health.Pending, v1alpha1.ReasonCompileFailed, words.Mistakes(errs))
}

// madeBy says whether a box installed a CRD, or adopted it. Where somebody took the label off, the status of the box tells.
func madeBy(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) bool {
	owner := live.Labels[v1alpha1.LabelBox]
	served := box.Status.CRD.Name == live.Name && box.Status.CRD.Version != ""
	return managedByUs(live) && (owner == box.Name || owner == "" && served)
}

// refusal gives the API server's message, with the field paths of the box in place of those of the CRD.
func refusal(err error) string {
	var status apierrors.APIStatus
	if apierrors.IsConflict(err) {
		return err.Error() + "; crd.definition is never forced: write there what the others want, or have them give the fields up"
	}
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return err.Error()
	}
	var texts []string
	for _, cause := range status.Status().Details.Causes {
		where, _ := boxspec.DefinitionPath(cause.Field)
		texts = append(texts, where+": "+cause.Message)
	}
	slices.Sort(texts)
	return strings.Join(slices.Compact(texts), "; ")
}

// refuse says why an existing CRD may not be changed to what is wanted; an empty reason: it may.
func refuse(box *v1alpha1.OperatorBox, live, wanted *apiextensionsv1.CustomResourceDefinition) (reason, message string) {
	if !madeBy(box, live) && (box.Spec.CRD.Adopt != v1alpha1.AdoptIfUnowned || live.Labels[v1alpha1.LabelBox] != "" || metav1.GetControllerOf(live) != nil) {
		return v1alpha1.ReasonCRDNotOwned, fmt.Sprintf(
			"CustomResourceDefinition %q exists and this box did not make it: name it with crd.name, or set crd.adopt: IfUnowned if nothing controls it", live.Name)
	}
	for _, stored := range live.Status.StoredVersions {
		if !slices.ContainsFunc(wanted.Spec.Versions, func(w apiextensionsv1.CustomResourceDefinitionVersion) bool { return w.Name == stored }) {
			return v1alpha1.ReasonCRDRefused, fmt.Sprintf(
				"crd.definition drops version %q, in which resources may be stored; keep it with served: false until status.storedVersions no longer lists it", stored)
		}
	}
	if live.Spec.Scope != wanted.Spec.Scope {
		return v1alpha1.ReasonCRDRefused, fmt.Sprintf("crd.definition changes scope from %s to %s, which Kubernetes does not allow", live.Spec.Scope, wanted.Spec.Scope)
	}
	if live.Spec.Names.Kind != wanted.Spec.Names.Kind {
		return v1alpha1.ReasonCRDRefused, fmt.Sprintf("crd.definition changes the kind from %s to %s; make another box for the new kind", live.Spec.Names.Kind, wanted.Spec.Names.Kind)
	}
	return "", ""
}

func managedByUs(crd *apiextensionsv1.CustomResourceDefinition) bool {
	return slices.ContainsFunc(crd.ManagedFields, func(e metav1.ManagedFieldsEntry) bool { return e.Manager == v1alpha1.FieldManager })
}

// fits says whether the box compiles against the CRD that it defines, and whether its account has the rights that it needs; the scope says
// what does not. A schema that its own box does not fit must not be installed: fields that it no longer has would be dropped from every
// resource.
func (i *installer) fits(ctx context.Context, s *scope, wanted *apiextensionsv1.CustomResourceDefinition) (bool, error) {
	picked, ok := crds.OwnVersion(s.box, wanted)
	if !ok {
		s.noCRD(health.Pending, v1alpha1.ReasonCRDVersionNotServed, crds.NotServed(s.box, wanted))
		return false, nil
	}
	plan, errs := pipeline.Compile(s.box, i.Compiler.Env(ctx, s.box, picked))
	if len(errs) > 0 {
		s.wrongDefinition(errs)
		return false, nil
	}
	if s.account.IsManager() {
		return true, nil // it may install CRDs, and whatever else it lacks is found when the plan is to run
	}
	missing, err := i.missing(ctx, s.account.run(plan))
	if err != nil || len(missing) == 0 {
		return err == nil, err
	}
	s.lacks(missing)
	s.noCRD(health.Pending, v1alpha1.ReasonForbidden, access.Sentence(missing...))
	return false, nil
}

// definedObject is the CRD of a definition as it is applied. A CRD that the box makes has an annotation that says so; one that it adopts
// has none, and is never deleted with the box.
func definedObject(box *v1alpha1.OperatorBox, live, wanted *apiextensionsv1.CustomResourceDefinition) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, fmt.Errorf("encoding crd.definition: %w", err)
	}
	obj := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(obj.Object, "status")
	unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
	obj.SetLabels(map[string]string{v1alpha1.LabelBox: box.Name, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue})
	annotations := map[string]string{v1alpha1.AnnotationApplied: drift.Hash(obj)}
	if live == nil || installedBy(box, live) {
		annotations[v1alpha1.AnnotationInstalledBy] = box.Name
	}
	obj.SetAnnotations(annotations)
	return obj, nil
}

// sameCRD says whether the CRD is as it was last applied, and nothing is to be sent.
func sameCRD(live, wanted *apiextensionsv1.CustomResourceDefinition, obj *unstructured.Unstructured) bool {
	return live != nil && live.Annotations[v1alpha1.AnnotationApplied] == obj.GetAnnotations()[v1alpha1.AnnotationApplied] &&
		equality.Semantic.DeepDerivative(wanted.Spec, live.Spec)
}

// apply writes the CRD by server-side apply. It is never forced: the fields that others own, such as a CA bundle, are theirs. The UID keeps
// it from making a CRD anew that was deleted meanwhile.
func (i *installer) apply(ctx context.Context, s *scope, live *apiextensionsv1.CustomResourceDefinition, obj *unstructured.Unstructured) error {
	writer, err := i.writer(s)
	if err != nil {
		return err
	}
	if live != nil {
		obj.SetUID(live.UID)
	}
	if err := writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("applying CustomResourceDefinition %q: %w", obj.GetName(), err)
	}
	return nil
}

// writer gives the client that writes the CRD of a box: it acts as the box does.
func (i *installer) writer(s *scope) (client.Client, error) {
	if s.account.IsManager() {
		return i.Client, nil
	}
	writer, err := i.As(s.account.Account, s.box.Name)
	if err != nil {
		return nil, fmt.Errorf("making a client for %s: %w", s.account.Account, err)
	}
	return writer, nil
}

// remove deletes the CRD that a deleted box installed, where it asks for that, and says what it waits for; empty: nothing is left of it. The
// account is needed only where there is a CRD to delete: a box whose CRD was never installed goes without it.
func (i *installer) remove(ctx context.Context, s *scope) (waits string, err error) {
	box := s.box
	if box.Spec.CRD.Definition == nil || box.Spec.CRD.DeletionPolicy != v1alpha1.CRDDelete {
		return "", nil
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	err = i.Live.Get(ctx, types.NamespacedName{Name: crds.NameOf(box)}, crd)
	switch {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading CustomResourceDefinition %q: %w", crds.NameOf(box), err)
	case !deletesCRD(box, crd):
		return "", nil // it is not ours to delete
	}
	waits = fmt.Sprintf("waits for CustomResourceDefinition %q to be gone", crd.Name)
	switch {
	case crd.DeletionTimestamp != nil:
		return waits, nil
	case s.account.problem.Reason != "":
		return s.awaitsAccount(), nil
	}
	writer, err := i.writer(s)
	if err != nil {
		return "", err
	}
	err = writer.Delete(ctx, crd, client.Preconditions{UID: &crd.UID, ResourceVersion: &crd.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("deleting CustomResourceDefinition %q: %w", crd.Name, err)
	}
	return waits, nil
}

// deletesCRD says whether the box takes its CRD with it, and the resources: only one that it made itself.
func deletesCRD(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) bool {
	return box.Spec.CRD.Definition != nil && box.Spec.CRD.DeletionPolicy == v1alpha1.CRDDelete && live != nil &&
		live.Labels[v1alpha1.LabelBox] == box.Name && installedBy(box, live)
}

// installedBy says whether a box made a CRD, by what it noted there when it did.
func installedBy(box *v1alpha1.OperatorBox, live *apiextensionsv1.CustomResourceDefinition) bool {
	return live.Annotations[v1alpha1.AnnotationInstalledBy] == box.Name
}
