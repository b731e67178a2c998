package providers

import (
	"testing"

	"github.com/onsi/gomega"
)

// A note is known by its token among those of its provider and kind alone: who writes resources can write the token into another one.
func TestANoteIsKnownByItsToken(t *testing.T) {
	there := noted{Provider: "cloud", Kind: "bucket", Token: "t", Identity: map[string]any{"name": "b"}}
	for name, tc := range map[string]struct {
		change func(*noted)
		found  bool
	}{
		"another address":  {func(n *noted) { n.Identity, n.Endpoint = map[string]any{"name": "c"}, "https://other.cloud.test" }, true},
		"another provider": {func(n *noted) { n.Provider = "other" }, false},
		"another kind":     {func(n *noted) { n.Kind = "queue" }, false},
		"another token":    {func(n *noted) { n.Token = "u" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			next := there
			tc.change(&next)
			all := notes{all: []noted{there}}
			g.Expect(all.former(&next) != nil).To(gomega.Equal(tc.found))
			all.put(next)
			g.Expect(all.find(next.key())).To(gomega.HaveValue(gomega.Equal(next)))
			g.Expect(all.find(there.key()) == nil).To(gomega.Equal(tc.found), "one takes the place of the other")
		})
	}
}
