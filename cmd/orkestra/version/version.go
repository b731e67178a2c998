// Package version is the command `orkestra version`, and knows from what the binary was built.
package version

import (
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
)

// Set by the linker: see -X in the Makefile and the Dockerfile.
var (
	number = "dev"
	commit = "none"
)

// testedKubernetes is the minor version that releases are tested with.
const testedKubernetes = "1.36"

// Info says from what a binary was built.
type Info struct {
	// Version is the number of the release, or what git says of the commit.
	Version string `json:"version"`
	// Commit that it was built from.
	Commit string `json:"commit"`
	// Go is the version of Go that built it.
	Go string `json:"go"`
	// Kubernetes is the minor version that it was tested with.
	Kubernetes string `json:"kubernetes"`
}

// Get gives the Info of this binary.
func Get() Info {
	return Info{Version: number, Commit: commit, Go: runtime.Version(), Kubernetes: testedKubernetes}
}

// UserAgent is how the binary names itself to an API server.
func UserAgent() string { return "orkestra/" + number }

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go and the Kubernetes that it was tested with",
		Args:  arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			write, err := output.Writer(format, func(out io.Writer, i Info) error {
				_, err := fmt.Fprintf(out, "orkestra %s (commit %s, %s, tested with Kubernetes %s)\n", i.Version, i.Commit, i.Go, i.Kubernetes)
				return err
			})
			if err != nil {
				return err
			}
			return write(cmd.OutOrStdout(), Get())
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	return cmd
}
