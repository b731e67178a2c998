package pipeline

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook/protocol"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// webhooked compiles a box with a webhook.
func webhooked(tb testing.TB, webhook, rest string) *Plan {
	tb.Helper()
	plan, errs := Compile(boxOf(tb, `{reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {`+webhook+`}}}, `+rest+`}`), Env{CRD: websites(tb), WebhookServices: []string{"team", "other/hooks"}})
	if len(errs) > 0 {
		tb.Fatalf("the box does not compile: %v", errs.ToAggregate())
	}
	return plan
}

// asked is a webhook in memory, whose answers are made of its requests.
type asked struct {
	*caller

	memory protocol.Memory
}

// asking gives ports with a webhook.
func asking(tb testing.TB, answer func(q *protocol.Request) *protocol.Response) *asked {
	tb.Helper()
	return &asked{caller: callable(func(r *external.Request) (*external.Answer, error) {
		q := &protocol.Request{}
		if err := json.Unmarshal(r.Body, q); err != nil {
			tb.Errorf("the request is no JSON: %v", err)
		}
		a := answer(q)
		a.APIVersion, a.Kind, a.UID = protocol.Version, protocol.KindResponse, q.UID
		return answerOf(tb, a), nil
	})}
}

func answerOf(tb testing.TB, v any) *external.Answer {
	tb.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return &external.Answer{Status: http.StatusOK, Headers: map[string]any{"Content-Type": external.TypeJSON, "Etag": `"1"`}, Body: string(text)}
}

// at runs a plan once, at a time.
func (a *asked) at(plan *Plan, stored *unstructured.Unstructured, after time.Duration) (*Run, error) {
	ports := a.ports.ports()
	ports.Caller, ports.Answers = a, &a.memory
	r := plan.NewRun(stored, now.Add(after), ports)
	return r, plan.Execute(context.Background(), r)
}

func mapChild(id, name string) protocol.Child {
	return protocol.Child{ID: id, Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}}}
}

// TestTheSameRequestIsNotSentAgain until something that is sent has changed, or it is time.
func TestTheSameRequestIsNotSentAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, func(*protocol.Request) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{mapChild("a", "a")}}
	})
	plan := webhooked(t, `url: "https://hooks.example.com", resyncAfter: 1h`, `resync: 24h`)
	stored := website(t, `{image: v1}`)
	r, err := a.at(plan, stored, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = a.at(plan, r.Stored, time.Minute) // now the child is there
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.asked).To(gomega.HaveLen(2))
	r, err = a.at(plan, r.Stored, 2*time.Minute)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.asked).To(gomega.HaveLen(2), "the request is the same")
	g.Expect(r.Inputs.Expires()).To(gomega.Equal(now.Add(time.Hour+time.Minute)), "when it is asked again")
	a.answer = func(q *external.Request) (*external.Answer, error) {
		g.Expect(q.Headers).To(gomega.HaveKeyWithValue("If-None-Match", `"1"`))
		g.Expect(q.Expected).To(gomega.Equal([]int{200, 304}))
		return &external.Answer{Status: http.StatusNotModified}, nil
	}
	a.done()
	_, err = a.at(plan, r.Stored, 2*time.Hour)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.asked).To(gomega.HaveLen(3))
	g.Expect(a.done()).To(gomega.BeEmpty(), "what has not been modified stays")
	edited := r.Stored.DeepCopy()
	g.Expect(unstructured.SetNestedField(edited.Object, "v2", "spec", "image")).To(gomega.Succeed())
	_, err = a.at(plan, edited, 2*time.Hour)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.asked).To(gomega.HaveLen(4), "another request is sent, with the ETag")
}

// TestAnAnswerThatWaitsIsAskedForAgain: nothing else would tell when it is over.
func TestAnAnswerThatWaitsIsAskedForAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		says  *protocol.Response
		again time.Duration
	}{
		"after the time that it names": {&protocol.Response{Children: []protocol.Child{}, RequeueAfter: "30s"}, 30 * time.Second},
		"at the next resync":           {&protocol.Response{Wait: &protocol.Wait{Message: "the import runs"}}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			a := asking(t, func(*protocol.Request) *protocol.Response { return tc.says })
			plan := webhooked(t, `url: "https://hooks.example.com"`, `resync: 1h`)
			r, err := a.at(plan, website(t, `{image: v1}`), 0)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Inputs.Expires()).To(gomega.And(gomega.BeTemporally(">", now), gomega.BeTemporally("<=", now.Add(tc.again))))
			_, err = a.at(plan, r.Stored, tc.again/2)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			before := len(a.asked)
			_, err = a.at(plan, r.Stored, tc.again/2)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(a.asked).To(gomega.HaveLen(before))
			_, err = a.at(plan, r.Stored, 2*tc.again)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(a.asked).To(gomega.HaveLen(before + 1))
		})
	}
}

