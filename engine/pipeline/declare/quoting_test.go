package declare

import (
	"fmt"
	"strings"
	"testing"

	"github.com/onsi/gomega"
)

// A chain of many must not take ever longer: to look through all of them again for each would not end here.
func TestQuotedAlongAChain(t *testing.T) {
	g := gomega.NewWithT(t)
	const many = 3000
	var box strings.Builder
	box.WriteString("onReconcile:\n  secrets: [{id: c0, name: hidden}]\n  configmaps:\n  - {id: open, name: open}\n")
	for i := many; i > 0; i-- {
		fmt.Fprintf(&box, "  - {id: c%d, name: c%d, data: {of: '{{ .children.c%d.metadata.name }}'}}\n", i, i, i-1)
	}
	declared := compiled(t, box.String())
	g.Expect(declared.Of(fmt.Sprintf("c%d", many)).Quoted).To(gomega.BeFalse())
	g.Expect(declared.Of("open").Quoted).To(gomega.BeTrue())
}
