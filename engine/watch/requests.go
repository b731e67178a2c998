package watch

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// The pauses between tries double from firstPause up to longestPause. A kind that is not served is mostly one whose CRD was just
	// created, so that its pauses end at freshPause at first.
	firstPause   = 10 * time.Millisecond
	freshPause   = 250 * time.Millisecond
	longestPause = 2 * time.Second
	// freshTries is how often a kind that is not served is asked for at freshPause: about ten seconds.
	freshTries = 40
	// unservedTries is after how many tries a kind that is not served counts as one that is not there: about three seconds.
	unservedTries = 16
	// forbiddenTries is the same for a kind that may not be read. A right that was just granted takes a moment.
	forbiddenTries = 8

	// A probe of awaitKind waits for its answer firstAnswer, and twice as long each time, up to longestAnswer.
	firstAnswer   = 100 * time.Millisecond
	longestAnswer = 30 * time.Second
)

// retry calls f until it succeeds, the context ends, or it fails for a reason that does not pass by itself. It does not leave that to the
// reflector, whose pauses grow to a minute, and one of whose pauses can't be interrupted.
func (i *informer) retry(ctx context.Context, passes func(error) bool, f func(context.Context) error) error {
	for try := 0; ; try++ {
		err := f(ctx)
		if ctx.Err() == nil {
			i.access.answered(err, try)
		}
		if err == nil || ctx.Err() != nil || !passes(err) {
			return err
		}
		i.failed(err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause(try, err)):
		}
	}
}

// pause is how long to wait after a failed try, the first being 0.
func pause(try int, err error) time.Duration {
	limit := longestPause
	if apierrors.IsNotFound(err) && try < freshTries {
		limit = freshPause
	}
	return wait.Jitter(min(firstPause<<min(try, 8), limit), 0.2)
}

// passing says that an error goes away when the API server is back, or the kind is.
func passing(err error) bool {
	return unavailable(err) || apierrors.IsNotFound(err)
}

func unavailable(err error) bool {
	return errors.As(err, new(*url.Error)) || apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)
}

// anyVersion is the resourceVersion of a list that may be answered with any state that there ever was.
const anyVersion = "0"

// Consistent makes a list that may be answered with any state (resourceVersion "0", as reflectors ask first) ask for the current one. A
// state from before this process began could lack what a former one has written, and the deletion of a resource would leave children
// behind. Where the API server streams the first list (WatchList), which is the usual way, it is always current.
func Consistent(options metav1.ListOptions) metav1.ListOptions {
	if options.ResourceVersion == anyVersion {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	return options
}
