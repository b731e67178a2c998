package e2e_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// link is a static child that waits for another one, and shows the UID of a third.
type link struct {
	kind         string
	index        int
	waits, shows int // -1: for none, of none
}

func (l link) object() client.Object {
	switch l.kind {
	case "services":
		return &corev1.Service{}
	case "serviceaccounts":
		return &corev1.ServiceAccount{}
	default:
		return &corev1.ConfigMap{}
	}
}

func (l link) declared() string {
	out := fmt.Sprintf("  - {id: c%d, name: web-%d", l.index, l.index)
	if l.waits >= 0 {
		out += fmt.Sprintf(", when: [{field: children.c%d.metadata.uid, operator: exists}]", l.waits)
	}
	if l.shows >= 0 {
		out += fmt.Sprintf(", labels: {uid: '{{ default \"none\" .children.c%d.metadata.uid }}'}", l.shows)
	}
	if l.kind == "services" {
		out += ", port: 80, selector: {a: b}"
	}
	return out + "}\n"
}

// randomLinks are children that read each other without a cycle: each reads those before it in an order that is neither that of the box nor
// that of ranks.
func randomLinks(rnd *rand.Rand) []link {
	links := make([]link, 5+rnd.IntN(4))
	order := rnd.Perm(len(links))
	for at, i := range order {
		links[i] = link{kind: []string{"configmaps", "configmaps", "services", "serviceaccounts"}[rnd.IntN(4)], waits: -1, shows: -1, index: i}
		if at > 0 && rnd.IntN(4) > 0 {
			links[i].waits = order[rnd.IntN(at)]
		}
		if at > 0 && rnd.IntN(2) == 0 {
			links[i].shows = order[rnd.IntN(at)]
		}
	}
	return links
}

// linkedBox has a resync so long that only events move it.
func linkedBox(links []link) string {
	byKind := map[string]string{}
	for _, l := range links {
		byKind[l.kind] += l.declared()
	}
	var b strings.Builder
	b.WriteString("resync: 24h\nonReconcile:\n")
	for kind, declared := range byKind {
		b.WriteString("  " + kind + ":\n" + declared)
	}
	return b.String()
}

var _ = Describe("Children that read each other", func() {
	// complete waits until all children are there, each with the UID that it is to show.
	complete := func(ctx context.Context, w *world, links []link) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			uids := map[int]string{}
			shown := map[int]string{}
			for _, l := range links {
				obj := l.object()
				w.child(ctx, g, obj, fmt.Sprintf("web-%d", l.index))
				uids[l.index], shown[l.index] = string(obj.GetUID()), obj.GetLabels()["uid"]
			}
			for _, l := range links {
				if l.shows >= 0 {
					g.Expect(shown[l.index]).To(Equal(uids[l.shows]), "child %d shows child %d", l.index, l.shows)
				}
			}
		}).WithContext(ctx).Should(Succeed())
		w.settled(ctx, "web")
	}

	It("are made one after the other as soon as each is there, without a resync, and then nothing is sent", func(ctx context.Context) {
		w := newWorld(ctx)
		var chain []link
		for i := range 8 {
			chain = append(chain, link{kind: "configmaps", index: i, waits: i - 1, shows: i - 1})
		}
		w.running(ctx, w.box(ctx, linkedBox(chain)))
		w.website(ctx, "web", `{}`)
		complete(ctx, w, chain)
		nothingSent(ctx, w, "web")
	})

	It("come to the state that their box describes, whatever reads what", func(ctx context.Context) {
		w := newWorld(ctx)
		for seed := range uint64(4) {
			links := randomLinks(rand.New(rand.NewPCG(seed, 2)))
			By(fmt.Sprintf("seed %d:\n%s", seed, linkedBox(links)))
			w.running(ctx, w.box(ctx, linkedBox(links)))
			w.website(ctx, "web", `{}`)
			complete(ctx, w, links)
		}
		nothingSent(ctx, w, "web")
	})
})
