package pipeline

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

var gadgetKind = schema.GroupVersionKind{Group: "test.example.com", Version: "v1", Kind: "Gadget"}

// withGadgets knows the schema of a custom child kind.
func withGadgets(t *testing.T) *ports {
	t.Helper()
	var props apiextensionsv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict([]byte(`{type: object, properties: {spec: {type: object, properties: {
		size: {type: integer}, name: {type: string}, enabled: {type: boolean}, list: {type: array, items: {type: integer}}}}}}`), &props); err != nil {
		t.Fatal(err)
	}
	p := newPorts()
	p.schemas = map[schema.GroupVersionKind]*apiextensionsv1.JSONSchemaProps{gadgetKind: &props}
	p.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "creds", map[string]any{"data": map[string]any{"word": "aHVudGVyMg=="}})}
	return p
}

const gadget = `
cross: [{name: s, apiVersion: v1, kind: Secret, selector: {name: creds}}]
onReconcile: {resources: [{manifest: {apiVersion: test.example.com/v1, kind: Gadget, spec: `

func TestCustomKindsGetTheTypesOfTheirSchema(t *testing.T) {
	g := gomega.NewWithT(t)
	p := withGadgets(t)
	_, err := p.run(planOf(t, gadget+`{size: "{{ .spec.host }}", name: "{{ .spec.replicas }}", enabled: "true", list: ["{{ .spec.host }}", 2]}}}]}`),
		website(t, `{host: "13", replicas: 3}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children[0].Object["spec"]).To(gomega.Equal(map[string]any{"size": int64(13), "name": "3", "enabled": true, "list": []any{int64(13), int64(2)}}))
}

func TestACustomKindThatDoesNotFitItsSchema(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"shows the value":              {`{list: [1, "{{ .spec.host }}"]}`, `manifest.spec.list[1]: wanted integer, got string "many"`},
		"shows nothing that is secret": {`{size: "{{ .cross.s.data.word }}"}`, `manifest.spec.size: does not fit the schema of Gadget; what stands there is not shown`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := withGadgets(t).run(planOf(t, gadget+tc.spec+`}}]}`), website(t, `{host: many}`))
			expectStep(g, err, stage.StepOnReconcile, Permanent, v1alpha1.ReasonTemplateError)
			g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring(tc.want), gomega.Not(gomega.ContainSubstring("hunter2"))))
		})
	}
}

// The answers of an API server that may quote the object: by server-side apply with 500, by admission with 403, and by validation.
func TestNoAnswerQuotesWhatASecretHolds(t *testing.T) {
	status := func(code int32, reason metav1.StatusReason, message string) error {
		return answer(code, reason, message)
	}
	hook := func(reason metav1.StatusReason, words string, causes ...metav1.StatusCause) error {
		return answer(http.StatusForbidden, reason, `admission webhook "a.example.com" denied the request: `+words, causes...)
	}
	for name, tc := range map[string]struct {
		answer error
		class  Class
		reason string
		shows  string
	}{
		"another type": {
			status(http.StatusInternalServerError, metav1.StatusReasonUnknown, "failed to create typed patch object (a/b; v1, Kind=X): .spec.flag: expected boolean, got &{hunter2}"),
			Refused, v1alpha1.ReasonInvalidChild, "not shown",
		},
		"admission":  {status(http.StatusForbidden, metav1.StatusReasonForbidden, `policy "p" denied request: data.a is hunter2`), Refused, v1alpha1.ReasonAdmissionDenied, "not shown"},
		"a bug":      {status(http.StatusInternalServerError, metav1.StatusReasonInternalError, "hunter2 broke it"), Transient, "", "not shown"},
		"a conflict": {status(http.StatusConflict, metav1.StatusReasonConflict, "the object has been modified"), Transient, "", "has been modified"},
		"no right": {
			status(http.StatusForbidden, metav1.StatusReasonForbidden, `secrets "x" is forbidden: User "u" cannot patch resource "secrets" in API group "" in the namespace "n"`), Permission, v1alpha1.ReasonForbidden, "cannot patch",
		},
		"quota":                      {status(http.StatusForbidden, metav1.StatusReasonForbidden, `secrets "x" is forbidden: exceeded quota: none`), Transient, "", "exceeded quota"},
		"a webhook that says cannot": {hook(metav1.StatusReasonForbidden, "hunter2 cannot be used"), Refused, v1alpha1.ReasonAdmissionDenied, "not shown"},
		"a webhook that talks like the authorizer": {
			hook(metav1.StatusReasonForbidden, `hunter2: secrets "x" is forbidden: User "u" cannot patch resource "secrets" in API group "" in the namespace "n"`), Refused, v1alpha1.ReasonAdmissionDenied, "not shown",
		},
		"a webhook that says quota": {hook(metav1.StatusReasonForbidden, "exceeded quota: hunter2"), Refused, v1alpha1.ReasonAdmissionDenied, "not shown"},
		"a webhook that says that the namespace goes": {
			hook(metav1.StatusReasonForbidden, "hunter2", metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}), Refused, v1alpha1.ReasonAdmissionDenied, "not shown",
		},
		"a webhook that names a place":     {hook(metav1.StatusReasonForbidden, "no", metav1.StatusCause{Field: "data.a is hunter2"}), Refused, v1alpha1.ReasonAdmissionDenied, "not shown"},
		"a webhook that speaks of storage": {hook(metav1.StatusReasonConflict, "hunter2"), Transient, "", "not shown"},
		"a policy that says unauthorized": {
			status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, `secrets "x" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: hunter2`), Transient, "", "not shown",
		},
		"no answer of an API server": {errors.New("connection refused"), Transient, "", "connection refused"},
	} {
		for group, box := range map[string]string{
			stage.StepOnReconcile: copies,
			stage.StepDeletion:    `onDelete: {configmaps: [{data: {a: "{{ .children.secret.data.word }}"}}]}` + "\n" + `onReconcile: {secrets: [{name: kept, data: {word: x}}]}`,
		} {
			t.Run(group+": "+name, func(t *testing.T) {
				g := gomega.NewWithT(t)
				p := withGadgets(t)
				stored := website(t, "")
				if group == stage.StepDeletion {
					p.put(compile.SecretKind, "kept", "secrets/kept", func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"word": "hunter2"} })
					p.kinds = func() []schema.GroupVersionKind { return []schema.GroupVersionKind{compile.SecretKind, configMapKind} }
					stored.SetDeletionTimestamp(&metav1.Time{Time: now})
					stored.SetFinalizers([]string{v1alpha1.Finalizer})
				}
				p.apply = func(context.Context, apply.Owner, apply.Child) (apply.Outcome, error) {
					return apply.Outcome{}, tc.answer
				}
				_, err := p.run(planOf(t, box), stored)
				expectStep(g, err, group, tc.class, tc.reason)
				g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring(tc.shows), gomega.Not(gomega.ContainSubstring("hunter2"))))
			})
		}
	}
}

func TestACrossSourceGivesALimitedNumberOfObjects(t *testing.T) {
	g := gomega.NewWithT(t)
	p := withDatabase()
	for i := range 1001 {
		p.others = append(p.others, database("team-a", "db-"+string(rune('a'+i%26))+string(rune('a'+i/26)), "x", nil))
	}
	_, err := p.run(planOf(t, `cross: [{name: dbs, box: database}]`), website(t, ""))
	expectStep(g, err, stage.StepCross, Permanent, v1alpha1.ReasonBudgetExceeded)
	g.Expect(err.Error()).To(gomega.ContainSubstring("dbs: selects 1001 objects; at most 1000 can be read: select fewer by matchLabels"))
}
