package files

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/controllers/input"
)

// Files are read in the order given, those of a directory by name, and each once.
func TestFilesAreRead(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.MkdirAll(filepath.Join(dir, "below"), 0o700)).To(Succeed())
	for name, text := range map[string]string{"b.yaml": "name: b", "a.yml": "name: a", "below/c.json": `{"name": "c"}`, "d.txt": "name: d"} {
		g.Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
	}
	names := func(docs []input.Document) string {
		var out []string
		for _, doc := range docs {
			out = append(out, fmt.Sprint(doc.Content["name"]))
		}
		return strings.Join(out, " ")
	}
	for want, args := range map[string][]string{
		"a b":    {dir},
		"b a":    {filepath.Join(dir, "b.yaml"), dir},
		"d":      {filepath.Join(dir, "d.txt")},
		"in a b": {Stdin, dir},
		"in b":   {Stdin, filepath.Join(dir, "b.yaml"), dir + "/./b.yaml", Stdin},
	} {
		docs, err := Read(args, false, strings.NewReader("name: in"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(names(docs)).To(Equal(want))
	}
	docs, err := Read([]string{dir}, true, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(names(docs)).To(Equal("a b c"))
	_, err = Read([]string{filepath.Join(dir, "none")}, false, nil)
	g.Expect(err).To(MatchError(os.ErrNotExist))
	g.Expect(Spoken([]string{"a", Stdin})).To(Equal("a, standard input"))
}