// TestWhatAWebhookIsSent: nothing of Secrets but what is listed, and no marks.
func TestWhatAWebhookIsSent(t *testing.T) {
	const canary = "canary-in-a-secret"
	g := gomega.NewWithT(t)
	var got protocol.Request
	a := asking(t, func(q *protocol.Request) *protocol.Response {
		got = *q
		return &protocol.Response{Children: []protocol.Child{mapChild("main", "a")}}
	})
	resource := website(t, `{image: v1}`)
	resource.SetAnnotations(map[string]string{"example.com/mine": "yes"})
	ns := resource.GetNamespace()
	a.others = append(a.others, secret(ns, "login", map[string]string{"password": canary + "-1", "user": canary + "-2"}), secret(ns, "other", map[string]string{"token": canary + "-3"}))
	plan := webhooked(t, `url: "https://hooks.example.com/", path: /sync, auth: {secretRef: {name: other}}, secrets: [{name: login, key: password}]`,
		`cross: [{name: other, apiVersion: v1, kind: Secret, selector: {name: other}}]`)
	r, err := a.at(plan, resource, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = a.at(plan, r.Stored, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	q := a.asked[len(a.asked)-1]
	g.Expect(q.URL).To(gomega.Equal("https://hooks.example.com/sync"))
	g.Expect(q.Credential.Value).To(gomega.Equal("Bearer " + canary + "-3"))
	g.Expect(strings.Count(string(q.Body), canary)).To(gomega.Equal(1), string(q.Body))
	g.Expect(got.Secrets).To(gomega.Equal(map[string]map[string]string{"login": {"password": canary + "-1"}}))
	g.Expect(got.Children).To(gomega.HaveKeyWithValue("ConfigMap.v1", gomega.HaveKey("main")))
	g.Expect(r.Stored.GetLabels()).NotTo(gomega.BeEmpty())
	g.Expect(got.Resource["metadata"]).NotTo(gomega.HaveKey("labels"), "they are marks")
	g.Expect(got.Children["ConfigMap.v1"]["main"]["metadata"]).NotTo(gomega.HaveKey("annotations"), "they are marks")
	g.Expect(got.Resource["metadata"]).To(gomega.HaveKeyWithValue("annotations", map[string]any{"example.com/mine": "yes"}))
	g.Expect(got.Resource["metadata"]).NotTo(gomega.HaveKey("resourceVersion"))
}

// TestAnAnswerThatQuotesASecretIsNamedWithoutIt, with the reason that it would have had.
func TestAnAnswerThatQuotesASecretIsNamedWithoutIt(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, nil)
	a.answer = func(*external.Request) (*external.Answer, error) {
		return answerOf(t, map[string]any{"apiVersion": "canary-of-login"}), nil
	}
	resource := website(t, `{image: v1}`)
	a.others = append(a.others, secret(resource.GetNamespace(), "login", map[string]string{"password": "canary-of-login"}))
	_, err := a.at(webhooked(t, `url: "https://hooks.example.com", secrets: [{name: login, key: password}]`, `workers: 1`), resource, 0)
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonWebhookFailed)
	g.Expect(err.Error()).To(gomega.And(gomega.ContainSubstring("[from a Secret]"), gomega.Not(gomega.ContainSubstring("canary"))))
}

