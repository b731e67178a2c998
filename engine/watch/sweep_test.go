package watch

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/engine/packed"
)

func TestWhatIsGoneBeforeTheStoreHasSeenItIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		does func(o *overlay, store cache.Store)
		want []string
	}{
		"it was made and deleted while nothing was watched": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "new", "11", "o")))
				s.Bookmark("12")
			},
			want: []string{"ns/new#11"},
		},
		"another object has its name": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(named("1", child("ns", "new", "11", "o"))))
				_ = s.Add(named("2", child("ns", "new", "12", "p")))
			},
			want: []string{"ns/new#11"},
		},
		"the store has it": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(named("1", child("ns", "new", "11", "o"))))
				_ = s.Add(named("1", child("ns", "new", "12", "o")))
			},
		},
		"the store is behind": {
			does: func(o *overlay, _ cache.Store) { o.wrote(packed.Whole(child("ns", "new", "11", "o"))) },
		},
		"we deleted it ourselves": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "new", "11", "o")))
				o.gone(packed.Whole(child("ns", "new", "11", "o")))
				s.Bookmark("12")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, store := lagging(t, child("ns", "a", "9", "o"))
			tc.does(o, store)
			o.all()
			var lost []string
			for _, obj := range o.takeLost() {
				lost = append(lost, obj.Key()+"#"+obj.Version())
			}
			g.Expect(lost).To(Equal(tc.want))
			g.Expect(o.takeLost()).To(BeEmpty(), "told once")
		})
	}
}
