// Package files reads the objects of files, of directories and of standard input.
package files

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/controllers/input"
)

// Stdin stands for standard input among file names.
const Stdin = "-"

// Spoken names files as messages do.
func Spoken(files []string) string {
	names := slices.Clone(files)
	for i, name := range names {
		if name == Stdin {
			names[i] = "standard input"
		}
	}
	return strings.Join(names, ", ")
}

// Read reads files and directories in the given order, each file once. In directories it takes what kubectl takes.
func Read(names []string, recursive bool, stdin io.Reader) ([]input.Document, error) {
	var docs []input.Document
	seen := map[string]bool{}
	for _, name := range names {
		files, err := expand(name, recursive)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if id := filepath.Clean(file); seen[id] {
				continue
			}
			seen[filepath.Clean(file)] = true
			found, err := readFile(file, stdin)
			if err != nil {
				return nil, err
			}
			docs = append(docs, found...)
		}
	}
	return docs, nil
}

// expand gives the files that a name stands for: itself, or those in the directory.
func expand(name string, recursive bool) ([]string, error) {
	if name == Stdin {
		return []string{name}, nil
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{name}, nil
	}
	var files []string
	err = filepath.WalkDir(name, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != name && !recursive:
			return fs.SkipDir
		case !entry.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(path)):
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

func readFile(name string, stdin io.Reader) ([]input.Document, error) {
	if name != Stdin {
		data, err := os.ReadFile(name) //nolint:gosec // reading the user's files is what the command is for
		if err != nil {
			return nil, err
		}
		return input.Parse(name, data), nil
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("reading standard input: %w", err)
	}
	return input.Parse("stdin", data), nil
}