// TestWhatAChildHoldsOfSecretsIsNotSent, in neither protocol.
func TestWhatAChildHoldsOfSecretsIsNotSent(t *testing.T) {
	const canary = "Y2FuYXJ5"
	child := map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "a"}, "data": map[string]any{"k": canary}}
	for protocolOf, answer := range map[string]func(q *external.Request) any{
		"Metacontroller": func(*external.Request) any { return map[string]any{"children": []any{child}} },
		"Orkestra": func(r *external.Request) any {
			q := &protocol.Request{}
			if err := json.Unmarshal(r.Body, q); err != nil {
				t.Error(err)
			}
			return protocol.Response{APIVersion: protocol.Version, Kind: protocol.KindResponse, UID: q.UID, Children: []protocol.Child{{ID: "main", Object: child}}}
		},
	} {
		t.Run(protocolOf, func(t *testing.T) {
			g := gomega.NewWithT(t)
			a := asking(t, nil)
			a.answer = func(r *external.Request) (*external.Answer, error) { return answerOf(t, answer(r)), nil }
			a.kinds = func() []schema.GroupVersionKind { return []schema.GroupVersionKind{compile.SecretKind} }
			plan, errs := Compile(boxOf(t, `{reconciler: {hooks: {resources: [{kind: Secret}], webhook: {url: "https://hooks.example.com", protocol: `+protocolOf+`}}}}`), Env{CRD: websites(t)})
			g.Expect(errs).To(gomega.BeEmpty())
			r, err := a.at(plan, website(t, `{image: v1}`), 0)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			_, err = a.at(plan, r.Stored, 0)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(a.children).To(gomega.HaveExactElements(gomega.HaveField("Object", gomega.HaveKeyWithValue("data", map[string]any{"k": canary}))))
			g.Expect(string(a.asked[1].Body)).To(gomega.And(gomega.ContainSubstring(`"Secret.v1":{"`), gomega.Not(gomega.ContainSubstring(canary))))
		})
	}
}

// TestAWebhookThatFailsLosesNothing, and is asked again at the next resync at the latest.
func TestAWebhookThatFailsLosesNothing(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(*external.Request) (*external.Answer, error)
		class  Class
		reason string
		says   string
	}{
		"down":    {fails("connection refused", false), Transient, "", "webhook https://hooks.example.com: connection refused"},
		"refused": {fails("answered 404 Not Found, expected 200", true), Permanent, v1alpha1.ReasonWebhookFailed, "answered 404"},
		"HTML": {func(*external.Request) (*external.Answer, error) {
			return &external.Answer{Status: 200, Body: "<html>"}, nil
		}, Permanent,
			v1alpha1.ReasonWebhookFailed, "the answer is no JSON object"},
		"empty":       {func(*external.Request) (*external.Answer, error) { return &external.Answer{Status: 200}, nil }, Permanent, v1alpha1.ReasonWebhookFailed, "the answer is empty"},
		"for another": {nil, Permanent, v1alpha1.ReasonWebhookFailed, "the answer is for another resource"},
		"without children": {func(q *external.Request) (*external.Answer, error) {
			asked := &protocol.Request{}
			if err := json.Unmarshal(q.Body, asked); err != nil {
				return nil, err
			}
			return answerOf(t, map[string]any{"apiVersion": protocol.Version, "kind": protocol.KindResponse, "uid": asked.UID, "status": map[string]any{}}), nil
		}, Permanent, v1alpha1.ReasonWebhookFailed, "the answer has no children"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			a := asking(t, func(*protocol.Request) *protocol.Response {
				return &protocol.Response{Children: []protocol.Child{mapChild("a", "a"), mapChild("b", "b")}}
			})
			plan := webhooked(t, `url: "https://hooks.example.com", retries: 0`, `resync: 1h`)
			r, err := a.at(plan, website(t, `{image: v1}`), 0)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			a.done()
			a.answer = tc.answer
			if tc.answer == nil {
				a.answer = func(*external.Request) (*external.Answer, error) {
					return answerOf(t, protocol.Response{APIVersion: protocol.Version, Kind: protocol.KindResponse, UID: "another"}), nil
				}
			}
			r, err = a.at(plan, r.Stored, 0)
			expectStep(g, err, "hook", tc.class, tc.reason)
			g.Expect(err.Error()).To(gomega.ContainSubstring(tc.says))
			g.Expect(a.done()).To(gomega.BeEmpty())
			g.Expect(a.children).To(gomega.HaveLen(2))
			g.Expect(r.Inputs.Expires()).To(gomega.And(gomega.BeTemporally(">", now), gomega.BeTemporally("<=", now.Add(time.Hour))))
		})
	}
}

