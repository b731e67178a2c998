package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	draincmd "github.com/orkspace/orkestra/cmd/orkestra/drain"
)

// fragments are parts of a box, each of which has something done that the others don't. FAR is another namespace, URL a service, NEAR the
// box's own namespace.
var fragments = map[string]string{
	"templates":    `{onReconcile: {configmaps: [{id: text, name: "{{ .metadata.name }}-text", data: {a: "{{ .spec.mode }}"}}]}}`,
	"orphans":      `{onReconcile: {configmaps: [{id: orphan, name: "{{ .metadata.name }}-orphan", deletionPolicy: Orphan, data: {a: b}}]}}`,
	"loops":        `{onReconcile: {configmaps: [{id: tag, name: "{{ .metadata.name }}-{{ .item }}", forEach: {field: spec.tags, key: "{{ .item }}"}, data: {a: "{{ .item }}"}}]}}`,
	"gates":        `{onReconcile: {deployments: [{id: web, name: "{{ .metadata.name }}-web", image: "nginx:1", replicas: 1, port: 80}], services: [{id: front, name: "{{ .metadata.name }}-web", port: 80, selector: {a: b}, when: [{field: children.web.status.readyReplicas, greaterThan: 0}]}]}}`,
	"jobs":         `{onReconcile: {jobs: [{id: migrate, name: "{{ .metadata.name }}-migrate", image: "busybox:1"}]}}`,
	"once":         `{onReconcile: {configmaps: [{id: once, name: "{{ .metadata.name }}-once", once: true, data: {a: b}}]}}`,
	"secrets":      `{onReconcile: {secrets: [{id: pass, name: "{{ .metadata.name }}-pass", once: true, data: {password: "{{ randAlphaNum 16 }}"}}]}}`,
	"creation":     `{onCreate: {configmaps: [{id: first, name: "{{ .metadata.name }}-first", data: {a: b}}]}}`,
	"clean-up":     `{onDelete: {configmaps: [{id: bye, name: "{{ .metadata.name }}-bye", data: {a: b}}]}}`,
	"far":          `{onReconcile: {configmaps: [{id: far, name: "{{ .metadata.namespace }}-{{ .metadata.name }}", namespace: FAR, data: {a: "{{ .spec.mode }}"}}]}}`,
	"adoption":     `{onReconcile: {configmaps: [{id: adopted, name: "{{ .metadata.name }}-adopted", adopt: IfUnowned, data: {a: "{{ .spec.mode }}"}}]}}`,
	"replacing":    `{onReconcile: {jobs: [{id: again, name: "{{ .metadata.name }}-again", image: "busybox:1", replace: true, args: ["{{ .spec.mode }}"]}]}}`,
	"initial":      `{onReconcile: {deployments: [{id: scaled, name: "{{ .metadata.name }}-scaled", image: "nginx:1", replicas: 1, initialFields: [spec.replicas]}]}}`,
	"cross":        `{cross: [{name: settings, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}], onReconcile: {configmaps: [{id: crossed, name: "{{ .metadata.name }}-crossed", data: {a: "{{ .cross.settings.data.a }}"}}]}}`,
	"external":     `{external: [{name: quota, url: URL, auth: {secretRef: {name: quota}}}], onReconcile: {configmaps: [{id: called, name: "{{ .metadata.name }}-called", data: {a: "{{ .external.quota.status }}"}}]}}`,
	"list":         `{cross: [{name: all, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {pick: me}}}], onReconcile: {configmaps: [{id: listed, name: "{{ .metadata.name }}-listed", data: {a: "{{ len .cross.all }}"}}]}}`,
	"closing":      `{onReconcile: {configmaps: [{id: closing, name: "{{ .metadata.name }}-closing", when: [{field: spec.mode, equals: one}], data: {a: b}}]}}`,
	"keeping":      `{onReconcile: {configmaps: [{id: keeping, name: "{{ .metadata.name }}-keeping", whenFalse: Keep, when: [{field: spec.mode, equals: one}], data: {a: b}}]}}`,
	"finalizers":   `{finalizers: [example.com/held]}`,
	"mutation":     `{mutation: {rules: [{field: spec.image, default: "nginx:1"}]}, validation: {rules: [{field: spec.replicas, operator: lte, value: 10}]}, normalize: {spec: {mode: "{{ .spec.mode | trim }}"}}}`,
	"status":       `{status: {fields: [{path: phase, value: "{{ .spec.mode }}"}]}}`,
	"marks":        `{commonLabels: {team: "{{ .spec.mode }}"}, commonAnnotations: {note: a}}`,
	"in the open":  `{onReconcile: {resources: [{id: class, manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: "{{ .metadata.namespace }}-{{ .metadata.name }}"}, value: 7}}]}}`,
	"children 1st": `{deletion: {childrenFirst: true}, onDelete: {configmaps: [{id: last, name: "{{ .metadata.name }}-last", data: {a: b}}]}}`,
}

