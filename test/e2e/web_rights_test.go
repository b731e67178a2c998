package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
)

// tokenFor makes an account as tokenOf does, without kubectl: there are many.
func (w *world) tokenFor(ctx context.Context, name string) string {
	GinkgoHelper()
	account, request := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}}, &authenticationv1.TokenRequest{}
	Expect(kube.Create(ctx, account)).To(Succeed())
	Expect(kube.SubResource("token").Create(ctx, account, request)).To(Succeed())
	return request.Status.Token
}

// reviewed is what SubjectAccessReviews say of one person, each asked for once.
type reviewed struct {
	w       *world
	account string
	known   map[string]bool
}

func (r *reviewed) may(ctx context.Context, verb, group, resource, namespace, name string) bool {
	GinkgoHelper()
	key := strings.Join([]string{verb, group, resource, namespace, name}, " ")
	if _, known := r.known[key]; !known {
		r.known[key] = r.w.lets(ctx, r.account, verb, group, resource, namespace, name)
	}
	return r.known[key]
}

// lists says whether the person may list a kind, everywhere or in a namespace.
func (r *reviewed) lists(ctx context.Context, group, resource, namespace string) bool {
	GinkgoHelper()
	return r.may(ctx, "list", group, resource, "", "") || namespace != "" && r.may(ctx, "list", group, resource, namespace, "")
}

// tally counts pairs of a person and a thing: those that are to be, those that are not, and those in which the page says something else.
type tally struct {
	is, isNot   string // the heads of its table
	let, unlet  map[string]int
	differences []string
}

func newTally(is, isNot string) *tally {
	return &tally{is: is, isNot: isNot, let: map[string]int{}, unlet: map[string]int{}}
}

func (t *tally) count(who, thing, name string, is, may bool) {
	if may {
		t.let[thing]++
	} else {
		t.unlet[thing]++
	}
	if is != may {
		t.differences = append(t.differences, fmt.Sprintf("%s %s for %s: the page says %t, and reviews say %t", thing, name, who, is, may))
	}
}

// pairs is how many were counted.
func (t *tally) pairs() (sum int) {
	for _, counts := range []map[string]int{t.let, t.unlet} {
		for _, n := range counts {
			sum += n
		}
	}
	return sum
}

// things are those that were counted.
func (t *tally) things() []string {
	all := maps.Clone(t.let)
	maps.Copy(all, t.unlet)
	return slices.Sorted(maps.Keys(all))
}

// table is that of the docs.
func (t *tally) table() string {
	out := fmt.Sprintf("| what | %s | %s |\n|---|---|---|\n", t.is, t.isNot)
	for _, thing := range t.things() {
		out += fmt.Sprintf("| %s | %d | %d |\n", thing, t.let[thing], t.unlet[thing])
	}
	return out
}

// unvaried are the things of which nobody, or everybody, was let: chance has left out a case.
func (t *tally) unvaried() (things []string) {
	for _, thing := range t.things() {
		if t.let[thing] == 0 || t.unlet[thing] == 0 {
			things = append(things, thing)
		}
	}
	return things
}

// isOver says whether so many pairs were counted, with each case among them. Chance may need a few more people for that, but not many.
func (t *tally) isOver(enough int) bool {
	return t.pairs() >= enough && len(t.unvaried()) == 0 || t.pairs() >= 2*enough
}

// enoughPairs is how many pairs are looked at of a person and a thing that this person sees or does not see: ORKESTRA_PAIRS, or 2,000.
func enoughPairs() int {
	GinkgoHelper()
	given := os.Getenv("ORKESTRA_PAIRS")
	if given == "" {
		return 2_000
	}
	enough, err := strconv.Atoi(given)
	Expect(err).NotTo(HaveOccurred(), "ORKESTRA_PAIRS")
	return enough
}

// ours is the group of boxes.
const ours = "orkestra.orkspace.io"

