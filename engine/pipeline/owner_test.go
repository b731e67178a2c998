package pipeline

import (
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestNothingThatOnlyWeDeleteIsMadeForAResourceThatIsGone(t *testing.T) {
	const elsewhere = `{onReconcile: {configmaps: [{name: here, data: {a: b}}, {name: there, namespace: other, data: {a: b}}]}}`
	for name, tc := range map[string]struct {
		box   string
		held  bool // before this cycle
		gone  bool
		asked int
		made  []string
	}{
		"a child elsewhere":                 {elsewhere, false, false, 1, []string{"create ConfigMap/here", "create ConfigMap/there"}},
		"a child elsewhere, and it is gone": {elsewhere, false, true, 1, nil},
		"one that was held before":          {elsewhere, true, true, 0, []string{"create ConfigMap/here", "create ConfigMap/there"}},
		"children that name their owner":    {`{onReconcile: {configmaps: [{name: here, data: {a: b}}]}}`, false, true, 0, []string{"create ConfigMap/here"}},
		"a clean-up, so that no child names its owner": {
			`{onReconcile: {configmaps: [{name: here, data: {a: b}}]}, onDelete: {jobs: [{name: bye, image: "alpine:3"}]}}`, false, true, 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			p.gone = tc.gone
			stored := website(t, "")
			if tc.held {
				stored.SetFinalizers([]string{v1alpha1.Finalizer})
			}
			_, err := p.run(planOf(t, tc.box), stored)
			if tc.made == nil {
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("deleted while Orkestra took hold of it")))
			} else {
				g.Expect(err).NotTo(gomega.HaveOccurred())
			}
			g.Expect(p.asked).To(gomega.Equal(tc.asked))
			made := slices.DeleteFunc(p.done(), func(w string) bool { return !strings.HasPrefix(w, "create ") })
			g.Expect(made).To(gomega.ConsistOf(tc.made))
		})
	}
}
