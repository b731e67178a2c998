package kinds

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/suggest"
)

// gotForeign is what FieldError.Got says of a field that someone else sets.
const gotForeign = "not for a declaration to set"

// foreignMetadata are the metadata fields that the API server or Orkestra sets.
var foreignMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generateName", "generation", "managedFields",
	"ownerReferences", "resourceVersion", "selfLink", "uid",
}

func manifestKinds() []Kind {
	return []Kind{{
		Key:    keyResources,
		Rank:   rankRest,
		fields: reflect.TypeFor[v1alpha1.ManifestFields](),
		check:  checkManifest,
		build:  buildManifest,
	}}
}

// ManifestGVK gives the kind that the manifest of a `resources` declaration names, from its short fields, rendered or not.
// The error is a *FieldError.
func ManifestGVK(short map[string]any) (schema.GroupVersionKind, error) {
	manifest, ok := short[nameManifest].(map[string]any)
	if !ok {
		return schema.GroupVersionKind{}, &FieldError{Path: nameManifest, Want: typeObject, Got: typeOrNothing(short[nameManifest])}
	}
	apiVersion, ok := manifest[nameAPIVersion].(string)
	if !ok || apiVersion == "" {
		return schema.GroupVersionKind{}, missingHead(nameAPIVersion, manifest[nameAPIVersion])
	}
	kind, ok := manifest[nameKind].(string)
	if !ok || kind == "" {
		return schema.GroupVersionKind{}, missingHead(nameKind, manifest[nameKind])
	}
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" {
		return schema.GroupVersionKind{}, &FieldError{
			Path: joinPath(nameManifest, nameAPIVersion), Want: "group/version or version", Got: typeName(apiVersion), Value: excerpt(apiVersion),
		}
	}
	return gv.WithKind(kind), nil
}

// headWanted is what apiVersion and kind of a manifest are: rights and watches are derived from them.
const headWanted = "string without a template"

func missingHead(name string, v any) *FieldError {
	got := typeOrNothing(v)
	if v == "" {
		got = gotNothing
	}
	return &FieldError{Path: joinPath(nameManifest, name), Want: headWanted, Got: got, Value: excerpt(v)}
}

func typeOrNothing(v any) string {
	if v == nil {
		return gotNothing
	}
	return typeName(v)
}

// builtIn gives the shape of a kind that comes with Kubernetes; nil for all others, whose manifests are taken as they are.
func builtIn(gvk schema.GroupVersionKind) (*shape, *FieldError) {
	t, ok := scheme.Scheme.AllKnownTypes()[gvk]
	if !ok {
		return nil, nil
	}
	s := shapeOf(t)
	if s.members[nameMetadata] == nil || s.members["items"] != nil {
		return nil, &FieldError{Path: joinPath(nameManifest, nameKind), Want: "kind of a single object", Got: typeString, Value: gvk.Kind}
	}
	return s, nil
}

// Unknown says whether a kind is none of those that Kubernetes has in its group and version, though it has that group and
// version; hint names the nearest one.
func Unknown(gvk schema.GroupVersionKind) (hint string, unknown bool) {
	if scheme.Scheme.Recognizes(gvk) || !scheme.Scheme.IsVersionRegistered(gvk.GroupVersion()) {
		return "", false
	}
	var names []string
	for name, t := range scheme.Scheme.KnownTypes(gvk.GroupVersion()) {
		if s := shapeOf(t); s.members[nameMetadata] != nil && s.members["items"] == nil {
			names = append(names, name)
		}
	}
	return suggest.DidYouMean(gvk.Kind, names), true
}

// metadataType is what all manifests have, whatever their kind: names, labels, annotations.
var metadataType = reflect.TypeFor[metav1.ObjectMeta]()

