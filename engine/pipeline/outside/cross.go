package outside

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/check"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// cross reads objects that the box does not own, from a watch cache: the resources of another box, or any kind
// (design: surface.md, "Reading what is not ours").
type cross struct {
	sources []crossSource
	calls   []*externalCall // which may read what a source gives
}

// crossSource is one entry of spec.cross, compiled.
type crossSource struct {
	name     string
	box      string                  // a box whose resources are read, or:
	kind     schema.GroupVersionKind // a kind
	optional bool

	object, namespace *expr.Template // object nil: all that the labels select
	labels            *expr.Value
	expressions       []labelExpression
}

// sources compiles spec.cross.
func sources(b *compile.Box) []crossSource {
	var all []crossSource
	at := field.NewPath("spec", "cross")
	seen := map[string]bool{}
	for i := range b.Spec.Cross {
		in, where := &b.Spec.Cross[i], at.Index(i)
		if seen[in.Name] {
			b.Fail(field.Duplicate(where.Child("name"), in.Name))
		}
		seen[in.Name] = true
		all = append(all, source(b, in, where))
	}
	return all
}

func source(b *compile.Box, in *v1alpha1.CrossSource, at *field.Path) crossSource {
	scope := b.ResourceScope()
	s := crossSource{name: in.Name, box: in.Box, optional: in.Optional}
	crossKind(b, &s, in, at)
	at = at.Child("selector")
	s.object = b.Template(scope, in.Selector.Name, at.Child("name"))
	s.namespace = b.Template(scope, in.Selector.Namespace, at.Child("namespace"))
	matched := b.Texts(scope, in.Selector.MatchLabels, at.Child("matchLabels"))
	b.Fail(check.Labels(matched.Written, at.Child("matchLabels"))...)
	s.labels = matched.Value
	s.expressions = labelExpressions(b, in.Selector.MatchExpressions, scope, at.Child("matchExpressions"))
	if s.object != nil && len(s.expressions) > 0 {
		b.Fail(field.Forbidden(at.Child("matchExpressions"), "name and matchExpressions contradict each other: a name gives one object, labels give a list"))
	}
	if s.object != nil && s.labels != nil {
		b.Fail(field.Forbidden(at.Child("matchLabels"), "name and matchLabels contradict each other: a name gives one object, labels give a list"))
	}
	crossPlace(b, &s, in, at)
	if s.box != "" || !s.kind.Empty() {
		b.ReadOutside(compile.OutsideRead{Box: s.box, Kind: s.kind, Namespace: in.Selector.Namespace, Name: in.Selector.Name})
	}
	for _, t := range []*expr.Template{s.object, s.namespace} {
		if t != nil {
			b.Reads(t.Paths())
		}
	}
	if s.labels != nil {
		b.Reads(s.labels.Paths())
	}
	for i := range s.expressions {
		for _, t := range s.expressions[i].values {
			b.Reads(t.Paths())
		}
	}
	b.LeadsTo(s.namespace)
	return s
}

// crossKind says what a source reads.
func crossKind(b *compile.Box, s *crossSource, in *v1alpha1.CrossSource, at *field.Path) {
	switch {
	case (in.Box != "") == (in.Kind != ""):
		b.Fail(field.Invalid(at, in.Name, "give exactly one of box and kind"))
	case in.Box != "":
		if in.APIVersion != "" {
			b.Fail(field.Forbidden(at.Child("apiVersion"), "belongs to kind; the box says it itself"))
		}
	case in.APIVersion == "":
		b.Fail(field.Required(at.Child("apiVersion"), "such as v1, or apps/v1"))
	default:
		gv, err := schema.ParseGroupVersion(in.APIVersion)
		if err != nil {
			b.Fail(field.Invalid(at.Child("apiVersion"), in.APIVersion, "wanted group/version"))
			return
		}
		s.kind = gv.WithKind(in.Kind)
		if hint, unknown := kinds.Unknown(s.kind); unknown && !b.Installed(s.kind) {
			b.Fail(field.Invalid(at.Child("kind"), in.Kind, fmt.Sprintf("%s has no such kind%s", in.APIVersion, hint)))
		}
	}
}

// crossPlace checks what the selector says of the place of the objects. What another box serves is known only when it runs.
func crossPlace(b *compile.Box, s *crossSource, in *v1alpha1.CrossSource, at *field.Path) {
	b.Fail(check.Name(s.kind, in.Selector.Name, at.Child("name"))...)
	switch scope := check.Scope(s.kind, b.Env.Mapper); {
	case in.Box == "" && scope == meta.RESTScopeNameRoot && in.Selector.Namespace != "":
		b.Fail(field.Forbidden(at.Child("namespace"), fmt.Sprintf("a %s is cluster-scoped and is in no namespace; remove it", s.kind.Kind)))
	case in.Box == "" && scope == meta.RESTScopeNameNamespace && in.Selector.Namespace == "" && s.object != nil &&
		!b.Env.CRD.Namespaced && b.Env.CRD.Name != "":
		b.Fail(field.Required(at.Child("namespace"), "the resources are cluster-scoped: say in which namespace the object is"))
	default:
		b.Fail(check.Namespace(in.Selector.Namespace, at.Child("namespace"))...)
	}
}

