package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestNewOwn(t *testing.T) {
	for name, tc := range map[string]struct {
		value           any
		status          metav1.ConditionStatus
		reason, message string
		problem         string
	}{
		"True":           {true, "True", "Met", "", ""},
		"False":          {false, "False", "NotMet", "", ""},
		"Text":           {"True", "True", "Met", "", ""},
		"SmallText":      {"false", "False", "NotMet", "", ""},
		"Unknown":        {"unknown", "Unknown", "Unknown", "", ""},
		"Whole":          {map[string]any{"status": "True", "reason": "PodsReady", "message": "3 of 3"}, "True", "PodsReady", "3 of 3", ""},
		"Bool":           {map[string]any{"status": false}, "False", "NotMet", "", ""},
		"NumberMessage":  {map[string]any{"status": true, "message": int64(3)}, "True", "Met", "3", ""},
		"Null":           {map[string]any{"status": true, "reason": nil, "message": nil}, "True", "Met", "", ""},
		"OfAnother":      {map[string]any{"type": "Other", "status": "True", "reason": "A", "lastTransitionTime": "x"}, "True", "A", "", ""},
		"BrokenText":     {map[string]any{"status": true, "message": "a\xffb"}, "True", "Met", "a\uFFFDb", ""},
		"Escape":         {map[string]any{"status": true, "message": "a\x1b[2Jb"}, "True", "Met", `a\x1b[2Jb`, ""},
		"LongestMessage": {map[string]any{"status": true, "message": strings.Repeat("ä", 32768)}, "True", "Met", strings.Repeat("ä", 32768), ""},
		"Word":           {"yes", "", "", "", "status.conditions[Up].status: wanted True, False or Unknown, got another text"},
		"Number":         {int64(1), "", "", "", "status.conditions[Up].status: wanted True, False or Unknown, got number"},
		"List":           {[]any{true}, "", "", "", "status.conditions[Up]: wanted a status, or an object with status, reason and message, got array"},
		"NoStatus":       {map[string]any{"reason": "A"}, "", "", "", "status.conditions[Up].status: wanted True, False or Unknown, got null"},
		"BadReason":      {map[string]any{"status": true, "reason": "not ready"}, "", "", "", "status.conditions[Up].reason: wanted one word in CamelCase, such as PodsReady, got another text"},
		"LongReason":     {map[string]any{"status": true, "reason": strings.Repeat("a", 1025)}, "", "", "", "status.conditions[Up].reason: wanted one word in CamelCase, such as PodsReady, got another text"},
		"NumberReason":   {map[string]any{"status": true, "reason": int64(3)}, "", "", "", "status.conditions[Up].reason: wanted one word in CamelCase, such as PodsReady, got number"},
		"MapMessage":     {map[string]any{"status": true, "message": map[string]any{}}, "", "", "", "status.conditions[Up].message: wanted string, got object"},
		"LongMessage":    {map[string]any{"status": true, "message": strings.Repeat("a", 32769)}, "", "", "", "status.conditions[Up].message: wanted at most 32768 characters, got 32769"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			own, err := NewOwn("Up", tc.value)
			if tc.problem != "" {
				g.Expect(err).To(MatchError(tc.problem))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(own).To(Equal(Own{Condition: metav1.Condition{Type: "Up", Status: tc.status, Reason: tc.reason, Message: tc.message}}))
		})
	}
	own, err := NewOwn("Up", nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(own.Remove).To(BeTrue())
}

func TestCheckType(t *testing.T) {
	g := NewWithT(t)
	for _, good := range []string{"Available", "example.com/Available", "a"} {
		g.Expect(CheckType(good)).To(Succeed(), good)
	}
	for _, reserved := range []string{"Ready", "Reconciling", "Stalled", "RolledBack"} {
		g.Expect(CheckType(reserved)).To(MatchError("Orkestra writes the condition " + reserved + " itself; give yours another type"))
	}
	for _, bad := range []string{"", "not available", "a/b/c", "-x", strings.Repeat("a", 64)} {
		g.Expect(CheckType(bad)).To(MatchError(HavePrefix("not the type of a condition")), bad)
	}
}

func TestCheckOwnFields(t *testing.T) {
	g := NewWithT(t)
	g.Expect(CheckOwnFields([]string{"message", "status", "reason"})).To(Succeed())
	g.Expect(CheckOwnFields([]string{"status", "reson"})).To(MatchError(`a condition has status, reason, message; found "reson", did you mean "reason"?`))
	g.Expect(CheckOwnFields([]string{"reason"})).To(MatchError("a condition needs a status: True, False or Unknown"))
}

func own(kind string, s metav1.ConditionStatus, message string) Own {
	return Own{Condition: metav1.Condition{Type: kind, Status: s, Reason: "Because", Message: message}}
}

func TestOwnConditionsAreWrittenAmongTheOthers(t *testing.T) {
	g := NewWithT(t)
	w := newWriter(t, aStatus)
	long := strings.Repeat("x", 1000)
	r := success()
	r.Conditions = []Own{own("Up", metav1.ConditionTrue, long), own("Old", metav1.ConditionTrue, "")}
	obj, _ := write(t, w, stored(t, "{conditions: [{type: Theirs, status: 'True'}]}"), r, early)
	g.Expect(obj.Object["status"]).To(HaveKeyWithValue("conditions", ContainElements(
		map[string]any{"type": "Theirs", "status": "True"},
		map[string]any{"type": "Up", "status": "True", "reason": "Because", "message": long, "observedGeneration": int64(3), "lastTransitionTime": "2026-01-02T03:04:05Z"},
	)), "a message of one's own is not cut")
	shortened := success()
	shortened.Ready.Message = long
	desired, _, err := w.Desired(obj, shortened, early)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(desired).To(HaveKeyWithValue("conditions", ContainElement(And(HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("message", Truncate(long))))))

	again, patch := write(t, w, obj, r, late)
	g.Expect(patch).To(BeNil(), "nothing has changed")

	r.Generation = 4
	r.Conditions = []Own{own("Up", metav1.ConditionTrue, "other"), {Condition: metav1.Condition{Type: "Old"}, Remove: true}}
	obj, _ = write(t, w, again, r, late)
	g.Expect(obj.Object["status"]).To(HaveKeyWithValue("conditions", And(
		HaveLen(5),
		ContainElement(HaveKeyWithValue("type", "Theirs")),
		Not(ContainElement(HaveKeyWithValue("type", "Old"))),
		ContainElement(And(HaveKeyWithValue("type", "Up"), HaveKeyWithValue("message", "other"), HaveKeyWithValue("observedGeneration", int64(4)),
			HaveKeyWithValue("lastTransitionTime", "2026-01-02T03:04:05Z"))),
	)), "the time stays while the status does")

	r.Conditions = []Own{own("Up", metav1.ConditionFalse, "other")}
	obj, _ = write(t, w, obj, r, late)
	g.Expect(obj.Object["status"]).To(HaveKeyWithValue("conditions", ContainElement(And(
		HaveKeyWithValue("type", "Up"), HaveKeyWithValue("lastTransitionTime", "2026-01-02T03:00:00Z")))))
}

func TestOwnConditionsNeedASchemaThatKeepsThem(t *testing.T) {
	g := NewWithT(t)
	w := newWriter(t, "{type: object, properties: {phase: {type: string}}}")
	g.Expect(w.KeepsConditions()).To(BeFalse())
	r := success()
	r.Conditions = []Own{own("Up", metav1.ConditionTrue, "")}
	_, patch := write(t, w, stored(t, "{}"), r, early)
	g.Expect(patch).To(BeNil())
	g.Expect(newWriter(t, aStatus).KeepsConditions()).To(BeTrue())
}