// TestMistakesOfAnAnswerAreNamedByTheirPlace, and not as those of a template.
func TestMistakesOfAnAnswerAreNamedByTheirPlace(t *testing.T) {
	of := func(object string) *protocol.Response {
		var obj map[string]any
		if err := json.Unmarshal([]byte(object), &obj); err != nil {
			t.Fatal(err)
		}
		return &protocol.Response{Children: []protocol.Child{mapChild("a", "a"), {ID: "b", Object: obj}}}
	}
	shows := func(status map[string]any, conditions ...protocol.Condition) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{}, Status: status, Conditions: conditions}
	}
	const child, host = "hook: the webhook's answer, children[1] (b): ", "hook: webhook https://hooks.example.com: the answer, "
	for name, tc := range map[string]struct {
		answer *protocol.Response
		class  Class
		reason string
		says   string
	}{
		"another kind":        {of(`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "b"}}`), Permanent, v1alpha1.ReasonInvalidChild, child + "it is a v1/Service, and spec.reconciler.hooks.resources has v1/ConfigMap; list it there"},
		"another namespace":   {of(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "namespace": "team-b"}}`), Permanent, v1alpha1.ReasonInvalidChild, child + `object.metadata.namespace: namespace "team-b" does not let resources of "team-a" in: add "team-a" to its annotation orkestra.orkspace.io/allow-from, if it exists`},
		"another type":        {of(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "data": "x"}`), Permanent, v1alpha1.ReasonInvalidChild, child + `object.data: want object, got string "x"`},
		"an unknown field":    {of(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}, "dat": {}}`), Permanent, v1alpha1.ReasonInvalidChild, child + `object.dat: unknown field`},
		"a mark of ours":      {of(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b", "labels": {"orkestra.orkspace.io/owner-uid": "x"}}}`), Permanent, v1alpha1.ReasonInvalidChild, child + "metadata.labels[orkestra.orkspace.io/owner-uid]: "},
		"no kind":             {of(`{"apiVersion": "v1", "metadata": {"name": "b"}}`), Permanent, v1alpha1.ReasonWebhookFailed, host + "children[1]: an object has no kind"},
		"the same id":         {&protocol.Response{Children: []protocol.Child{mapChild("a", "a"), mapChild("a", "b")}}, Permanent, v1alpha1.ReasonWebhookFailed, host + `children[1]: child "a" is declared twice`},
		"an unknown status":   {shows(map[string]any{"nonsense": 1}), Permanent, v1alpha1.ReasonWebhookFailed, "hook: the webhook's answer, status.nonsense: no such field"},
		"a status of a type":  {shows(map[string]any{"replicas": "many"}), Permanent, v1alpha1.ReasonWebhookFailed, "hook: the webhook's answer, status.replicas: wanted integer, got string"},
		"a status of ours":    {shows(map[string]any{"observedGeneration": 1}), Permanent, v1alpha1.ReasonWebhookFailed, "hook: the webhook's answer, status.observedGeneration: Orkestra writes this field itself"},
		"a condition of ours": {shows(nil, protocol.Condition{Type: "Fits", Status: "True"}, protocol.Condition{Type: "Ready", Status: "True"}), Permanent, v1alpha1.ReasonWebhookFailed, host + `conditions[1]: condition "Ready" is set by Orkestra`},
		"a condition's name":  {shows(nil, protocol.Condition{Type: "a b", Status: "True"}), Permanent, v1alpha1.ReasonWebhookFailed, "hook: the webhook's answer, status.conditions[a b]: not the type of a condition"},
		"a condition's state": {shows(nil, protocol.Condition{Type: "Fits", Status: "Perhaps"}), Permanent, v1alpha1.ReasonWebhookFailed, "hook: the webhook's answer, status.conditions[Fits].status: wanted True, False or Unknown"},
		"a duration":          {&protocol.Response{Children: []protocol.Child{}, RequeueAfter: "soon"}, Permanent, v1alpha1.ReasonWebhookFailed, host + `requeueAfter: "soon" is no duration`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			a := asking(t, func(*protocol.Request) *protocol.Response { return tc.answer })
			_, err := a.at(webhooked(t, `url: "https://hooks.example.com"`, `workers: 1`), website(t, `{image: v1}`), 0)
			expectStep(g, err, "hook", tc.class, tc.reason)
			g.Expect(err.Error()).To(gomega.And(gomega.HavePrefix(tc.says), gomega.Not(gomega.ContainSubstring("template"))))
			g.Expect(a.children).To(gomega.BeEmpty(), "nothing of the answer is written")
		})
	}
}

