// Command testsum runs steps one after another, counts the tests in the go test ones, and ends with one line that says how many
// passed and failed. It writes plain text for people and for continuous integration, and knows nothing of what the steps test.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

// EnvReports names the folder in which a Ginkgo suite leaves its JSON report.
const EnvReports = "ORKESTRA_GINKGO_REPORT_DIR"

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
	reports := flag.String("reports", ".reports/ginkgo", "the `folder` for the reports of Ginkgo suites; it is emptied")
	flag.Parse()
	if flag.NArg() > 0 || len(steps) == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := prepare(*reports); err != nil {
		fmt.Fprintln(os.Stderr, "testsum:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	r := newRunner(os.Stdout, os.Stderr, os.Getenv(EnvReports))
	total := r.run(ctx, steps)
	stop()
	if total.failed > 0 {
		os.Exit(1)
	}
}

// prepare empties the folder of reports and tells suites of it.
func prepare(reports string) error {
	path, err := filepath.Abs(reports)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(path, "*.json"))
	if err != nil {
		return err
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	if err := os.Setenv(EnvReports, path); err != nil {
		return err
	}
	return os.Setenv("GINKGO_NO_COLOR", "TRUE")
}
