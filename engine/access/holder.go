package access

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
)

// Holder asks for the rights of the manager, or of an account that acts for a box.
//
// Missing, which is asked before a box starts, believes a grant that is kept, and asks again after a refusal. Granted, which is asked after
// the API server has denied a request, does the opposite. Reads believes both, for a while. The zero value believes every denial. A Holder
// is safe for concurrent use.
type Holder struct {
	reviews *Reviews
	account identity.Account
	box     string
}

// Account is whose rights are asked for; the zero value: the manager's.
func (h Holder) Account() identity.Account { return h.account }

// question asks for a right. One that the API server has denied to another user is asked for in the name of the manager: nobody else acts
// for a box beside its account.
func (h Holder) question(want Right) question {
	user := want.User
	want.User = ""
	if user != "" && user != h.account.User() {
		return question{right: want}
	}
	return question{account: h.account, box: h.box, right: want}
}

// Missing gives the rights of the rules that are missing, sorted. An error says that the API server could not be asked.
func (h Holder) Missing(ctx context.Context, rules []v1alpha1.RequiredRule) ([]Right, error) {
	var missing []Right
	for _, right := range Rights(rules) {
		want := h.question(right)
		allowed, err := h.reviews.ask(ctx, want, func() (known, allowed bool) {
			_, believed := h.reviews.believesGrant(want, grantLife)
			return believed, true
		})
		if err != nil {
			return nil, err
		}
		if !allowed {
			h.reviews.lost(want)
			missing = append(missing, right)
		}
	}
	return Sorted(missing), nil
}

// Granted says whether a right is there that was missing. While the API server can't be asked, it is not: what waits for the right goes on
// waiting. While it is refused it costs one review per right and RetryInterval, however many resources wait for it. A grant is not remembered here,
// since the API server has just denied a request.
func (h Holder) Granted(ctx context.Context, want Right) bool {
	if h.reviews == nil {
		return false
	}
	asked := h.question(want)
	allowed, err := h.reviews.ask(ctx, asked, func() (known, allowed bool) {
		_, believed := h.reviews.believesRefusal(asked)
		return believed, false
	})
	if err != nil {
		log.FromContext(ctx).Error(err, "A missing right could not be reviewed")
	}
	return allowed
}

// Reads says whether something may be read, and until when that is believed. It costs one review per right and ReadLife, however many
// resources read; one that was refused is asked for again after RetryInterval. A refusal drops the grants that said otherwise. An error says
// that the API server could not be asked.
func (h Holder) Reads(ctx context.Context, want Right) (allowed bool, until time.Time, err error) {
	asked := h.question(want)
	remembered := func() (known, allowed bool) {
		if known, believed := h.reviews.believesRefusal(asked); believed && known.answered {
			until = known.at.Add(RetryInterval)
			return true, false
		}
		at, believed := h.reviews.believesGrant(asked, ReadLife)
		until = at.Add(ReadLife)
		return believed, true
	}
	if allowed, err = h.reviews.ask(ctx, asked, remembered); err != nil {
		return false, time.Time{}, err
	}
	if !allowed {
		h.reviews.lost(asked)
	}
	if known, _ := remembered(); !known {
		until = h.reviews.clock.Now() // the answer has just expired
	}
	return allowed, until, nil
}

// Lost notes that a right was found to be missing, and says whether it was believed to be there: then the boxes that rely on it have to be
// checked again.
func (h Holder) Lost(missing Right) bool {
	return h.reviews != nil && h.reviews.lost(h.question(missing))
}
