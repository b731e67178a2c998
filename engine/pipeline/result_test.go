package pipeline

import (
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestTemplatesThatGoOverTheirLimits(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `onReconcile: {configmaps: [{data: {a: "{{ repeat 999999 .spec.host }}"}}]}`)
	_, err := newPorts().run(plan, website(t, "{host: "+strings.Repeat("x", 100)+"}"))
	expectStep(g, err, stage.StepOnReconcile, stage.Permanent, v1alpha1.ReasonBudgetExceeded)
}

// classFor is the class of an error of a resource's own data.
func classFor(reason string) stage.Class {
	if reason == v1alpha1.ReasonDuplicateChild {
		return stage.Refused
	}
	return stage.Permanent
}
