package pipeline

import (
	"errors"
	"fmt"
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestAnOptionalKindThatIsNotInstalled(t *testing.T) {
	const box = `
onReconcile:
  configmaps: [{name: settings}]
  resources: [{optional: %s, manifest: {apiVersion: monitoring.example.com/v1, kind: Probe, metadata: {name: shop}}}]
`
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "monitoring.example.com", Kind: "Probe"}, SearchedVersions: []string{"v1"}}
	lacks := func(err error) *ports {
		p := newPorts()
		p.namespaced = func(kind schema.GroupVersionKind) (bool, error) {
			if kind.Kind == "Probe" {
				return false, err
			}
			return true, nil
		}
		return p
	}
	for name, optional := range map[string]string{"is left out": "true", "is missed where it is not optional": "false"} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p, plan := lacks(missing), planOf(t, fmt.Sprintf(box, optional))
			r, err := p.run(plan, website(t, ""))
			if optional == "false" {
				expectStep(g, err, stage.StepOnReconcile, Transient, "")
				return
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.ConsistOf("mark Website/shop", "create ConfigMap/settings"))
			g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally(">", now), "it is asked for again")
			g.Expect(r.Waits).To(gomega.BeEmpty())

			p.namespaced = func(schema.GroupVersionKind) (bool, error) { return true, nil }
			_, err = p.run(plan, r.Stored)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(p.done()).To(gomega.ConsistOf("create Probe/shop"))
		})
	}
	t.Run("is not taken for absent when the API server can't be asked", func(t *testing.T) {
		g := gomega.NewWithT(t)
		_, err := lacks(errors.New("no answer")).run(planOf(t, fmt.Sprintf(box, "true")), website(t, ""))
		expectStep(g, err, stage.StepOnReconcile, Transient, "")
		g.Expect(err.Error()).To(gomega.ContainSubstring("no answer"))
	})
}

func TestAnOptionalKindThatIsNotInstalledHoldsNoDeletion(t *testing.T) {
	const box = `
onDelete:
  configmaps: [{name: bye}]
  resources: [{optional: %s, manifest: {apiVersion: monitoring.example.com/v1, kind: Probe, metadata: {name: shop}}}]
`
	for name, tc := range map[string]struct {
		optional string
		err      error
		released bool
	}{
		"is left out":                          {"true", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Probe"}}, true},
		"is missed where it is not optional":   {"false", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "Probe"}}, false},
		"is not taken for absent on any error": {"true", errors.New("no answer"), false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.namespaced = func(kind schema.GroupVersionKind) (bool, error) { return true, onlyOf(kind.Kind == "Probe", tc.err) }
			r, err := p.run(planOf(t, fmt.Sprintf(box, tc.optional)), deleted(t, v1alpha1.Finalizer))
			g.Expect(p.done()).To(gomega.ContainElement("create ConfigMap/bye"), "the others run")
			if !tc.released {
				expectStep(g, err, stage.StepDeletion, Transient, "")
				return
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Waits).To(gomega.BeEmpty())
			g.Expect(r.Released).To(gomega.BeTrue())
		})
	}
}

// onlyOf gives an error where it applies.
func onlyOf(applies bool, err error) error {
	if applies {
		return err
	}
	return nil
}
