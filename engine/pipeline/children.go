package pipeline

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds"
)

// children are the living children of one resource, read from the inventory when they are first needed, and again after a
// write.
type children struct {
	run    *Run
	noted  bool // the versions of the first read are in the run's inputs
	loaded bool
	list   []*unstructured.Unstructured
	tree   map[string]any
}

func newChildren(r *Run) *children { return &children{run: r} }

// changed forgets what was read: something was written.
func (c *children) changed() { c.loaded, c.list, c.tree = false, nil, nil }

// all gives every child, in the order of the declarations that they stand for; those of none come last.
func (c *children) all() []*unstructured.Unstructured {
	if c.loaded {
		return c.list
	}
	inv := c.run.Ports.Inventory
	for _, kind := range inv.Kinds() {
		c.list = append(c.list, inv.Owned(kind, c.run.UID())...)
	}
	slices.SortStableFunc(c.list, func(a, b *unstructured.Unstructured) int { return cmp.Compare(c.place(a), c.place(b)) })
	c.loaded = true
	if !c.noted {
		for _, child := range c.list {
			c.run.Inputs.children[child.GetUID()] = child.GetResourceVersion()
		}
		c.noted, c.run.Inputs.readChildren = true, true
	}
	return c.list
}

func (c *children) place(child *unstructured.Unstructured) int {
	if d := c.run.Plan.byID[idOf(child)]; d != nil {
		return d.order
	}
	return math.MaxInt
}

// find gives the living children of one declaration.
func (c *children) find(id string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, child := range c.all() {
		if idOf(child) == id {
			out = append(out, child)
		}
	}
	return out
}

// view is .children: by singular (the first declared), by plural and name, and by explicit id.
func (c *children) view() map[string]any {
	if c.tree != nil && c.loaded {
		return c.tree
	}
	tree := map[string]any{}
	for _, child := range c.all() {
		gvk := child.GroupVersionKind()
		seen := kinds.View(child)
		if _, taken := tree[kinds.SingularOf(gvk)]; !taken {
			tree[kinds.SingularOf(gvk)] = seen
		}
		plural := kinds.PluralOf(gvk)
		byName, ok := tree[plural].(map[string]any)
		if !ok {
			byName = map[string]any{}
			tree[plural] = byName
		}
		byName[c.run.childName(child)] = seen
		if d := c.run.Plan.byID[idOf(child)]; d != nil && d.explicit {
			tree[d.id] = seen
		}
	}
	c.tree = tree
	return tree
}

// childNames are the names that a box's declarations have under .children: singulars, plurals and explicit ids.
func childNames(box *v1alpha1.OperatorBox) []string {
	var out []string
	for _, group := range []v1alpha1.ResourceGroup{box.Spec.OnCreate, box.Spec.OnReconcile, box.Spec.OnDelete} {
		for key, declarations := range group {
			kind, ok := kinds.Lookup(key)
			for i := range declarations {
				gvk := kind.GVK
				if gvk.Empty() {
					gvk = manifestKind(&declarations[i])
				}
				if ok && !gvk.Empty() {
					out = append(out, kinds.SingularOf(gvk), kinds.PluralOf(gvk))
				}
				if id := declarations[i].ID; id != "" {
					out = append(out, id)
				}
			}
		}
	}
	return out
}

// manifestKind is the kind of a manifest as written; an empty one where it is wrong, which is reported elsewhere.
func manifestKind(d *v1alpha1.Declaration) schema.GroupVersionKind {
	var m struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(d.Short["manifest"].Raw, &m); err != nil {
		return schema.GroupVersionKind{}
	}
	return schema.FromAPIVersionAndKind(m.APIVersion, m.Kind)
}

// childName is a child's name as users write it: with the namespace where that is not the resource's own.
func (r *Run) childName(child *unstructured.Unstructured) string {
	if ns := child.GetNamespace(); ns != "" && ns != r.Stored.GetNamespace() {
		return ns + "/" + child.GetName()
	}
	return child.GetName()
}

// notCurrent names the first child that has not settled, by kstatus; "" when all have.
func (c *children) notCurrent() string {
	for _, child := range c.all() {
		if c.run.Plan.byID[idOf(child)] == nil {
			continue
		}
		res, err := status.Compute(child)
		if err != nil {
			return fmt.Sprintf("%s %q: its status can't be read: %s", child.GetKind(), c.run.childName(child), oneLine(err.Error()))
		}
		if res.Status != status.CurrentStatus {
			return fmt.Sprintf("%s %q: %s", child.GetKind(), c.run.childName(child), oneLine(res.Message))
		}
	}
	return ""
}

func idOf(child *unstructured.Unstructured) string {
	return child.GetAnnotations()[v1alpha1.AnnotationDeclaration]
}

// childKey names an object.
type childKey struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func keyOf(obj *unstructured.Unstructured) childKey {
	return childKey{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}

// standing is what the declarations of a cycle stand for. Everything else of this resource and box is pruned.
type standing struct {
	rendered map[childKey]string // the id that rendered an object
	held     map[string]bool     // ids that did not render this time, and whose children stay
}

func newStanding() standing {
	return standing{rendered: map[childKey]string{}, held: map[string]bool{}}
}

// add notes a rendered object. Two that are the same are a mistake.
func (s standing) add(obj *unstructured.Unstructured, id string) error {
	key := keyOf(obj)
	if other, taken := s.rendered[key]; taken {
		return permanent(v1alpha1.ReasonDuplicateChild,
			fmt.Errorf("%q and %q both render %s %q; give one of them another name", other, id, obj.GetKind(), obj.GetName()))
	}
	s.rendered[key] = id
	return nil
}

// covers says whether a declaration stands for a living child.
func (s standing) covers(child *unstructured.Unstructured) bool {
	id := idOf(child)
	return s.held[id] || s.rendered[keyOf(child)] == id && id != ""
}

func rankOf(child *unstructured.Unstructured) int { return kinds.RankOf(child.GroupVersionKind()) }
