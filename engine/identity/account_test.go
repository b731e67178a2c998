package identity

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// sent keeps the last request instead of sending it.
type sent struct{ request *http.Request }

// RoundTrip implements http.RoundTripper.
func (s *sent) RoundTrip(r *http.Request) (*http.Response, error) {
	s.request = r
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// headers are those of a request that is sent as an account, and those that the caller gave it.
func headers(t *testing.T, account Account) (arrived, given http.Header) {
	t.Helper()
	g := NewWithT(t)
	next := &sent{}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "https://api.example.com/apis", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "application/json")
	response, err := NewTransport(account, "shop", next).RoundTrip(request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(response.Body.Close()).To(Succeed())
	return next.request.Header, request.Header
}

func TestRequestsCarryTheAccountItsUIDAndTheBox(t *testing.T) {
	g := NewWithT(t)
	arrived, given := headers(t, Account{Namespace: "team-a", Name: "shop", UID: "1234"})
	g.Expect(arrived).To(Equal(http.Header{
		"Accept":           {"application/json"},
		"Impersonate-User": {"system:serviceaccount:team-a:shop"},
		"Impersonate-Uid":  {"1234"},
		"Impersonate-Extra-Orkestra.orkspace.io%2fbox": {"shop"},
	}), "and no group: the API server adds those of an account")
	g.Expect(given).To(Equal(http.Header{"Accept": {"application/json"}}), "the caller's request stays as it is")
}

func TestNoUIDIsSentWhereItIsNotKnown(t *testing.T) {
	g := NewWithT(t)
	arrived, _ := headers(t, Account{Namespace: "team-a", Name: "shop"})
	g.Expect(arrived).NotTo(HaveKey("Impersonate-Uid"))
	g.Expect(arrived).To(HaveKeyWithValue("Impersonate-User", []string{"system:serviceaccount:team-a:shop"}))
}

func TestTheManagerSendsRequestsAsItself(t *testing.T) {
	arrived, _ := headers(t, Account{})
	NewWithT(t).Expect(arrived).To(Equal(http.Header{"Accept": {"application/json"}}))
}

func TestABoxWithoutAnAccountActsAsTheManager(t *testing.T) {
	g := NewWithT(t)
	account := Of(&v1alpha1.OperatorBox{})
	g.Expect(account.IsManager()).To(BeTrue())
	g.Expect(account.User()).To(BeEmpty())
	g.Expect(account.Groups()).To(BeEmpty())
	g.Expect(account.String()).To(Equal("the manager"))
}

func TestAccountsAreNamedAsTheAPIServerNamesThem(t *testing.T) {
	g := NewWithT(t)
	box := &v1alpha1.OperatorBox{}
	box.Spec.ServiceAccountRef = &v1alpha1.ServiceAccountReference{Namespace: "team-a", Name: "shop"}
	account := Of(box)
	g.Expect(account).To(Equal(Account{Namespace: "team-a", Name: "shop"}))
	g.Expect(account.IsManager()).To(BeFalse())
	g.Expect(account.User()).To(Equal("system:serviceaccount:team-a:shop"))
	g.Expect(account.Groups()).To(Equal([]string{"system:serviceaccounts", "system:serviceaccounts:team-a", "system:authenticated"}))
	g.Expect(account.String()).To(Equal("ServiceAccount team-a/shop"))
}
