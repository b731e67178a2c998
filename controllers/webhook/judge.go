// Package webhook compiles boxes where they are applied. It writes nothing: it refuses the boxes that the manager would refuse to run.
package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/compiler"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/controllers/words"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/provider"
)

// Judge says of boxes whether they compile. It is safe for concurrent use.
type Judge struct {
	// Boxes reads other boxes from a cache.
	Boxes client.Reader
	// Live reads CRDs from the API server: one that was applied a moment before its box counts.
	Live client.Reader
	// Mapper resolves kinds.
	Mapper meta.RESTMapper
	// AllowGrantingKinds lets boxes make kinds that grant rights, as the manager's option does.
	AllowGrantingKinds bool
	// Providers are those that the manager has; nil: that is not known.
	Providers *provider.Registry
	// Restricted says whether the operator names the only hosts that the external calls of a box may reach. nil: of none.
	Restricted func(box *v1alpha1.OperatorBox) bool
}

// verdict is what there is to say of a box.
type verdict struct {
	mistakes field.ErrorList
	notes    []string
}

// Answer answers an admission request. An error is no answer: the failure policy of the configuration decides then.
func (j *Judge) Answer(ctx context.Context, req *admissionv1.AdmissionRequest) (answer *admissionv1.AdmissionResponse, err error) {
	defer func() {
		if p := recover(); p != nil {
			answer, err = nil, fmt.Errorf("compiling OperatorBox %q panicked: %v\n%s", req.Name, p, debug.Stack())
		}
	}()
	answer = &admissionv1.AdmissionResponse{UID: req.UID, Allowed: true}
	box, old := &v1alpha1.OperatorBox{}, &v1alpha1.OperatorBox{}
	if req.Operation != admissionv1.Create && req.Operation != admissionv1.Update {
		return answer, nil
	}
	if err := json.Unmarshal(req.Object.Raw, box); err != nil {
		return nil, fmt.Errorf("reading OperatorBox %q: %w", req.Name, err)
	}
	if req.Operation == admissionv1.Update {
		if err := json.Unmarshal(req.OldObject.Raw, old); err != nil {
			return nil, fmt.Errorf("reading OperatorBox %q as it was: %w", req.Name, err)
		}
		if box.DeletionTimestamp != nil || equality.Semantic.DeepEqual(old.Spec, box.Spec) {
			return answer, nil
		}
	}
	v, err := j.judge(ctx, box)
	if err != nil {
		return nil, fmt.Errorf("compiling OperatorBox %q: %w", req.Name, err)
	}
	answer.Warnings = v.notes
	if len(v.mistakes) > 0 {
		answer.Allowed, answer.Result = false, refusal(req, v.mistakes)
	}
	return answer, nil
}

// refusal is the status with which the API server refuses a box: it has the words of the condition Compiled, and each mistake as a cause.
func refusal(req *admissionv1.AdmissionRequest, mistakes field.ErrorList) *metav1.Status {
	details := &metav1.StatusDetails{Group: v1alpha1.GroupName, Kind: req.Kind.Kind, Name: req.Name}
	for _, e := range mistakes {
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseType(e.Type), Field: e.Field, Message: e.ErrorBody()})
	}
	return &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid, Details: details,
		Message: words.Cut(words.Mistakes(mistakes), words.MaxMessage),
	}
}

// judge compiles a box as the manager will. What the manager waits for is no mistake, and is noted.
func (j *Judge) judge(ctx context.Context, box *v1alpha1.OperatorBox) (verdict, error) {
	// CRDs are kept for this request alone, so that nothing is left of boxes that go.
	store := crds.NewStore(j.Live, j.Live)
	c := &compiler.Compiler{
		Client: j.Boxes, Mapper: j.Mapper, CRDs: store, AllowGrantingKinds: j.AllowGrantingKinds, Providers: j.Providers, Restricted: j.Restricted,
	}
	v := verdict{}
	crd, err := j.crd(ctx, store, box, &v)
	if err != nil || len(v.mistakes) > 0 {
		return v, err
	}
	env := c.Env(ctx, box, crd)
	env.DependsOn = j.dependsOn(ctx)
	plan, mistakes := pipeline.Compile(box, env)
	v.mistakes = mistakes
	if plan != nil {
		v.notes = append(v.notes, plan.Notes...)
	}
	return v, nil
}

// crd gives the CRD that a box serves; none where there is none yet: it is often applied together with the box.
func (j *Judge) crd(ctx context.Context, store *crds.Store, box *v1alpha1.OperatorBox, v *verdict) (pipeline.CRD, error) {
	if box.Spec.CRD.Definition != nil {
		return j.defined(ctx, box, v), nil
	}
	name := crds.NameOf(box)
	live, err := store.Of(ctx, box, name)
	if apierrors.IsNotFound(err) {
		v.notes = append(v.notes, store.MissingOf(ctx, box, name), pathsUnchecked)
		return pipeline.CRD{}, nil
	}
	if err != nil {
		return pipeline.CRD{}, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
	}
	picked, ok := crds.OwnVersion(box, live)
	if !ok {
		v.notes = append(v.notes, crds.NotServed(box, live), pathsUnchecked)
	}
	return picked, nil
}

// pathsUnchecked says what a box is not judged by.
const pathsUnchecked = "until then, paths into resources are not checked"

// defined gives the CRD that a box defines, with what is wrong with it.
func (j *Judge) defined(ctx context.Context, box *v1alpha1.OperatorBox, v *verdict) pipeline.CRD {
	crd, mistakes := boxspec.Definition(box)
	v.mistakes = mistakes
	if len(mistakes) > 0 {
		return pipeline.CRD{}
	}
	v.mistakes = crds.Admitted(ctx, crd)
	if err := check.DefinitionGrants(box, crd); err != nil && !j.AllowGrantingKinds {
		v.mistakes = append(v.mistakes, err)
	}
	picked, ok := crds.OwnVersion(box, crd)
	if !ok {
		v.mistakes = append(v.mistakes, field.Invalid(field.NewPath("spec", "crd", "version"), box.Spec.CRD.Version, crds.NotServed(box, crd)))
	}
	return picked
}

// dependsOn gives what other boxes depend on, so that a ring of dependencies is refused. A box that the manager has refused does not count:
// its spec has no effect.
func (j *Judge) dependsOn(ctx context.Context) func(string) []string {
	return func(name string) []string {
		other := &v1alpha1.OperatorBox{}
		if err := j.Boxes.Get(ctx, types.NamespacedName{Name: name}, other); err != nil {
			return nil // what is not there depends on nothing, and the cache fails in no other way
		}
		compiled := meta.FindStatusCondition(other.Status.Conditions, v1alpha1.ConditionCompiled)
		if compiled != nil && compiled.ObservedGeneration == other.Generation && compiled.Status == metav1.ConditionFalse {
			return nil
		}
		names := make([]string, 0, len(other.Spec.DependsOn))
		for _, d := range other.Spec.DependsOn {
			names = append(names, d.Name)
		}
		return names
	}
}
