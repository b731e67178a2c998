package pipeline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
)

// Dependency is another box, or a CRD that another operator runs, which must have reached a condition before new resources are
// reconciled.
type Dependency struct {
	// Name of the box, and of the CRDHealth.
	Name string
	// Condition is v1alpha1.ConditionStarted or v1alpha1.ConditionHealthy.
	Condition string
}

// Standing is how a box stands, or a CRD that another operator runs, as its CRDHealth says.
type Standing struct {
	// OfBox says that there is a box of that name.
	OfBox bool
	// State is empty where there is neither a box nor a CRDHealth.
	State v1alpha1.HealthState
	// Started says that the workers of the box run; of another operator's CRD, that its resources are known.
	Started bool
}

// Unmet says what is wanted and what there is instead; "" where the dependency is met.
func (d Dependency) Unmet(s Standing) string {
	met := s.Started
	if d.Condition == v1alpha1.ConditionHealthy {
		met = s.State == v1alpha1.HealthHealthy
	}
	switch {
	case met:
		return ""
	case s.State == "":
		return fmt.Sprintf("there is no box or CRDHealth %q yet, wanted %s", d.Name, d.Condition)
	case s.OfBox:
		return fmt.Sprintf("box %q is %s, wanted %s", d.Name, s.State, d.Condition)
	default:
		return fmt.Sprintf("CRDHealth %q is %s, wanted %s", d.Name, s.State, d.Condition)
	}
}

// dependencies hold back resources that are not Active yet (design: semantics.md, "dependsOn"). It stands behind metadata: a
// resource that waits belongs to its box already, and a deletion was served before.
type dependencies struct{ all []Dependency }

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
		c.plan.DependsOn = append(c.plan.DependsOn, Dependency{Name: in.Name, Condition: c.dependencyCondition(in.Condition, where.Child("condition"))})
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

// notInARing reports a dependency that leads back to the box.
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
// is none. Each box is looked at once.
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
func (dependencies) Name() string { return stepDependencies }

// Run implements Stage. A resource that is Active goes on, and asks nothing.
func (s dependencies) Run(_ context.Context, r *Run) (Outcome, error) {
	if r.isActive {
		return Next, nil
	}
	for i := range s.all {
		if unmet := r.unmetDependency(&s.all[i]); unmet != "" {
			r.AwaitsDependency = true
			r.wait("", v1alpha1.ReasonWaitingForDependency, unmet)
		}
	}
	if r.AwaitsDependency {
		return Hold, nil
	}
	return Next, nil
}

// dependenciesMet says whether nothing of what the box depends on holds the resource back.
func (r *Run) dependenciesMet() bool {
	return !slices.ContainsFunc(r.Plan.DependsOn, func(d Dependency) bool { return d.Unmet(r.Ports.Observer.Standing(d.Name)) != "" })
}

// unmetDependency says what a dependency lacks, and makes that an input.
func (r *Run) unmetDependency(d *Dependency) string {
	unmet := d.Unmet(r.Ports.Observer.Standing(d.Name))
	r.Inputs.observed = append(r.Inputs.observed, observation{dependency: d, seen: unmet})
	return unmet
}

// forgetDependencies takes them out of the inputs: what is Active does not wait for them any more.
func (in *Inputs) forgetDependencies() {
	in.observed = slices.DeleteFunc(in.observed, func(o observation) bool { return o.dependency != nil })
}

// Active says whether the resource is Active now.
func (r *Run) Active() bool { return r.isActive }
