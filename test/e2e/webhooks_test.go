package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilrand "k8s.io/apimachinery/pkg/util/rand"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// onePerKey is a webhook that makes a ConfigMap for each setting.
func onePerKey(q *protocol.Request) *protocol.Response {
	spec, _ := q.Resource["spec"].(map[string]any)
	settings, _ := spec["settings"].(map[string]any)
	a := &protocol.Response{Status: map[string]any{"url": "https://" + q.Resource["metadata"].(map[string]any)["name"].(string)}}
	for key, text := range settings {
		a.Children = append(a.Children, protocol.Child{ID: key, Object: childMap(q.Resource["metadata"].(map[string]any)["name"].(string)+"-"+key, map[string]any{"text": text})})
	}
	return a
}

var _ = Describe("Webhooks", func() {
	It("make children, put them back, and prune them; an unchanged world sends nothing", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(onePerKey)
		w.running(ctx, w.box(ctx, s.hookedBy("", `, resync: 1h, status: {fields: [{path: phase, value: "{{ .children.hook.a.data.text }}"}]}`)))
		w.website(ctx, "shop", `{settings: {a: one, b: two}}`)
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		shown := w.settled(ctx, "shop")
		Expect(shown.Object["status"]).To(And(HaveKeyWithValue("url", "https://shop"), HaveKeyWithValue("phase", "one")))
		w.merge(ctx, w.configMap("shop-a"), `{"data":{"text":"other"}}`)
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		w.website(ctx, "shop", `{settings: {b: two}}`)
		w.gone(ctx, &corev1.ConfigMap{}, "shop-a")
		w.settled(ctx, "shop")

		nothingSent(ctx, w, "shop")
		s.heard()
		nothingSent(ctx, w, "shop")
		Expect(s.heard()).To(BeEmpty(), "the request is the same, and so is the answer")

		By("taking the webhook out of the box")
		w.running(ctx, w.box(ctx, `{onReconcile: {configmaps: [{name: own}]}}`))
		w.gone(ctx, &corev1.ConfigMap{}, "shop-b")
	})

	It("are asked by their ETag once per resyncAfter", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(onePerKey)
		answer := s.answer
		s.answers(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("If-None-Match") == `"one"` {
				w.WriteHeader(http.StatusNotModified)
				return
			}
			w.Header().Set("ETag", `"one"`)
			answer(w, r)
		})
		w.running(ctx, w.box(ctx, s.hookedBy(", resyncAfter: 1s", "")))
		w.website(ctx, "shop", `{settings: {a: one}}`)
		w.settled(ctx, "shop")
		Eventually(func() (tags []string) {
			for _, r := range s.heard() {
				tags = append(tags, r.Header.Get("If-None-Match"))
			}
			return tags
		}).WithContext(ctx).Should(ContainElement(`"one"`))
		mark := manager.requests.mark()
		Eventually(s.heard).WithContext(ctx).Should(HaveLen(1), "it is asked again")
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		Expect(manager.requests.since(mark, "/namespaces/"+w.namespace+"/")).To(BeEmpty(), "what has not been modified is not written")
	})

	It("that are down, slow or talk nonsense are named, and nothing is pruned", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(onePerKey)
		w.running(ctx, w.box(ctx, s.hookedBy(", timeout: 400ms", ", resync: 1s")))
		w.website(ctx, "shop", `{settings: {a: one, b: two}}`)
		w.settled(ctx, "shop")
		answers := func(a *protocol.Response) func() {
			return func() { s.says(func(*protocol.Request) *protocol.Response { return a }) }
		}
		plain := func(f http.HandlerFunc) func() { return func() { s.answers(f) } }
		of := func(obj map[string]any) *protocol.Response {
			return &protocol.Response{Children: []protocol.Child{{ID: "c", Object: obj}}}
		}
		elsewhere := childMap("c", nil)
		elsewhere["metadata"].(map[string]any)["namespace"] = "kube-system"
		for _, bad := range []struct {
			what, says, reason string
			begin              func()
		}{
			{"down", "the server closed the connection before its answer was complete", "", plain(func(w http.ResponseWriter, _ *http.Request) {
				conn, _, err := w.(http.Hijacker).Hijack()
				if err == nil {
					err = conn.Close()
				}
				if err != nil {
					panic(err)
				}
			})},
			{"slow", "no full answer within 400ms", "", plain(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })},
			{"failing", "answered 500 Internal Server Error, expected 200", "", plain(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "oops", http.StatusInternalServerError) })},
			{"redirecting", "answered 302 Found, expected 200; a redirect of a POST is not followed", v1alpha1.ReasonWebhookFailed, plain(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://169.254.169.254/latest/meta-data", http.StatusFound)
			})},
			{"HTML", "the answer is no JSON object", v1alpha1.ReasonWebhookFailed, plain(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Welcome</html>") })}, //nolint:errcheck // the client tells
			{"50 MB", "the answer is larger than 1 MiB", v1alpha1.ReasonWebhookFailed, plain(func(w http.ResponseWriter, _ *http.Request) {
				for range 50 {
					if _, err := w.Write(bytes.Repeat([]byte(" "), 1<<20)); err != nil {
						return // the client has seen enough
					}
				}
			})},
			{"a child of another namespace", `hook: the webhook's answer, children[0] (c): object.metadata.namespace: namespace "kube-system" does not let resources of`, v1alpha1.ReasonInvalidChild, answers(of(elsewhere))},
			{"a kind outside resources", "hook: the webhook's answer, children[0] (c): it is a v1/Service, and spec.reconciler.hooks.resources has v1/ConfigMap", v1alpha1.ReasonInvalidChild,
				answers(of(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "c"}}))},
			{"a child that the API server refuses", `hook: the webhook's answer, children[0] (c): applying ConfigMap "c": ConfigMap "c" is invalid: data[a/b]: `, v1alpha1.ReasonInvalidChild, answers(of(childMap("c", map[string]any{"a/b": "x"})))},
			{"another parent", `the answer is for another resource: its uid is "somebody"`, v1alpha1.ReasonWebhookFailed, answers(&protocol.Response{UID: "somebody"})},
			{"a status that the schema lacks", "hook: the webhook's answer, status.nonsense: no such field in the CRD's schema", v1alpha1.ReasonWebhookFailed, answers(&protocol.Response{Children: []protocol.Child{}, Status: map[string]any{"nonsense": 1}})},
			{"no children", "the answer has no children", v1alpha1.ReasonWebhookFailed, answers(&protocol.Response{Status: map[string]any{"url": "https://gone"}})},
			{"a field that the protocol lacks", `unknown field "childs"`, v1alpha1.ReasonWebhookFailed, plain(func(w http.ResponseWriter, _ *http.Request) {
				sends(w, map[string]any{"apiVersion": protocol.Version, "kind": protocol.KindResponse, "childs": []any{}})
			})},
		} {
			By(bad.what)
			bad.begin()
			w.annotate(ctx, "shop", "example.com/round", strings.ReplaceAll(bad.what, " ", "-")) // another request
			Eventually(func(g Gomega) {
				obj := w.get(ctx, g, "shop")
				g.Expect(condition(obj, v1alpha1.ConditionReady)).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(bad.says))))
				if bad.reason != "" {
					g.Expect(condition(obj, v1alpha1.ConditionStalled)).To(HaveField("Reason", bad.reason))
				}
				g.Expect(obj.Object["status"]).To(HaveKeyWithValue("url", "https://shop"), "what was shown stays")
			}).WithContext(ctx).Should(Succeed())
			w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
			w.hasData(ctx, "shop-b", map[string]string{"text": "two"})
			w.absent(ctx, "c")

			s.says(onePerKey)
			w.settled(ctx, "shop") // it is asked again, though nothing has changed
		}
	})

	It("take their conditions away that they do not answer any more, also after a restart, and no others", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(func(q *protocol.Request) *protocol.Response {
			a := onePerKey(q)
			a.Children = slices.Concat([]protocol.Child{}, a.Children) // not null where there are none
			for _, child := range a.Children {
				a.Conditions = append(a.Conditions, protocol.Condition{Type: "Has" + strings.ToUpper(child.ID), Status: "True"})
			}
			return a
		})
		shows := func(wanted ...string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				obj := w.get(ctx, g, "shop")
				for _, kind := range []string{"HasA", "HasB", "HasC", "Approved"} {
					g.Expect(slices.Contains(wanted, condition(obj, kind).Type)).To(Equal(slices.Contains(wanted, kind)), kind)
				}
				g.Expect(condition(obj, v1alpha1.ConditionReady)).To(HaveField("Status", metav1.ConditionTrue))
			}).WithContext(ctx).Should(Succeed())
		}
		w.running(ctx, w.box(ctx, s.hookedBy("", "")))
		shop := w.website(ctx, "shop", `{settings: {a: one, b: two}}`)
		shows("HasA", "HasB")
		approved := w.get(ctx, Default, "shop")
		list, _, err := unstructured.NestedSlice(approved.Object, "status", "conditions")
		Expect(err).NotTo(HaveOccurred())
		list = append(list, map[string]any{"type": "Approved", "status": "True", "reason": "Yes", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z"})
		Expect(unstructured.SetNestedSlice(approved.Object, list, "status", "conditions")).To(Succeed())
		Eventually(func() error {
			approved.SetResourceVersion(w.get(ctx, Default, "shop").GetResourceVersion())
			return kube.Status().Update(ctx, approved)
		}).WithContext(ctx).Should(Succeed())
		w.website(ctx, "shop", `{settings: {a: one}}`)
		shows("HasA", "Approved")

		By("a restart, while the resource changes")
		manager.stop()
		w.website(ctx, "shop", `{settings: {c: three}}`)
		manager = startManager(cluster.Config())
		shows("HasC", "Approved")
		Eventually(func(g Gomega) {
			g.Expect(w.get(ctx, g, "shop").GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationHookConditions, "HasC"))
		}).WithContext(ctx).Should(Succeed())
		nothingSent(ctx, w, shop.GetName())
	})

	It("hold a resource that is deleted until they have done their part", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		done := atomic.Bool{}
		s.says(func(q *protocol.Request) *protocol.Response {
			switch {
			case q.Phase == string(hook.Reconcile):
				return onePerKey(q)
			case done.Load():
				return &protocol.Response{}
			default:
				return &protocol.Response{Wait: &protocol.Wait{Message: "the backup runs"}, RequeueAfter: "1s"}
			}
		})
		w.running(ctx, w.box(ctx, s.hookedBy(", path: /sync, finalizePath: /finalize, phases: [Reconcile, Delete]", "")))
		shop := w.website(ctx, "shop", `{settings: {a: one}}`)
		w.settled(ctx, "shop")
		Expect(s.heard()).To(HaveEach(HaveField("Path", "/sync")))
		Expect(kube.Delete(ctx, shop)).To(Succeed())
		w.shows(ctx, "shop", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonDeleting, "hook: the backup runs")
		Expect(s.heard()).To(ContainElement(HaveField("Path", "/finalize")))
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})

		By("the box no longer compiling")
		w.box(ctx, strings.Replace(s.hookedBy(", path: /sync, finalizePath: /finalize, phases: [Reconcile, Delete]", ""), "https:", "gopher:", 1))
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionCompiled)).To(HaveField("Status", metav1.ConditionFalse))
		}).WithContext(ctx).Should(Succeed())
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		w.running(ctx, w.box(ctx, s.hookedBy(", path: /sync, finalizePath: /finalize, phases: [Reconcile, Delete]", "")))
		done.Store(true)
		w.vanished(ctx, "shop")
	})

	It("of Metacontroller are asked as its CompositeControllers ask, and take their children down in their order", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.answers(composite)
		w.running(ctx, w.box(ctx, s.hookedBy(", path: /sync, phases: [Reconcile, Delete], protocol: Metacontroller", "")))
		shop := w.website(ctx, "shop", `{settings: {a: one, b: two}}`)
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		w.settled(ctx, "shop")
		Eventually(func(g Gomega) {
			obj := w.get(ctx, g, "shop")
			g.Expect(obj.Object["status"]).To(HaveKeyWithValue("url", "2 of 2"))
			g.Expect(condition(obj, "WebhookReady")).To(And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "AllMade")))
		}).WithContext(ctx).Should(Succeed())
		q := &protocol.CompositeRequest{}
		s.last(Default, q)
		Expect(q.Controller).To(And(HaveField("Kind", "CompositeController"), HaveField("Spec.ChildResources", Equal([]protocol.ResourceRule{{APIVersion: "v1", Resource: "configmaps"}}))))
		Expect(q.Parent["metadata"]).To(HaveKeyWithValue("name", "shop"))
		Expect(q.Children).To(HaveKeyWithValue("ConfigMap.v1", And(HaveKey("shop-a"), HaveKey("shop-b"))))
		Expect(q.Finalizing).To(BeFalse())

		w.website(ctx, "shop", `{settings: {b: two, c: three}}`)
		w.hasData(ctx, "shop-c", map[string]string{"text": "three"})
		w.gone(ctx, &corev1.ConfigMap{}, "shop-a")
		w.settled(ctx, "shop")
		s.heard()
		Expect(kube.Delete(ctx, shop)).To(Succeed())
		w.vanished(ctx, "shop")
		var left []string
		for _, r := range s.heard() {
			q := &protocol.CompositeRequest{}
			Expect(json.Unmarshal(r.Body, q)).To(Succeed())
			if q.Finalizing {
				left = append(left, strings.Join(slices.Sorted(maps.Keys(q.Children["ConfigMap.v1"])), " "))
			}
		}
		Expect(slices.Compact(left)).To(Equal([]string{"shop-b shop-c", "shop-b", ""}), "the last one first")
	})

	It("that are Services are called where the operator allows it, at the cluster IP", func(ctx context.Context) {
		w := newWorld(ctx)
		s := newHookServer(servesAs("hooks." + w.namespace + ".svc"))
		s.trusted(ctx, w)
		s.says(onePerKey)
		dialed := make(chan string, 100)
		replaceManager(func(o *settings) {
			o.orkestra.WebhookServices = []string{w.namespace + "/hooks"}
			o.orkestra.ExternalAllow = nil
			o.orkestra.DialService = func(ctx context.Context, network, address string) (net.Conn, error) {
				dialed <- address
				return (&net.Dialer{}).DialContext(ctx, network, s.Listener.Addr().String()) // pods are simulated here
			}
		})
		of := func(name string) string {
			return fmt.Sprintf(`{resync: 1s, reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {service: {name: %s, namespace: %s}, caBundle: {name: webhook-ca}, retries: 0}}}}`, name, w.namespace)
		}
		w.box(ctx, of("other"))
		Eventually(func(g Gomega) {
			g.Expect(boxCondition(getBox(ctx, g, w.id), v1alpha1.ConditionCompiled)).To(HaveField("Message", ContainSubstring("the operator of the cluster does not allow it (--webhook-services)")))
		}).WithContext(ctx).Should(Succeed())

		w.running(ctx, w.box(ctx, of("hooks")))
		w.website(ctx, "shop", `{settings: {a: one}}`)
		failed := func(text string) {
			GinkgoHelper()
			w.shows(ctx, "shop", v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonWebhookFailed, text)
		}
		named := fmt.Sprintf("Service %q ", w.namespace+"/hooks")
		failed(named + "does not exist")
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hooks"}}
		service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "kubernetes.default.svc"}
		Expect(kube.Create(ctx, service)).To(Succeed())
		failed(named + "is of the type ExternalName")
		remade := func(spec corev1.ServiceSpec) {
			GinkgoHelper()
			Expect(kube.Delete(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hooks"}})).To(Succeed())
			service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "hooks"}, Spec: spec}
			Expect(kube.Create(ctx, service)).To(Succeed())
		}
		remade(corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}})
		failed(named + "has no selector")
		remade(corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "hooks"}, Ports: []corev1.ServicePort{{Port: 443}}})
		failed(named + "has no cluster IP")
		remade(corev1.ServiceSpec{Selector: map[string]string{"app": "hooks"}, Ports: []corev1.ServicePort{{Port: 8443}}})
		failed(named + "has no TCP port 443")
		Expect(dialed).To(BeEmpty())
		remade(corev1.ServiceSpec{Selector: map[string]string{"app": "hooks"}, Ports: []corev1.ServicePort{{Port: 443}}})
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
		Expect(dialed).To(Receive(Equal(service.Spec.ClusterIP + ":443")))

		By("an address that is not public, which the operator has not allowed")
		w.running(ctx, w.box(ctx, s.hookedBy("", ", resync: 1s")))
		s.heard()
		failed("webhook " + s.URL + `: host "127.0.0.1" has an address that is not public (loopback)`)
		Expect(s.heard()).To(BeEmpty())
		w.hasData(ctx, "shop-a", map[string]string{"text": "one"})
	})

	It("are sent the Secrets that the box lists, and show nothing of them", func(ctx context.Context) {
		const secret = "hunter22-of-the-webhook"
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		s.trusted(ctx, w)
		s.says(func(q *protocol.Request) *protocol.Response {
			return &protocol.Response{
				Wait: &protocol.Wait{Message: "with " + q.Secrets["login"]["password"]}, Events: []protocol.Event{{Message: "used " + q.Secrets["login"]["password"]}},
			}
		})
		for _, name := range []string{"login", "other"} {
			Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.namespace}, StringData: map[string]string{"password": secret + name, "user": "u-" + name + "-of-somebody"}})).To(Succeed())
		}
		w.running(ctx, w.box(ctx, s.hookedBy(`, secrets: [{name: login, key: password}], auth: {secretRef: {name: other, key: user}}`, `, cross: [{name: other, apiVersion: v1, kind: Secret, selector: {name: other}}]`)))
		w.website(ctx, "shop", `{}`)
		w.shows(ctx, "shop", v1alpha1.ConditionReconciling, metav1.ConditionTrue, v1alpha1.ReasonWaitingForHook, "hook: with [from a Secret]")
		w.told(ctx, "shop", v1alpha1.ReasonHookEvent, "used [from a Secret]")
		all := s.heard()
		Expect(all).NotTo(BeEmpty())
		for _, r := range all {
			Expect(string(r.Body)).To(And(ContainSubstring(secret+"login"), Not(ContainSubstring(secret+"other")), Not(ContainSubstring("u-login"))))
			Expect(r.Header.Get("Authorization")).To(Equal("Bearer u-other-of-somebody"))
		}
	})

	It("may repeat what they are authenticated by: nothing of it is shown, logged or written", func(ctx context.Context) {
		w, s := newWorld(ctx), newHookServer((*httptest.Server).StartTLS)
		token := newCanary("that a webhook repeats", "token-"+utilrand.String(3*part))
		h := &hunt{canaries: []*canary{token}, allowed: []*regexp.Regexp{regexp.MustCompile(`^object secrets ` + w.namespace + `/login `)}}
		h.listen()
		s.trusted(ctx, w)
		Expect(kube.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "login", Namespace: w.namespace}, StringData: map[string]string{"token": token.value}})).To(Succeed())
		repeats := map[string]func(*protocol.Request) *protocol.Response{
			"wait": func(*protocol.Request) *protocol.Response {
				return &protocol.Response{
					Wait:       &protocol.Wait{Message: "not for " + token.value},
					Events:     []protocol.Event{{Message: "came with " + token.value}},
					Conditions: []protocol.Condition{{Type: "Known", Status: "False", Reason: "Unknown", Message: token.value + " is not known"}},
				}
			},
			"status": func(*protocol.Request) *protocol.Response {
				return &protocol.Response{Children: []protocol.Child{}, Status: map[string]any{"url": "https://example.com/?token=" + token.value}}
			},
			"child": func(*protocol.Request) *protocol.Response {
				return &protocol.Response{Children: []protocol.Child{{Object: childMap("of-"+token.value, map[string]any{})}}}
			},
			"field": func(*protocol.Request) *protocol.Response {
				return &protocol.Response{Children: []protocol.Child{}, Status: map[string]any{token.value: "there is no such field"}}
			},
		}
		s.answers(func(rw http.ResponseWriter, r *http.Request) {
			q := &protocol.Request{}
			if r.Header.Get("Authorization") != "Bearer "+token.value || json.NewDecoder(r.Body).Decode(q) != nil {
				http.Error(rw, "who is it?", http.StatusUnauthorized)
				return
			}
			image, _, _ := unstructured.NestedString(q.Resource, "spec", "image")
			switch image {
			case "down":
				rw.Header().Set("X-Token", token.value)
				http.Error(rw, "no "+token.value, http.StatusInternalServerError)
			case "text":
				fmt.Fprint(rw, token.value+" is no JSON") //nolint:errcheck // the client tells
			case "protocol":
				sends(rw, map[string]any{"apiVersion": protocol.Version, "kind": protocol.KindResponse, "uid": q.UID, "children": []any{}, token.value: "there is no such field"})
			default:
				a := repeats[image](q)
				a.APIVersion, a.Kind, a.UID = protocol.Version, protocol.KindResponse, q.UID
				sends(rw, a)
			}
		})
		w.running(ctx, w.box(ctx, s.hookedBy(`, auth: {secretRef: {name: login, key: token}}`, `, cross: [{name: login, apiVersion: v1, kind: Secret, selector: {name: login}}]`)))
		for image, shown := range map[string][3]string{
			"wait":     {v1alpha1.ConditionReconciling, v1alpha1.ReasonWaitingForHook, "hook: not for [from a Secret]"},
			"status":   {v1alpha1.ConditionStalled, v1alpha1.ReasonWebhookFailed, "status.url: it holds what a Secret holds"},
			"child":    {v1alpha1.ConditionStalled, v1alpha1.ReasonInvalidChild, "holds what a Secret holds"},
			"field":    {v1alpha1.ConditionStalled, v1alpha1.ReasonWebhookFailed, "[from a Secret]"},
			"down":     {v1alpha1.ConditionReady, v1alpha1.ReasonReconcileError, "500"},
			"text":     {v1alpha1.ConditionStalled, v1alpha1.ReasonWebhookFailed, "JSON"},
			"protocol": {v1alpha1.ConditionStalled, v1alpha1.ReasonWebhookFailed, `unknown field "[from a Secret]"`},
		} {
			By(image)
			w.website(ctx, image, `{image: `+image+`}`)
			is := metav1.ConditionTrue
			if shown[0] == v1alpha1.ConditionReady {
				is = metav1.ConditionFalse
			}
			w.shows(ctx, image, shown[0], is, shown[1], shown[2])
		}
		w.told(ctx, "wait", v1alpha1.ReasonHookEvent, "came with [from a Secret]")
		w.shows(ctx, "wait", "Known", metav1.ConditionFalse, "Unknown", "[from a Secret] is not known")
		holding, found := h.look(h.objects(ctx))
		Expect(holding).To(Equal(map[*canary]int{token: 1}), "the Secret itself is found")
		Expect(found).To(BeEmpty())
		_, found = h.look(h.said(Default))
		Expect(found).To(BeEmpty())
	})
})

