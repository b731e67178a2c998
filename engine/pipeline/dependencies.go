package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/suggest"
)

// dependencies hold back resources that are not Active yet (design: recovery.md, "Dependencies"). The stage comes after metadata and
// deletion: a resource that waits has its finalizer already, and one that is deleted does not wait.
type dependencies struct{ all []stage.Dependency }

func compileDependencies(c *compiler) Stage {
	at := field.NewPath("spec", "dependsOn")
	seen := map[string]bool{}
	for i := range c.Spec.DependsOn {
		in, where := &c.Spec.DependsOn[i], at.Index(i)
		if seen[in.Name] {
			c.Fail(field.Duplicate(where.Child("name"), in.Name))
			continue
		}
		seen[in.Name] = true
		c.notInARing(in.Name, where.Child("name"))
		c.plan.DependsOn = append(c.plan.DependsOn, stage.Dependency{Name: in.Name, Condition: c.dependencyCondition(in.Condition, where.Child("condition"))})
	}
	if len(c.plan.DependsOn) == 0 {
		return nil
	}
	return dependencies{all: c.plan.DependsOn}
}

// dependencyCondition gives the condition as CRDHealth spells it.
func (c *compiler) dependencyCondition(written string, at *field.Path) string {
	valid := []string{v1alpha1.ConditionStarted, v1alpha1.ConditionHealthy}
	if written == "" {
		return v1alpha1.ConditionStarted
	}
	i := slices.IndexFunc(valid, func(v string) bool { return strings.EqualFold(v, written) })
	if i < 0 {
		c.Fail(field.Invalid(at, written, "wanted Started or Healthy"+suggest.DidYouMean(written, valid)))
		return v1alpha1.ConditionStarted
	}
	return valid[i]
}

// notInARing reports a dependency that leads back to the box. It is called a ring because a cycle is one reconcile here.
func (c *compiler) notInARing(name string, at *field.Path) {
	if name == c.Name {
		c.Fail(field.Invalid(at, name, "a box can't depend on itself"))
		return
	}
	if c.Env.DependsOn == nil {
		return
	}
	if ring := ringOf(c.Name, name, c.Env.DependsOn); ring != nil {
		c.Fail(field.Invalid(at, name, "a ring of dependencies: "+spokenRing(ring)+"; take one of them away"))
	}
}

// ringOf gives the shortest way from a box over the first of its dependencies back to it, both ends included; nil where there
// is none. Each box is visited once.
func ringOf(box, first string, dependsOn func(string) []string) []string {
	from := map[string]string{first: box}
	for next := []string{first}; len(next) > 0; next = next[1:] {
		for _, name := range dependsOn(next[0]) {
			if name == box {
				ring := []string{box}
				for at := next[0]; at != box; at = from[at] {
					ring = append(ring, at)
				}
				ring = append(ring, box)
				slices.Reverse(ring)
				return ring
			}
			if _, known := from[name]; !known {
				from[name] = next[0]
				next = append(next, name)
			}
		}
	}
	return nil
}

// maxRing is how many boxes of a ring a message names.
const maxRing = 12

func spokenRing(ring []string) string {
	const arrow = " → "
	if len(ring) <= maxRing {
		return strings.Join(ring, arrow)
	}
	half := maxRing / 2
	left := fmt.Sprintf("(%d more)", len(ring)-2*half)
	return strings.Join(slices.Concat(ring[:half], []string{left}, ring[len(ring)-half:]), arrow)
}

// Name implements Stage.
func (dependencies) Name() string { return stage.StepDependencies }

// Run implements Stage. A resource that is Active goes on, and asks nothing. Of an object of others on which that is not noted, the children that
// it has say so.
func (s dependencies) Run(_ context.Context, r *Run) (stage.Outcome, error) {
	if r.Marks.Active || r.Plan.CRD.OfOthers && !r.Plan.NotesActive && len(r.Living.All()) > 0 {
		return stage.Next, nil
	}
	for i := range s.all {
		if unmet := r.Inputs.Unmet(r.Ports.Observer, &s.all[i]); unmet != "" {
			r.AwaitsDependency = true
			r.Wait("", v1alpha1.ReasonWaitingForDependency, unmet)
		}
	}
	if r.AwaitsDependency {
		return stage.Hold, nil
	}
	return stage.Next, nil
}

// dependenciesMet says whether nothing of what the box depends on holds the resource back.
func (r *Run) dependenciesMet() bool {
	return !slices.ContainsFunc(r.Plan.DependsOn, func(d stage.Dependency) bool { return d.Unmet(r.Ports.Observer.Dependency(d.Name)) != "" })
}
