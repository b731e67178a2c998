package apply

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// images refuses what the API server refuses: a container without an image.
func images(obj map[string]any) string {
	containers, _, _ := unstructured.NestedSlice(obj, "spec", "template", "spec", "containers")
	for _, c := range containers {
		if fields, _ := c.(map[string]any); fields["image"] == nil {
			return fmt.Sprintf("%s has no image", fields["name"])
		}
	}
	return ""
}

// sidecar gives the container that the patches of a test share; nil: there is none.
func (k *keeper) sidecar() map[string]any {
	containers, _, _ := unstructured.NestedSlice(k.live.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		if fields, _ := c.(map[string]any); fields["name"] == "proxy" {
			return fields
		}
	}
	return nil
}

const (
	withImage = `{metadata: {labels: {a: a}}, spec: {paused: true, template: {spec: {containers: [{name: proxy, image: "p:%d", ports: [{containerPort: 80, name: web}]}]}}}}`
	withEnv   = `{spec: {template: {spec: {containers: [{name: proxy, env: [{name: A, value: b}]}]}}}}`
)

// What can't go is left without a manager, and goes with the last patch that needs it.
func TestNoMoreIsLeftThanTheAPIServerNeeds(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, deployments, workload)
	k.judge = images
	ka, kb := forced(k, p, byUs, fmt.Sprintf(withImage, 1), false), forced(k, p, byOther, withEnv, false)
	g.Expect(kb.try()).To(MatchError(ContainSubstring("no image")))
	ka.set(g)
	kb.set(g)
	out := ka.undo(g)
	g.Expect(out.Left).To(Equal([]string{"spec.template.spec.containers[name=proxy].image"}))
	g.Expect(out.Why).To(And(HavePrefix("otherwise the API server would refuse the object: "), ContainSubstring("proxy has no image"),
		HaveSuffix("; no field manager has them any more, so anybody may set or remove them")))
	env := []any{map[string]any{"name": "A", "value": "b"}}
	g.Expect(k.sidecar()).To(Equal(map[string]any{"name": "proxy", "image": "p:1", "env": env}))
	g.Expect(k.live.GetLabels()).To(BeEmpty())
	g.Expect(k.live.Object["spec"]).NotTo(HaveKey("paused"))
	g.Expect(k.live.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", byUs)))

	again := forced(k, p, "orkestra-0000000000000000", fmt.Sprintf(withImage, 2), false)
	again.set(g) // nobody is in conflict with what was left
	g.Expect(k.sidecar()).To(HaveKeyWithValue("image", "p:2"))
	g.Expect(again.undo(g).Left).To(HaveLen(1))
	g.Expect(kb.undo(g)).To(BeZero())
	g.Expect(k.sidecar()).To(BeNil(), "the last patch that named the container takes what was left of it")
}

// Fields that need each other go together, whichever half of what is tried they are in.
func TestWhatNeedsAnotherFieldGoesWithIt(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	k.judge = func(obj map[string]any) string {
		data, _ := obj["data"].(map[string]any)
		switch {
		case data["z"] != nil && data["a"] == nil:
			return "z needs a"
		case data["c"] == nil && data["own"] == nil:
			return "c or own is needed"
		}
		return ""
	}
	f := forced(k, p, byUs, `{data: {a: p, c: p, z: p}}`, false)
	f.set(g)
	k.merged("maker", `{data: {own: null}}`)
	k.live.SetManagedFields(slices.DeleteFunc(k.live.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Manager == "maker" }))
	g.Expect(f.undo(g).Left).To(Equal([]string{"data.c"}))
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"c": "p"}))
	g.Expect(k.live.GetManagedFields()).To(BeEmpty(), "there was no other manager left")
}

// What is kept for two reasons is said with both.
func TestWhatIsLeftSaysWhy(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	f := forced(k, p, byUs, `{data: {a: p, b: p, c: p}}`, false)
	f.set(g)
	k.fills = map[string]any{"a": "default"}
	k.judge = func(obj map[string]any) string {
		if data, _ := obj["data"].(map[string]any); data["c"] == nil {
			return "c is needed"
		}
		return ""
	}
	out := f.undo(g)
	g.Expect(out.Left).To(Equal([]string{"data.a", "data.c"}))
	g.Expect(out.Why).To(And(HavePrefix("otherwise the API server would refuse the object: "), ContainSubstring("c is needed, and otherwise the API server would put in values of its own; ")))
}

