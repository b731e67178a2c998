package when

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

func gate(t *testing.T, text string) *Gate {
	t.Helper()
	g, errs := CompileGate(read[v1alpha1.Gate](t, text), expr.NewScope(nil), field.NewPath("spec"))
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return g
}

// The parts of gates: choices and waits, true, false and wrong.
const (
	choiceTrue  = `{field: spec.tls, equals: true}`
	choiceFalse = `{field: spec.old, equals: true}`
	choiceWrong = `{field: spec.tls, greaterThan: 1}`
	waitTrue    = `{field: children.a.num, equals: 1}`
	waitFalse   = `{field: children.b.num, equals: 1}`
	waitWrong   = `{field: children.a.num, greaterThan: 1h}`
)

func TestGates(t *testing.T) {
	tests := map[string]struct {
		gate   string
		open   bool
		choice bool
		unmet  []string
		fails  bool
	}{
		"when, all true":                         {gate: `{when: [` + choiceTrue + `, ` + waitTrue + `]}`, open: true},
		"when, a false choice":                   {gate: `{when: [` + waitTrue + `, ` + choiceFalse + `]}`, choice: true, unmet: []string{"spec.old"}},
		"when, choices decide before waits":      {gate: `{when: [` + waitFalse + `, ` + choiceFalse + `]}`, choice: true, unmet: []string{"spec.old"}},
		"when, a false wait":                     {gate: `{when: [` + choiceTrue + `, ` + waitFalse + `]}`, unmet: []string{"children.b.num"}},
		"when, two false choices":                {gate: `{when: [` + choiceFalse + `, {field: spec.x, exists: true}]}`, choice: true, unmet: []string{"spec.old", "spec.x"}},
		"anyOf, a true choice":                   {gate: `{anyOf: [` + waitFalse + `, ` + choiceTrue + `]}`, open: true},
		"anyOf, a true wait":                     {gate: `{anyOf: [` + choiceFalse + `, ` + waitTrue + `]}`, open: true},
		"anyOf, all choices and false":           {gate: `{anyOf: [` + choiceFalse + `, {field: spec.x, exists: true}]}`, choice: true, unmet: []string{"spec.old", "spec.x"}},
		"anyOf, a wait could still open it":      {gate: `{anyOf: [` + waitFalse + `, ` + choiceFalse + `]}`, unmet: []string{"children.b.num", "spec.old"}},
		"both, both hold":                        {gate: `{when: [` + choiceTrue + `], anyOf: [` + choiceFalse + `, ` + waitTrue + `]}`, open: true},
		"both, when is a false choice":           {gate: `{when: [` + choiceFalse + `], anyOf: [` + waitFalse + `]}`, choice: true, unmet: []string{"spec.old"}},
		"both, anyOf is a false choice":          {gate: `{when: [` + waitFalse + `], anyOf: [` + choiceFalse + `]}`, choice: true, unmet: []string{"spec.old"}},
		"both, anyOf alone is false":             {gate: `{when: [` + waitTrue + `], anyOf: [` + choiceFalse + `, ` + waitFalse + `]}`, unmet: []string{"spec.old", "children.b.num"}},
		"both, both are false waits":             {gate: `{when: [` + waitFalse + `], anyOf: [` + waitFalse + `]}`, unmet: []string{"children.b.num", "children.b.num"}},
		"a wrong choice":                         {gate: `{when: [` + choiceTrue + `, ` + choiceWrong + `]}`, fails: true},
		"a wrong choice after a false one":       {gate: `{when: [` + choiceFalse + `, ` + choiceWrong + `]}`, choice: true, unmet: []string{"spec.old"}},
		"a wrong choice before a false one":      {gate: `{when: [` + choiceWrong + `, ` + choiceFalse + `]}`, fails: true},
		"a wrong wait behind a false choice":     {gate: `{when: [` + waitWrong + `, ` + choiceFalse + `]}`, choice: true, unmet: []string{"spec.old"}},
		"a wrong wait":                           {gate: `{when: [` + waitWrong + `]}`, fails: true},
		"anyOf, a wrong choice after a true one": {gate: `{anyOf: [` + choiceTrue + `, ` + choiceWrong + `]}`, open: true},
		"anyOf, a wrong wait beside a choice":    {gate: `{anyOf: [` + waitWrong + `, ` + choiceTrue + `]}`, open: true},
		"anyOf, a wrong wait after a true one":   {gate: `{anyOf: [` + waitTrue + `, ` + waitWrong + `]}`, open: true},
		"anyOf, a wrong wait first":              {gate: `{anyOf: [` + waitWrong + `, ` + waitTrue + `]}`, fails: true},
	}
	d := data(t, `{spec: {tls: true, old: false}, children: {a: {num: 1}, b: {num: 2}}}`)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, err := gate(t, tt.gate).Eval(t.Context(), d, now)
			g.Expect(err != nil).To(Equal(tt.fails), "%v", err)
			g.Expect(r.Open).To(Equal(tt.open))
			g.Expect(r.Choice).To(Equal(tt.choice))
			var unmet []string
			for _, v := range r.Unmet {
				unmet = append(unmet, v.Field)
			}
			g.Expect(unmet).To(Equal(tt.unmet))
			if len(tt.unmet) > 0 {
				g.Expect(r.Message()).To(HavePrefix(tt.unmet[0] + ": wanted "))
			} else {
				g.Expect(r.Message()).To(BeEmpty())
			}
		})
	}
}

