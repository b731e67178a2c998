// Package probe is the command that waits until a process answers that it is ready: helm test runs it, since the image has no shell.
package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/orkspace/orkestra/cmd/orkestra/arguments"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
)

const (
	// interval is the time between two requests.
	interval = time.Second
	// patience is how long one request may take, so that one that hangs is not the only one.
	patience = 5 * time.Second
	// answerSize is how much of an answer is read, in bytes.
	answerSize = 4096
)

const long = `Ask a process whether it is ready, until it says so or the time is over.

The URL is that of a health probe, such as http://ADDRESS:8081/readyz of a manager. The process is ready when it answers with the
status 200. Redirects are not followed, and no proxy is asked. helm test runs this command in the cluster.

The exit code is 0 when the process is ready, 1 when it is not, and 2 for wrong use.`

const example = `  # Is the manager of a port-forward ready?
  kubectl -n orkestra-system port-forward deployment/orkestra 8081 &
  orkestra probe http://127.0.0.1:8081/readyz`

// NewCommand makes the command.
func NewCommand() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:     "probe URL",
		Short:   "Wait until a process answers that it is ready",
		Long:    long,
		Example: example,
		Args:    arguments.One("URL", "http://127.0.0.1:8081/readyz"),
		RunE: func(cmd *cobra.Command, args []string) error {
			address, err := parse(args[0])
			if err != nil {
				return err
			}
			if timeout <= 0 {
				return fmt.Errorf("--timeout %s: wanted a duration above 0, such as 1m", timeout)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			if err := wait(ctx, newClient(), address); err != nil {
				return exit.Failure(fmt.Errorf("%s is not ready after %s: %w", address, timeout, err))
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s is ready\n", address)
			return err
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long to ask")
	return cmd
}

func parse(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("the URL: %w", err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("the URL %q: wanted one such as http://127.0.0.1:8081/readyz", text)
	}
	return u.String(), nil
}

func newClient() *http.Client {
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// wait asks until the answer is yes. When the time is over, it gives the last answer.
func wait(ctx context.Context, client *http.Client, address string) error {
	last := errors.New("there was no answer")
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		err := ask(ctx, client, address)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return last // what was cut off says nothing
		}
		last = err
		select {
		case <-ctx.Done():
			return last
		case <-ticker.C:
		}
	}
}

func ask(ctx context.Context, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, answerSize))
	if err := errors.Join(err, res.Body.Close()); err != nil {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if res.StatusCode == http.StatusOK {
		return nil
	}
	return fmt.Errorf("it answers %s: %q", res.Status, strings.TrimSpace(string(body)))
}
