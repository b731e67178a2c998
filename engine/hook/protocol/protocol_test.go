package protocol

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/hook"
)

// head is what every answer of Orkestra's protocol has.
const head = `"apiVersion": "hooks.orkestra.orkspace.io/v1", "kind": "HookResponse", "uid": "1"`

// parsed is what a client gives of an answer.
func parsed(tb testing.TB, text string) any {
	tb.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		tb.Fatal(err)
	}
	return v
}

// said gives what an answer says.
func saidBy(tb testing.TB, text string) (*hook.Outcome, error) {
	tb.Helper()
	r, err := Read(parsed(tb, text), "1")
	if err != nil {
		return nil, err
	}
	out := &hook.Outcome{}
	return out, hook.Say(out, r.Say)
}

func TestWhatAnAnswerSays(t *testing.T) {
	g := NewWithT(t)
	out, err := saidBy(t, `{`+head+`, "children": [
		{"id": "main", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "uid": "x"}, "status": {}}, "once": true, "orphan": true},
		{"object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b", "namespace": "n"}}, "adopt": true, "replace": true}],
		"status": {"b": {"c": 1}, "a": null}, "conditions": [{"type": "Mine", "status": "True", "reason": "R", "message": "m"}],
		"events": [{"reason": "Done", "message": "m"}, {"message": "w", "warning": true}], "wait": {"reason": "Importing", "message": "it runs"}, "requeueAfter": "1m30s"}`)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Children).To(HaveLen(2))
	first, second := out.Children[0], out.Children[1]
	g.Expect([]any{first.ID, first.Once, first.Adopt, first.Orphan, first.Replace}).To(Equal([]any{"main", true, false, true, false}))
	g.Expect(first.Object.Object).NotTo(HaveKey("status"))
	g.Expect(first.Object.GetUID()).To(BeEmpty())
	g.Expect([]any{second.ID, second.Once, second.Adopt, second.Orphan, second.Replace}).To(Equal([]any{"Deployment/n/b", false, true, false, true}))
	g.Expect(out.Status).To(Equal([]hook.StatusField{{Path: "a"}, {Path: "b", Value: map[string]any{"c": int64(1)}}}))
	g.Expect(out.Conditions).To(HaveLen(1))
	g.Expect(out.Events).To(Equal([]hook.Event{{Reason: "Done", Message: "m"}, {Message: "w", Warning: true}}))
	g.Expect(out.Waits).To(Equal([]hook.Wait{{Reason: "Importing", Message: "it runs"}}))
	g.Expect(out.RequeueAfter).To(Equal(90 * time.Second))
}

func TestAnswersThatCantBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "the answer is of no apiVersion and kind, wanted hooks.orkestra.orkspace.io/v1 HookResponse",
		`{"apiVersion": "hooks.orkestra.orkspace.io/v2", "kind": "HookResponse"}`:             "the answer is hooks.orkestra.orkspace.io/v2 HookResponse, wanted",
		`{"apiVersion": "hooks.orkestra.orkspace.io/v1", "kind": "HookResponse", "uid": "2"}`: `the answer is for another resource: its uid is "2", and "1" was asked about`,
		`null`:                           "the answer is empty",
		`[]`:                             "the answer is no JSON object",
		`"<html>"`:                       "the answer is no JSON object",
		`"{"`:                            "the answer does not fit the protocol",
		`{` + head + `, "childs": []}`:   `unknown field "childs"`,
		`{` + head + `, "children": {}}`: "the answer does not fit the protocol: children: wanted array, got object",
		`{` + head + `, "children": [{"id": 1}]}`:                                                    "the answer does not fit the protocol: children.id: wanted string, got number",
		`{` + head + `, "children": [{"object": []}]}`:                                               "the answer does not fit the protocol: children.object: wanted object, got array",
		`{` + head + `, "children": [{"object": {"kind": "ConfigMap", "metadata": {"name": "a"}}}]}`: "children[0]: an object has no apiVersion",
		`{` + head + `, "children": [{"object": {"apiVersion": "v1", "metadata": {"name": "a"}}}]}`:  "children[0]: an object has no kind",
		`{` + head + `, "children": [{"object": {"apiVersion": "v1", "kind": "ConfigMap"}}]}`:        "children[0]: an object has no metadata.name",
		`{` + head + `, "children": [{}]}`:                                                           "children[0]: an object has no apiVersion",
		`{` + head + `, "children": [{"id": "a", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}}, {"id": "a", "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}}]}`: `children[1]: child "a" is declared twice`,
		`{` + head + `, "conditions": [{"type": "Ready", "status": "True"}]}`: `condition "Ready" is set by Orkestra`,
		`{` + head + `, "requeueAfter": "soon"}`:                              `requeueAfter: "soon" is no duration above zero`,
		`{` + head + `, "requeueAfter": "-1s"}`:                               `requeueAfter: "-1s" is no duration above zero`,
		`{` + head + `, "wait": {"reason": "Two words", "message": "m"}}`:     `the reason "Two words" is not one word`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := saidBy(t, text)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

