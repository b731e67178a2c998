package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/controllers/serve"
	"github.com/orkspace/orkestra/engine/web/api"
)

// verbOf is the verb of Orkestra that each action takes, on a resource and on a box.
var verbOf = map[bool]map[api.ActionName]string{
	false: {api.Reconcile: "reconcile", api.Pause: "pause", api.Resume: "pause", api.Release: "rollback"},
	true:  {api.Suspend: "suspend", api.Resume: "suspend", api.GoBack: "rollback"},
}

// deeds are what people do to these objects: resources in some namespaces, one of which is rolled back, and their box.
type deeds struct {
	w       *world
	account account
	objects []*deedObject
}

// deedObject is an object, and how it stands.
type deedObject struct {
	namespace, name string // empty for the box
	uid             string
	stopped         bool // it is paused, or suspended
	rolledBack      bool
	box             *deedObject // nil for the box
}

func (o *deedObject) isBox() bool { return o.name == "" }

func (o *deedObject) String() string {
	if o.isBox() {
		return "the box"
	}
	return o.namespace + "/" + o.name
}

// sort says what it is.
func (o *deedObject) sort() string {
	if o.isBox() {
		return "a box"
	}
	return "a resource"
}

func (s *deeds) path(o *deedObject) string {
	if o.isBox() {
		return "boxes/" + s.w.id
	}
	return "boxes/" + s.w.id + "/resources/" + o.namespace + "/" + o.name
}

// fits are the actions that fit an object as it stands.
func (o *deedObject) fits() []api.ActionName {
	switch {
	case o.isBox() && o.stopped:
		return []api.ActionName{api.Resume, api.GoBack}
	case o.isBox():
		return []api.ActionName{api.Suspend, api.GoBack}
	case o.stopped:
		return []api.ActionName{api.Resume}
	case o.box.stopped:
		// Nothing that a sub-controller would have to do.
		return []api.ActionName{api.Pause}
	case o.rolledBack:
		return []api.ActionName{api.Release, api.Pause}
	default:
		return []api.ActionName{api.Reconcile, api.Pause}
	}
}

// actionsOf are all that there are of an object, whether they fit or not.
func actionsOf(o *deedObject) []api.ActionName { return slices.Sorted(maps.Keys(verbOf[o.isBox()])) }

// deed is an action on an object.
type deed struct {
	on     *deedObject
	action api.ActionName
}

// sees says whether somebody may read an object, by reviews.
func (s *deeds) sees(ctx context.Context, who *reviewed, o *deedObject) bool {
	GinkgoHelper()
	return who.may(ctx, "get", ours, "operatorboxes", "", s.w.id) && (o.isBox() || who.may(ctx, "get", s.w.group, "websites", o.namespace, o.name))
}

// lets says whether somebody may do something to an object, by reviews: the verb of Orkestra, Kubernetes' own, and of who writes a box what the policies ask.
func (s *deeds) lets(ctx context.Context, who *reviewed, o *deedObject, action api.ActionName) bool {
	GinkgoHelper()
	group, resource, name := s.w.group, "websites", o.name
	if o.isBox() {
		group, resource, name = ours, "operatorboxes", s.w.id
	}
	both := who.may(ctx, "patch", group, resource, o.namespace, name) && who.may(ctx, verbOf[o.isBox()][action], group, resource, o.namespace, name)
	return both && s.sees(ctx, who, o) &&
		(!o.isBox() || who.may(ctx, "impersonate", "", "serviceaccounts", s.account.namespace, s.account.name) && who.may(ctx, "operate", s.w.group, "websites", "", ""))
}

