package app

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/spf13/cobra"
)

// kubectl finds a plugin, and what completes its arguments, by their names. People see the name that they have typed.
func TestTheNameOfTheProcessSaysHowItIsCalled(t *testing.T) {
	for name, tc := range map[string]struct {
		process []string
		args    []string
		shown   string
	}{
		"by its own name":   {[]string{"/usr/bin/orkestra", "get", "boxes"}, []string{"get", "boxes"}, "orkestra"},
		"as a plugin":       {[]string{"/usr/bin/kubectl-orkestra", "get"}, []string{"get"}, "kubectl orkestra"},
		"as one on Windows": {[]string{"kubectl-orkestra.exe"}, []string{}, "kubectl orkestra"},
		"for completion":    {[]string{"kubectl_complete-orkestra", "get", ""}, []string{cobra.ShellCompRequestCmd, "get", ""}, "kubectl orkestra"},
		"by another name":   {[]string{"/orkestra-1.2"}, []string{}, "orkestra"},
		"by none":           {nil, nil, "orkestra"},
	} {
		t.Run(name, func(t *testing.T) {
			g, root := NewWithT(t), NewCommand(Options{})
			g.Expect(Called(root, tc.process)).To(Equal(tc.args))
			g.Expect(root.CommandPath()).To(Equal(tc.shown))
			get, _, err := root.Find([]string{"get"})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(get.CommandPath()).To(Equal(tc.shown + " get"))
		})
	}
}
