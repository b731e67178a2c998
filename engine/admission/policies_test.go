package admission

import (
	"path"
	"regexp"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPatternsOfNamespacesAreRegularExpressions(t *testing.T) {
	names := []string{"a", "ab", "abc", "team-a", "team-b", "prod", "prod-1", "x.y", "1", "^", "-"}
	for _, pattern := range []string{"a", "a*", "*", "?", "team-?", "team-[ab]", "[^a]*", "prod*", "*-*", "[a-c]?", `\a`, `[\-x]`, "x.y", "*c"} {
		g := gomega.NewWithT(t)
		re := regexp.MustCompile("^(" + glob(pattern) + ")$")
		for _, name := range names {
			want, err := path.Match(pattern, name)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(re.MatchString(name)).To(gomega.Equal(want), "%s and %s", pattern, name)
		}
	}
}

func TestLiterals(t *testing.T) {
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"a quote":          {"it's \\ a\n", `'it\'s \\ a\U0000000a'`},
		"a whole float":    {3.0, "3"},
		"a list":           {[]any{int64(1), "a", nil}, "[dyn(1), dyn('a'), dyn(null)]"},
		"a map":            {map[string]any{"b": true, "a": 1.5}, "{'a': dyn(1.5), 'b': dyn(true)}"},
		"beyond 2^53":      {int64(1<<53 + 1), ""},
		"a float beyond":   {1e300, ""},
		"inside of a list": {[]any{int64(1<<53 + 1)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, ok := literal(tc.value)
			gomega.NewWithT(t).Expect(text).To(gomega.Equal(tc.want))
			gomega.NewWithT(t).Expect(ok).To(gomega.Equal(tc.want != ""))
		})
	}
}

func TestSelectors(t *testing.T) {
	g := gomega.NewWithT(t)
	g.Expect(selects(nil)).To(gomega.BeEmpty())
	g.Expect(selects(&metav1.LabelSelector{
		MatchLabels: map[string]string{"a": "b"},
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "c", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"d"}}, {Key: "e", Operator: metav1.LabelSelectorOpExists},
			{Key: "f", Operator: metav1.LabelSelectorOpDoesNotExist}, {Key: "g", Operator: metav1.LabelSelectorOpIn, Values: []string{"h", "i"}},
		},
	})).To(gomega.Equal(`!(has(object.metadata.labels) && 'c' in object.metadata.labels && object.metadata.labels['c'] in [dyn('d')])` +
		` && !(has(object.metadata.labels) && 'f' in object.metadata.labels)` +
		` && (has(object.metadata.labels) && 'a' in object.metadata.labels && object.metadata.labels['a'] in [dyn('b')])` +
		` && (has(object.metadata.labels) && 'e' in object.metadata.labels)` +
		` && (has(object.metadata.labels) && 'g' in object.metadata.labels && object.metadata.labels['g'] in [dyn('h'), dyn('i')])`))
}
