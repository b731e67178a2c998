package localcluster

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	module        = "github.com/orkspace/orkestra"
	defaultBinary = "bin/orkestra-cluster"
)

func findBinary(options Options) (string, error) {
	binary := options.Binary
	if binary == "" {
		binary = os.Getenv(EnvBinary)
	}
	if binary == "" {
		root, err := repository()
		if err != nil {
			return "", err
		}
		binary = filepath.Join(root, defaultBinary)
	}
	if _, err := os.Stat(binary); err != nil {
		return "", fmt.Errorf("finding the cluster binary: %w; run `make %s`", err, defaultBinary)
	}
	return filepath.Abs(binary)
}

// repository returns the closest folder above the working directory that holds the product's go.mod.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		name, err := moduleName(filepath.Join(dir, "go.mod"))
		if err != nil {
			return "", fmt.Errorf("finding the repository: %w", err)
		}
		if name == module {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("finding the repository: no folder above %q holds module %s; set %s", start, module, EnvBinary)
		}
	}
}

// moduleName returns the module that a go.mod file declares, or nothing if there is no such file.
func moduleName(path string) (string, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // only read from
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		if name, ok := strings.CutPrefix(scanner.Text(), "module "); ok {
			return strings.TrimSpace(name), nil
		}
	}
	return "", scanner.Err()
}
