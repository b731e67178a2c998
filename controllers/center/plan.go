package center

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/controllers/rendering"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

const (
	// maxDocuments is how many documents a text may have, maxMistakes how many are shown of one.
	maxDocuments, maxMistakes = 50, 100
	// maxReads is how many objects and lists may be read for one answer.
	maxReads = 200
)

// The names of what is given, as messages say them.
const (
	theBoxes    = "the boxes"
	theResource = "the resource"
	theRest     = "the rest"
)

// words say where what is missing can be given on the page.
var words = rendering.Words{
	Boxes: theBoxes, GiveCRD: "beside the box", GiveRest: `under "What else the cluster has"`, Unread: "was not read",
}

// Compile says what is wrong with boxes.
func (c *Center) Compile(ctx context.Context, q api.CompileQuestion) (*api.Compiled, error) {
	_, out, err := c.compile(ctx, q.Boxes)
	return out, err
}

// compile checks boxes.
func (c *Center) compile(ctx context.Context, text string) (*validation.Validator, *api.Compiled, error) {
	docs, err := documents(theBoxes, text)
	if err != nil {
		return nil, nil, err
	}
	o := c.Checking
	o.Docs, o.CRDs, o.GiveCRD, o.Random = docs, input.NewCRDs(), "give the CRD beside the box", rand.Reader
	if o.Cluster != nil {
		o.Cluster = &counted{Cluster: o.Cluster}
	}
	for _, doc := range docs {
		o.CRDs.Add(doc)
	}
	v, err := validation.New(o)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what was read
	}
	results, err := v.Validate(ctx)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // it says what was read
	}
	out := &api.Compiled{Valid: true, Documents: []api.CheckedDocument{}}
	boxes := 0
	for i := range results {
		one := checked(&results[i])
		out.Valid = out.Valid && one.Valid
		if results[i].IsBox {
			boxes++
		}
		out.Documents = append(out.Documents, one)
	}
	if boxes == 0 && out.Valid {
		return nil, nil, apierrors.NewBadRequest("There is no OperatorBox in the text: wanted apiVersion: " + v1alpha1.GroupVersion.String() + ", kind: OperatorBox")
	}
	return v, out, nil
}

// documents reads a text.
func documents(name, text string) ([]input.Document, error) {
	if n := strings.Count(text, "\n---"); n > 10*maxDocuments { // before they are read
		return nil, apierrors.NewBadRequest(fmt.Sprintf("There are %d documents in %s: give at most %d", n, name, maxDocuments))
	}
	docs := slices.DeleteFunc(input.Parse(name, []byte(text)), func(d input.Document) bool { return d.Wrong == nil && len(d.Content) == 0 })
	if len(docs) > maxDocuments {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("There are %d documents in %s: give at most %d", len(docs), name, maxDocuments))
	}
	return docs, nil
}

func checked(r *validation.Result) api.CheckedDocument {
	notes := slices.Clone(r.Notes)
	if len(notes) > maxMistakes {
		notes = append(notes[:maxMistakes], view.More(len(r.Notes)-maxMistakes, "notes"))
	}
	for _, rule := range r.Rules {
		where := "a policy of the API server checks it"
		if rule.Where != v1alpha1.RuleInPolicy {
			where = "it is checked in the reconcile alone: " + rule.Reason
		}
		notes = append(notes, rule.Path+": "+where)
	}
	return api.CheckedDocument{Subject: r.Subject, Valid: r.Valid, Revision: r.Revision, Mistakes: mistakes(r.Errors), Notes: notes}
}

func mistakes(all []input.Mistake) []api.Mistake {
	out := []api.Mistake{}
	for i, m := range all {
		if i == maxMistakes {
			return append(out, api.Mistake{Message: view.More(len(all)-maxMistakes, "mistakes") + ": mend these first"})
		}
		out = append(out, api.Mistake{Path: m.Path, Message: m.Message, Line: m.Line, Column: m.Column})
	}
	return out
}

// Render gives what the cluster would get for resources.
func (c *Center) Render(ctx context.Context, q api.RenderQuestion) (*api.Rendered, error) {
	if (q.Of == nil) == (strings.TrimSpace(q.Resource) == "") {
		return nil, apierrors.NewBadRequest("Give a resource as text, or the name of one, and not both")
	}
	v, compiled, err := c.compile(ctx, q.Boxes)
	if err != nil {
		return nil, err
	}
	out := &api.Rendered{Compiled: *compiled, Resources: []api.RenderedResource{}}
	if !compiled.Valid {
		return out, nil
	}
	r := &rendering.Rendering{Validator: v, Words: words, Now: c.Clock.Now(), GoesOn: true}
	served, err := c.given(ctx, r, q, out)
	if err != nil {
		return nil, err
	}
	for _, doc := range served {
		one, err := r.Resource(ctx, doc)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("rendering %s %q: %w", doc.Kind(), doc.Name(), context.Cause(ctx))
		}
		if err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		out.Resources = append(out.Resources, renderedResource(doc, one))
	}
	return out, nil
}

