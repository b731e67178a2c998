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
	firstPause   = 10 * time.Millisecond
	freshPause   = 250 * time.Millisecond
	longestPause = 2 * time.Second
	// freshTries is how often a kind that is not served is asked for at freshPause: about ten seconds.
	freshTries = 40
	// unservedTries is after how many tries a kind that is not served counts as one that is not there: about three seconds.
	unservedTries = 16
	// forbiddenTries is the same for a kind that may not be read. A right that was just granted takes a moment.
	forbiddenTries = 8

	firstAnswer   = 100 * time.Millisecond
	longestAnswer = 30 * time.Second
)

// insist calls f until it succeeds, the context ends, or it fails for a reason that does not pass by itself. The reflector's
// own pauses grow to a minute, and one of them cannot be interrupted.
func (i *informer) insist(ctx context.Context, passes func(error) bool, f func(context.Context) error) error {
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

// Consistent makes a list that would be content with any state ask for the current one. An answer from before this process began
// would hide what a former one has written: the deletion of a resource would then leave children behind. Where the API server
// streams its first answer, which is the usual way, that is never older either.
func Consistent(options metav1.ListOptions) metav1.ListOptions {
	if options.ResourceVersion == anyVersion {
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	return options
}
