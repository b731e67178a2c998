// Package exit says with which code the process ends. 0: success. 1: the command ran, and its answer is no, or it failed. 2: wrong use.
package exit

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// The codes but for 0.
const (
	No    = 1
	Usage = 2
)

// ErrNo says that a command ran and that its answer is no; what there is to say has been printed.
var ErrNo = errors.New("no")

// failure is an error of a command that was used correctly.
type failure struct{ error }

func (f *failure) Unwrap() error { return f.error }

// Failure marks the error of a command that was used correctly: the code is No, and no help is offered. ErrNo and nil stay as they are.
// An error that is not marked, such as one of cobra about flags, counts as wrong use.
func Failure(err error) error {
	if err == nil || errors.Is(err, ErrNo) {
		return err
	}
	return &failure{err}
}

// Run runs the command that the arguments name, prints its error, and gives the code.
func Run(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrNo):
		return No
	default:
	}
	root.PrintErrln("error:", err)
	if _, failed := errors.AsType[*failure](err); failed {
		return No
	}
	root.PrintErrf("See '%s --help'.\n", command.CommandPath())
	return Usage
}