// offered are the actions that the page shows somebody, and whether they may be done. What was done just before is known to the page a moment later.
func (s *deeds) offered(ctx context.Context, p *page, o *deedObject, sees bool) map[api.ActionName]bool {
	GinkgoHelper()
	out := map[api.ActionName]bool{}
	Eventually(func(g Gomega) {
		clear(out)
		var said api.ResourceActions // those of a box have the same fields
		code := p.ask(ctx, g, s.path(o)+"/actions", &said)
		for _, a := range said.Actions {
			out[a.Name] = a.May
		}
		if code == http.StatusOK && sees {
			g.Expect(slices.Collect(maps.Keys(out))).To(ConsistOf(o.fits()), "%s", o)
		}
	}).WithContext(ctx).Should(Succeed())
	return out
}

// order has somebody order an action, and gives the status. Going back and a release would take long to be over, so these are ordered of a box, and of
// a resource, that was another one: who may not do it is refused as always, and who may is told that it has changed. What was done to a box is known to the
// manager when this returns.
func (s *deeds) order(ctx context.Context, p *page, o *deedObject, action api.ActionName) int {
	GinkgoHelper()
	order := api.Order{UID: o.uid}
	if action == api.GoBack {
		order.Revision, order.Generation = s.w.id, 1_000_000
	}
	var answer api.Problem
	code := p.post(ctx, s.path(o)+"/actions/"+string(action), order, &answer)
	if code == http.StatusOK && action != api.Reconcile {
		o.stopped = action != api.Resume
	}
	if code == http.StatusOK && o.isBox() {
		// What fits a resource depends on the box as the manager's cache has it.
		Eventually(func(g Gomega) {
			box := getBox(ctx, g, s.w.id)
			g.Expect(box.Status.ObservedGeneration).To(Equal(box.Generation))
		}).WithContext(ctx).Should(Succeed())
	}
	return code
}

// newDeeds makes them.
func newDeeds(ctx context.Context, w *world, a account, namespaces, names []string) *deeds {
	GinkgoHelper()
	box := &deedObject{uid: string(getBox(ctx, Default, w.id).UID)}
	s := &deeds{w: w, account: a, objects: []*deedObject{box}}
	for _, in := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: in}}
		Expect(kube.Create(ctx, ns)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, ns)).To(Succeed()) })
		for _, name := range names {
			obj := w.ref(name)
			obj.SetNamespace(in)
			obj.SetLabels(map[string]string{"team": "a"})
			obj.Object["spec"] = parsed(goodSteps)
			Expect(kube.Create(ctx, obj)).To(Succeed())
			s.objects = append(s.objects, &deedObject{namespace: in, name: name, uid: string(obj.GetUID()), box: box})
		}
	}
	w.labeled(ctx, "back", goodSteps, "a")
	w.settled(ctx, "back")
	Eventually(func(g Gomega) { g.Expect(w.snapshots(ctx, g)).To(HaveLen(1)) }).WithContext(ctx).Should(Succeed())
	w.labeled(ctx, "back", badSteps, "a")
	w.rolledBack(ctx, "back", "")
	s.objects = append(s.objects, &deedObject{namespace: w.namespace, name: "back", uid: "another", rolledBack: true, box: box})
	return s
}

// grantDeeds gives somebody rights to read and to act in some of the namespaces, and perhaps in all. Some are over one object alone.
func (s *deeds) grantDeeds(ctx context.Context, random *rand.Rand, account string, namespaces []string) {
	GinkgoHelper()
	for _, in := range append([]string{""}, namespaces...) {
		var rules []rbacv1.PolicyRule
		perhaps := func(of, group, resource, name string, verbs ...string) {
			for _, verb := range verbs {
				if !happens(random, of) {
					continue
				}
				rule := to(group, resource, verb)
				if name != "" && happens(random, "seldom") {
					rule.ResourceNames = []string{name}
				}
				rules = append(rules, rule)
			}
		}
		of := "often"
		if in == "" {
			of = "seldom"
			perhaps("mostly", ours, "operatorboxes", s.w.id, "get", "patch", "suspend", "rollback")
			perhaps("mostly", "", "serviceaccounts", s.account.name, "impersonate")
			perhaps("mostly", s.w.group, "websites", "", "operate")
		}
		perhaps(of, s.w.group, "websites", "web", "get", "patch", "reconcile", "pause", "rollback")
		if len(rules) > 0 {
			s.w.grant(ctx, account, in, rules...)
		}
	}
}