// dropped is in every box at first, and taken out later. stray leads where a resource says. back and sorry are in one box each, since a box goes back in one way.
const (
	dropped = `{onReconcile: {configmaps: [{id: dropped, name: "{{ .metadata.name }}-dropped", data: {a: b}}]}}`
	fails   = `onReconcile: {configmaps: [{id: back, name: "{{ .metadata.name }}-back", data: {a: "{{ .spec.mode }}"}}],
		services: [{id: fails, name: "{{ .metadata.name }}-fails", port: "{{ .spec.port }}", selector: {a: b}, when: [{field: spec.mode, equals: bad}, {field: children.back.data.a, equals: bad}]}]}`
	stray = `{onReconcile: {configmaps: [{id: stray, name: "{{ .metadata.name }}-stray", namespace: "{{ .spec.database }}", when: [{field: spec.database, operator: exists}], data: {a: b}}]}}`
	back  = `{rollBackOnError: true, ` + fails + `}`
	sorry = `{rollback: {trigger: {consecutiveFailures: 1}, onRollback: {configmaps: [{id: sorry, name: "{{ .metadata.name }}-sorry", data: {a: b}}]}}, ` + fails + `}`
)

// audit is a world whose box has an account, and fragments.
type audit struct {
	*world

	account   account
	uids      []types.UID // that the account had
	fragments []string
	more      []string // fragments of its own
	drops     bool     // the last of the fragments is one that another box has, too
	broken    string
	far, url  string
	closed    string // a namespace that lets nobody in
	defines   bool
	parts     []stretch // of the audit log
}

// stretch of the audit log begins at a place; it ends where the next one begins.
type stretch struct {
	phase string
	from  int64
}

// withoutAccount is the phase in which the account is missing, or another.
const withoutAccount = "without the account"

// enter notes that a phase begins.
func (a *audit) enter(phase string) { a.parts = append(a.parts, stretch{phase, auditedUntilNow()}) }

// unite puts what b says into a: maps are united, lists are put one behind the other.
func unite(a, b map[string]any) map[string]any {
	for k, v := range b {
		switch of := v.(type) {
		case map[string]any:
			inner, _ := a[k].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
			}
			a[k] = unite(inner, of)
		case []any:
			list, _ := a[k].([]any)
			a[k] = append(list, of...)
		default:
			a[k] = v
		}
	}
	return a
}