// given gives the resources that are to be rendered, and has what else there is known to the rendering.
func (c *Center) given(ctx context.Context, r *rendering.Rendering, q api.RenderQuestion, out *api.Rendered) ([]input.Document, error) {
	rest, err := readable(theRest, q.Rest)
	if err != nil {
		return nil, err
	}
	resources, children, err := c.resources(ctx, r, q, out)
	if err != nil {
		return nil, err
	}
	served, others, err := r.Served(resources)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, doc := range others {
		out.Notes = append(out.Notes, fmt.Sprintf("%s %q: none of the boxes serves it; it is taken for what the cluster has", doc.Kind(), doc.Name()))
	}
	if err := r.CheckAnswers(ctx, rest); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if r.Known, err = r.ReadState(slices.Concat(rest, others)); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	for _, child := range children {
		r.Known.Add(child)
	}
	return served, nil
}

// readable reads a text in which nothing may be wrong.
func readable(name, text string) ([]input.Document, error) {
	docs, err := documents(name, text)
	if err != nil {
		return nil, err
	}
	for _, doc := range docs {
		if doc.Wrong != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("%s, line %d: %s", name, doc.Wrong.Line, doc.Wrong.Message))
		}
	}
	return docs, nil
}

// resources gives those that are asked for: from a text, or the one that is named with its children.
func (c *Center) resources(ctx context.Context, r *rendering.Rendering, q api.RenderQuestion, out *api.Rendered) (docs []input.Document, children []*unstructured.Unstructured, err error) {
	if q.Of == nil {
		docs, err = readable(theResource, q.Resource)
		if err == nil && len(docs) == 0 {
			err = apierrors.NewBadRequest("There is no object in the text of the resource")
		}
		return docs, nil, err
	}
	box, err := c.boxNamed(ctx, q.Of.Box)
	if err != nil {
		return nil, nil, err
	}
	live, err := c.live(ctx, box, q.Of.Namespace, q.Of.Name)
	if err != nil {
		return nil, nil, err
	}
	shown := live.DeepCopy()
	shown.SetManagedFields(nil)
	text, err := yaml.Marshal(shown.Object)
	if err != nil {
		return nil, nil, fmt.Errorf("writing %s %q: %w", live.GetKind(), live.GetName(), err)
	}
	docs, err = readable(theResource, string(text))
	if err != nil {
		return nil, nil, err
	}
	selector := labels.SelectorFromSet(labels.Set{v1alpha1.LabelOwnerUID: string(live.GetUID())})
	for _, box := range r.Boxes {
		for _, kind := range box.Plan.ChildKinds {
			found, err := r.Cluster.List(ctx, kind, live.GetNamespace(), selector)
			if err != nil {
				out.Notes = append(out.Notes, fmt.Sprintf("How its children of kind %s are is not known, and gates that wait for them stay closed: %v", kind.Kind, err))
				continue
			}
			children = append(children, found...)
		}
	}
	return docs, children, nil
}

func renderedResource(doc input.Document, r *rendering.Rendered) api.RenderedResource {
	out := api.RenderedResource{
		Kind: doc.Kind(), Namespace: r.Stored.GetNamespace(), Name: doc.Name(), Objects: []api.RenderedObject{}, Conditions: view.Planned(r.Conditions), Waits: r.Waits,
	}
	if len(r.Mistakes) > 0 {
		out.Mistakes = mistakes(r.Mistakes)
		return out
	}
	if r.Constructor != "" {
		out.Notes = append(out.Notes, fmt.Sprintf("It is reconciled by the constructor %s, which is compiled into a manager and is not run here: there is nothing to render", r.Constructor))
		return out
	}
	var left int
	if out.Objects, left = view.Objects(r.Objects, r.Patches); left > 0 {
		out.Notes = append(out.Notes, view.More(left, "objects"))
	}
	if r.Unread != nil {
		out.Notes = append(out.Notes, "Not all that the box reads could be read: "+r.Unread.Error())
	}
	for _, e := range r.Events {
		out.Notes = append(out.Notes, "An event would say: "+e.Reason+": "+e.Message)
	}
	if r.Err != nil {
		out.Error = r.Err.Error()
	}
	return out
}

// counted bounds what is read for one answer. It implements validation.Cluster.
type counted struct {
	validation.Cluster

	mu    sync.Mutex
	reads int // guarded by mu
}

var errTooMuch = errors.New("more is read than is shown here: use orkestra render --cluster")

func (c *counted) next() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reads++; c.reads > maxReads {
		return errTooMuch
	}
	return nil
}

// Get implements validation.Cluster.
func (c *counted) Get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	return c.Cluster.Get(ctx, kind, namespace, name) //nolint:wrapcheck // it says what was read
}

// List implements validation.Cluster.
func (c *counted) List(ctx context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	return c.Cluster.List(ctx, kind, namespace, selector) //nolint:wrapcheck // it says what was read
}

// CRD implements validation.Cluster.
func (c *counted) CRD(ctx context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if err := c.next(); err != nil {
		return nil, err
	}
	return c.Cluster.CRD(ctx, name) //nolint:wrapcheck // it says what was read
}
