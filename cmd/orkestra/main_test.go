package main

import (
	"runtime"
	"testing"

	. "github.com/onsi/gomega"
)

func TestUnknownCommandsAreGuessed(t *testing.T) {
	for name, args := range map[string][]string{
		"a slip":            {"vaildate"},
		"a slip with flags": {"vaildate", "-f", "box.yaml"},
		"a beginning":       {"valid"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := orkestra(t, "", args...)
			g.Expect(code).To(Equal(exitUsage))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(And(ContainSubstring(`unknown command "`+args[0]+`" for "orkestra"`), ContainSubstring("Did you mean this?\n\tvalidate\n")))
		})
	}
}

func TestVersionSaysWhatItWasTestedWith(t *testing.T) {
	g := NewWithT(t)
	stdout, _, code := orkestra(t, "", "version")
	g.Expect(code).To(BeZero())
	g.Expect(stdout).To(Equal("orkestra dev (commit none, " + runtime.Version() + ", tested with Kubernetes 1.36)\n"))
}
