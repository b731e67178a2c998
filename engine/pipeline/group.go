package pipeline

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/when"
)

// concurrentWrites is how many children of one rank are written at the same time.
const concurrentWrites = 8

// foreignInterval is how often a name is looked at again that an object of somebody else holds while it is being deleted.
const foreignInterval = 15 * time.Second

// group makes and corrects the children of onCreate or onReconcile, rank by rank.
type group struct {
	name  string
	ranks [][]*declaration
}

func compileOnCreate(c *compiler) Stage    { return newGroup(stepOnCreate, c.createGroup) }
func compileOnReconcile(c *compiler) Stage { return newGroup(stepOnReconcile, c.reconcileGroup) }

func newGroup(name string, declarations []*declaration) Stage {
	if len(declarations) == 0 {
		return nil
	}
	return &group{name: name, ranks: byRank(declarations)}
}

// byRank splits declarations by rank, in the order in which ranks are made; inside a rank they stay as declared.
func byRank(declarations []*declaration) [][]*declaration {
	sorted := slices.Clone(declarations)
	slices.SortStableFunc(sorted, func(a, b *declaration) int { return a.rank() - b.rank() })
	var ranks [][]*declaration
	for i, d := range sorted {
		if i == 0 || d.rank() != sorted[i-1].rank() {
			ranks = append(ranks, nil)
		}
		ranks[len(ranks)-1] = append(ranks[len(ranks)-1], d)
	}
	return ranks
}

// Name implements Stage.
func (g *group) Name() string { return g.name }

// Run implements Stage.
func (g *group) Run(ctx context.Context, r *Run) (Outcome, error) {
	for _, rank := range g.ranks {
		if err := r.runRank(ctx, rank); err != nil {
			return Hold, err
		}
	}
	return Next, nil
}

// pending is a rendered child that is about to be written.
type pending struct {
	declaration *declaration
	child       apply.Child
	outcome     apply.Outcome
	err         error
}

// runRank renders the declarations of one rank, then writes them at the same time.
func (r *Run) runRank(ctx context.Context, rank []*declaration) error {
	// The versions that the gates are about to read must be noted before the first write.
	r.children.all()
	var writes []*pending
	for _, d := range rank {
		obj, err := r.prepare(ctx, d)
		if err != nil {
			return fmt.Errorf("%s: %w", r.label(ctx, d), err)
		}
		if obj != nil {
			writes = append(writes, &pending{declaration: d, child: d.child(obj)})
		}
	}
	var eg errgroup.Group
	eg.SetLimit(concurrentWrites)
	for _, w := range writes {
		eg.Go(func() error {
			// Not the group's error: all that are in flight finish, and the first one declared is reported.
			w.outcome, w.err = r.write(ctx, w.child)
			return nil
		})
	}
	if err := eg.Wait(); err != nil {
		return err
	}
	return r.settle(writes)
}

// write applies one child. A panic would end the process from here: nobody above a goroutine catches it.
func (r *Run) write(ctx context.Context, child apply.Child) (out apply.Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return r.Ports.Applier.Apply(ctx, r.owner, child)
}

// settle notes what was written. Of several errors the first one declared is reported, so that messages are the same twice.
func (r *Run) settle(writes []*pending) error {
	var errs []error
	for _, w := range writes {
		if w.err != nil {
			errs = append(errs, w.err)
			continue
		}
		r.note(w.outcome.Object, w.outcome.Action)
		if w.outcome.Action == apply.Terminating {
			r.wait(v1alpha1.ReasonChildTerminating, fmt.Sprintf("%s %q is being deleted; it is made again when it is gone",
				w.child.Object.GetKind(), w.child.Object.GetName()))
			if w.outcome.Object.GetLabels()[v1alpha1.LabelOwnerUID] != string(r.UID()) {
				r.flipAt(r.Now.Add(foreignInterval)) // nobody tells when an object goes that is not ours
			}
			r.notActive = r.notActive || w.declaration.phase == stepOnCreate
		}
	}
	if len(errs) > 0 {
		return errs[0]
	}
	return nil
}

// note counts a write; what was read of the children is out of date then.
func (r *Run) note(child *unstructured.Unstructured, action apply.Action) {
	if action == apply.None || action == apply.Terminating {
		return
	}
	r.Writes = append(r.Writes, Written{Kind: child.GetKind(), Name: r.childName(child), Action: action})
	r.children.changed()
	if action == apply.Created {
		r.Inputs.children[child.GetUID()] = child.GetResourceVersion()
		return
	}
	r.Inputs.children[child.GetUID()] = written
}

// prepare decides whether a declaration acts now, and renders it. nil: it does not act.
func (r *Run) prepare(ctx context.Context, d *declaration) (*unstructured.Unstructured, error) {
	if d.phase == stepOnCreate && d.once && r.isActive {
		r.stands.held[d.id] = true
		return nil, r.keep(ctx, d)
	}
	res, err := d.gate.Eval(ctx, r.data(d.usesChildren), r.Now)
	if err != nil {
		return nil, evaluating("when", v1alpha1.ReasonConditionError, err)
	}
	r.flipAt(res.NextFlip)
	if !res.Open {
		r.closed(ctx, d, res)
		return nil, nil
	}
	obj, err := d.render(ctx, r)
	if err != nil {
		return nil, err
	}
	return obj, r.stands.add(obj, d.id)
}

// keep lets the children of a declaration that does not act any more follow a change of how the box owns its children.
func (r *Run) keep(ctx context.Context, d *declaration) error {
	for _, child := range r.children.find(d.id) {
		if child.GetDeletionTimestamp() != nil || child.GetLabels()[v1alpha1.LabelBox] != r.Plan.Box {
			continue
		}
		out, err := r.Ports.Applier.Keep(ctx, r.owner, d.child(nil), child)
		if err != nil {
			return err
		}
		r.note(out.Object, out.Action)
	}
	return nil
}

// closed does what a false gate asks for (design: semantics.md, "Gates"). A child that is neither held nor rendered is
// pruned at the end of a cycle without error: that is how whenFalse: Delete deletes.
func (r *Run) closed(ctx context.Context, d *declaration, res when.Result) {
	existing := r.children.find(d.id)
	keep := d.keepWhenFalse[res.Choice] || d.once && d.phase == stepOnCreate
	if keep || len(existing) == 0 {
		r.stands.held[d.id] = true
	}
	if res.Choice || d.optional {
		return
	}
	message := res.Message()
	if len(existing) > 0 && keep {
		message += fmt.Sprintf("; %s %q is left as it is", existing[0].GetKind(), r.childName(existing[0]))
	}
	r.wait(v1alpha1.ReasonWaitingForGate, fmt.Sprintf("%s: %s", r.label(ctx, d), message))
	r.notActive = r.notActive || d.phase == stepOnCreate
}
