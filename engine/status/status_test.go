package status

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

func TestMarkers(t *testing.T) {
	for name, tc := range map[string]struct {
		got          metav1.Condition
		kind, status string
		reason       string
	}{
		"Succeeded":   {Succeeded(), "Ready", "True", v1alpha1.ReasonReconcileSucceeded},
		"Failed":      {Failed("m"), "Ready", "False", v1alpha1.ReasonReconcileError},
		"NotReady":    {NotReady("R", "m"), "Ready", "False", "R"},
		"Progressing": {Progressing("R", "m"), "Reconciling", "True", "R"},
		"Settled":     {Settled(), "Reconciling", "False", v1alpha1.ReasonSettled},
		"Paused":      {Paused(), "Reconciling", "False", v1alpha1.ReasonPaused},
		"StalledBy":   {StalledBy("R", "m"), "Stalled", "True", "R"},
		"NotStalled":  {NotStalled(), "Stalled", "False", "NotStalled"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(tc.got.Type).To(Equal(tc.kind))
			g.Expect(string(tc.got.Status)).To(Equal(tc.status))
			g.Expect(tc.got.Reason).To(Equal(tc.reason))
			g.Expect(tc.got.Message).NotTo(BeEmpty())
		})
	}
	NewWithT(t).Expect(Failed(strings.Repeat("x ", 150)).Message).To(HaveLen(255 + len("…")))
}

func TestAdviceStaysWhole(t *testing.T) {
	g := NewWithT(t)
	g.Expect(WithAdvice("it failed", "mend it")).To(Equal("it failed; mend it"))
	long := WithAdvice(strings.Repeat("世", 300), "mend it")
	g.Expect(long).To(Equal(strings.Repeat("世", 246) + "…; mend it"))
	g.Expect(Truncate(long)).To(Equal(long))
	g.Expect(WithAdvice("x", strings.Repeat("a", 300))).To(HavePrefix("x; aaa"))
}

func TestOthers(t *testing.T) {
	g := NewWithT(t)
	g.Expect(WithOthers("it failed", 2)).To(Equal("it failed (and 2 more)"))
	for _, message := range []string{"it failed", "it failed (and how)", "one and 2 more)", ""} {
		g.Expect(WithoutOthers(message)).To(Equal(message))
		g.Expect(WithoutOthers(WithOthers(message, 12))).To(Equal(message))
	}
}

func TestTruncate(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"Empty":      {"", ""},
		"Short":      {"short", "short"},
		"Exact":      {strings.Repeat("x", 256), strings.Repeat("x", 256)},
		"OneMore":    {strings.Repeat("x ", 128) + "x", strings.Repeat("x ", 127) + "x…"},
		"LongName":   {strings.Repeat("x", 249) + ": not found", strings.Repeat("x", 40) + "…" + strings.Repeat("x", 22) + ": not found"},
		"Runes":      {strings.Repeat("ü", 256), strings.Repeat("ü", 256)},
		"RunesCut":   {strings.Repeat("世", 300), strings.Repeat("世", 255) + "…"},
		"BrokenText": {"a\xffb", "a\uFFFDb"},
		"Escape":     {"\x1b[31mred", `\x1b[31mred`},
		"EscapesCut": {strings.Repeat("\x1b", 100), strings.Repeat(`\x1b`, 63) + `\x1…`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := Truncate(tc.in)
			g.Expect(got).To(Equal(tc.want))
			g.Expect(utf8.RuneCountInString(got)).To(BeNumerically("<=", 256))
			g.Expect(Truncate(got)).To(Equal(got))
		})
	}
}
