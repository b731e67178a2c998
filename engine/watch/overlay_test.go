package watch

import (
	"slices"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/packed"
)

// lagging gives an overlay over a store that only knows what it is given: the informer is never started.
func lagging(t *testing.T, objects ...*unstructured.Unstructured) (*overlay, cache.Store) {
	t.Helper()
	i := newInformer(Config{Client: newClient(), Log: logr.Discard()}, informerOptions{
		resource: cups,
		indexers: cache.Indexers{ownerIndex: byLabel(v1alpha1.LabelOwnerUID)},
		trim:     trimChild,
		handler:  ResourceEvents{}.handler(),
	})
	store := i.shared.GetStore()
	for _, obj := range objects {
		NewWithT(t).Expect(store.Add(obj)).To(Succeed())
	}
	return newOverlay(i), store
}

func named(uid string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetUID(types.UID(uid))
	return obj
}

func TestOverlay(t *testing.T) {
	stored := func() []*unstructured.Unstructured {
		return []*unstructured.Unstructured{child("ns", "a", "9", "o"), child("ns", "b", "10", "o")}
	}
	for name, tc := range map[string]struct {
		does func(o *overlay, store cache.Store)
		want []string // what o owns
		left int      // entries afterwards
	}{
		"nothing written": {
			does: func(*overlay, cache.Store) {},
			want: []string{"ns/a#9", "ns/b#10"},
		},
		"a newer version wins": {
			does: func(o *overlay, _ cache.Store) { o.wrote(packed.Whole(child("ns", "a", "11", "o"))) },
			want: []string{"ns/a#11", "ns/b#10"}, left: 1,
		},
		"a write that changed nothing is no entry": {
			does: func(o *overlay, _ cache.Store) { o.wrote(packed.Whole(child("ns", "a", "9", "o"))) },
			want: []string{"ns/a#9", "ns/b#10"},
		},
		"a version that is longer is newer": {
			does: func(o *overlay, _ cache.Store) { o.wrote(packed.Whole(child("ns", "a", "100", "o"))) },
			want: []string{"ns/a#100", "ns/b#10"}, left: 1,
		},
		"the store catches up": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "a", "11", "o")))
				_ = s.Update(child("ns", "a", "11", "o"))
			},
			want: []string{"ns/a#11", "ns/b#10"},
		},
		"the store overtakes by another object": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "new", "11", "o")))
				_ = s.Add(child("ns", "c", "12", "o"))
			},
			want: []string{"ns/a#9", "ns/b#10", "ns/c#12"},
		},
		"the store overtakes by a bookmark": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "new", "11", "o")))
				s.Bookmark("12")
			},
			want: []string{"ns/a#9", "ns/b#10"},
		},
		"the owner changes to another": {
			does: func(o *overlay, _ cache.Store) { o.wrote(packed.Whole(child("ns", "a", "11", "p"))) },
			want: []string{"ns/b#10"}, left: 1,
		},
		"the owner changes from another": {
			does: func(o *overlay, s cache.Store) {
				_ = s.Update(child("ns", "c", "11", "p"))
				o.wrote(packed.Whole(child("ns", "c", "12", "o")))
			},
			want: []string{"ns/a#9", "ns/b#10", "ns/c#12"}, left: 1,
		},
		"late answers do not count": {
			does: func(o *overlay, _ cache.Store) {
				o.wrote(packed.Whole(child("ns", "a", "12", "o")))
				o.wrote(packed.Whole(child("ns", "a", "11", "o")))
			},
			want: []string{"ns/a#12", "ns/b#10"}, left: 1,
		},
		"a version that cannot be compared does not count": {
			does: func(o *overlay, _ cache.Store) {
				o.wrote(packed.Whole(child("ns", "a", "x1", "o")))
				o.wrote(packed.Whole(child("ns", "b", "", "o")))
			},
			want: []string{"ns/a#9", "ns/b#10"},
		},
		"gone until the watch tells": {
			does: func(o *overlay, _ cache.Store) { o.gone(packed.Whole(child("ns", "a", "9", "o"))) },
			want: []string{"ns/b#10"}, left: 1,
		},
		"gone and told": {
			does: func(o *overlay, s cache.Store) {
				o.gone(packed.Whole(child("ns", "a", "9", "o")))
				_ = s.Delete(child("ns", "a", "11", "o"))
			},
			want: []string{"ns/b#10"},
		},
		"gone by an older version than the store's": {
			does: func(o *overlay, _ cache.Store) { o.gone(packed.Whole(child("ns", "a", "8", "o"))) },
			want: []string{"ns/a#9", "ns/b#10"},
		},
		"gone, but it lives on": {
			does: func(o *overlay, s cache.Store) {
				o.gone(packed.Whole(child("ns", "a", "9", "o")))
				_ = s.Update(child("ns", "a", "11", "o"))
			},
			want: []string{"ns/a#11", "ns/b#10"},
		},
		"gone before the watch told that it was made": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "c", "11", "o")))
				o.gone(packed.Whole(child("ns", "c", "11", "o")))
				_ = s.Add(child("ns", "c", "11", "o"))
			},
			want: []string{"ns/a#9", "ns/b#10"}, left: 1,
		},
		"gone after a write that was newer than what was deleted by": {
			does: func(o *overlay, s cache.Store) {
				o.wrote(packed.Whole(child("ns", "a", "11", "o")))
				o.gone(packed.Whole(child("ns", "a", "9", "o")))
				_ = s.Update(child("ns", "a", "11", "o"))
			},
			want: []string{"ns/b#10"}, left: 1,
		},
		"a late answer does not bring it back": {
			does: func(o *overlay, _ cache.Store) {
				o.gone(packed.Whole(child("ns", "a", "9", "o")))
				o.wrote(packed.Whole(child("ns", "a", "11", "o")))
			},
			want: []string{"ns/b#10"}, left: 1,
		},
		"made again under its name": {
			does: func(o *overlay, _ cache.Store) {
				o.gone(packed.Whole(child("ns", "a", "9", "o")))
				o.wrote(packed.Whole(named("second", child("ns", "a", "12", "o"))))
			},
			want: []string{"ns/a#12", "ns/b#10"}, left: 1,
		},
		"made again, then the first is reported gone": {
			does: func(o *overlay, _ cache.Store) {
				o.wrote(packed.Whole(named("second", child("ns", "a", "12", "o"))))
				o.gone(packed.Whole(child("ns", "a", "9", "o")))
			},
			want: []string{"ns/a#12", "ns/b#10"}, left: 1,
		},
		"made again and gone again": {
			does: func(o *overlay, _ cache.Store) {
				o.wrote(packed.Whole(named("second", child("ns", "a", "12", "o"))))
				o.gone(packed.Whole(named("second", child("ns", "a", "12", "o"))))
			},
			want: []string{"ns/b#10"}, left: 1,
		},
		"gone without a version": {
			does: func(o *overlay, _ cache.Store) { o.gone(packed.Whole(child("ns", "a", "", "o"))) },
			want: []string{"ns/a#9", "ns/b#10"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			o, store := lagging(t, stored()...)
			tc.does(o, store)

			byName := []string{}
			for _, key := range []string{"ns/a", "ns/b", "ns/c", "ns/new"} {
				if obj := o.get(key); obj != nil && obj.Label(v1alpha1.LabelOwnerUID) == "o" {
					byName = append(byName, names([]*unstructured.Unstructured{obj.Unpack()})...)
				}
			}
			g.Expect(byName).To(Equal(tc.want), "by name")

			owned := names(unpacked(o.selected(ownerIndex, v1alpha1.LabelOwnerUID, "o")))
			slices.Sort(owned)
			g.Expect(owned).To(Equal(tc.want), "by owner")
			g.Expect(o.entries).To(HaveLen(tc.left))
		})
	}
}