// spec is the box's own.
func (a *audit) spec() string {
	GinkgoHelper()
	out := map[string]any{}
	texts := []string{a.account.ref(), a.broken, "resync: 5s"}
	for _, name := range a.fragments {
		texts = append(texts, fragments[name])
	}
	texts = append(texts, a.more...)
	if a.defines {
		definition, err := json.Marshal(a.crd().Spec)
		Expect(err).NotTo(HaveOccurred())
		texts = append(texts, `crd: {deletionPolicy: Delete, definition: `+string(definition)+`}`)
	}
	for _, text := range texts {
		part := map[string]any{}
		Expect(yaml.Unmarshal([]byte(strings.NewReplacer("FAR", a.far, "URL", a.url).Replace(text)), &part)).To(Succeed())
		out = unite(out, part)
	}
	text, err := yaml.Marshal(out)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// begin makes the account, what the fragments read, and the box.
func (a *audit) begin(ctx context.Context) {
	GinkgoHelper()
	a.far = a.anotherNamespace(ctx)
	a.closed = a.id + "-closed"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: a.closed}}
	Expect(kube.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, namespace)).To(Succeed()) })
	a.account = newAccount(ctx, ownNamespace, a.id+"-acts", append(a.usualRules(), may(a.group, "websites", "delete"),
		may("apiextensions.k8s.io", "customresourcedefinitions", "get", "create", "patch", "delete"), may("", "namespaces", "get", "list", "watch"),
		children("", "configmaps", "secrets", "services"), children("apps", "deployments"), children("batch", "jobs"),
		children("scheduling.k8s.io", "priorityclasses"), children("apps", "controllerrevisions"),
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}})...)
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "settings", Labels: map[string]string{"pick": "me"}}, Data: map[string]string{"a": "b"}}
	token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "quota"}, StringData: map[string]string{"token": "t"}}
	found := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web-adopted"}, Data: map[string]string{"a": "theirs"}}
	for _, obj := range []client.Object{settings, token, found} {
		Expect(kube.Create(ctx, obj)).To(Succeed())
	}
	if a.defines {
		DeferCleanup(func(ctx context.Context) { // should the spec fail: without its account it would keep its CRD for ever
			box := &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: a.id}}
			patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"crd":{"deletionPolicy":"Retain"}}}`))
			Expect(client.IgnoreNotFound(kube.Patch(ctx, box, patch))).To(Succeed())
		})
	}
	a.enter("making")
	a.running(ctx, a.box(ctx, a.spec()))
	a.uids = append(a.uids, actsAs(ctx, a.id, a.account))
}

// resources of each box: the first is there to the end, the second is deleted without the account, the third with it.
var audited = []string{"web", "second", "third"}

func (a *audit) writes(ctx context.Context, mode string) {
	GinkgoHelper()
	for _, name := range audited {
		a.website(ctx, name, fmt.Sprintf(`{mode: %q, tags: [%s, common], replicas: 1}`, mode, mode))
	}
}

// concerns says whether a line of the audit log is about the world, or a snapshot of one of its resources: those lie in the manager's
// namespace, under a name that tells the resource and not its namespace. A process of the suite has a control plane of its own, and runs one
// spec at a time: no other spec's are among them.
func (a *audit) concerns(line string) bool {
	return strings.Contains(line, a.id) || slices.ContainsFunc(audited, func(name string) bool {
		return strings.Contains(line, `"resource":"controllerrevisions","namespace":"`+ownNamespace+`","name":"`+name+`-`)
	})
}

// complaint says what is wrong with as whom a request was made; empty: nothing.
func (a *audit) complaint(e auditEvent, inLost bool) string {
	group, resource := e.ObjectRef.APIGroup, e.ObjectRef.Resource
	kept := resource == "controllerrevisions" && (e.ObjectRef.Namespace == ownNamespace || !e.writes())
	own := group == v1alpha1.GroupName || kept || resource == "events" && e.ObjectRef.Namespace == metav1.NamespaceDefault ||
		resource == "customresourcedefinitions" && !e.writes() || e.Verb == "list" || e.Verb == "watch"
	switch as := e.Impersonated; {
	case e.ObjectRef.Namespace == a.closed:
		return "in a namespace that does not let the resource in"
	case own && as != nil:
		return "the manager's own work"
	case own:
		return ""
	case as == nil && inLost && (e.Verb == "delete" || e.Verb == "patch" && group == a.group && e.ObjectRef.Subresource == "" || !e.writes()):
		return ""
	case as == nil:
		return "made as the manager"
	case as.Username != a.account.user() || !slices.Contains(a.uids, types.UID(as.UID)):
		return "made as another account"
	case !maps.EqualFunc(as.Extra, map[string][]string{"orkestra.orkspace.io/box": {a.id}}, slices.Equal):
		return "made for another box"
	default:
		return ""
	}
}