// composite is a webhook as one is written for a CompositeController: it makes a ConfigMap for each setting, and takes them down one by one.
func composite(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Parent struct {
			Metadata metav1.ObjectMeta `json:"metadata"`
			Spec     struct {
				Settings map[string]string `json:"settings"`
			} `json:"spec"`
		} `json:"parent"`
		Children   map[string]map[string]any `json:"children"`
		Finalizing bool                      `json:"finalizing"`
	}
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	wanted := slices.Sorted(maps.Keys(q.Parent.Spec.Settings))
	made := q.Children["ConfigMap.v1"]
	if q.Finalizing {
		wanted = wanted[:max(len(made)-1, 0)]
	}
	children := []any{}
	for _, key := range wanted {
		children = append(children, childMap(q.Parent.Metadata.Name+"-"+key, map[string]any{"text": q.Parent.Spec.Settings[key]}))
	}
	ready := map[string]any{"type": "Ready", "status": "False", "reason": "Making", "message": "some are missing"}
	if len(made) == len(wanted) {
		ready = map[string]any{"type": "Ready", "status": "True", "reason": "AllMade", "message": "all are there"}
	}
	sends(w, map[string]any{
		"children": children, "finalized": q.Finalizing && len(made) == 0,
		"status": map[string]any{"url": fmt.Sprintf("%d of %d", len(made), len(wanted)), "observedGeneration": 1, "conditions": []any{ready}},
	})
}
