// Package whole evaluates the manifest that one template gives: an object whose kind, name and namespace are known only then. What any manifest
// gives for a custom kind is fitted to the schema of that kind here, too.
package whole

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/value"
)

// ErrQuietFail replaces the message of a template that calls fail.
var ErrQuietFail = errors.New("the template fails; its message is not shown, because it reads a Secret")

// Where an object stands: in a declaration, and in what code says.
const (
	PathOfManifest = "manifest"
	PathOfCoded    = "object"
)

// Object is what one template gives.
type Object struct {
	// Kind of the object, one of those that are listed.
	Kind schema.GroupVersionKind
	// Short are the rendered short fields, with the object among them.
	Short map[string]any

	metadata map[string]any
	secret   bool // the template may read a Secret
	coded    bool // code says the object, and the namespace into which it goes
}

// Coded is an object that code says.
func Coded(obj *unstructured.Unstructured) *Object {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	return &Object{Kind: obj.GroupVersionKind(), Short: map[string]any{PathOfManifest: obj.Object}, metadata: metadata, coded: true}
}

// Namespace is the one that code says; "" where it says none, and for all other objects.
func (o *Object) Namespace() string {
	if o == nil || !o.coded {
		return ""
	}
	namespace, _ := o.metadata["namespace"].(string)
	return namespace
}

// IsCoded says whether code says the object.
func (o *Object) IsCoded() bool { return o != nil && o.coded }

// Way leads into the namespace of an object of which the box says none: it is the resource's own, or one that code says.
func (o *Object) Way(namespace string) stage.Way {
	if o.IsCoded() {
		return stage.Way{What: PathOfCoded + ".metadata.namespace", Namespace: namespace, Show: true, Code: v1alpha1.ReasonInvalidChild}
	}
	return stage.Way{What: "namespace", Namespace: namespace, Show: true}
}

// Unfit gives what is wrong with an object that can't be built; nil: the declaration says it. Where code says the object, it is named as code does.
func (o *Object) Unfit(d *declare.Declaration, err error) error {
	misfit, ok := errors.AsType[*shape.FieldError](err)
	if !o.IsCoded() || !ok {
		return stage.NewPermanent(v1alpha1.ReasonTemplateError, d.Unfit(err))
	}
	placed := *misfit
	placed.Path = PathOfCoded + strings.TrimPrefix(misfit.Path, PathOfManifest)
	if d.Quoted {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, errors.New(placed.WithValue()))
	}
	return stage.NewPermanent(v1alpha1.ReasonInvalidChild, &placed)
}

// at is where the object stands, as messages name it.
func (o *Object) at() string {
	if o.coded {
		return PathOfCoded
	}
	return PathOfManifest
}

// Of evaluates the template of a declaration that gives the whole object. Its errors hold nothing that a Secret holds.
func Of(ctx context.Context, d *declare.Declaration, data expr.Data) (*Object, error) {
	short, err := stage.Tree(ctx, "", d.Short, data)
	if _, ownWords := errors.AsType[*functions.FailError](err); ownWords && d.UsesSecrets {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, ErrQuietFail)
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // it says which step and which field
	}
	gvk, err := kinds.ManifestGVK(short)
	if err != nil {
		return nil, stage.NewPermanent(v1alpha1.ReasonTemplateError, d.Unfit(err))
	}
	if !slices.Contains(d.Kinds, gvk) {
		found := kinds.Listed(gvk)
		if !d.MayShowAt(PathOfManifest) {
			found = "a kind that is not shown"
		}
		return nil, stage.NewPermanent(v1alpha1.ReasonInvalidChild,
			fmt.Errorf("manifest: the template gives %s, and kinds allows %s; list it there, or give one of these", found, d.Kinds.Listed()))
	}
	manifest, _ := short[PathOfManifest].(map[string]any)
	metadata, _ := manifest["metadata"].(map[string]any)
	return &Object{Kind: gvk, Short: short, metadata: metadata, secret: d.WholeOfSecret}, nil
}

// Name is the name that the object says; "" where it says none, and where it was not given whole. People read names, so none is taken from a
// template that may read a Secret: it may only say the one that the object has anyway.
func (o *Object) Name(anyway string) (string, error) {
	if o == nil || o.metadata["name"] == nil {
		return "", nil
	}
	name, isText := o.metadata["name"].(string)
	switch {
	case !isText:
		return "", stage.NewPermanent(v1alpha1.ReasonTemplateError, fmt.Errorf("%s.metadata.name: want text, got %s", o.at(), value.TypeName(o.metadata["name"])))
	case o.secret && name != anyway:
		return "", stage.NewPermanent(v1alpha1.ReasonTemplateError,
			errors.New("manifest.metadata.name: the template reads a Secret, and no name is made of one; write name beside manifest"))
	default:
		return name, nil
	}
}

// GoesInto refuses an object that says another namespace than that of the resource, or one although its kind has none. Where objects go is
// derived from the box, as rights are: from namespace beside the manifest. show says whether the message may quote what the object says.
func (o *Object) GoesInto(home string, namespaced, show bool) error {
	if o == nil || o.metadata["namespace"] == nil || namespaced && (o.coded || o.metadata["namespace"] == home) {
		return nil
	}
	if !namespaced {
		return stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf("%s.metadata.namespace: a %s is cluster-scoped and goes into no namespace; remove it", o.at(), o.Kind.Kind))
	}
	said := "another namespace"
	if text, isText := o.metadata["namespace"].(string); isText && show {
		said = fmt.Sprintf("%q", value.Shorten(text))
	}
	return stage.NewPermanent(v1alpha1.ReasonInvalidChild, fmt.Errorf(
		"manifest.metadata.namespace: the object says %s, and goes into the namespace of the resource; write namespace beside manifest, or remove it", said))
}
