package cel

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/expr/budget"
)

// Every function of CEL that is enabled has a cost, or only reads the text that it is given: a new one must be looked at.
func TestEveryFunctionHasACost(t *testing.T) {
	g := NewWithT(t)
	base, err := newBase()
	g.Expect(err).NotTo(HaveOccurred())
	known := strings.Fields(linearInText)
	for name := range base.env.Functions() {
		_, counted := costs()[name]
		g.Expect(counted || strings.HasPrefix(name, "format.") || slices.Contains(known, name)).To(BeTrue(), "%s has no cost", name)
	}
}

// linearInText are functions whose work is that of reading their texts once, or less.
const linearInText = `!_ -_ @not_strictly_false __not_strictly_false__ _%_ _&&_ _*_ _-_ _/_ _<=_ _<_ _>=_ _>_ _?._ _?_:_ _[?_] _[_] _||_
add allowed asApproximateFloat asInteger bool bytes charAt check cidr compareTo contains containsCIDR containsIP double duration dyn endsWith
error errored family fieldSelector first getDate getDayOfMonth getDayOfWeek getDayOfYear getEscapedPath getFullYear getHost getHostname
getHours getMilliseconds getMinutes getMonth getPort getQuery getScheme getSeconds group hasValue int ip ip.isCanonical isCIDR
isLinkLocalMulticast isGlobalUnicast isGreaterThan isIP isInteger isLessThan isLinkLocalUnicast isLoopback isSemver isURL isUnspecified
labelSelector last lowerAscii major masked minor name namespace optional.none optional.of optional.ofNonZeroValue optional.unwrap or
orValue patch path prefixLength reason resource semver serviceAccount sign size startsWith string strings.quote sub subresource substring
string timestamp trim type uint unwrapOpt upperAscii url value`

// text gives a text of so many bytes.
func text(n int) ref.Val { return types.String(strings.Repeat("a", n)) }

// listOfTexts gives a list of n texts, each of so many bytes.
func listOfTexts(n, bytes int) ref.Val {
	all := make([]string, n)
	for i := range all {
		all[i] = strings.Repeat("a", bytes)
	}
	return types.DefaultTypeAdapter.NativeToValue(all)
}

// A call is charged before it is made, for what it may read and make: an element, or ten bytes, is a unit.
func TestCostOf(t *testing.T) {
	over := budget.MaxCost + 1
	number := types.Int(5)
	object := types.DefaultTypeAdapter.NativeToValue(map[string]string{"a": strings.Repeat("b", 100)})
	settings := types.DefaultTypeAdapter.NativeToValue(map[string]string{"a": "", "b": "", "c": strings.Repeat("b", 100), strings.Repeat("d", 100): "", "e": ""})
	for name, tc := range map[string]struct {
		function string
		args     []ref.Val
		want     int
	}{
		"what reads its text":                {"startsWith", []ref.Val{text(100), text(20)}, 13},
		"what reads no text":                 {"getHours", []ref.Val{number}, 1},
		"a function that nobody knows":       {"unknown", []ref.Val{text(10)}, 2},
		"equal numbers":                      {"_==_", []ref.Val{number, number}, 1},
		"equal texts":                        {"_==_", []ref.Val{text(100), text(100)}, 11},
		"a long text and a short one":        {"_==_", []ref.Val{text(1000), text(10)}, 2},
		"lists":                              {"_==_", []ref.Val{listOfTexts(10, 20), listOfTexts(10, 20)}, 31},
		"maps":                               {"_!=_", []ref.Val{object, object}, 13},
		"a sum of numbers":                   {"_+_", []ref.Val{number, number}, 1},
		"a sum of texts":                     {"_+_", []ref.Val{text(100), text(100)}, 21},
		"a sum of lists":                     {"_+_", []ref.Val{listOfTexts(10, 1), listOfTexts(5, 1)}, 30},
		"in a list":                          {"@in", []ref.Val{text(1), listOfTexts(10, 20)}, 31},
		"in a map":                           {"@in", []ref.Val{text(100), object}, 11},
		"indexOf in a text":                  {"indexOf", []ref.Val{text(100), text(9)}, 100},
		"indexOf in a list":                  {"indexOf", []ref.Val{listOfTexts(10, 20), text(9)}, 31},
		"replace that makes it longer":       {"replace", []ref.Val{text(10), text(1), text(100)}, 112},
		"replace of what is not there":       {"replace", []ref.Val{text(100), types.String("b"), text(100)}, 30},
		"split":                              {"split", []ref.Val{types.String("a,b,c"), types.String(",")}, 13},
		"split into letters":                 {"split", []ref.Val{text(10), types.String("")}, 42},
		"join":                               {"join", []ref.Val{listOfTexts(10, 20)}, 31},
		"join with a separator":              {"join", []ref.Val{listOfTexts(10, 20), text(10)}, 41},
		"format":                             {"format", []ref.Val{types.String("%s"), listOfTexts(1, 10)}, 4},
		"format that asks for digits":        {"format", []ref.Val{types.String("%.100f"), listOfTexts(1, 10)}, 15},
		"lists.range":                        {"lists.range", []ref.Val{types.Int(100)}, 200},
		"lists.range of nothing":             {"lists.range", []ref.Val{types.Int(-5)}, 0},
		"a quantity":                         {"quantity", []ref.Val{types.String("1Gi")}, 1},
		"a quantity with an exponent":        {"quantity", []ref.Val{types.String("1e99")}, 1},
		"a quantity that would fill memory":  {"quantity", []ref.Val{types.String("1e999999999")}, over},
		"a quantity that is too long":        {"isQuantity", []ref.Val{text(300)}, over},
		"a pattern":                          {"matches", []ref.Val{text(100), types.String("a")}, 60},
		"a pattern that can't be read":       {"matches", []ref.Val{text(100), types.String("(")}, 30},
		"a pattern that is too large":        {"matches", []ref.Val{text(1), types.String("(" + strings.Repeat("a", 100) + "){900}")}, over},
		"all matches in a short text":        {"findAll", []ref.Val{text(100), types.String("a")}, 60},
		"all matches in a long text":         {"findAll", []ref.Val{text(1024), types.String("a")}, 732},
		"sort":                               {"sort", []ref.Val{listOfTexts(8, 1)}, 36},
		"reverse":                            {"reverse", []ref.Val{listOfTexts(8, 1)}, 9},
		"distinct compares with every other": {"distinct", []ref.Val{listOfTexts(10, 1)}, 220},
		"sets":                               {"sets.contains", []ref.Val{listOfTexts(10, 1), listOfTexts(2, 1)}, 140},
		"a map in order":                     {fnOrdered, []ref.Val{settings}, 48},
		"a list, which is in order":          {fnOrdered, []ref.Val{listOfTexts(10, 20)}, 1},
		"a map that is put into another":     {fnMapInsert, []ref.Val{object, settings}, 82},
		"an entry of a map that is made":     {fnMapInsert, []ref.Val{object, text(10), text(10)}, 7},
		"a format of Kubernetes":             {"validate", []ref.Val{text(10)}, 100},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(costOf(tc.function, tc.args)).To(Equal(tc.want))
		})
	}
}

