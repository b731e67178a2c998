package view

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/graph"
	"github.com/orkspace/orkestra/engine/web/api"
)

func TestAGraphIsBounded(t *testing.T) {
	g := NewWithT(t)
	var of graph.Graph
	for i := range maxNodes + 3 {
		of.Nodes = append(of.Nodes, graph.Node{Path: fmt.Sprint("spec[", i, "]")})
	}
	fields := []string{"a", "b", "c", "d", "e", "f"}
	of.Edges = []graph.Edge{
		{From: 0, To: maxNodes - 1, Ways: []declare.Way{declare.ByGate, declare.ByAfter}, Fields: fields, Ring: true}, {From: 0, To: maxNodes}, {From: maxNodes, To: 1},
	}
	shown := Graph(of, "web-1")
	g.Expect(shown.Nodes).To(HaveLen(maxNodes))
	g.Expect(shown.More).To(Equal(3))
	g.Expect(shown.Revision).To(Equal("web-1"))
	g.Expect(shown.Edges).To(Equal([]api.GraphEdge{{From: "spec[0]", To: fmt.Sprint("spec[", maxNodes-1, "]"), Ways: []string{"gate", "after"}, Fields: fields[:maxReads], Ring: true}}))
	g.Expect(shown.MoreEdges).To(BeZero())
	g.Expect(Graph(graph.Graph{}, "")).To(Equal(&api.Graph{Nodes: []api.GraphNode{}, Edges: []api.GraphEdge{}}))

	of.Edges = nil
	for i := range maxEdges + 2 {
		of.Edges = append(of.Edges, graph.Edge{From: i % maxNodes, To: i / maxNodes}, graph.Edge{From: maxNodes, To: i % maxNodes})
	}
	shown = Graph(of, "web-1")
	g.Expect(shown.Edges).To(HaveLen(maxEdges))
	g.Expect(shown.MoreEdges).To(Equal(2), "edges to nodes that are not shown are not counted")
}

// waiting is a box that waits for others.
func waiting(name string, on ...v1alpha1.Dependency) v1alpha1.OperatorBox {
	b := v1alpha1.OperatorBox{ObjectMeta: metav1.ObjectMeta{Name: name}}
	b.Spec.DependsOn = on
	return b
}

func TestWaitingLeadsBothWays(t *testing.T) {
	g := NewWithT(t)
	boxes := []v1alpha1.OperatorBox{
		waiting("web", v1alpha1.Dependency{Name: "db", Condition: "healthy"}, v1alpha1.Dependency{Name: "issuers.others.io"}),
		waiting("db", v1alpha1.Dependency{Name: "disks"}), waiting("disks"), waiting("shop", v1alpha1.Dependency{Name: "web", Condition: "Healthy"}),
		waiting("mail", v1alpha1.Dependency{Name: "db"}), waiting("apart", v1alpha1.Dependency{Name: "elsewhere"}),
	}
	healths := []v1alpha1.CRDHealth{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, {ObjectMeta: metav1.ObjectMeta{Name: "db"}}}
	healths[0].Status.Dependencies = []v1alpha1.DependencyStatus{{Name: "db", Condition: "Healthy"}, {Name: "issuers.others.io", Condition: "Started", Met: true}}
	healths[1].Status.State, healths[1].Status.Resources.Failing = "Degraded", 3
	d := Dependencies("web", boxes, healths)
	g.Expect(d.Nodes).To(Equal([]api.DependencyNode{
		{Box: "web", State: api.Unknown, IsBox: true}, {Box: "db", State: api.Degraded, IsBox: true, Failing: 3}, {Box: "issuers.others.io", State: api.Unknown}, {Box: "shop", State: api.Unknown, IsBox: true},
		{Box: "disks", State: api.Unknown, IsBox: true},
	}), "mail waits for db, which has nothing to do with web")
	g.Expect(d.Edges).To(Equal([]api.DependencyEdge{
		{From: "disks", To: "db", Condition: "Started", Met: "Unknown"}, {From: "web", To: "shop", Condition: "Healthy", Met: "Unknown"},
		{From: "db", To: "web", Condition: "Healthy", Met: "False"}, {From: "issuers.others.io", To: "web", Condition: "Started", Met: "True"},
	}))
	g.Expect(Dependencies("apart", boxes, nil).Nodes).To(HaveLen(2))
	g.Expect(Dependencies("gone", boxes, nil)).To(Equal(&api.Dependencies{Nodes: []api.DependencyNode{{Box: "gone", State: api.Unknown}}, Edges: []api.DependencyEdge{}}))
}

func TestRingsOfDependenciesAreMarked(t *testing.T) {
	g := NewWithT(t)
	on := func(name string) v1alpha1.Dependency { return v1alpha1.Dependency{Name: name} }
	d := Dependencies("a", []v1alpha1.OperatorBox{waiting("a", on("b")), waiting("b", on("c")), waiting("c", on("a"), on("d")), waiting("d"), waiting("e", on("a"))}, nil)
	rings := map[string]bool{}
	for _, e := range d.Edges {
		rings[e.From+">"+e.To] = e.Ring
	}
	g.Expect(rings).To(Equal(map[string]bool{"b>a": true, "c>b": true, "a>c": true, "d>c": false, "a>e": false}))
}