// TestAChildOfAnAnswerThatTheAPIServerRefuses is named by its place, too. What it holds of a Secret is not quoted.
func TestAChildOfAnAnswerThatTheAPIServerRefuses(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, func(*protocol.Request) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{mapChild("a", "a")}}
	})
	a.apply = func(_ context.Context, _ apply.Owner, child apply.Child) (apply.Outcome, error) {
		return apply.Outcome{}, apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, child.Object.GetName(), field.ErrorList{field.Invalid(field.NewPath("data"), "x", "no")})
	}
	_, err := a.at(webhooked(t, `url: "https://hooks.example.com"`, `workers: 1`), website(t, `{image: v1}`), 0)
	expectStep(g, err, "hook", Refused, v1alpha1.ReasonInvalidChild)
	g.Expect(err.Error()).To(gomega.HavePrefix(`hook: the webhook's answer, children[0] (a): ConfigMap "a" is invalid: data: `))

	const secret = "hunter2-of-somebody"
	a = asking(t, func(q *protocol.Request) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{{ID: "a", Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "a"}, "immutable": q.Secrets["login"]["key"],
		}}}}
	})
	a.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "login", map[string]any{"data": map[string]any{"key": base64.StdEncoding.EncodeToString([]byte(secret))}})}
	_, err = a.at(webhooked(t, `url: "https://hooks.example.com", secrets: [{name: login, key: key}]`, `workers: 1`), website(t, `{image: v1}`), 0)
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonInvalidChild)
	g.Expect(err.Error()).To(gomega.Equal("hook: the webhook's answer, children[0] (a): object.immutable: want boolean, got string"))
}

// composed answers in the protocol of Metacontroller.
func composed(tb testing.TB, a *asked, answer func(q *protocol.CompositeRequest) map[string]any) {
	tb.Helper()
	a.answer = func(r *external.Request) (*external.Answer, error) {
		q := &protocol.CompositeRequest{}
		if err := json.Unmarshal(r.Body, q); err != nil {
			tb.Errorf("the request is no JSON: %v", err)
		}
		return answerOf(tb, answer(q)), nil
	}
}

// TestTheStatusOfMetacontroller replaces what is there, but for what is not the webhook's.
func TestTheStatusOfMetacontroller(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, nil)
	composed(t, a, func(q *protocol.CompositeRequest) map[string]any {
		g.Expect(q.Controller.Spec.ParentResource).To(gomega.Equal(protocol.ResourceRule{APIVersion: "demo.example.com/v1", Resource: "websites"}))
		g.Expect(q.Children).To(gomega.Equal(protocol.Objects{"ConfigMap.v1": {}}))
		return map[string]any{"unknown": true, "children": nil, "resyncAfterSeconds": 1.5, "status": map[string]any{
			"phase": "made", "observedGeneration": 7, "conditions": []any{map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-02T03:04:05Z"}},
		}}
	})
	stored := website(t, `{image: v1}`)
	stored.Object["status"] = map[string]any{"phase": "new", "replicas": int64(3), "message": "of the box"}
	plan := webhooked(t, `url: "https://hooks.example.com", protocol: Metacontroller`, `status: {fields: [{path: message, value: of the box}]}`)
	r, err := a.at(plan, stored, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Expires()).To(gomega.Equal(now.Add(1500 * time.Millisecond)))
	res, err := r.Result(t.Context(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	fields := map[string]any{}
	for _, f := range res.Fields {
		fields[f.Path[0]] = f.Value
	}
	g.Expect(fields).To(gomega.Equal(map[string]any{"phase": "made", "replicas": nil, "message": "of the box"}))
	g.Expect(fmt.Sprintf("%+v", res)).To(gomega.ContainSubstring("WebhookReady"))
}

// TestAnErrorIsNoAnswerOfMetacontroller: it would delete all children.
func TestAnErrorIsNoAnswerOfMetacontroller(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, nil)
	composed(t, a, func(*protocol.CompositeRequest) map[string]any {
		return map[string]any{"error": "the database is down"}
	})
	_, err := a.at(webhooked(t, `url: "https://hooks.example.com", protocol: Metacontroller`, ""), website(t, `{image: v1}`), 0)
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonWebhookFailed)
	g.Expect(err.Error()).To(gomega.ContainSubstring(`the answer has no children, for want of which all would be deleted, but "error"`))
}

