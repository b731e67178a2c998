package e2e_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// built is the product as it is now, built at its first use.
var built = &build{source: filepath.Join("..", "..")}

// build is a binary of orkestra that is made once, from the sources in a folder.
type build struct {
	source string

	once   sync.Once
	binary string
	err    error
}

// path builds the binary, unless that was done.
func (b *build) path() string {
	GinkgoHelper()
	b.once.Do(func() {
		var dir string
		if dir, b.err = os.MkdirTemp("", "orkestra-e2e-"); b.err != nil {
			return
		}
		b.binary = filepath.Join(dir, "orkestra")
		b.err = run(b.source, "go", "build", "-o", b.binary, "./cmd/orkestra")
	})
	Expect(b.err).NotTo(HaveOccurred())
	return b.binary
}

// remove removes the binary, if there is one.
func (b *build) remove() {
	if b.binary != "" {
		Expect(os.RemoveAll(filepath.Dir(b.binary))).To(Succeed())
	}
}

var _ = AfterSuite(func() { built.remove() })

// run runs a program in a folder. What it prints is part of its error.
func run(dir, program string, args ...string) error {
	command := exec.Command(program, args...)
	command.Dir = dir
	out, err := command.CombinedOutput()
	if err != nil {
		return &runError{command: command.String(), out: string(out), err: err}
	}
	return nil
}

type runError struct {
	command, out string
	err          error
}

func (f *runError) Error() string { return f.command + ": " + f.err.Error() + "\n" + f.out }

// orkestra runs a command of the product against the cluster, and gives what it prints and its exit code.
func orkestra(ctx context.Context, args ...string) (out string, code int) {
	GinkgoHelper()
	return orkestraAs(ctx, cluster.Kubeconfig(), args...)
}

func orkestraAs(ctx context.Context, kubeconfig string, args ...string) (out string, code int) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, built.path(), append(args, "--kubeconfig", kubeconfig)...)
	printed, err := command.CombinedOutput()
	GinkgoWriter.Printf("%s\n%s", command, printed)
	if _, ended := errors.AsType[*exec.ExitError](err); !ended {
		Expect(err).NotTo(HaveOccurred())
	}
	return string(printed), command.ProcessState.ExitCode()
}
