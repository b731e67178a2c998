package main

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
)

// Files that would be endless, or huge, when they are read.
func TestFilesThatAreBombs(t *testing.T) {
	const head = "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: x}\n"
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [a, b, c, d, e, f, g, h, i, j]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	for name, tc := range map[string]struct{ file, want string }{
		"a manifest that holds itself": {head + "spec: {crd: {name: a.b.c}, onReconcile: &a {resources: [{manifest: *a}]}}\n", "anchor 'a' value contains itself"},
		"aliases of aliases":           {head + aliases.String(), "it has more than 200000 values, by aliases or as written"},
		"lists in lists":               {head + "spec: " + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "\n", "not YAML: "},
	} {
		for _, command := range [][]string{{"validate", "-f", "-"}, {"render", "-f", "-", "-r", "render/testdata/flowers.yaml"}, {"import", "-f", "-"}} {
			t.Run(command[0]+": "+name, func(t *testing.T) {
				g := NewWithT(t)
				stdout, stderr, code := orkestra(t, tc.file, command...)
				g.Expect(code).To(Equal(exit.No))
				g.Expect(stdout + stderr).To(ContainSubstring(tc.want))
			})
		}
	}
}
