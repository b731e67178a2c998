package initialize

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
)

// file is one that is written.
type file struct {
	name string
	text []byte
	mode os.FileMode
}

// Resources may hold what a Secret holds.
const (
	forAll   os.FileMode = 0o644
	forOwner os.FileMode = 0o600
)

// write writes what was made, and to notes what there is to say about it.
func (m *made) write(out, notes io.Writer) error {
	list, err := m.list()
	if err != nil {
		return exit.Failure(err)
	}
	if m.flags.out == "" {
		err = printed(out, list)
	} else {
		err = m.folder(out, list)
	}
	if err != nil {
		return err
	}
	m.Sort(m.files)
	told := m.Told(m.notes, output.Count(len(m.resources), "resource", "resources"))
	if _, err := io.WriteString(notes, told); err != nil {
		return exit.Failure(fmt.Errorf("writing the remarks: %w", err))
	}
	if m.Wrong() > 0 {
		return exit.ErrNo
	}
	return nil
}

// list gives the files, in the order in which they are applied.
func (m *made) list() ([]file, error) {
	var out []file
	seen := map[string]int{}
	for i, o := range m.Objects {
		text, err := (&draft.Draft{Objects: []*draft.Object{o}}).Write()
		if err != nil {
			return nil, err
		}
		switch n := i - (len(m.Objects) - len(m.resources)); {
		case n < 0 && o.Kind() == "OperatorBox":
			out = append(out, file{"box.yaml", text, forAll})
		case n < 0:
			out = append(out, file{"crd.yaml", text, forAll})
			if m.role != nil {
				role, err := (&draft.Draft{Objects: []*draft.Object{{Content: m.role}}}).Write()
				if err != nil {
					return nil, err
				}
				out = append(out, file{"role.yaml", role, forAll})
			}
		default:
			behind := ""
			if len(m.resources) > 1 {
				behind = "-" + o.Name()
			}
			if seen[behind]++; seen[behind] > 1 {
				behind += "-" + strconv.Itoa(seen[behind])
			}
			out = append(out, file{"resource" + behind + ".yaml", text, forOwner})
			if n < len(m.expected) && m.expected[n] != nil {
				out = append(out, file{expected + behind + ".yaml", m.expected[n], forOwner})
			}
		}
	}
	return out, nil
}

// expected is what the files are called that nobody applies.
const expected = "expected"

// printed writes what is to be applied.
func printed(out io.Writer, list []file) error {
	list = slices.DeleteFunc(list, func(f file) bool { return strings.HasPrefix(f.name, expected) })
	for i, f := range list {
		if i > 0 {
			f.text = append([]byte("---\n"), f.text...)
		}
		if _, err := out.Write(f.text); err != nil {
			return exit.Failure(fmt.Errorf("writing what is made: %w", err))
		}
	}
	return nil
}

// folder writes all files, or none where one is there that may not be replaced.
func (m *made) folder(out io.Writer, list []file) error {
	dir := filepath.Clean(m.flags.out)
	if !m.flags.force {
		for _, f := range list {
			if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
				return exit.Failure(fmt.Errorf("%s is there already, and nothing was written: give another folder, or --force to replace it", filepath.Join(dir, f.name)))
			} else if !errors.Is(err, os.ErrNotExist) {
				return exit.Failure(err)
			}
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // manifests are for everybody to read
		return exit.Failure(err)
	}
	for _, f := range list {
		name := filepath.Join(dir, f.name)
		if err := os.WriteFile(name, f.text, f.mode); err != nil {
			return exit.Failure(err)
		}
		if _, err := fmt.Fprintf(out, "wrote %s\n", name); err != nil {
			return exit.Failure(fmt.Errorf("writing what was done: %w", err))
		}
	}
	return nil
}
