package controllers

import (
	"testing"

	. "github.com/onsi/gomega"
)

// TestServicesOfWebhooks are namespaces, or Services in them. None is also an answer: then it is known that there are none.
func TestServicesOfWebhooks(t *testing.T) {
	g := NewWithT(t)
	got, err := webhookServices([]string{"team-a", "team-b/hooks"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).To(Equal([]string{"team-a", "team-b/hooks"}))
	got, err = webhookServices(nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(got).NotTo(BeNil())
	g.Expect(got).To(BeEmpty())
	for _, wrong := range []string{"", "*", "a/b/c", "a/", "/b", "a.b", "a/1b"} {
		_, err := webhookServices([]string{wrong})
		g.Expect(err).To(MatchError(ContainSubstring("is neither a namespace nor a Service")), wrong)
	}
}
