package settle

import (
	"testing"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/pipeline/declare"
)

// The error about a status that can't be read quotes it.
func TestAStatusThatCannotBeReadIsNotQuoted(t *testing.T) {
	g := gomega.NewWithT(t)
	child := &unstructured.Unstructured{Object: map[string]any{"kind": "Gadget", "status": map[string]any{"observedGeneration": "hunter2"}}}
	child.SetGeneration(1)
	_, why := Why(&declare.Declaration{}, child)
	g.Expect(why).To(gomega.Equal("its status can't be read"))
	_, why = Why(&declare.Declaration{Reads: declare.Reads{Quoted: true}}, child)
	g.Expect(why).To(gomega.ContainSubstring("hunter2"))
}
