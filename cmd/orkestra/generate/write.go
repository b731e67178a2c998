package generate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/orkspace/orkestra/cmd/orkestra/version"
)

// file is one that the command writes.
type file struct {
	name string
	text []byte
	once bool // where there is one it is the user's, and stays as it is
}

// files are those that a folder is to have.
func (c *code) files(n *names) ([]file, error) {
	text, err := c.registry(n)
	if err != nil {
		return nil, err
	}
	out := []file{{name: registryFile, text: text}}
	if !c.folder.hasMain() {
		out = append(out, file{name: mainFile, text: []byte(mainProgram), once: true}, file{name: dockerFile, text: []byte(dockerfile(c.folder.below, c.folder.outside)), once: true})
	}
	return out, nil
}

// write writes what has changed, and says what it wrote.
func (d *folder) write(files []file, out io.Writer) error {
	if err := os.MkdirAll(d.path, 0o755); err != nil { //nolint:gosec // code is for everybody to read
		return err //nolint:wrapcheck // it names the folder
	}
	for _, f := range files {
		name := filepath.Join(d.path, f.name)
		known, err := os.ReadFile(name) //nolint:gosec // it is the user's folder
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err //nolint:wrapcheck // it names the file
		}
		did := "wrote"
		if err == nil && (f.once || bytes.Equal(known, f.text)) {
			did = "kept"
		} else if err := os.WriteFile(name, f.text, 0o644); err != nil { //nolint:gosec // code is for everybody to read
			return err //nolint:wrapcheck // it names the file
		}
		if _, err := fmt.Fprintf(out, "%s %s\n", did, name); err != nil {
			return fmt.Errorf("writing what was done: %w", err)
		}
	}
	return nil
}

// next says by which commands the module gets what it lacks.
func (c *code) next(out io.Writer) error {
	missing := c.missing()
	if !c.folder.provides(ownModule) {
		own := ownModule
		if number := version.Get().Version; semver.IsValid(number) && semver.Prerelease(number)+semver.Build(number) == "" {
			own += "@" + number
		}
		missing = append([]string{own}, missing...)
	}
	if len(missing) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "next, in %s:\n", c.folder.path)
	if c.folder.module == "" {
		b.WriteString("  go mod init MODULE\n")
	}
	for _, location := range missing {
		fmt.Fprintf(&b, "  go get %s\n", location)
	}
	_, err := io.WriteString(out, b.String())
	if err != nil {
		return fmt.Errorf("writing what is next: %w", err)
	}
	return nil
}
