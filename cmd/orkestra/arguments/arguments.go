// Package arguments says which arguments a command takes, and refuses others in a sentence that names what is wanted and what was found. Commands
// that take files by -f have a sentence of their own, since a pattern of the shell is what gives them arguments.
package arguments

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
)

// None refuses every argument.
func None(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("wanted no argument, got %s", listed(args))
}

// One wants exactly one argument. Name is that of the usage line, and example one that may be given; empty: the name says enough.
func One(name, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return mistaken("wanted one argument "+name, example, args)
	}
}

// AtMostOne wants one argument or none.
func AtMostOne(name, example string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) <= 1 {
			return nil
		}
		return mistaken("wanted at most one argument "+name, example, args)
	}
}

// Some wants one argument or more.
func Some(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return fmt.Errorf("wanted %s", name)
	}
}

// mistaken is the error of a number of arguments. KIND NAME is how kubectl takes them, and the error says how that is written here.
func mistaken(wanted, example string, args []string) error {
	const ofKubectl = 2
	if strings.HasSuffix(wanted, "KIND/NAME") && len(args) == ofKubectl && !slices.ContainsFunc(args, func(arg string) bool { return arg == "" || strings.Contains(arg, "/") }) {
		return fmt.Errorf("%s, got 2: say %s/%s", wanted, args[0], args[1])
	}
	if example != "" {
		wanted += ", such as " + example
	}
	return fmt.Errorf("%s, got %s", wanted, listed(args))
}

// listed is the number of arguments, and what they are.
func listed(args []string) string {
	if len(args) == 0 {
		return "none"
	}
	quoted := make([]string, 0, len(args))
	for _, arg := range args {
		quoted = append(quoted, strconv.Quote(arg))
	}
	return fmt.Sprintf("%d: %s", len(args), strings.Join(quoted, ", "))
}