// happens draws whether something does.
func happens(random *rand.Rand, how string) bool {
	return random.IntN(100) < map[string]int{"mostly": 88, "often": 80, "seldom": 15}[how]
}

var _ = Describe("The Control Center of a manager, to people who act with random rights", func() {
	const (
		// enough pairs of a person and a deed that this person may do or may not do.
		enough     = 1_000
		namespaces = 6
		// orders are as many as somebody may give at once.
		orders = 10
	)
	names := []string{"web", "mail"}

	It("offers and does what SubjectAccessReviews let them, in 1,000 pairs", longest, func(ctx context.Context) {
		w := newWorld(ctx)
		address := freeAddress()
		replaceManager(w.asManager(ctx), func(s *settings) { s.orkestra.Web = &serve.Options{Address: address} })
		a := w.account(ctx, children("", "configmaps", "services"))
		w.running(ctx, w.box(ctx, a.ref()+"rollback: {trigger: {consecutiveFailures: 1}}\n"+steps))
		var all []string
		for n := range namespaces {
			all = append(all, fmt.Sprintf("%s-%d", w.namespace, n))
		}
		s := newDeeds(ctx, w, a, all, names)

		seed := uint64(GinkgoRandomSeed())
		random := rand.New(rand.NewPCG(seed, 7))
		t := newTally("may, and does", "may not, and does not")
		people, done := 0, 0
		for ; !t.isOver(enough); people++ {
			who := &reviewed{w: w, account: fmt.Sprint("person-", people), known: map[string]bool{}}
			token := w.tokenFor(ctx, who.account)
			s.grantDeeds(ctx, random, who.account, append(all, w.namespace))
			p := centerAs(address, token)
			for _, o := range s.objects {
				sees := s.sees(ctx, who, o)
				offered := s.offered(ctx, p, o, sees)
				for _, action := range o.fits() {
					t.count(who.account, fmt.Sprintf("is offered to %s %s", action, o.sort()), o.String(), offered[action], s.lets(ctx, who, o, action))
				}
			}
			// Of a box all is ordered, since it is read anew for each order; of some resources one action each, since the page does not know at once what was done.
			box, resources := s.objects[0], s.objects[1:]
			random.Shuffle(len(resources), func(i, j int) { resources[i], resources[j] = resources[j], resources[i] })
			var ordered []deed
			every := actionsOf(box)
			random.Shuffle(len(every), func(i, j int) { every[i], every[j] = every[j], every[i] })
			for _, action := range every {
				ordered = append(ordered, deed{box, action})
			}
			for _, o := range resources[:orders-len(ordered)] {
				every := actionsOf(o)
				ordered = append(ordered, deed{o, every[random.IntN(len(every))]})
			}
			for _, d := range ordered {
				may, fits := s.lets(ctx, who, d.on, d.action), slices.Contains(d.on.fits(), d.action) && d.action != api.GoBack && !d.on.rolledBack
				code := s.order(ctx, p, d.on, d.action)
				t.count(who.account, fmt.Sprintf("orders to %s %s", d.action, d.on.sort()), d.on.String(), code == http.StatusOK || code == http.StatusConflict, may)
				switch {
				case may && fits:
					Expect(code).To(Equal(http.StatusOK), "%s: %s %s", who.account, d.action, d.on)
					done++
				case may:
					Expect(code).NotTo(Equal(http.StatusOK), "%s: %s %s", who.account, d.action, d.on)
				}
			}
		}
		AddReportEntry(fmt.Sprintf("%d pairs of %d people, %d deeds done, %d differences, seed %d", t.pairs(), people, done, len(t.differences), seed), t.table())
		Expect(t.differences).To(BeEmpty())
		Expect(t.unvaried()).To(BeEmpty())
	})
})