// TestDependenciesAreBounded: the nearest ones are shown, also where all wait for all.
func TestDependenciesAreBounded(t *testing.T) {
	g := NewWithT(t)
	var boxes []v1alpha1.OperatorBox
	const all = 3 * maxBoxes
	for i := range all {
		var on []v1alpha1.Dependency
		for n := range all {
			on = append(on, v1alpha1.Dependency{Name: fmt.Sprint("b", n)})
		}
		boxes = append(boxes, waiting(fmt.Sprint("b", i), on...))
	}
	boxes = append(boxes, waiting("a", v1alpha1.Dependency{Name: "b7"}))
	d := Dependencies("a", boxes, nil)
	g.Expect(d.Nodes).To(HaveLen(maxBoxes))
	g.Expect(d.Nodes[1].Box).To(Equal("b7"))
	g.Expect(d.More).To(Equal(all + 1 - maxBoxes))
}

func TestRightsOverTheSameStandTogether(t *testing.T) {
	g := NewWithT(t)
	right := func(verb, resource, sub, namespace string) access.Right {
		return access.Right{Verb: verb, Group: "g", Resource: resource, Subresource: sub, Namespace: namespace}
	}
	needed := []access.Right{right("get", "a", "", ""), right("list", "a", "", ""), right("get", "a", "", "n"), right("patch", "a", "status", ""), right("get", "a", "", ""), right("get", "b", "", "")}
	shown := Rights(needed, func(r access.Right) (granted, known bool) { return r.Verb != "list", r.Resource != "b" })
	g.Expect(shown).To(Equal(&api.Rights{Missing: 1, Rights: []api.NeededRight{
		{Group: "g", Resource: "a", Verbs: []string{"get", "list"}, Missing: []string{"list"}},
		{Group: "g", Resource: "b", Verbs: []string{"get"}, Unknown: true},
		{Group: "g", Resource: "a", Namespace: "n", Verbs: []string{"get"}},
		{Group: "g", Resource: "a/status", Verbs: []string{"patch"}},
	}}))
	var many []access.Right
	for i := range maxRights + 4 {
		many = append(many, right("get", fmt.Sprint("r", i), "", ""))
	}
	shown = Rights(many, func(r access.Right) (bool, bool) { return r.Resource != many[maxRights+3].Resource, true })
	g.Expect(shown.Rights).To(HaveLen(maxRights))
	g.Expect(shown.Rights[0].Missing).To(Equal([]string{"get"}), "what is missing is not left out")
	g.Expect(shown.More).To(Equal(4))
	g.Expect(Rights(nil, nil).Rights).NotTo(BeNil())
}

func TestADifferenceHasEachFieldBeforeAndAfter(t *testing.T) {
	g := NewWithT(t)
	text := func(s string) *string { return &s }
	d, err := Difference("one", "two", []byte(`{"spec":{"a":1,"list":[{"x":"y"}],"gone":true}}`), []byte(`{"spec":{"a":2,"list":[{"x":"y"},{"k":{"z":null}}],"new":"s"}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d).To(Equal(&api.Difference{From: "one", To: "two", Changes: []api.FieldChange{
		{Field: "spec.a", Before: text("1"), After: text("2")}, {Field: "spec.gone", Before: text("true")}, {Field: "spec.list[1]", After: text("k:\n  z: null")}, {Field: "spec.new", After: text("s")},
	}}))
	_, err = Difference("one", "two", []byte(`{}`), []byte(`{`))
	g.Expect(err).To(MatchError(ContainSubstring(`what is kept as "two" can't be read`)))
	_, err = Difference("one", "two", []byte(``), []byte(`{}`))
	g.Expect(err).To(MatchError(ContainSubstring(`what is kept as "one" can't be read`)))
	before, after := map[string]any{}, map[string]any{}
	for i := range 7 {
		before[fmt.Sprint(i)], after[fmt.Sprint(i)] = "same", i
	}
	changes, more := Fields(before, after, 5)
	g.Expect(changes).To(HaveLen(5))
	g.Expect(more).To(Equal(2))
}

// TestADifferenceIsBounded: as many fields as somebody reads, and of each as much.
func TestADifferenceIsBounded(t *testing.T) {
	g := NewWithT(t)
	list := func(item string, n int) []byte { return []byte(`{"a":[` + strings.Repeat(item+",", n-1) + item + `]}`) }
	d, err := Difference("one", "two", list("1", maxFields+3), list("2", maxFields+3))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(d.Changes).To(HaveLen(maxFields))
	g.Expect(d.Changes[maxFields-1].Field).To(Equal(fmt.Sprintf("a[%d]", maxFields-1)))
	g.Expect(d.More).To(Equal(3))
	long := strings.Repeat("ä", maxField+5)
	d, err = Difference("one", "two", list(`"short"`, 1), list(`"`+long+`"`, 1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*d.Changes[0].After).To(Equal(strings.Repeat("ä", maxField) + "…"))
	g.Expect(Changes(list(`"short"`, 1), list(`"`+long+`"`, 1))).To(HaveExactElements(`a[0]: "short" → "` + strings.Repeat("ä", maxValue-1) + "…"))
	g.Expect(Changes(list("1", maxChanges), list("2", maxChanges))).To(HaveLen(maxChanges))
	g.Expect(Changes(list("1", maxChanges+7), list("2", maxChanges+7))).To(And(HaveLen(maxChanges+1), ContainElement("and 7 more")))
}

func TestStepsStandInTheOrderOfThePlan(t *testing.T) {
	g := NewWithT(t)
	did := []api.Step{{Name: "status", Runs: 2}, {Name: "gather", Runs: 3}, {Name: "children", Failures: 1}, {Name: "former"}}
	g.Expect(Steps([]string{"gather", "cross", "status"}, did)).To(Equal([]api.Step{{Name: "gather", Runs: 3}, {Name: "cross"}, {Name: "status", Runs: 2}, {Name: "children", Failures: 1}}))
	g.Expect(Steps(nil, nil)).NotTo(BeNil())
}
