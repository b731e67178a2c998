// Command testsum runs steps one after another, counts the tests in those that run tests, and ends with one line that says how many
// passed and failed. It writes plain text for people and for continuous integration, and knows nothing of what the steps test.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	var steps []step
	add := func(k kind) func(string) error {
		return func(value string) error {
			name, command, found := strings.Cut(value, ": ")
			if !found {
				return fmt.Errorf("%q is not of the form `name: command`", value)
			}
			steps = append(steps, step{kind: k, name: name, command: command})
			return nil
		}
	}
	flag.Func("need", "a `step` without which nothing else can run, as name: command", add(need))
	flag.Func("check", "a `step` that passes or fails", add(check))
	flag.Func("test", "a `step` that runs go test -json", add(test))
	flag.Func("suite", "a `step` that runs a Ginkgo suite, and leaves its JSON report in the folder of reports", add(suite))
	reports := flag.String("reports", ".reports/ginkgo", "the `folder` for the reports of Ginkgo suites; it is emptied before each suite")
	flag.Parse()
	if flag.NArg() > 0 || len(steps) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	r := newRunner(os.Stdout, os.Stderr, *reports)
	total := r.run(ctx, steps)
	stop()
	if total.failed > 0 {
		os.Exit(1)
	}
}
