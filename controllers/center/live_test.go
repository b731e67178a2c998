package center

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/web/api"
)

// watched is a child that a gate waits for: what is declared of its field, how, and what the cluster has.
type watched struct {
	declared, how string
	there         bool
	live          string // empty: the field is not there
}

// sees is what the gate finds in the cluster: fields that are left alone stay as they are, all others become what is declared.
func (w watched) sees() string {
	if w.there && w.how != "" {
		return w.live
	}
	return w.declared
}

// TestGatesReadWhatTheClusterHas renders random boxes whose gates read fields of living children, and expects what a reconcile would do.
func TestGatesReadWhatTheClusterHas(t *testing.T) {
	const seed = 16
	random := rand.New(rand.NewPCG(seed, seed))
	one := func(of ...string) string { return of[random.IntN(len(of))] }
	running := &v1alpha1.OperatorBox{}
	running.Name, running.Status.CRD.Name, running.Status.CRD.Kind, running.Status.CRD.Version = "shops", "shops.demo.example.com", "Shop", "v1"
	for round := range 25 {
		var declared strings.Builder
		cluster := []string{shopCRD, strings.Replace(flowers, "namespace: team-a", "namespace: team-a, uid: u", 1)}
		all := make([]watched, 6)
		for i := range all {
			w := watched{declared: one("yes", "no"), how: one("", "initialFields: [data.v], ", "once: true, "), there: random.IntN(4) > 0, live: one("yes", "no", "")}
			all[i] = w
			fmt.Fprintf(&declared, "    - {id: c%d, name: c%d, %sdata: {v: %q, w: stays}}\n", i, i, w.how, w.declared)
			fmt.Fprintf(&declared, "    - {name: g%d, when: [{field: children.c%d.data.v, equals: \"yes\"}], data: {a: b}}\n", i, i)
			if w.there {
				data := "{w: stays}"
				if w.live != "" {
					data = fmt.Sprintf("{v: %q, w: stays}", w.live)
				}
				cluster = append(cluster, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: team-a, uid: c%d, labels: {orkestra.orkspace.io/owner-uid: u}}\ndata: %s\n", i, i, data))
			}
		}
		g := NewWithT(t)
		out, err := planner(t, clusterOf(t, cluster...), running).Render(t.Context(), api.RenderQuestion{
			Boxes: boxOf("  onReconcile:\n    configmaps:\n" + declared.String()), Of: &api.ResourceOf{Box: "shops", Namespace: "team-a", Name: "flowers"},
		})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.Compiled.Valid).To(BeTrue(), "%v", out.Compiled)
		texts := map[string]string{}
		for _, o := range out.Resources[0].Objects {
			texts[o.Name] = o.YAML
		}
		for i, w := range all {
			_, open := texts[fmt.Sprintf("g%d", i)]
			g.Expect(open).To(Equal(w.sees() == "yes"), "round %d, child %d: %+v", round, i, w)
			if w.sees() == "" {
				g.Expect(texts[fmt.Sprintf("c%d", i)]).NotTo(MatchRegexp(`\bv: `), "round %d, child %d: %+v", round, i, w)
			} else {
				g.Expect(texts[fmt.Sprintf("c%d", i)]).To(ContainSubstring(`v: "`+w.sees()+`"`), "round %d, child %d: %+v", round, i, w)
			}
		}
	}
}
