package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// versionPackage holds the variables that say what a binary was built from.
const versionPackage = "github.com/orkspace/orkestra/cmd/orkestra/version"

// compile builds a command of cmd/ for a platform, and gives the path of the binary.
func (o options) compile(ctx context.Context, command string, p platform) (string, error) {
	binary := filepath.Join(o.work, p.os+"_"+p.arch, command+p.suffix())
	flags := fmt.Sprintf("-s -w -X %[1]s.number=%[2]s -X %[1]s.commit=%[3]s", versionPackage, o.version, o.source.commit)
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", flags, "-o", binary, "./cmd/"+command)
	build.Dir = o.root
	// The settings of the machine that change a binary are those of Go's defaults; a workspace would replace modules.
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off", "GOFLAGS=")
	if _, err := output(build); err != nil {
		return "", fmt.Errorf("building %s for %s: %w", command, p, err)
	}
	return binary, nil
}
