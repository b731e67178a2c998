package apply

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// Whatever a caller forgets to check: no request goes anywhere but to the object that is named.
func TestNoRequestLeavesItsPath(t *testing.T) {
	for _, where := range []target{
		{namespace: "a", name: "../../b/secrets/x"}, {namespace: "a/../b", name: "x"}, {namespace: "a", name: ".."}, {namespace: "a", name: "%2e%2e"},
	} {
		g := NewWithT(t)
		_, err := (&Client{}).path(where)
		g.Expect(err).To(MatchError(ContainSubstring("can't be a part of a path")), "%v", where)
		g.Expect(err).To(HaveField("Reason", v1alpha1.ReasonInvalidChild))
	}
}
