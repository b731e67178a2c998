// Command house measures the sizes that docs/design/architecture.md promises: of packages, types and files, and how far the files of a
// package depend on each other in cycles. It fails where one is larger than it may be, unless the list of exceptions says why.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	report := flag.Bool("report", false, "print every figure, not only what is too large")
	flag.Parse()
	if err := run(*root, *report); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(root string, report bool) error {
	rooms, err := survey(root)
	if err != nil {
		return err
	}
	if report {
		if err := printReport(os.Stdout, rooms); err != nil {
			return err
		}
	}
	wrong := reaches(rooms)
	for _, w := range wrong {
		fmt.Println(w)
	}
	found := judge(rooms, exceptions)
	for _, f := range found {
		fmt.Println(f)
	}
	if len(found) > 0 {
		return fmt.Errorf("%d sizes are beyond their limits: move a wall, or give a reason in the list of exceptions", len(found))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%d files decide for themselves where a box may reach", len(wrong))
	}
	return nil
}
