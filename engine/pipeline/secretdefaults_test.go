package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// withSecretPort gives ports to a world where a Secret holds a port.
func withSecretPort() *ports {
	p := newPorts()
	p.others = []*unstructured.Unstructured{secret("team-a", "creds", map[string]string{"port": "4711"})}
	return p
}

const secretPort = `
cross: [{name: creds, apiVersion: v1, kind: Secret, selector: {name: creds}}]
onReconcile:
  deployments: [{image: a, port: "{{ .cross.creds.data.port | b64dec | int }}"}]
  services: [{}]
  ingresses: [{host: example.com}]
`

func TestDefaultsFollowAPortThatASecretHolds(t *testing.T) {
	g := gomega.NewWithT(t)
	p := withSecretPort()
	_, err := p.run(planOf(t, secretPort), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	found := 0
	for _, c := range p.children {
		switch c.GetKind() {
		case "Service":
			list, _, _ := unstructured.NestedSlice(c.Object, "spec", "ports")
			g.Expect(list).To(gomega.ConsistOf(gomega.HaveKeyWithValue("port", int64(4711))))
			found++
		case "Ingress":
			rules, _, _ := unstructured.NestedSlice(c.Object, "spec", "rules")
			g.Expect(rules).To(gomega.HaveLen(1))
			paths, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "http", "paths")
			number, _, _ := unstructured.NestedInt64(paths[0].(map[string]any), "backend", "service", "port", "number")
			g.Expect(number).To(gomega.Equal(int64(4711)))
			found++
		default: // what the port comes from
		}
	}
	g.Expect(found).To(gomega.Equal(2))
}

func TestARefusalOfWhatTakesADefaultFromASecretQuotesNothing(t *testing.T) {
	for name, tc := range map[string]struct{ box, refused, step string }{
		"the Service of a workload":                {secretPort, "Service", stage.StepOnReconcile},
		"the Ingress of that Service":              {secretPort, "Ingress", stage.StepOnReconcile},
		"the Ingress of a Service in a later step": {strings.Replace(secretPort, "  ingresses:", "onCreate:\n  ingresses:", 1), "Ingress", stage.StepOnCreate},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := withSecretPort()
			p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
				if child.Object.GetKind() != tc.refused {
					return p.applyChild(ctx, owner, child)
				}
				return apply.Outcome{}, apierrors.NewInvalid(child.Object.GroupVersionKind().GroupKind(), "shop",
					field.ErrorList{field.Invalid(field.NewPath("spec", "port"), 4711, "taken")})
			}
			_, err := p.run(planOf(t, tc.box), website(t, ""))
			expectStep(g, err, tc.step, Refused, v1alpha1.ReasonInvalidChild)
			g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring("spec.port"), gomega.Not(gomega.ContainSubstring("4711"))))
		})
	}
}

func TestFailShowsNothingThatASecretHolds(t *testing.T) {
	const cross = "cross: [{name: creds, apiVersion: v1, kind: Secret, selector: {name: creds}}]\n"
	for name, tc := range map[string]struct{ box, want string }{
		"of content that reads a Secret": {
			cross + `onReconcile: {configmaps: [{data: {a: "{{ fail .cross.creds.data.port }}"}}]}`,
			"onReconcile: configmaps: the template fails; its message is not shown, because it reads a Secret"},
		"of a port that a default is taken from": {
			cross + `onReconcile: {deployments: [{image: a, port: "{{ fail .cross.creds.data.port }}"}], services: [{}]}`,
			"onReconcile: services: the template fails; its message is not shown, because it reads a Secret"},
		"of clean-up": {
			cross + `onDelete: {configmaps: [{id: bye, name: bye, data: {a: "{{ fail (toJson .children) }}"}}]}`,
			"deletion: bye: the template fails; its message is not shown, because it reads a Secret"},
		"of what reads no Secret": {
			`onReconcile: {configmaps: [{data: {a: "{{ fail .metadata.name }}"}}]}`,
			`onReconcile: configmaps: data.a: evaluating {{ fail .metadata.name }}: fail: shop`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			stored := website(t, "")
			if name == "of clean-up" {
				stored = deleted(t, v1alpha1.Finalizer)
			}
			_, err := withSecretPort().run(planOf(t, tc.box), stored)
			g.Expect(err).To(gomega.MatchError(tc.want))
			g.Expect(AsStepError(err).Reason).To(gomega.Equal(v1alpha1.ReasonTemplateError))
			g.Expect(AsStepError(err).Class).To(gomega.Equal(Permanent))
		})
	}
}