// TestAFinalizeHookTakesChildrenDownInItsOrder, and shows its status meanwhile.
func TestAFinalizeHookTakesChildrenDownInItsOrder(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, nil)
	child := func(name string) map[string]any { return mapChild("", name).Object }
	composed(t, a, func(q *protocol.CompositeRequest) map[string]any {
		made := q.Children["ConfigMap.v1"]
		switch {
		case !q.Finalizing:
			return map[string]any{"children": []any{child("a"), child("b")}}
		case len(made) == 2:
			return map[string]any{"children": []any{child("a")}, "status": map[string]any{"phase": "going"}}
		default:
			return map[string]any{"finalized": len(made) == 0}
		}
	})
	plan := webhooked(t, `url: "https://hooks.example.com", protocol: Metacontroller, phases: [Reconcile, Delete]`, `workers: 1`)
	r, err := a.at(plan, website(t, `{image: v1}`), 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.children).To(gomega.HaveLen(2))
	gone := r.Stored.DeepCopy()
	gone.SetDeletionTimestamp(&metav1.Time{Time: now.Add(-time.Second)})
	a.done()
	r, err = a.at(plan, gone, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.done()).To(gomega.Equal([]string{"delete ConfigMap/b"}))
	g.Expect(r.Released).To(gomega.BeFalse())
	res, err := r.Result(t.Context(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(res.Fields).To(gomega.ContainElement(gomega.HaveField("Value", "going")))
	_, err = a.at(plan, gone, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.done()).To(gomega.Equal([]string{"delete ConfigMap/a"}))
	r, err = a.at(plan, gone, 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Released).To(gomega.BeTrue())
}

// TestMistakesOfAWebhook are found when the box is compiled.
func TestMistakesOfAWebhook(t *testing.T) {
	const url = `url: "https://hooks.example.com"`
	for webhook, want := range map[string]string{
		``: `webhook: Invalid value: "": give exactly one of url and service`,
		url + `, service: {name: a, namespace: team}`:                                     `give exactly one of url and service`,
		`url: "http://hooks.example.com"`:                                                 `webhook.url: Invalid value: "http://hooks.example.com": wanted https://`,
		`url: "https://{{ .spec.image }}/"`:                                               `webhook.url: Invalid value: "https://{{ .spec.image }}/": must be literal`,
		`url: "https://a:b@hooks.example.com"`:                                            `the URL holds a user name`,
		`url: "https://hooks.example.com?a=b", path: /sync`:                               `it ends with a query`,
		url + `, path: sync`:                                                              `webhook.path: Invalid value: "sync": wanted a literal path that begins with a slash`,
		url + `, path: /../admin`:                                                         `webhook.path: Invalid value: "/../admin"`,
		url + `, finalizePath: /end`:                                                      `webhook.finalizePath: Forbidden: it is called in the phase Delete`,
		url + `, protocol: Kopf`:                                                          `webhook.protocol: Invalid value: "Kopf": wanted one of Orkestra, Metacontroller`,
		url + `, phases: [Reconciled]`:                                                    `webhook.phases[0]: Invalid value: "Reconciled": wanted one of Create, Update, Reconcile, Delete`,
		url + `, protocol: Metacontroller, phases: [Create]`:                              `webhook.phases[0]: Invalid value: "Create": wanted one of Reconcile, Delete`,
		url + `, timeout: 0s`:                                                             `webhook.timeout: Invalid value: "0s"`,
		url + `, retries: 10, timeout: 60s`:                                               `11 attempts of 1m0s may take longer`,
		url + `, resyncAfter: 10ms`:                                                       `webhook.resyncAfter: Invalid value: "10ms": wanted at least 1s`,
		url + `, headers: {Host: a}`:                                                      `webhook.headers.Host: Invalid value: "Host": this header can't be set`,
		url + `, headers: {X-A: "{{ .spec.nothing }}"}`:                                   `spec.nothing: no such field`,
		url + `, auth: {type: Header, secretRef: {name: a, key: b}}`:                      `webhook.auth.header: Required value`,
		url + `, secrets: [{name: a}]`:                                                    `webhook.secrets[0].key: Required value: say which key is sent`,
		url + `, secrets: [{name: a, key: b, namespace: "{{ .spec.image }}"}]`:            `must be literal`,
		`service: {name: hooks, namespace: elsewhere}`:                                    `webhook.service: Forbidden: Service "elsewhere/hooks" is not in the namespace of the account of the box`,
		`service: {name: mine, namespace: other}`:                                         `Service "other/mine" is not in the namespace`,
		`service: {name: "{{ .spec.image }}", namespace: team}`:                           `webhook.service.name: Invalid value: "{{ .spec.image }}": wanted a literal name`,
		`service: {name: a, namespace: team, port: 70000}`:                                `webhook.service.port: Invalid value: 70000: wanted a port`,
		`service: {name: a, namespace: team, scheme: ftp}`:                                `webhook.service.scheme: Invalid value: "ftp": wanted one of https, http`,
		`service: {name: a, namespace: team, scheme: http}, auth: {secretRef: {name: a}}`: `webhook.auth: Forbidden: what Secrets hold is not sent over plain http`,
		`service: {name: a, namespace: team, scheme: http}, secrets: [{name: a, key: b}]`: `webhook.secrets: Forbidden: what Secrets hold is not sent over plain http`,
		`service: {name: a, namespace: team, scheme: http}, caBundle: {name: a}`:          `webhook.caBundle: Forbidden: plain http has no certificate`,
	} {
		t.Run(webhook, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, `{reconciler: {hooks: {resources: [{kind: ConfigMap}], webhook: {`+webhook+`}}}}`), Env{CRD: websites(t), WebhookServices: []string{"team", "other/hooks"}})
			g.Expect(errs.ToAggregate()).To(gomega.MatchError(gomega.ContainSubstring(want)))
		})
	}
	for spec, want := range map[string]string{
		`{reconciler: {hooks: {location: a, webhook: {` + url + `}}}}`:                                                     `hooks.location: Forbidden: it names a Go function, and the hook is a webhook`,
		`{apiTypes: {location: a, object: B}, reconciler: {hooks: {webhook: {` + url + `}}}}`:                              `spec.apiTypes: Forbidden: it names the Go type that a function takes, and the hook is a webhook`,
		`{serviceAccountRef: {name: a, namespace: b}, reconciler: {hooks: {webhook: {service: {name: a, namespace: c}}}}}`: `Service "c/a" is not in the namespace of the account`,
	} {
		t.Run(spec, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, errs := Compile(boxOf(t, spec), Env{CRD: websites(t), WebhookServices: []string{}})
			g.Expect(errs.ToAggregate()).To(gomega.MatchError(gomega.ContainSubstring(want)))
		})
	}
}