// An object that the API server refuses as it is can't be written at all: everything stays, and it is said; nobody waits for it.
func TestAnObjectThatIsRefusedAsItIsIsLeft(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	f := forced(k, p, byUs, `{data: {own: p, c: p}}`, true)
	f.set(g)
	g.Expect(k.applied("other", `{data: {c: p}}`, false)).To(BeTrue())
	k.judge = func(map[string]any) string { return "nothing is good any more" }
	out := f.undo(g)
	g.Expect(out.Left).To(Equal([]string{"data.own"}), "the other one is somebody else's as well")
	g.Expect(out.Why).To(And(ContainSubstring("nothing is good any more"), HaveSuffix(`so the field manager "`+byUs+`" still has them`)))
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"own": "p", "c": "p"}))
}

// Former values that are refused are not given back, and the rest goes nevertheless.
func TestAFormerValueThatIsRefusedHoldsNothingElseBack(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	f := forced(k, p, byUs, `{data: {own: p, c: p}}`, true)
	f.set(g)
	k.judge = func(obj map[string]any) string {
		if data, _ := obj["data"].(map[string]any); data["own"] != "p" {
			return "own is p now"
		}
		return ""
	}
	out := f.undo(g)
	g.Expect(out.Left).To(Equal([]string{"data.own"}))
	g.Expect(out.Why).To(ContainSubstring("own is p now"))
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"own": "p"}))
	g.Expect(k.owners("data.own")).To(BeEmpty())
}

// A process that ends between the two writes goes on where it was.
func TestAnUndoThatEndsBeforeItsManagerGoesIsEndedByTheNext(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	f := forced(k, p, byUs, `{data: {a: p, m: p}}`, false)
	f.set(g)
	k.fills = map[string]any{"m": "default"}
	k.once("json-patch+json", func() { k.merged("editor", `{data: {o: o}}`) })
	_, err := p.Withdraw(t.Context(), byUs, f.patch.Object, nil)
	g.Expect(err).To(HaveOccurred())
	g.Expect(k.owners("data.m")).To(Equal([]string{byUs + " " + string(metav1.ManagedFieldsOperationApply)}))
	g.Expect(f.undo(g).Left).To(Equal([]string{"data.m"}))
	g.Expect(k.owners("data.m")).To(BeEmpty())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"own": "x", "o": "o", "m": "p"}))
}

// Somebody who changes a field between the reading and the writing is not undone: values that stay are those of the version that was read.
func TestWhatStaysIsNotPutBackOverAChange(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	f := forced(k, p, byUs, `{data: {a: p, m: p}}`, false)
	f.set(g)
	k.fills = map[string]any{"m": "default"}
	k.once("apply-patch+yaml", func() { k.merged("editor", `{data: {m: theirs}}`) })
	_, err := p.Withdraw(t.Context(), byUs, f.patch.Object, nil)
	g.Expect(err).To(HaveOccurred())
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"own": "x", "m": "theirs"}))
	g.Expect(k.owners("data.m")).To(Equal([]string{"editor Update"}))
}

// Somebody who removes a field meanwhile does not find it again.
func TestWhatStaysIsNotPutBackOverARemoval(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	f := forced(k, p, byUs, `{data: {a: p, m: p}}`, false)
	f.set(g)
	k.judge = func(obj map[string]any) string {
		if data, _ := obj["data"].(map[string]any); data["m"] == nil && data["own"] != "z" {
			return "m is needed"
		}
		return ""
	}
	k.once("apply-patch+yaml", func() { k.merged("editor", `{data: {m: null, own: z}}`) })
	_, err := p.Withdraw(t.Context(), byUs, f.patch.Object, nil)
	g.Expect(err).To(HaveOccurred())
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"own": "z"}))
}

// A withdrawal ends, however large a patch is.
func TestAWithdrawalAsksSoOftenAndNoMore(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {own: x}}`)
	content := []string{}
	for i := range 300 {
		content = append(content, fmt.Sprintf("k%d: p", i))
	}
	f := forced(k, p, byUs, `{data: {`+strings.Join(content, ", ")+`}}`, false)
	f.set(g)
	k.judge = func(obj map[string]any) string {
		if data, _ := obj["data"].(map[string]any); len(data) < 301 {
			return "all are needed"
		}
		return ""
	}
	k.sent = nil
	g.Expect(f.undo(g).Left).To(HaveLen(300))
	g.Expect(len(k.sent)).To(BeNumerically("<=", 103))
	g.Expect(k.live.GetManagedFields()).NotTo(ContainElement(HaveField("Manager", byUs)))
}
