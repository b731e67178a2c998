package pipeline

import (
	"context"
	"errors"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/drift"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestWhatIsSaidOfAFieldThatCannotBeChanged(t *testing.T) {
	const orReplace = "; set replace: true to delete the Service and make it again, or give it another name"
	from := func(path string, live, wanted any) []drift.Difference {
		return []drift.Difference{{Path: path, Live: live, Wanted: wanted}}
	}
	secretWords := apierrors.NewInvalid(serviceKind.GroupKind(), "shop", field.ErrorList{field.Invalid(field.NewPath("spec", "x"), "hidden", "no")})
	for name, tc := range map[string]struct {
		box    string
		fields []drift.Difference
		kept   error
		want   string
	}{
		"from what to what": {
			`services: [{selector: {a: "{{ .spec.image }}"}}]`, from("spec.clusterIP", "None", drift.InWords("an address")), nil,
			`Service "shop": spec.clusterIP can't be changed from "None" to an address` + orReplace,
		},
		"values that are no text": {
			`services: [{selector: {}}]`, from("spec.a", int64(1), true), nil, `spec.a can't be changed from 1 to true` + orReplace,
		},
		"nothing but the place of what is more than one value": {
			`services: [{selector: {}}]`, from("spec.a", map[string]any{"b": "c"}, nil), nil, `spec.a can't be changed` + orReplace,
		},
		"three, and how many more": {
			`services: [{selector: {}}]`, []drift.Difference{{Path: "a"}, {Path: "b"}, {Path: "c"}, {Path: "d"}, {Path: "e"}}, nil,
			`Service "shop": a can't be changed, b can't be changed, c can't be changed, and 2 more` + orReplace,
		},
		"what a pod template holds, but for the image": {
			`deployments: [{image: a}]`, []drift.Difference{
				{Path: "spec.template.spec.containers[name=main].env[name=TOKEN].value", Live: "hidden", Wanted: "hidden"},
				{Path: "spec.template.spec.containers[name=main].image", Live: "a", Wanted: "b"},
			}, nil,
			`spec.template.spec.containers[name=main].env[name=TOKEN].value can't be changed, spec.template.spec.containers[name=main].image can't be changed from "a" to "b"; set`,
		},
		"content": {`configmaps: [{data: {a: b}}]`, from("data.a", "hidden", "hidden"), nil, `data.a can't be changed; set`},
		"a template that reads a Secret": {
			`secrets: [{id: token, data: {a: b}}], services: [{selector: {a: "{{ .children.token.data.a }}"}}]`, from("spec.selector.a", "hidden", "hidden"), nil,
			`spec.selector.a can't be changed` + orReplace,
		},
		"a template that reads what others hold": {
			`configmaps: [{id: other, data: {a: b}}], services: [{selector: {a: "{{ .children.other.data.a }}"}}]`, from("spec.selector.a", "hidden", "hidden"), nil,
			`spec.selector.a can't be changed` + orReplace,
		},
		"a kind that is not known: nobody can tell what its live fields came from": {
			`resources: [{manifest: {apiVersion: demo.example.com/v1, kind: Shop, metadata: {name: shop}, spec: {a: "{{ .spec.image }}"}}}]`, from("spec.a", "hidden", "b"), nil,
			`Shop "shop": spec.a can't be changed to "b"; set replace: true to delete the Shop and make it again, or give it another name`,
		},
		"what is never replaced": {
			`pvcs: [{storage: 1Gi}]`, from("spec.volumeMode", "Block", "Filesystem"), nil,
			`spec.volumeMode can't be changed from "Block" to "Filesystem"; a PersistentVolumeClaim holds data and is never replaced: give it another name`,
		},
		"why it is kept": {
			`services: [{selector: {}, replace: true}]`, from("spec.a", nil, nil), errors.New("it could not be made again: no"),
			`spec.a can't be changed; it is not replaced: it could not be made again: no`,
		},
		"why it is kept, without words that may quote a Secret": {
			`secrets: [{id: token, data: {a: b}}], services: [{selector: {a: "{{ .children.token.data.a }}"}, replace: true}]`, from("spec.a", nil, nil), secretWords,
			`it is not replaced: Service "shop": the API server refuses it: spec.x (FieldValueInvalid); its words are not shown`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			world := newPorts()
			plan, stored := planOf(t, "onReconcile: {"+tc.box+"}"), website(t, `{image: a}`)
			apply0 := world.apply
			world.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				if child.Object.GetKind() == "Secret" || child.ID == "other" {
					return apply0(ctx, owner, child)
				}
				return apply.Outcome{}, &apply.ImmutableError{Live: &unstructured.Unstructured{}, Fields: tc.fields, Kept: tc.kept}
			}
			world.kinds = func() []schema.GroupVersionKind { return append(world.allKinds(), compile.SecretKind) }
			_, err := world.run(plan, stored)
			expectStep(g, err, stage.StepOnReconcile, Refused, v1alpha1.ReasonInvalidChild)
			g.Expect(err.Error()).To(gomega.ContainSubstring(tc.want))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hidden"))
		})
	}
}

func TestAReplacedChildIsWaitedFor(t *testing.T) {
	for _, group := range []string{stage.StepOnCreate, stage.StepOnReconcile} {
		t.Run(group, func(t *testing.T) {
			g := gomega.NewWithT(t)
			world := newPorts()
			stored := website(t, `{image: a}`)
			plan := planOf(t, group+`: {services: [{reconcile: true, replace: true, headless: true, selector: {}}]}`)
			var asked apply.Child
			world.apply = func(_ context.Context, _ apply.Owner, child apply.Child) (apply.Outcome, error) {
				asked = child
				return apply.Outcome{Action: apply.Replaced, Object: child.Object}, nil
			}
			r, err := world.run(plan, stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(asked.Replace).To(gomega.BeTrue())
			g.Expect(asked.Leftovers).To(gomega.BeEmpty(), "it is headless")
			g.Expect(r.Waits).To(gomega.Equal([]stage.Wait{{Reason: v1alpha1.ReasonChildTerminating, Message: `Service "shop" is deleted, to be made again with what is declared now`, Of: "services"}}))
			g.Expect(r.Writes).To(gomega.Equal([]stage.Written{{Kind: serviceKind.Kind, Name: "shop", Action: apply.Replaced}}))
			_, active := r.Stored.GetAnnotations()[v1alpha1.AnnotationActiveSince]
			g.Expect(active).To(gomega.Equal(group == stage.StepOnReconcile), "what is made on creation must be there first")
		})
	}
}

// Other kinds that are never replaced are among TestMistakes: this one needs the operator's leave.
func TestACRDIsNeverReplaced(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, `onReconcile: {resources: [{replace: true, manifest: {
		apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: "{{ .metadata.namespace }}.example.com"}}}]}`)
	_, errs := Compile(box, Env{CRD: websites(t), Mapper: stubMapper(), AllowGrantingKinds: true})
	g.Expect(messages(errs)).To(gomega.Equal([]string{
		"spec.onReconcile.resources[0].replace: Forbidden: all resources of a CustomResourceDefinition would go with it, so that it is never replaced; remove replace",
	}))
}