// TestAnswersAreNotQuoted at length, and not where they are no answers.
func TestAnswersAreNotQuoted(t *testing.T) {
	g := NewWithT(t)
	_, err := Read("<html>"+strings.Repeat("secret", 1000), "1")
	g.Expect(err.Error()).NotTo(ContainSubstring("secret"))
	_, err = Read(map[string]any{"apiVersion": strings.Repeat("x", 10000)}, "1")
	g.Expect(len(err.Error())).To(BeNumerically("<", 500))
}

// composed gives what an answer of Metacontroller's protocol says to a request.
func composed(tb testing.TB, text string, q *CompositeRequest) (*hook.Outcome, error) {
	tb.Helper()
	r, err := ReadComposite(parsed(tb, text), "1")
	if err != nil {
		return nil, err
	}
	out := &hook.Outcome{}
	return out, hook.Say(out, func(c *hook.Cycle) error { return r.Say(c, q, map[string]bool{"own": true}) })
}

// TestACompositeAnswerInWhichSomethingElseStandsForTheChildren is refused: all of them would be deleted.
func TestACompositeAnswerInWhichSomethingElseStandsForTheChildren(t *testing.T) {
	const all = "the answer has no children, for want of which all would be deleted, but "
	for text, want := range map[string]string{
		`{"childs": [], "status": {"count": 2}}`:                             all + `"childs", which the protocol does not have, did you mean "children"?: say children: [] where there are to be none`,
		`{"Children": [], "status": {}}`:                                     all + `"Children", which the protocol does not have, did you mean "children"?`,
		`{"status": {}, "error": "x"}`:                                       all + `"error", which the protocol does not have: say children: []`,
		`{"status": {}, "attachments": []}`:                                  all + `"attachments"`, // of a DecoratorController
		`{"error": "x"}`:                                                     all + `"error"`,
		`{"resyncAfterSeconds": 1}`:                                          "the answer has neither children nor status",
		`{"children": null, "status": {}}`:                                   "",
		`{"children": [], "error": "x"}`:                                     "",
		`{"children": null, "anything": 1, "status": {}}`:                    "",
		`{"status": {"count": 2}, "resyncAfterSeconds": 1}`:                  "",
		`{"status": {}, "labels": {}, "annotations": {}}`:                    "",
		`{"finalized": true, "anything": 1, "status": null, "children": []}`: "",
	} {
		t.Run(text, func(t *testing.T) {
			g := NewWithT(t)
			r, err := ReadComposite(parsed(t, text), "1")
			g.Expect(err).NotTo(HaveOccurred())
			if err := r.Check(&CompositeRequest{}); want == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(want)))
			}
		})
	}
	g := NewWithT(t)
	for text, refused := range map[string]bool{`{"finalized": true, "anything": 1}`: false, `{"finalized": false, "childs": []}`: true, `{"finalized": false}`: false} {
		r, err := ReadComposite(parsed(t, text), "1")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(r.Check(&CompositeRequest{Finalizing: true}) != nil).To(Equal(refused), text)
	}
}

func TestWhatACompositeAnswerSays(t *testing.T) {
	g := NewWithT(t)
	q := &CompositeRequest{Parent: parsed(t, `{"status": {"old": 1, "own": 2, "observedGeneration": 3, "conditions": []}}`).(map[string]any)}
	out, err := composed(t, `{"anything": 1, "children": [{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "b", "namespace": "n"}}],
		"status": {"new": true, "observedGeneration": 3, "conditions": [{"type": "Ready", "status": "False"}, {"type": "Mine", "status": "True", "lastTransitionTime": "x"}]},
		"resyncAfterSeconds": 0.5}`, q)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Children).To(HaveLen(1))
	g.Expect(out.Children[0].ID).To(Equal("Deployment.apps/n/b"))
	g.Expect(out.Status).To(Equal([]hook.StatusField{{Path: "old"}, {Path: "new", Value: true}}))
	g.Expect(out.Conditions).To(HaveExactElements(HaveField("Type", "WebhookReady"), HaveField("Type", "Mine")))
	g.Expect(out.RequeueAfter).To(Equal(hook.MinRequeue), "half a second would run a cycle after the other")
	g.Expect(out.Waits).To(BeEmpty())

	out, err = composed(t, `{"status": null}`, q)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Status).To(BeEmpty(), "it is left as it is")
	q.Finalizing = true
	for answer, waits := range map[string]int{`{}`: 1, `{"finalized": true}`: 0} {
		out, err = composed(t, answer, q)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.Waits).To(HaveLen(waits), answer)
	}
}

