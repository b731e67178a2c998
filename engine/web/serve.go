package web

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"
)

// What a connection may take of a process that has other work.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10 // bytes
	// answerTimeout is how long an answer may take to be read. Streams set deadlines of their own.
	answerTimeout = time.Minute
	// shutdown is how long requests that are under way may take when the process is told to stop.
	shutdown = 2 * time.Second
)

// Serve has a handler answer at a listener until the context ends, with beside for as long, and waits for both. said is where the library tells
// of requests that it could not answer; nil: the standard logger. The error is that of the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, said *log.Logger, beside func(ctx context.Context)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	server := &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, WriteTimeout: answerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx }, // streams end with it
		ErrorLog:    said,
	}
	working, ended := make(chan struct{}), make(chan error, 1)
	go func() { defer close(working); beside(ctx) }()
	go func() { ended <- server.Serve(listener) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		cancel()
		closing, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		err = server.Shutdown(closing)
		stop()
		<-ended
	}
	cancel()
	<-working
	if err != nil && !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("serving the page: %w", err)
	}
	return nil
}
