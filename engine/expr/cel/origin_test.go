package cel

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/roots"
)

// originData has a part a, and no part b.
func originData() map[string]any {
	part := map[string]any{"a": map[string]any{"status": map[string]any{"id": "1", "list": []any{map[string]any{"x": int64(1)}, map[string]any{}}}}}
	return map[string]any{
		"spec":     map[string]any{"all": []any{map[string]any{"name": "a"}, map[string]any{"name": "b"}}, "one": "b", "map": map[string]any{"a": "b"}},
		"children": map[string]any{"part": part},
		"cross":    map[string]any{"s": map[string]any{"data": map[string]any{"word": "hunter2"}}},
	}
}

func evalOrigin(t *testing.T, text string) (any, error) {
	t.Helper()
	env := NewEnv(roots.NewSet(nil).WithUnchecked(roots.Cross, roots.External))
	e, err := env.CompileExpression(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e.Eval(t.Context(), originData())
}

func TestWhatIsAbsentIsKnownByWhereItIsMissing(t *testing.T) {
	for text, want := range map[string]string{
		`self.spec.all.map(s, children.part[s.name].status.id)`:                                       "children.part.b",
		`self.spec.all.filter(s, children.part[s.name].status.id == '1')`:                             "children.part.b",
		`self.spec.all.all(s, children.part[s.name].status.id == '1')`:                                "children.part.b",
		`children.part[self.spec.one].status.id`:                                                      "children.part.b",
		`children.part.map(k, children.part[k].status.no)`:                                            "children.part.a.status.no",
		`children.part.transformList(k, v, v.status.no)`:                                              "children.part.a.status.no",
		`children.part.a.status.list.map(l, l.x)`:                                                     "children.part.a.status.list[1].x",
		`children.part.a.status.list[5].x`:                                                            "children.part.a.status.list[5]",
		`children.part.a.status.list.filter(l, true).map(l, l.x)`:                                     "children.part.a.status.list[1].x",
		`(children.part.a.status.list + []).map(l, l.x)`:                                              "children.part.a.status.list[1].x",
		`(has(self.spec.no) ? self.spec : children).part.b`:                                           "children.part.b",
		`[children.part.a.status, self.spec].map(m, m.one)`:                                           "children.part.a.status.one",
		`children.part.a.?status.orValue({}).none`:                                                    "children.part.a.status.none",
		`has(children.part.b.status)`:                                                                 "children.part.b",
		`external.call.body.id`:                                                                       "external.call",
		`children.part[self.spec.no]`:                                                                 "spec.no",
		`self.spec.all.map(s, children.part[s.nam].status.id)`:                                        "spec.all[0].nam",
		`[children.part.a.status, self.spec].map(m, m.id)`:                                            "spec.id",
		`self.spec.all.map(s, self.spec.map[s.name])`:                                                 "spec.map.b",
		`has(children.part.b) ? 'x' : self.spec.nothing`:                                              "spec.nothing",
		`children.part[cross.s.data.word]`:                                                            "children.part['…']",
		`children.part.a.status.list.map(l, has(l.x) ? l.x : 0)`:                                      "",
		`children.part[?'b'].?status.?id.orValue('none')`:                                             "",
		`self.spec.all.map(s, children.part[?s.name].?status.?id.orValue('none'))`:                    "",
		`self.spec.all.filter(s, s.name in children.part).map(s, children.part[s.name].status.id)[0]`: "",
	} {
		t.Run(text, func(t *testing.T) {
			g := gomega.NewWithT(t)
			_, err := evalOrigin(t, text)
			if want == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				return
			}
			absent, ok := errors.AsType[*roots.AbsentError](err)
			g.Expect(ok).To(gomega.BeTrue(), "%v", err)
			g.Expect(absent.Path.String()).To(gomega.Equal(want))
			g.Expect(err.Error()).NotTo(gomega.ContainSubstring("hunter2"))
		})
	}
}

// Whatever stands around a place, an absence is that of its root: random wraps of a place below children and of one of the resource's own.
func TestAnAbsenceKeepsItsRootInAnyExpression(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	wraps := []string{
		`[%s].map(x, x)[0]`, `(true ? %s : %s)`, `{'k': %s}.k`, `[%s].filter(x, true)[0]`, `[[%s]].map(l, l[0])[0]`, `['k'].map(k, {k: %s}[k])[0]`,
		`optional.of(%s).value()`, `([%s] + [])[0]`, `[1].map(i, %s)[0]`, `(has(self.spec.no) || !has(children.no) ? %s : self.spec)`,
	}
	steps := []string{`.status`, `['status']`, `[self.spec.key]`, `[['status'][0]]`}
	for i := range 300 {
		root := []string{"children.part.a", "self.spec.part"}[i%2]
		text, below := root, random.IntN(4)
		for range below {
			text = strings.ReplaceAll(wraps[random.IntN(len(wraps))], "%s", text)
		}
		text += steps[random.IntN(len(steps))]
		for range random.IntN(3) {
			text = strings.ReplaceAll(wraps[random.IntN(len(wraps))], "%s", text)
		}
		text += `.missing`
		env := NewEnv(roots.NewSet(nil).WithUnchecked(roots.Cross, roots.External))
		e, err := env.CompileExpression(text)
		if err != nil {
			continue // more loops than an expression may have
		}
		inside := map[string]any{"status": map[string]any{"there": int64(1)}}
		_, err = e.Eval(t.Context(), map[string]any{
			"spec": map[string]any{"key": "status", "part": inside}, "children": map[string]any{"part": map[string]any{"a": inside}},
		})
		absent, ok := errors.AsType[*roots.AbsentError](err)
		if !ok || len(absent.Path) == 0 || (absent.Path[0] == roots.Children) != (i%2 == 0) {
			t.Fatalf("%s: %v", text, err)
		}
	}
}