// CrossSchemas are the names below .cross, with what is known of the objects there: a list of them where no name is given.
// withSecrets: with what Secrets hold.
func CrossSchemas(box *v1alpha1.OperatorBox, env compile.Env, withSecrets bool) map[string]*apiextensionsv1.JSONSchemaProps {
	names := make(map[string]*apiextensionsv1.JSONSchemaProps, len(box.Spec.Cross))
	for i := range box.Spec.Cross {
		in := &box.Spec.Cross[i]
		var object *apiextensionsv1.JSONSchemaProps
		switch {
		case in.Box == "":
			object = compile.ObjectSchema(schema.FromAPIVersionAndKind(in.APIVersion, in.Kind), withSecrets)
		case env.BoxSchema != nil:
			object = resourceSchema(env.BoxSchema(in.Box))
		}
		if object != nil && in.Selector.Name == "" {
			object = &apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: object}}
		}
		names[in.Name] = object
	}
	return names
}

// resourceSchema is a CRD's schema with what every object has besides.
func resourceSchema(crd *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if crd == nil || crd.XPreserveUnknownFields != nil && *crd.XPreserveUnknownFields {
		return nil
	}
	complete := *crd
	complete.Type = value.TypeObject
	complete.Properties = maps.Clone(crd.Properties)
	if complete.Properties == nil {
		complete.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
	}
	complete.Properties["apiVersion"] = apiextensionsv1.JSONSchemaProps{Type: value.TypeString}
	complete.Properties["kind"] = apiextensionsv1.JSONSchemaProps{Type: value.TypeString}
	complete.Properties["metadata"] = apiextensionsv1.JSONSchemaProps{Type: value.TypeObject, XPreserveUnknownFields: new(true)}
	return &complete
}

// Name implements Stage.
func (cross) Name() string { return stage.StepCross }

// Run implements Stage. While a required source is absent, a resource that is not Active yet waits as a whole. One that is Active goes
// on with what does not read that source. Its arrival queues the resource.
func (s cross) Run(ctx context.Context, c *stage.Cycle) (stage.Outcome, error) {
	c.Outside.Cross, c.Outside.CrossWithSecrets = map[string]any{}, map[string]any{}
	goesOn := c.Marks.Active && !c.Restoring
	for i := range s.sources {
		absent, err := s.sources[i].read(ctx, c)
		name := compile.Outside{Root: compile.RootCross, Name: s.sources[i].name}
		if withheld, ok := errors.AsType[*stage.WithheldError](err); ok {
			// Also where the source is optional: what may not be read any more is not known to be absent, and what was made from it stays.
			c.Outside.Know(name)
			s.lack(ctx, c, name, v1alpha1.ReasonForbidden, withheld.Error())
			continue
		}
		if err != nil {
			return stage.Hold, fmt.Errorf("%s: %w", s.sources[i].name, err)
		}
		c.Outside.Know(name)
		if absent == "" || s.sources[i].optional {
			continue
		}
		s.lack(ctx, c, name, v1alpha1.ReasonWaitingForCross, absent)
	}
	if c.Outside.LacksAny() && !goesOn {
		return stage.Hold, nil
	}
	return stage.Next, nil
}

// lack notes that a source gives nothing, and why: what reads it waits.
func (s cross) lack(ctx context.Context, c *stage.Cycle, name compile.Outside, reason, why string) {
	c.Outside.Lack(name)
	message := fmt.Sprintf("cross %s: %s", name.Name, why)
	if c.Marks.Active && !c.Restoring {
		message += readersOf(ctx, c, s.calls, name)
	}
	c.Wait(name.ID(), reason, message)
}

// read puts what the source selects where templates find it. absent says why there is nothing. An optional source may also
// be one that this resource does not name, or whose namespace does not let it in.
func (s *crossSource) read(ctx context.Context, c *stage.Cycle) (absent string, err error) {
	absent, err = s.find(ctx, c)
	_, unreachable := errors.AsType[*stage.UnreachableError](err)
	switch {
	case unreachable && c.Marks.Active && !c.Restoring && !s.optional:
		return err.Error(), nil // what does not read the source goes on
	case unreachable && s.optional:
		// The author of the resource could not tell a refusal from an absence otherwise.
		c.Notes = append(c.Notes, fmt.Sprintf("cross %s: %s", s.name, err))
		return err.Error(), nil
	case s.optional && roots.IsAbsent(err):
		return err.Error(), nil
	case s.optional && absent != "" && c.Ports.Unread != "":
		c.Notes = append(c.Notes, fmt.Sprintf("cross %s: %s", s.name, absent))
		return absent, err
	default:
		return absent, err
	}
}

