// Command webfixture serves the page of the Control Center with canned answers, for tests of the page and for those who work on it: boxes in every
// state, 50,000 resources, a tree of 1,000 children, names and messages that mean harm, and every error.
package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8099", "address that is served")
	unmanaged := flag.Bool("unmanaged", false, "say that no manager runs")
	every := flag.Duration("every", time.Second, "how often a box changes; 0: never")
	flag.Parse()
	s := &http.Server{Addr: *listen, Handler: newHandler(context.Background(), newWorld(!*unmanaged, *every)), ReadHeaderTimeout: time.Second}
	fmt.Fprintln(os.Stderr, "webfixture:", s.ListenAndServe())
	os.Exit(1)
}