// Weighing stops above the limit, so that lists which hold one another many times are cheap to refuse.
func TestWeightStops(t *testing.T) {
	g := NewWithT(t)
	list := listOfTexts(2, 1)
	for range 200 {
		list = types.DefaultTypeAdapter.NativeToValue([]ref.Val{list, list})
	}
	g.Expect(weight(list, 1000, 0)).To(BeNumerically(">", 1000))
	g.Expect(weight(listOfTexts(10, 100), 1000, 0)).To(Equal(111))
	g.Expect(weight(types.OptionalOf(types.Int(1)), 10, 0)).To(Equal(2))
	g.Expect(weight(types.OptionalNone, 10, 0)).To(Equal(1))
}

// A comparison of maps costs what the smaller one weighs, in whichever order the larger one is walked.
func TestAComparisonOfMapsHasOneCost(t *testing.T) {
	g := NewWithT(t)
	texts := map[string]string{}
	for i := range 40 {
		texts[fmt.Sprint(i)] = strings.Repeat("a", 100*i)
	}
	small, large := types.DefaultTypeAdapter.NativeToValue(map[string]string{"a": strings.Repeat("b", 100)}), types.DefaultTypeAdapter.NativeToValue(texts)
	for range 50 {
		g.Expect(costOf("_==_", []ref.Val{small, large})).To(Equal(13))
		g.Expect(costOf("_!=_", []ref.Val{large, small})).To(Equal(13))
	}
}

// Loops over what is known to be a list are left as they are, and cost what they did.
func TestLoopsThatArePutInOrder(t *testing.T) {
	g := NewWithT(t)
	base, err := newBase()
	g.Expect(err).NotTo(HaveOccurred())
	env, err := base.mixed.Extend(cel.Variable("list", cel.ListType(cel.StringType)), cel.Variable("labels", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("any", cel.DynType))
	g.Expect(err).NotTo(HaveOccurred())
	for text, want := range map[string]int{
		"list.map(k, k)": 0, "list.all(i, v, v != '')": 0, "[1, 2].filter(k, k > 1)": 0, "list.map(k, k).map(k, k)": 0, "lists.range(3).exists(i, i > 1)": 0,
		"list.sortBy(k, k)": 0, "optional.of(labels).optMap(m, m.size())": 0,
		"labels.map(k, k)": 1, "labels.map(k, k).map(k, k)": 1, "{'a': 1}.transformList(k, v, v)": 1, "any.map(k, k)": 1, "any.map(k, labels.map(v, v))": 2,
		"optional.of(labels.map(k, k)).optMap(m, m.size())": 2, // which writes its target twice
	} {
		checked, issues := env.Compile(text)
		g.Expect(issues.Err()).NotTo(HaveOccurred(), text)
		orderLoops(checked.NativeRep())
		calls := 0
		ast.PreOrderVisit(checked.NativeRep().Expr(), ast.NewExprVisitor(func(e ast.Expr) {
			if e.Kind() == ast.CallKind && e.AsCall().FunctionName() == fnOrdered {
				calls++
			}
		}))
		g.Expect(calls).To(Equal(want), text)
	}
}