func (s *crossSource) find(ctx context.Context, c *stage.Cycle) (absent string, err error) {
	kind := s.kind
	if s.box != "" {
		if kind = c.Inputs.Box(c.Ports.Observer, s.box); kind.Empty() {
			return fmt.Sprintf("box %q does not run", s.box), nil
		}
	}
	namespaced, err := c.Ports.Kinds.Namespaced(kind)
	if err != nil {
		return s.uninstalled(c, kind, err)
	}
	data := c.Data(false)
	namespace, err := s.namespaceOf(ctx, c, data, namespaced)
	if err != nil {
		return "", err
	}
	name := ""
	if s.object != nil {
		if name, err = stage.Text(ctx, "selector.name", s.object, data); err != nil || name == "" {
			return "selector.name is empty", err
		}
	}
	// Nothing is watched that the box may not read.
	if err := c.MayRead(ctx, kind, namespace, name); err != nil {
		return "", err
	}
	if err := c.Ports.Observer.Observe(ctx, kind); err != nil {
		return s.uninstalled(c, kind, err)
	}
	if s.object == nil {
		return s.list(ctx, c, kind, namespace, data)
	}
	obj := c.Inputs.Get(c.Ports.Observer, kind, namespace, name)
	if obj == nil {
		return c.Absent(stage.Describe(kind, namespace, name)), nil
	}
	c.Outside.Cross[s.name], c.Outside.CrossWithSecrets[s.name] = kinds.View(obj), kinds.ViewWithSecrets(obj)
	return "", nil
}

// uninstalled says of an optional source that its kind is not installed. Every other error stays one.
func (s *crossSource) uninstalled(c *stage.Cycle, kind schema.GroupVersionKind, err error) (absent string, failed error) {
	if !s.optional || !meta.IsNoMatchError(err) {
		return "", err
	}
	c.ReconcileAt(c.Now.Add(c.Plan.Runtime.Resync)) // nobody tells when a kind is installed
	return fmt.Sprintf("kind %s is not installed", kind.Kind), nil
}

// list gives all that the labels select, as a list.
func (s *crossSource) list(ctx context.Context, c *stage.Cycle, kind schema.GroupVersionKind, namespace string, data expr.Data) (absent string, err error) {
	selector, err := s.selector(ctx, data)
	if err != nil {
		return "", err
	}
	objects := c.Inputs.Select(c.Ports.Observer, kind, namespace, selector)
	if len(objects) > maxCross {
		return "", stage.NewPermanent(v1alpha1.ReasonBudgetExceeded, fmt.Errorf("selects %d objects; at most %d can be read: select fewer by matchLabels", len(objects), maxCross))
	}
	seen, all := make([]any, 0, len(objects)), make([]any, 0, len(objects))
	for _, obj := range objects {
		seen, all = append(seen, kinds.View(obj)), append(all, kinds.ViewWithSecrets(obj))
	}
	c.Outside.Cross[s.name], c.Outside.CrossWithSecrets[s.name] = seen, all
	switch {
	case len(objects) > 0:
		return "", nil
	case c.Ports.Unread != "":
		return c.Absent(fmt.Sprintf("%s with the labels %q", stage.Describe(kind, namespace, ""), selector.String())), nil
	default:
		return fmt.Sprintf("no %s has the labels %q", stage.Describe(kind, namespace, ""), selector.String()), nil
	}
}

// maxCross is how many objects one source may give.
const maxCross = 1000

// namespaceOf is where the source reads. Empty: the kind has no namespaces, or a cluster-scoped resource reads all of them.
func (s *crossSource) namespaceOf(ctx context.Context, c *stage.Cycle, data expr.Data, namespaced bool) (string, error) {
	if !namespaced {
		return "", nil
	}
	if s.namespace == nil {
		return c.Home(), nil
	}
	namespace, err := stage.Text(ctx, "selector.namespace", s.namespace, data)
	if err != nil {
		return "", err
	}
	_, literal := s.namespace.Literal()
	if namespace == "" && !literal {
		return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("selector.namespace: the template %q yields an empty namespace", s.namespace))
	}
	// Sources are found by what the resource says, so that messages may show it.
	return namespace, c.MayReach(ctx, stage.Way{What: "selector.namespace", Namespace: namespace, Literal: literal, Show: true})
}
