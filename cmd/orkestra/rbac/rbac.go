// Package rbac is the command `orkestra rbac`, which prints the rights that boxes need as roles for their accounts.
package rbac

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/files"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/validate"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/provider"
)

const long = `Print a ServiceAccount with the roles and bindings that a box needs, ready to apply: what status.requiredRules of the box says.

Rights in the namespaces that the box names literally become a Role in each of them; all others become a ClusterRole. A
ClusterRole with the label orkestra.orkspace.io/aggregate-to-manager has what the manager needs beside the account: to watch
the resources, and kinds that the chart does not know. The
account is the one of the box's serviceAccountRef, or that of --account. What a template decides, such as the name of an
object that is read, can't be told: the rule is for all objects then, and may be narrowed.

With --cluster the API server is also asked what the account may not do yet. That is printed to standard error, and the
exit code is 1. It takes the right to create subjectaccessreviews. Nothing is written.`

const example = `  # The rights of a box, applied
  orkestra rbac -f box.yaml --crd crd.yaml | kubectl apply -f -

  # What is missing
  orkestra rbac -f box.yaml --cluster > /dev/null

  # For a box that names no account yet
  orkestra rbac -f box.yaml --cluster --account team-a/shop`

// flags are those of the command.
type flags struct {
	validate.Flags

	account string
}

// NewCommand makes the command. providers are those that are compiled in; nil: what a manager has is not known.
func NewCommand(providers *provider.Registry) *cobra.Command {
	f := &flags{Flags: validate.Flags{Providers: providers}}
	cmd := &cobra.Command{
		Use:     "rbac -f FILENAME",
		Short:   "Print the roles that a box's account needs",
		Long:    long,
		Example: example,
		Args:    f.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().StringVar(&f.account, "account", "", "NAMESPACE/NAME of the ServiceAccount; default: that of the box's serviceAccountRef")
	if err := f.Bind(cmd, "for CRDs that no file holds, for its kinds, and for what the account may do", output.YAML, []string{output.YAML, output.JSON}); err != nil {
		// As for validate: only a wrong name of a flag could fail here.
		panic(err)
	}
	return cmd
}

func (f *flags) run(ctx context.Context, in io.Reader, out, notes io.Writer) error {
	given, err := f.givenAccount()
	if err != nil {
		return err
	}
	if f.Format != output.YAML && f.Format != output.JSON {
		return fmt.Errorf("--output %q: wanted yaml or json", f.Format)
	}
	v, err := f.Validator(in, nil)
	if err != nil {
		return err
	}
	if err := v.Compile(ctx, notes); err != nil {
		return err
	}
	if len(v.Boxes) == 0 {
		return fmt.Errorf("no OperatorBox in %s", files.Spoken(f.Files))
	}
	var objects []runtime.Object
	var needs []need
	for _, box := range v.Boxes {
		n, err := needOf(box, given)
		if err != nil {
			return err
		}
		needs = append(needs, n)
		objects = append(objects, n.objects()...)
	}
	if err := f.write(out, unique(objects)); err != nil {
		return exit.Failure(fmt.Errorf("writing the objects: %w", err))
	}
	if v.Server == nil {
		return nil
	}
	return missing(ctx, access.NewReviews(v.Server.Client, clock.RealClock{}), needs, notes)
}

// givenAccount reads --account; the zero value: it is not given.
func (f *flags) givenAccount() (identity.Account, error) {
	if f.account == "" {
		return identity.Account{}, nil
	}
	namespace, name, ok := strings.Cut(f.account, "/")
	if !ok || len(apivalidation.ValidateNamespaceName(namespace, false)) > 0 || len(apivalidation.ValidateServiceAccountName(name, false)) > 0 {
		return identity.Account{}, fmt.Errorf("--account %q: wanted NAMESPACE/NAME of a ServiceAccount", f.account)
	}
	return identity.Account{Namespace: namespace, Name: name}, nil
}

// needOf gives what a box needs of its account.
func needOf(box validation.Box, given identity.Account) (need, error) {
	plan := box.Plan
	if !given.IsManager() {
		plan = plan.As(given)
	}
	if plan.Account.IsManager() {
		return need{}, fmt.Errorf("OperatorBox %q names no account: set spec.serviceAccountRef, or give --account NAMESPACE/NAME", box.Name)
	}
	if len(plan.Required()) == 0 {
		return need{}, fmt.Errorf("OperatorBox %q: its CRD is not known, and the rights depend on it: give --crd or --cluster", box.Name)
	}
	return need{box: box.Name, account: plan.Account, rules: plan.Required(), feeds: plan.Feeds()}, nil
}

// missing prints what accounts may not do yet; exit.ErrNo: there is such.
func missing(ctx context.Context, reviews *access.Reviews, needs []need, notes io.Writer) error {
	var all []error
	for _, n := range needs {
		rights, err := reviews.Of(n.account, n.box).Missing(ctx, n.rules)
		if err != nil {
			return exit.Failure(fmt.Errorf("OperatorBox %q: %w", n.box, err))
		}
		if len(rights) == 0 {
			continue
		}
		all = append(all, exit.ErrNo)
		if _, err := fmt.Fprintf(notes, "OperatorBox %q: %s\n", n.box, access.Lacks(access.Missing{Account: n.account, Rights: rights})); err != nil {
			return exit.Failure(fmt.Errorf("writing what is missing: %w", err))
		}
	}
	return errors.Join(all...)
}

func (f *flags) write(out io.Writer, objects []map[string]any) error {
	var b bytes.Buffer
	if f.Format == output.JSON {
		if err := output.WriteJSON(&b, map[string]any{"apiVersion": "v1", "kind": "List", "items": objects}); err != nil {
			return err
		}
	}
	for i, obj := range objects {
		if f.Format == output.JSON {
			break
		}
		if i > 0 {
			b.WriteString("---\n")
		}
		if err := output.WriteYAML(&b, obj); err != nil {
			return err
		}
	}
	_, err := out.Write(b.Bytes())
	return err
}