// foreignFields finds what a manifest sets although it is not its to set.
func foreignFields(manifest map[string]any) []*FieldError {
	var out []*FieldError
	if manifest[nameStatus] != nil {
		out = append(out, &FieldError{Path: joinPath(nameManifest, nameStatus), Got: gotForeign})
	}
	metadata := asObject(manifest[nameMetadata])
	for _, name := range foreignMetadata {
		if metadata[name] != nil {
			out = append(out, &FieldError{Path: joinPath(joinPath(nameManifest, nameMetadata), name), Got: gotForeign})
		}
	}
	return out
}

func noSpec(kind string) *FieldError {
	return &FieldError{Path: nameSpec, Got: fmt.Sprintf("not for this kind: a %s has no spec", kind)}
}

func checkManifest(c *checker) {
	manifest, before := asObject(c.short[nameManifest]), len(c.errs)
	for _, name := range []string{nameAPIVersion, nameKind} {
		switch text, isText := manifest[name].(string); {
		case manifest == nil: // said below
		case c.isTemplate(manifest[name]):
			c.add(&FieldError{Path: joinPath(nameManifest, name), Want: headWanted, Got: "a template", Value: excerpt(text)})
		case !isText || text == "":
			c.add(missingHead(name, manifest[name]))
		}
	}
	if len(c.errs) > before {
		return
	}
	gvk, err := ManifestGVK(c.short)
	if err != nil {
		c.addError(err)
		return
	}
	for _, e := range foreignFields(manifest) {
		c.add(e)
	}
	s, problem := builtIn(gvk)
	switch {
	case problem != nil:
		c.add(problem)
	case s == nil && manifest[nameMetadata] != nil:
		c.shape(joinPath(nameManifest, nameMetadata), shapeOf(metadataType), manifest[nameMetadata], false)
	case s != nil:
		c.shape(nameManifest, s, manifest, false)
		c.manifestOverlay(s, gvk.Kind)
	}
}

func (c *checker) manifestOverlay(s *shape, kind string) {
	if c.spec == nil {
		return
	}
	m := s.members[nameSpec]
	if m == nil {
		c.add(noSpec(kind))
		return
	}
	c.shape(nameSpec, m.shape, c.spec, true)
}

// buildManifest gives the whole object. Only its kind and its metadata are known for every kind.
func buildManifest(d Declared, short map[string]any) (map[string]any, error) {
	gvk, err := ManifestGVK(short)
	if err != nil {
		return nil, err
	}
	object := asObject(short[nameManifest])
	if foreign := foreignFields(object); len(foreign) > 0 {
		return nil, foreign[0]
	}
	s, problem := builtIn(gvk)
	if problem != nil {
		return nil, problem
	}
	var w walker
	if s != nil {
		object = w.object(s, object)
		err = w.first(nameManifest)
	} else if object[nameMetadata] != nil {
		object[nameMetadata] = w.value(shapeOf(metadataType), object[nameMetadata])
		err = w.first(joinPath(nameManifest, nameMetadata))
	}
	if err != nil {
		return nil, err
	}
	if err := overlayManifest(object, d.Spec, s, gvk.Kind); err != nil {
		return nil, err
	}
	metadata := asObject(object[nameMetadata])
	if metadata == nil {
		metadata = map[string]any{}
	}
	object[nameMetadata] = d.metadata(metadata)
	return object, nil
}

func overlayManifest(object, overlay map[string]any, s *shape, kind string) error {
	if overlay == nil {
		return nil
	}
	base := asObject(object[nameSpec])
	if s == nil {
		var w walker
		copied := asObject(w.anything(overlay))
		if err := w.first(nameSpec); err != nil {
			return err
		}
		object[nameSpec] = mergeJSON(base, copied)
		return nil
	}
	m := s.members[nameSpec]
	if m == nil {
		return noSpec(kind)
	}
	spec, err := mergeOverlay(m.shape, base, overlay, nameSpec)
	if err != nil {
		return err
	}
	object[nameSpec] = spec
	return nil
}
