package view

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/rings"
	"github.com/orkspace/orkestra/engine/web/api"
)

// maxBoxes is how many boxes of the dependencies of one are shown.
const maxBoxes = 60

// Dependencies are the boxes that one waits for, and those that wait for it, of all that somebody may read.
func Dependencies(name string, boxes []v1alpha1.OperatorBox, healths []v1alpha1.CRDHealth) *api.Dependencies {
	f := newFleetGraph(boxes, healths)
	near := f.near(name)
	shown := near[:min(len(near), maxBoxes)]
	out := &api.Dependencies{Nodes: make([]api.DependencyNode, 0, len(shown)), Edges: []api.DependencyEdge{}, More: len(near) - len(shown)}
	for _, box := range shown {
		out.Nodes = append(out.Nodes, f.node(box))
	}
	for _, to := range shown {
		for _, d := range f.waitsFor[to] {
			if slices.Contains(shown, d.Name) {
				out.Edges = append(out.Edges, f.edge(d, to))
			}
		}
	}
	slices.SortFunc(out.Edges, func(a, b api.DependencyEdge) int {
		return cmp.Or(strings.Compare(a.To, b.To), strings.Compare(a.From, b.From))
	})
	return out
}

// fleetGraph knows who waits for whom.
type fleetGraph struct {
	boxes     map[string]*v1alpha1.OperatorBox
	healths   map[string]*v1alpha1.CRDHealth
	waitsFor  map[string][]v1alpha1.Dependency
	waitedFor map[string][]string
	ringOf    map[string]int
}

func newFleetGraph(boxes []v1alpha1.OperatorBox, healths []v1alpha1.CRDHealth) *fleetGraph {
	f := &fleetGraph{
		boxes: map[string]*v1alpha1.OperatorBox{}, healths: map[string]*v1alpha1.CRDHealth{},
		waitsFor: map[string][]v1alpha1.Dependency{}, waitedFor: map[string][]string{},
	}
	for i := range healths {
		f.healths[healths[i].Name] = &healths[i]
	}
	var names []string
	for i := range boxes {
		box := &boxes[i]
		names = append(names, box.Name)
		f.boxes[box.Name], f.waitsFor[box.Name] = box, box.Spec.DependsOn
		for _, d := range box.Spec.DependsOn {
			f.waitedFor[d.Name] = append(f.waitedFor[d.Name], box.Name)
		}
	}
	f.ringOf = rings.Of(names, func(box string) (next []string) {
		for _, d := range f.waitsFor[box] {
			next = append(next, d.Name)
		}
		return next
	})
	return f
}

// near gives a box, then those to which a way of waiting leads from it, either way, by how far they are: those that it waits for and those that wait
// for it, and not what else these wait for.
func (f *fleetGraph) near(name string) []string {
	up := f.from(name, func(box string) (next []string) {
		for _, d := range f.waitsFor[box] {
			next = append(next, d.Name)
		}
		return next
	})
	down := f.from(name, func(box string) []string { return f.waitedFor[box] })
	out := []string{name}
	for far := 1; far < max(len(up), len(down)); far++ {
		for _, way := range [][][]string{up, down} {
			if far >= len(way) {
				continue
			}
			for _, box := range way[far] {
				if !slices.Contains(out, box) {
					out = append(out, box)
				}
			}
		}
	}
	return out
}

// from gives the boxes to which next leads, by how many steps away they are, those of each step by name.
func (f *fleetGraph) from(name string, next func(string) []string) [][]string {
	seen, levels := map[string]bool{name: true}, [][]string{{name}}
	for {
		var level []string
		for _, box := range levels[len(levels)-1] {
			for _, other := range next(box) {
				if !seen[other] {
					seen[other] = true
					level = append(level, other)
				}
			}
		}
		if len(level) == 0 {
			return levels
		}
		slices.Sort(level)
		levels = append(levels, level)
	}
}

func (f *fleetGraph) node(name string) api.DependencyNode {
	n := api.DependencyNode{Box: name, State: api.Unknown, IsBox: f.boxes[name] != nil}
	if health := f.healths[name]; health != nil {
		n.State, n.Failing = cmp.Or(api.State(health.Status.State), api.Unknown), health.Status.Resources.Failing
	}
	return n
}

func (f *fleetGraph) edge(d v1alpha1.Dependency, to string) api.DependencyEdge {
	e := api.DependencyEdge{
		From: d.Name, To: to, Condition: waitedCondition(d.Condition), Met: string(metav1.ConditionUnknown),
		Ring: f.ringOf[d.Name] == f.ringOf[to] && f.ringOf[to] != 0,
	}
	health := f.healths[to]
	if health == nil {
		return e
	}
	for _, known := range health.Status.Dependencies {
		if known.Name == d.Name {
			e.Condition, e.Met = known.Condition, metOf(known.Met)
		}
	}
	return e
}

// waitedCondition is the condition as a CRDHealth spells it.
func waitedCondition(written string) string {
	if strings.EqualFold(written, v1alpha1.ConditionHealthy) {
		return v1alpha1.ConditionHealthy
	}
	return v1alpha1.ConditionStarted
}

func metOf(met bool) string {
	if met {
		return string(metav1.ConditionTrue)
	}
	return string(metav1.ConditionFalse)
}