func TestEntryOverWhatIsStored(t *testing.T) {
	older, newest := packed.Whole(child("ns", "a", "9", "o")), packed.Whole(child("ns", "a", "11", "o"))
	written := packed.Whole(child("ns", "a", "10", "o"))
	for name, tc := range map[string]struct {
		gone         bool
		stored, want *packed.Object
	}{
		"written, nothing stored": {false, nil, written},
		"written, older stored":   {false, older, written},
		"written, newer stored":   {false, newest, newest},
		"gone, nothing stored":    {true, nil, nil},
		"gone, older stored":      {true, older, nil},
		"gone, newer stored":      {true, newest, newest},
	} {
		t.Run(name, func(t *testing.T) {
			e := entry{obj: written, version: "10", gone: tc.gone}
			NewWithT(t).Expect(e.over(tc.stored)).To(BeIdenticalTo(tc.want))
		})
	}
}

func TestOverlayKeepsNothingThatIsKnown(t *testing.T) {
	g := NewWithT(t)
	o, _ := lagging(t, child("ns", "a", "9", "o"))
	o.wrote(packed.Whole(child("ns", "a", "9", "o")))
	g.Expect(o.entries).To(BeEmpty())
	o.wrote(packed.Whole(child("ns", "b", "10", "")))
	g.Expect(o.entries).To(HaveLen(1))
	g.Expect(o.selected(ownerIndex, v1alpha1.LabelOwnerUID, "")).To(BeEmpty(), "nobody's is nobody's")
}

func TestOverlayOfAStoreThatKnowsNothing(t *testing.T) {
	g := NewWithT(t)
	o, _ := lagging(t)
	o.wrote(packed.Whole(child("ns", "a", "5", "o")))
	o.gone(packed.Whole(child("ns", "b", "6", "o")))
	g.Expect(names(unpacked(o.selected(ownerIndex, v1alpha1.LabelOwnerUID, "o")))).To(Equal([]string{"ns/a#5"}))
	g.Expect(o.entries).To(HaveLen(2))
}
