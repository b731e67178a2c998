package watch

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestListsAreNeverContentWithAnOlderState(t *testing.T) {
	for name, tc := range map[string]struct{ asked, want metav1.ListOptions }{
		"any state will do": {
			metav1.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, LabelSelector: "a"},
			metav1.ListOptions{LabelSelector: "a"},
		},
		"the current state":          {metav1.ListOptions{Limit: 5}, metav1.ListOptions{Limit: 5}},
		"no older than one was seen": {metav1.ListOptions{ResourceVersion: "17"}, metav1.ListOptions{ResourceVersion: "17"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Consistent(tc.asked)).To(Equal(tc.want))
		})
	}
}
