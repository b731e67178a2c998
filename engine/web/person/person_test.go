package person

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server answers reviews, and counts them.
type server struct {
	mu    sync.Mutex
	asked int
	err   error
	gate  chan struct{} // nil: it answers at once
	may   func(*authorizationv1.SubjectAccessReviewSpec) bool
}

func (s *server) Create(_ context.Context, obj client.Object, _ ...client.CreateOption) error {
	if s.gate != nil {
		<-s.gate
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	switch review := obj.(type) {
	case *authenticationv1.TokenReview:
		review.Status.Authenticated = strings.HasPrefix(review.Spec.Token, "good")
		review.Status.User = authenticationv1.UserInfo{Username: "user of " + review.Spec.Token, UID: "1", Groups: []string{"a"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
	case *authorizationv1.SubjectAccessReview:
		review.Status.Allowed = s.may(&review.Spec)
	}
	return s.err
}

func TestTokens(t *testing.T) {
	g, s, clk := NewWithT(t), &server{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	tokens := NewTokens(s, clk)
	of := func(token string) *Person {
		p, err := tokens.Of(t.Context(), token)
		g.Expect(err).NotTo(HaveOccurred())
		return p
	}
	who := of("good")
	g.Expect(*who).To(Equal(Person{Name: "user of good", UID: "1", Groups: []string{"a"}, Extra: map[string]authorizationv1.ExtraValue{"k": {"v"}}}))
	clk.SetTime(clk.Now().Add(life - 1))
	g.Expect(of("good")).To(Equal(who))
	g.Expect(s.asked).To(Equal(1), "an answer is believed for a minute")
	clk.SetTime(clk.Now().Add(1))
	of("good")
	g.Expect(s.asked).To(Equal(2), "and no longer: a token may have been taken back")
	g.Expect(of("good2").Name).To(Equal("user of good2"))

	s.asked = 0
	g.Expect(of("bad")).To(BeNil())
	g.Expect(of("bad")).To(BeNil())
	g.Expect(s.asked).To(Equal(1))
	clk.SetTime(clk.Now().Add(refusedLife))
	of("bad")
	g.Expect(s.asked).To(Equal(2))

	s.asked = 0
	for _, none := range []string{"", "good x", "good\nx", "good" + strings.Repeat("x", maxToken)} {
		g.Expect(of(none)).To(BeNil())
	}
	g.Expect(s.asked).To(BeZero(), "what can be no token costs no request")

	s.err = errors.New("away")
	_, err := tokens.Of(t.Context(), "good3")
	g.Expect(err).To(MatchError("asking the API server whose the token is: away"))
	s.err = nil
	g.Expect(of("good3")).NotTo(BeNil(), "an error is no answer")
}

// TestGuessedTokens: who guesses keeps nobody busy, and does not keep out whom the process knows already.
func TestGuessedTokens(t *testing.T) {
	g, s, clk := NewWithT(t), &server{}, clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	tokens := NewTokens(s, clk)
	_, err := tokens.Of(t.Context(), "good")
	g.Expect(err).NotTo(HaveOccurred())
	var refused int
	for n := range 1000 {
		if _, err := tokens.Of(t.Context(), fmt.Sprint("guess-", n)); errors.Is(err, ErrTooMany) {
			refused++
		}
	}
	g.Expect(refused).To(BeNumerically(">", 500))
	g.Expect(s.asked).To(BeNumerically("<", 500))
	for range 2 {
		p, err := tokens.Of(t.Context(), "good")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(p).NotTo(BeNil())
		clk.SetTime(clk.Now().Add(life)) // its answer is too old to be believed
		for n := 0; err == nil; n++ {
			_, err = tokens.Of(t.Context(), fmt.Sprintf("other-%d-%d", clk.Now().Unix(), n))
		}
	}
	g.Expect(s.asked).To(BeNumerically(">", reviewBurst))
	_, err = tokens.Of(t.Context(), "good2")
	g.Expect(err).To(MatchError(ErrTooMany), "one that was never known waits with the guesses")
}

func TestRights(t *testing.T) {
	g, clk := NewWithT(t), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	lets := true
	s := &server{may: func(*authorizationv1.SubjectAccessReviewSpec) bool { return lets }}
	rights := NewRights(s, clk)
	want := Right{Verb: "get", Group: "g", Resource: "rs", Namespace: "n", Name: "x"}
	may := func(p Person) bool {
		allowed, err := rights.May(t.Context(), p, want)
		g.Expect(err).NotTo(HaveOccurred())
		return allowed
	}
	a := Person{Name: "a", Groups: []string{"x"}}
	g.Expect(may(a)).To(BeTrue())
	lets = false
	clk.SetTime(clk.Now().Add(life - 1))
	g.Expect(may(a)).To(BeTrue())
	clk.SetTime(clk.Now().Add(1))
	g.Expect(may(a)).To(BeFalse(), "what is withdrawn is seen a minute later")
	lets = true
	g.Expect(may(a)).To(BeFalse())
	clk.SetTime(clk.Now().Add(refusedLife))
	g.Expect(may(a)).To(BeTrue(), "what is given, ten seconds later")
	g.Expect(s.asked).To(Equal(3))

	s.err = errors.New("away")
	clk.SetTime(clk.Now().Add(life))
	allowed, err := rights.May(t.Context(), a, want)
	g.Expect(allowed).To(BeFalse(), "whom nobody could ask about sees nothing, whatever stands in the answer")
	g.Expect(err).To(MatchError(`asking the API server whether "a" may get rs: away`))
}

// TestAnswersAreNotMixedUp: people and objects whose names run into each other when they are written down are others, also when they ask at once.
func TestAnswersAreNotMixedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, gate := NewWithT(t), make(chan struct{})
		s := &server{gate: gate, may: func(r *authorizationv1.SubjectAccessReviewSpec) bool {
			return len(r.Groups) == 2 && r.ResourceAttributes.Namespace == "n" && r.ResourceAttributes.Name == "m o"
		}}
		rights := NewRights(s, clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
		for _, groups := range [][]string{{"x", "y"}, {"x y"}, {`x" "y`}} {
			for _, place := range [][2]string{{"n", "m o"}, {"n m", "o"}, {`n" "m`, "o"}} {
				go func() {
					allowed, err := rights.May(t.Context(), Person{Name: "a", Groups: groups}, Right{Verb: "get", Resource: "rs", Namespace: place[0], Name: place[1]})
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(allowed).To(Equal(len(groups) == 2 && place[0] == "n"), "%q %q", groups, place)
				}()
			}
		}
		synctest.Wait() // all have asked, and none has an answer
		close(gate)
		synctest.Wait()
		g.Expect(s.asked).To(Equal(9))
	})
}