func TestEmptyGates(t *testing.T) {
	g := NewWithT(t)
	empty := gate(t, `{}`)
	g.Expect(empty).To(BeNil())
	r, err := empty.Eval(t.Context(), nil, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r).To(Equal(Result{Open: true}))
	g.Expect(empty.Paths()).To(BeEmpty())
	g.Expect(empty.Needs()).To(BeEmpty())
	g.Expect(Join()).To(BeNil())
	g.Expect(Join(nil, empty)).To(BeNil())
	all, errs := CompileAll(nil, expr.NewScope(nil), field.NewPath("readyWhen"))
	g.Expect(errs).To(BeEmpty())
	g.Expect(all).To(BeNil())
}

func TestNeedsOfAGate(t *testing.T) {
	for entry, needed := range map[string]bool{
		`{field: children.a.x, equals: "1"}`:                                                      true,
		`{field: children.a, operator: exists}`:                                                   true,
		`{field: children.a.x, operator: notExists, negate: true}`:                                true,
		`{field: children.a, operator: notExists}`:                                                false,
		`{field: children.a.x, notEquals: "1"}`:                                                   false,
		`{field: children.a.x, equals: "1", negate: true}`:                                        false,
		`{field: spec.x, equals: "1"}`:                                                            false,
		`{field: "{{ default 1 .children.a.x }}", equals: "1"}`:                                   false,
		`{field: "{{ jobSucceeded .children.a }}", equals: true}`:                                 true,
		`{field: "{{ jobSucceeded .children.a }}", notEquals: false}`:                             true,
		`{field: "{{ jobSucceeded .children.a }}", equals: true, negate: true}`:                   false,
		`{field: "{{ jobFailed .children.a }}", equals: false}`:                                   false,
		`{field: "{{ and (jobSucceeded .children.a) (eq .spec.x 1) }}", equals: true}`:            false,
		`{field: "{{ or (jobSucceeded .children.a) (jobSucceeded .children.b) }}", equals: true}`: false,
	} {
		t.Run(entry, func(t *testing.T) {
			g := NewWithT(t)
			one := gate(t, `{anyOf: [`+entry+`]}`)
			wanted := BeEmpty()
			if needed {
				wanted = Not(wanted)
			}
			g.Expect(one.Needs()).To(wanted)
			r, err := one.Eval(t.Context(), data(t, `{spec: {}, children: {}}`), now)
			g.Expect(err).NotTo(HaveOccurred())
			if needed {
				g.Expect(r.Open).To(BeFalse(), "without the child it is closed")
			}
		})
	}
}