// TestServicesThatMayBeCalled lie in the namespace of the account, or are allowed; where that is not known, a note says so.
func TestServicesThatMayBeCalled(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, `{serviceAccountRef: {name: a, namespace: b}, reconciler: {hooks: {webhook: {service: {name: a, namespace: b}}}}}`)
	plan, errs := Compile(box, Env{CRD: websites(t), WebhookServices: []string{}})
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(plan.Required()).To(gomega.ContainElement(gomega.HaveField("PolicyRule", gomega.And(
		gomega.HaveField("Resources", []string{"services"}), gomega.HaveField("ResourceNames", []string{"a"}), gomega.HaveField("Verbs", []string{"get"})))), "the account reads it")
	plan, errs = Compile(boxOf(t, `{reconciler: {hooks: {webhook: {service: {name: a, namespace: b}}}}}`), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.BeEmpty())
	g.Expect(plan.Notes).To(gomega.ContainElement(gomega.ContainSubstring("--webhook-services")))
}

// TestAWebhookIsNotCalledWithoutAManager: whatever it made stays.
func TestAWebhookIsNotCalledWithoutAManager(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, func(*protocol.Request) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{mapChild("a", "a")}}
	})
	plan := webhooked(t, `url: "https://hooks.example.com"`, `workers: 1`)
	r, err := a.at(plan, website(t, `{image: v1}`), 0)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	a.done()
	r, err = a.ports.run(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(a.done()).To(gomega.BeEmpty())
	g.Expect(r.Waits).To(gomega.ContainElement(gomega.And(
		gomega.HaveField("Message", "hook: it is a webhook, and is not called here, so that what it makes is not known"), gomega.HaveField("Unready", true))))
}