var _ = Describe("The Control Center of a manager, to people with random rights", func() {
	const (
		spec       = `onReconcile: {configmaps: [{id: shown, name: "{{ .metadata.name }}-shown", data: {a: b}}], secrets: [{id: hidden, name: "{{ .metadata.name }}-never-named", once: true, data: {password: never-shown}}]}`
		namespaces = 16
	)
	names := []string{"web", "mail"}

	It("shows what SubjectAccessReviews say", longest, func(ctx context.Context) {
		w := newWorld(ctx)
		address := servePage(serve.Options{})
		w.running(ctx, w.box(ctx, `{`+spec+`}`))
		var all []string
		for n := range namespaces {
			ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, n)}}
			Expect(kube.Create(ctx, ns)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, ns)).To(Succeed()) })
			all = append(all, ns.Name)
			for _, name := range names {
				obj := w.ref(name)
				obj.SetNamespace(ns.Name)
				obj.Object["spec"] = map[string]any{}
				Expect(kube.Create(ctx, obj)).To(Succeed())
			}
		}
		Eventually(func(g Gomega) {
			g.Expect(getHealth(ctx, g, w.id).Status.Resources.Ready).To(BeEquivalentTo(namespaces * len(names)))
		}).WithContext(ctx).Should(Succeed())

		seed := uint64(GinkgoRandomSeed())
		random := rand.New(rand.NewPCG(seed, 7))
		t := newTally("may be seen, and is", "may not, and is not")
		people := 0
		for ; !t.isOver(enoughPairs()); people++ {
			who := &reviewed{w: w, account: fmt.Sprint("person-", people), known: map[string]bool{}}
			token := w.tokenFor(ctx, who.account)
			w.grantAtRandom(ctx, random, who.account, all)
			p := centerAs(address, token)

			readsBox := who.may(ctx, "get", ours, "operatorboxes", "", w.id)
			seesBox := readsBox || who.lists(ctx, ours, "operatorboxes", "")
			var fleet api.Fleet
			t.count(who.account, "the fleet", "", p.ask(ctx, Default, "fleet", &fleet) == http.StatusOK, seesBox)
			line := slices.IndexFunc(fleet.Boxes, func(b api.Box) bool { return b.Name == w.id })
			t.count(who.account, "a box in the fleet", w.id, line >= 0, seesBox)
			t.count(who.account, "how a box fares", w.id, line >= 0 && fleet.Boxes[line].Resources.Total > 0,
				seesBox && (who.lists(ctx, ours, "crdhealths", "") || who.may(ctx, "get", ours, "crdhealths", "", w.id)))
			var box api.BoxDetail
			t.count(who.account, "the page of a box", w.id, p.ask(ctx, Default, "boxes/"+w.id, &box) == http.StatusOK, readsBox)
			var rows api.Rows
			p.ask(ctx, Default, "boxes/"+w.id+"/resources?limit=100", &rows)
			found := map[string]api.Found{}
			for _, name := range names {
				var some api.Found
				p.ask(ctx, Default, "resources?limit=100&text="+name, &some)
				found[name] = some
			}
			for _, in := range all {
				lists := who.lists(ctx, w.group, "websites", in)
				for _, name := range names {
					is := func(r api.Row) bool { return r.Namespace == in && r.Name == name }
					t.count(who.account, "a line of its resources", in+"/"+name, slices.ContainsFunc(rows.Rows, is), readsBox && lists)
					t.count(who.account, "a line of the search", in+"/"+name, slices.ContainsFunc(found[name].Rows, func(r api.FoundRow) bool { return r.Box == w.id && is(r.Row) }), seesBox && lists)

					var resource api.Resource
					reads := readsBox && who.may(ctx, "get", w.group, "websites", in, name)
					t.count(who.account, "a resource", in+"/"+name, p.ask(ctx, Default, "boxes/"+w.id+"/resources/"+in+"/"+name, &resource) == http.StatusOK, reads)
					for declaration, kind := range map[string]string{"shown": "configmaps", "hidden": "secrets"} {
						shown := slices.ContainsFunc(resource.Declarations, func(d api.Declaration) bool { return d.Declaration == declaration && d.Name != "" && d.YAML != "" })
						t.count(who.account, "a child, of "+kind, in+"/"+name, shown, reads && who.lists(ctx, "", kind, in))
					}
					Expect(fmt.Sprint(resource)).NotTo(ContainSubstring("never-shown"), "what a Secret holds")
					if !who.lists(ctx, "", "secrets", in) {
						Expect(fmt.Sprint(resource)).NotTo(ContainSubstring("never-named"), "the name of a Secret")
					}
				}
			}
		}
		AddReportEntry(fmt.Sprintf("%d pairs of %d people, seed %d", t.pairs(), people, seed), t.table())
		Expect(t.differences).To(BeEmpty())
		Expect(t.unvaried()).To(BeEmpty())
	})
})

// grantAtRandom gives somebody rights in some of the namespaces, and perhaps in all, and waits until the API server knows of them.
func (w *world) grantAtRandom(ctx context.Context, random *rand.Rand, account string, namespaces []string) {
	GinkgoHelper()
	kinds := []struct{ group, resource string }{{"orkestra.orkspace.io", "operatorboxes"}, {"orkestra.orkspace.io", "crdhealths"}, {w.group, "websites"}, {"", "configmaps"}, {"", "secrets"}}
	for _, in := range append([]string{""}, namespaces...) {
		var rules []rbacv1.PolicyRule
		for _, kind := range kinds {
			for _, verb := range []string{"get", "list"} {
				chance := 3 // one in three in a namespace, less often in all
				switch {
				case in == "" && kind.group == "orkestra.orkspace.io":
					chance = 2 // they are of no namespace, and without them nothing else is seen
				case in == "":
					chance = 8
				case kind.group == "orkestra.orkspace.io":
					continue
				}
				if random.IntN(chance) == 0 {
					rules = append(rules, to(kind.group, kind.resource, verb))
				}
			}
		}
		if len(rules) > 0 {
			w.grant(ctx, account, in, rules...)
		}
	}
}