func TestCompositeAnswersThatCantBeUsed(t *testing.T) {
	for text, want := range map[string]string{
		`{"parent": {"metadata": {"uid": "2"}}}`: `the answer is for another parent: its metadata.uid is "2", and "1" was asked about`,
		`{"parent": {}}`:                         "the answer is for another parent",
		`{"children": [{"kind": "Pod"}]}`:        "children[0]: an object has no apiVersion",
		`{"status": {"conditions": {}}}`:         "status.conditions: wanted a list",
		`{"status": {"conditions": ["Ready"]}}`:  "status.conditions[0]",
		`{"resyncAfterSeconds": -1}`:             "resyncAfterSeconds: -1 is no number of seconds",
		`{"resyncAfterSeconds": 1e300}`:          "is no number of seconds",
		`{"children": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}`: `child "Pod/a" is declared twice`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := composed(t, text, &CompositeRequest{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(want)))
		})
	}
}

// Some servers do not say that they send JSON, so that their answers come as texts.
func TestAnAnswerSaysNothingTwice(t *testing.T) {
	g := NewWithT(t)
	_, err := Read(`{`+head+`, "children": [{"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}}], "children": []}`, "1")
	g.Expect(err).To(MatchError(ContainSubstring(`duplicate field "children"`)))
	_, err = ReadComposite(`{"children": [{"kind": "Pod"}], "children": [], "unknown": 1}`, "1")
	g.Expect(err).To(MatchError(ContainSubstring(`duplicate field "children"`)))
	_, err = ReadComposite(`{"children": [], "unknown": 1}`, "1")
	g.Expect(err).NotTo(HaveOccurred())
}

// TestChildrenAreKeyedAsMetacontrollerDoes: by kind and apiVersion, then by name, or with the namespace where it is another one.
func TestChildrenAreKeyedAsMetacontrollerDoes(t *testing.T) {
	g := NewWithT(t)
	o := Objects{}
	o.Put(KindKey("v1", "Pod"), "", nil)
	o.Add(parsed(t, `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "namespace": "home"}}`).(map[string]any), "home")
	o.Add(parsed(t, `{"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a", "namespace": "other"}}`).(map[string]any), "home")
	o.Add(parsed(t, `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}}`).(map[string]any), "")
	g.Expect(o).To(HaveLen(3))
	g.Expect(o).To(And(HaveKeyWithValue("Pod.v1", BeEmpty()), HaveKeyWithValue("StatefulSet.apps/v1", And(HaveLen(2), HaveKey("a"), HaveKey("other/a"))), HaveKeyWithValue("Node.v1", HaveKey("n"))))
	text, err := json.Marshal(o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(ContainSubstring(`"Pod.v1":{}`), "an entry without children is there")
}

func TestMemory(t *testing.T) {
	g := NewWithT(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var m Memory
	_, same := m.Last("Reconcile", [32]byte{1}, now)
	g.Expect(same).To(BeFalse())
	g.Expect(m.Drop()).To(BeFalse())
	m.Keep("Reconcile", Kept{Of: [32]byte{1}, Tag: "t", Body: "b"})
	last, same := m.Last("Reconcile", [32]byte{1}, now.Add(1e6*time.Hour))
	g.Expect(same).To(BeTrue())
	g.Expect(last.Body).To(Equal("b"))
	last, same = m.Last("Reconcile", [32]byte{2}, now)
	g.Expect([]any{same, last.Tag}).To(Equal([]any{false, "t"}))
	_, same = m.Last("Delete", [32]byte{1}, now)
	g.Expect(same).To(BeFalse())
	m.Expire("Reconcile", now.Add(time.Minute))
	m.Expire("Reconcile", now.Add(time.Hour))
	for at, want := range map[time.Duration]bool{time.Minute - 1: true, time.Minute: false} {
		_, same = m.Last("Reconcile", [32]byte{1}, now.Add(at))
		g.Expect(same).To(Equal(want))
	}
	g.Expect(m.Drop()).To(BeTrue())
	_, same = m.Last("Reconcile", [32]byte{1}, now)
	g.Expect(same).To(BeFalse())
}