func TestJoinedGatesMustAllHold(t *testing.T) {
	g := NewWithT(t)
	box := gate(t, `{anyOf: [`+waitFalse+`, `+waitTrue+`]}`)
	declaration := gate(t, `{when: [`+waitFalse+`]}`)
	d := data(t, `{children: {a: {num: 1}, b: {num: 2}}}`)
	r, err := Join(box, nil, declaration).Eval(t.Context(), d, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Open).To(BeFalse())
	g.Expect(r.Unmet).To(HaveLen(1), "the box's anyOf holds: its false entry is not shown")
	g.Expect(r.Message()).To(Equal("children.b.num: wanted equals 1, actual 2"))

	r, err = Join(box, gate(t, `{when: [`+choiceFalse+`]}`)).Eval(t.Context(), d, now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Choice).To(BeTrue())
	g.Expect(Join(box, declaration).Needs()).To(Equal(declaration.Paths()), "the entries of an anyOf are alternatives")
	g.Expect(Join(box, declaration).Paths()).To(Equal([]expr.Path{{"children", "b", "num"}, {"children", "a", "num"}}))
	g.Expect(box.groups).To(HaveLen(1), "joining changes none of the gates")
}

func TestGateFlipsAtTheEarliestMoment(t *testing.T) {
	const older, younger = `{field: spec.since, olderThan: 3h}`, `{field: spec.since, youngerThan: 2h}`
	d := data(t, `{spec: {since: "2026-03-01T11:00:00Z", old: false, tls: true}}`)
	tests := map[string]struct {
		gate string
		open bool
		flip time.Time
	}{
		"when":                       {`{when: [` + older + `, ` + younger + `]}`, false, now.Add(time.Hour)},
		"anyOf, all are looked at":   {`{anyOf: [{field: spec.since, youngerThan: 4h}, ` + younger + `]}`, true, now.Add(time.Hour)},
		"when and anyOf":             {`{when: [` + younger + `], anyOf: [` + older + `]}`, false, now.Add(time.Hour)},
		"none behind a false choice": {`{when: [` + choiceFalse + `, ` + younger + `]}`, false, time.Time{}},
		"none behind a true choice":  {`{anyOf: [` + choiceTrue + `, ` + younger + `]}`, true, time.Time{}},
		"none in the past":           {`{when: [{field: spec.since, olderThan: 5m}]}`, true, time.Time{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, err := gate(t, tt.gate).Eval(t.Context(), d, now)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(r.Open).To(Equal(tt.open))
			g.Expect(r.NextFlip.UTC()).To(Equal(tt.flip))
		})
	}
}

func TestGateErrorsNameTheEntry(t *testing.T) {
	g := NewWithT(t)
	_, errs := CompileGate(read[v1alpha1.Gate](t, `{when: [{field: spec.a, equals: 1}, {field: spec.a}], anyOf: [{equals: 1}]}`),
		expr.NewScope(nil), field.NewPath("spec", "onCreate"))
	g.Expect(errs).To(HaveLen(2))
	g.Expect(errs[0].Field).To(Equal("spec.onCreate.when[1].operator"))
	g.Expect(errs[1].Field).To(Equal("spec.onCreate.anyOf[0].field"))
	_, errs = CompileAll([]v1alpha1.Condition{{}}, expr.NewScope(nil), field.NewPath("readyWhen"))
	g.Expect(errs[0].Field).To(Equal("readyWhen[0].field"))
}

func TestMessageIsOneLine(t *testing.T) {
	g := NewWithT(t)
	r, err := gate(t, "{when: [{field: \"{{ .spec.a\\n}}\", equals: \"x\\ny\"}]}").Eval(t.Context(), data(t, `{spec: {a: "b\nc"}}`), now)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.Message()).To(Equal(`{{ .spec.a }}: wanted equals "x\ny", actual "b\nc"`))
}
