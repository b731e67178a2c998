package main

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Set by the linker.
var (
	version = "dev"
	commit  = "none"
)

// testedKubernetes is the minor version that releases are tested with.
const testedKubernetes = "1.36"

type versionInfo struct {
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go"`
	Kubernetes string `json:"kubernetes"`
}

func newVersionCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit, Go and the Kubernetes that it was tested with",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			info := versionInfo{Version: version, Commit: commit, Go: runtime.Version(), Kubernetes: testedKubernetes}
			switch output {
			case "":
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "orkestra %s (commit %s, %s, tested with Kubernetes %s)\n", info.Version, info.Commit, info.Go, info.Kubernetes)
				return err
			case formatJSON:
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(info)
			case formatYAML:
				b, err := yaml.Marshal(info)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(b)
				return err
			default:
				return fmt.Errorf("--output %q: wanted json or yaml", output)
			}
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "json or yaml")
	return cmd
}