var _ = Describe("Boxes with accounts, whatever they declare and whatever happens", func() {
	It("make no request under another identity", func(ctx context.Context) {
		seed := uint64(GinkgoRandomSeed())
		rng := rand.New(rand.NewPCG(seed, seed))
		GinkgoWriter.Printf("fragments are dealt by seed %d\n", seed)
		service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
		DeferCleanup(service.Close)

		names := slices.Sorted(maps.Keys(fragments))
		rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		var all []*audit
		for i := range 5 {
			a := &audit{url: service.URL, defines: i == 0}
			if a.defines {
				a.world = newWorldWithoutCRD(ctx)
			} else {
				a.world = newWorld(ctx)
			}
			a.more = [][]string{{dropped}, {back, dropped}, {sorry, dropped}, {stray, dropped}, {stray, dropped}}[i]
			for j, name := range names {
				if j%5 == i {
					a.fragments = append(a.fragments, name)
				}
			}
			for j, name := range names { // some that another box has, too; the last may be dropped
				if j%5 != i && rng.IntN(5) == 0 {
					a.fragments = append(a.fragments, name)
					a.drops = true
				}
			}
			GinkgoWriter.Printf("box %s: %s\n", a.id, strings.Join(a.fragments, ", "))
			a.begin(ctx)
			all = append(all, a)
		}
		settled := func(names ...string) {
			GinkgoHelper()
			for _, a := range all {
				for _, name := range names {
					a.settled(ctx, name)
				}
			}
		}
		each := func(text string, do func(a *audit)) {
			By(text)
			for _, a := range all {
				do(a)
			}
		}
		each("making resources", func(a *audit) { a.writes(ctx, "one") })
		settled(audited...)
		each("leading one astray", func(a *audit) {
			if slices.Contains(a.more, stray) {
				a.website(ctx, "stray", `{mode: one, tags: [one], replicas: 1, database: `+a.closed+`}`)
				Eventually(func(g Gomega) {
					g.Expect(a.get(ctx, g, "stray").GetFinalizers()).NotTo(BeEmpty())
					g.Expect(condition(a.get(ctx, g, "stray"), v1alpha1.ConditionReady).Status).NotTo(BeEmpty())
				}).WithContext(ctx).Should(Succeed())
			}
		})
		each("changing resources, children and marks", func(a *audit) {
			a.enter("changing")
			a.writes(ctx, "two")
			maps := &corev1.ConfigMapList{}
			Expect(kube.List(ctx, maps, client.InNamespace(a.namespace), client.MatchingLabels{v1alpha1.LabelBox: a.id})).To(Succeed())
			for i := range maps.Items {
				switch c := &maps.Items[i]; rng.IntN(3) {
				case 0:
					Expect(client.IgnoreNotFound(kube.Delete(ctx, c))).To(Succeed())
				case 1:
					Expect(client.IgnoreNotFound(kube.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"data":{"a":"theirs"}}`))))).To(Succeed())
				default:
					Expect(client.IgnoreNotFound(kube.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+v1alpha1.LabelOwnerUID+`":null}}}`))))).To(Succeed())
				}
			}
			a.merge(ctx, a.ref("web"), `{"metadata":{"labels":null,"finalizers":null}}`)
		})
		settled(audited...)
		each("dropping a declaration, and writing a box that does not compile", func(a *audit) {
			a.enter("dropping")
			if a.drops {
				a.fragments = a.fragments[:len(a.fragments)-1]
			}
			a.more = slices.DeleteFunc(a.more, func(text string) bool { return text == dropped })
			a.running(ctx, a.box(ctx, a.spec()))
			a.broken = `{status: {fields: [{path: phase, value: "{{ .spec.nothing }}"}]}}`
			a.box(ctx, a.spec())
			boxShows(ctx, a.id, v1alpha1.ConditionCompiled, metav1.ConditionFalse, v1alpha1.ReasonCompileFailed, "spec.nothing")
			a.broken = ""
		})
		By("starting the manager again, which revives what ran before")
		manager.stop()
		manager = startManager(cluster.Config())
		each("going on", func(a *audit) { a.enter("restarted"); a.writes(ctx, "three") })
		settled(audited...)
		each("mending the box", func(a *audit) { a.running(ctx, a.box(ctx, a.spec())) })
		each("suspending it, and going on", func(a *audit) {
			a.broken = "suspend: true"
			a.box(ctx, a.spec())
			boxShows(ctx, a.id, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonSuspended, "")
			a.broken = ""
			a.running(ctx, a.box(ctx, a.spec()))
		})
		each("going wrong, and back", func(a *audit) {
			if !slices.ContainsFunc(a.more, func(text string) bool { return strings.Contains(text, "fails") }) {
				return
			}
			a.enter("going back")
			a.website(ctx, "web", `{mode: bad, tags: [bad], replicas: 1, port: 70000}`)
			a.rolledBack(ctx, "web", "")
			a.website(ctx, "web", `{mode: mended, tags: [mended], replicas: 1}`)
		})
		settled("web")
		each("draining", func(a *audit) { a.enter("drained") })
		command := draincmd.NewCommand()
		drains := func(args ...string) {
			GinkgoHelper()
			command.SetArgs(append(args, "-n", ownNamespace, "--kubeconfig", cluster.Kubeconfig()))
			command.SetOut(GinkgoWriter)
			Expect(command.ExecuteContext(ctx)).To(Succeed())
		}
		DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, lease()))).To(Succeed()) })
		drains()
		drains("--undo")
		each("which go on", func(a *audit) { a.running(ctx, a.id) })
		settled(audited...)
		each("deleting a resource", func(a *audit) {
			a.enter("deleting")
			Expect(kube.Delete(ctx, a.ref("third"))).To(Succeed())
		})
		each("which goes", func(a *audit) {
			Eventually(func(g Gomega) {
				obj := a.ref("third")
				err := kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
				g.Expect(err == nil && slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer)).To(BeFalse())
			}).WithContext(ctx).Should(Succeed())
		})
		each("taking the accounts away", func(a *audit) {
			a.enter(withoutAccount)
			a.account.remove(ctx)
			lacks(ctx, a.id, v1alpha1.ReasonAccountMissing, "does not exist")
		})
		each("deleting resources meanwhile", func(a *audit) {
			a.annotate(ctx, "second", v1alpha1.AnnotationSkipCleanup, "true")
			Expect(kube.Delete(ctx, a.ref("second"))).To(Succeed())
		})
		each("which go", func(a *audit) {
			Eventually(func(g Gomega) {
				obj := a.ref("second")
				err := kube.Get(ctx, client.ObjectKeyFromObject(obj), obj)
				g.Expect(err == nil && slices.Contains(obj.GetFinalizers(), v1alpha1.Finalizer)).To(BeFalse())
				g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			}).WithContext(ctx).Should(Succeed())
			if slices.Contains(a.fragments, "finalizers") {
				a.merge(ctx, a.ref("second"), `{"metadata":{"finalizers":null}}`)
			}
		})
		each("giving the accounts back", func(a *audit) {
			uid := a.account.make(ctx)
			lacks(ctx, a.id, v1alpha1.ReasonAccountChanged, string(uid))
			a.enter("another account")
			a.uids = append(a.uids, uid)
			a.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: a.id}},
				`{"metadata":{"annotations":{"`+v1alpha1.AnnotationConfirmAccount+`":"`+string(uid)+`"}}}`)
		})
		each("going on", func(a *audit) { a.website(ctx, "web", `{mode: four, tags: [four], replicas: 1}`) })
		settled("web")
		each("deleting boxes, some with the children", func(a *audit) {
			if rng.IntN(2) == 0 {
				a.merge(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: a.id}}, `{"metadata":{"annotations":{"`+v1alpha1.AnnotationCleanup+`":"true"}}}`)
			}
			Expect(kube.Delete(ctx, &v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: a.id}})).To(Succeed())
		})
		each("which go", func(a *audit) {
			Eventually(func() bool {
				return apierrors.IsNotFound(kube.Get(ctx, types.NamespacedName{Name: a.id}, &v1alpha1.OperatorBox{}))
			}).WithContext(ctx).Should(BeTrue(), a.id)
		})

		seen := map[string]int{}
		each("looking at each request in the audit log", func(a *audit) {
			a.enter("the end")
			for i, p := range a.parts[:len(a.parts)-1] {
				for _, e := range auditedOf(p.from, a.concerns, a.parts[i+1].from) {
					Expect(a.complaint(e, p.phase == withoutAccount)).To(BeEmpty(), "%s, %s: %s", a.id, p.phase, e)
					for what, is := range uses {
						if e.ResponseStatus.Code < http.StatusBadRequest && is(a, use{e, p.phase}) {
							seen[what]++
						}
					}
				}
			}
		})
		GinkgoWriter.Printf("requests by use: %v\n", seen)
		for _, what := range slices.Sorted(maps.Keys(uses)) {
			Expect(seen[what]).To(BeNumerically(">", 0), "no request was seen of: %s", what)
		}
	}, NodeTimeout(patience*8))
})
