// Package schema is the command `orkestra schema`, which prints the JSON schema of boxes for editors.
package schema

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/config/crd"
	"github.com/orkspace/orkestra/engine/boxschema"
)

const schemaLong = `Print the JSON schema (draft 7) of OperatorBox, by which editors complete, explain and check a box while it is written: all fields,
those of declarations too, with texts, defaults, values and examples.

A line at the top of a file tells editors that read YAML by yaml-language-server where the schema is:

  # yaml-language-server: $schema=operatorbox.schema.json

What only shows when a box is compiled, such as a path that the CRD does not have, is found by orkestra validate.`

const schemaExample = `  # Keep the schema beside the boxes
  orkestra schema > operatorbox.schema.json

  # Then say in .vscode/settings.json, for the extension YAML, which files are boxes
  {"yaml.schemas": {"./operatorbox.schema.json": ["**/box.yaml"]}}

  # And look whether the boxes fit what only a compiler knows
  orkestra validate -f box.yaml --crd crd.yaml`

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "schema",
		Short:             "Print the JSON schema of boxes, for editors",
		Long:              schemaLong,
		Example:           schemaExample,
		Args:              arguments.None,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := boxschema.Box(crd.BoxDefinition())
			if err != nil {
				return exit.Failure(err)
			}
			if _, err := cmd.OutOrStdout().Write(text); err != nil {
				return exit.Failure(fmt.Errorf("writing the schema: %w", err))
			}
			return nil
		},
	}
}
