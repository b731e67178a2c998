package pipeline

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestWhatIsSaidOfAVolumeClaimThatCannotBeChanged(t *testing.T) {
	size := drift.Difference{Path: "spec.resources.requests.storage", Live: "1Gi", Wanted: "500Mi"}
	mode := drift.Difference{Path: "spec.volumeMode", Live: "Block", Wanted: "Filesystem"}
	const (
		ofSize    = `PersistentVolumeClaim "shop": spec.resources.requests.storage can't be changed from "1Gi" to "500Mi"; `
		ofMode    = `PersistentVolumeClaim "shop": spec.volumeMode can't be changed from "Block" to "Filesystem"; `
		otherName = "a PersistentVolumeClaim holds data and is never replaced: give it another name"
	)
	for name, tc := range map[string]struct {
		phase string
		field drift.Difference
		want  string
	}{
		"the size of one that has no volume yet": {"Pending", size, ofSize +
			"the claim is Pending and holds no data yet: delete it to have it made again, or wait until it is Bound to let it grow"},
		"another field of one that has no volume yet": {"Pending", mode, ofMode +
			"the claim is Pending and holds no data yet: delete it to have it made again, or give it another name"},
		"a smaller size": {"Bound", size, ofSize +
			"a volume never gets smaller: declare at least the size that it has, or give the claim another name"},
		"another field":              {"Bound", mode, ofMode + otherName},
		"one that lost its volume":   {"Lost", size, ofSize + otherName},
		"one of which nothing known": {"", mode, ofMode + otherName},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			world := newPorts()
			world.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
				live := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": tc.phase}}}
				return apply.Outcome{}, &apply.ImmutableError{Live: live, Fields: []drift.Difference{tc.field}}
			}
			_, err := world.run(planOf(t, "onReconcile: {pvcs: [{storage: 500Mi}]}"), website(t, `{image: a}`))
			expectStep(g, err, stage.StepOnReconcile, Refused, v1alpha1.ReasonInvalidChild)
			g.Expect(err).To(gomega.MatchError(gomega.HaveSuffix(tc.want)))
		})
	}
}

func TestAClaimThatItsStorageClassDoesNotLetGrowSaysWhatToDo(t *testing.T) {
	const advice = `onReconcile: applying PersistentVolumeClaim "shop": it can't grow: set allowVolumeExpansion: true on its StorageClass, or give the claim another name`
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "shop",
		errors.New("only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"))
	webhook := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "shop", fmt.Errorf("admission webhook \"x\" denied the request: %w", denied))
	other := apierrors.NewForbidden(schema.GroupResource{Resource: "persistentvolumeclaims"}, "shop", errors.New("not on Fridays"))
	for name, tc := range map[string]struct {
		box    string
		denial error
		want   string
	}{
		"what to do": {`pvcs: [{storage: 1Gi}]`, denied, advice},
		"where its words may quote a Secret": {
			`secrets: [{id: token, data: {a: b}}], pvcs: [{storage: "{{ len .children.token.data.a }}Gi"}]`, denied, advice,
		},
		"not where something else denies it": {`pvcs: [{storage: 1Gi}]`, other, "not on Fridays"},
		"not where a webhook quotes it":      {`pvcs: [{storage: 1Gi}]`, webhook, "must support resize"},
		"not of another kind":                {`services: [{selector: {}}]`, denied, "must support resize"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			world := newPorts()
			made := world.apply
			world.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				if child.Object.GetKind() == compile.SecretKind.Kind {
					return made(ctx, owner, child)
				}
				return apply.Outcome{}, tc.denial
			}
			world.kinds = func() []schema.GroupVersionKind { return append(world.allKinds(), compile.SecretKind) }
			_, err := world.run(planOf(t, "onReconcile: {"+tc.box+"}"), website(t, `{image: a}`))
			expectStep(g, err, stage.StepOnReconcile, Refused, v1alpha1.ReasonAdmissionDenied)
			g.Expect(err).To(gomega.MatchError(gomega.HaveSuffix(tc.want)))
		})
	}
}
