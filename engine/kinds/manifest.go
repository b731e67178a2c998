package kinds

import (
	"fmt"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// gotReserved is what shape.FieldError.Got says of a field that the API server or Orkestra sets.
const gotReserved = "not for a declaration to set"

// reservedMetadata are the metadata fields that the API server or Orkestra sets.
var reservedMetadata = []string{
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
// The error is a *shape.FieldError.
func ManifestGVK(short map[string]any) (schema.GroupVersionKind, error) {
	manifest, ok := short[nameManifest].(map[string]any)
	if !ok {
		hint := ""
		if value.TypeName(short[nameManifest]) == value.TypeString {
			hint = textNotRead
		}
		return schema.GroupVersionKind{}, &shape.FieldError{Path: nameManifest, Want: value.TypeObject, Got: shape.TypeOrNothing(short[nameManifest]), Hint: hint}
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
		return schema.GroupVersionKind{}, &shape.FieldError{
			Path: shape.JoinPath(nameManifest, nameAPIVersion), Want: "group/version or version", Got: value.TypeName(apiVersion), Value: shape.Excerpt(apiVersion),
		}
	}
	return gv.WithKind(kind), nil
}

// headWanted is what the head of a manifest, its apiVersion and kind, has to be: rights and watches are derived from them.
const headWanted = "string without a template"

func missingHead(name string, v any) *shape.FieldError {
	got := shape.TypeOrNothing(v)
	if v == "" {
		got = shape.GotNothing
	}
	return &shape.FieldError{Path: shape.JoinPath(nameManifest, name), Want: headWanted, Got: got, Value: shape.Excerpt(v)}
}

// metadataType is the type of metadata, which is known of every manifest, whatever its kind.
var metadataType = reflect.TypeFor[metav1.ObjectMeta]()

// reservedFields finds what a manifest sets although it is not its to set.
func reservedFields(manifest map[string]any) []*shape.FieldError {
	var out []*shape.FieldError
	if manifest[nameStatus] != nil {
		out = append(out, &shape.FieldError{Path: shape.JoinPath(nameManifest, nameStatus), Got: gotReserved})
	}
	metadata := shape.Object(manifest[nameMetadata])
	for _, name := range reservedMetadata {
		if metadata[name] != nil {
			out = append(out, &shape.FieldError{Path: shape.JoinPath(shape.JoinPath(nameManifest, nameMetadata), name), Got: gotReserved})
		}
	}
	return out
}

// noSpec says that a declaration has an overlay although its kind has no spec that it could be merged over.
func noSpec(kind string) *shape.FieldError {
	return &shape.FieldError{Path: nameSpec, Got: fmt.Sprintf("not for this kind: a %s has no spec", kind)}
}

// checkManifest checks the head of a manifest first: only with its apiVersion and kind is it known what else to check it against.
func checkManifest(c *shape.Checker) {
	if c.IsTemplate(c.Short[nameManifest]) {
		checkListedKinds(c)
		return
	}
	if c.Short[nameKinds] != nil {
		c.Forbid(nameKinds, "the manifest is written out, and says its kind itself; remove kinds")
	}
	manifest, before := shape.Object(c.Short[nameManifest]), len(c.Found)
	for _, name := range []string{nameAPIVersion, nameKind} {
		switch text, isText := manifest[name].(string); {
		case manifest == nil: // said below
		case c.IsTemplate(manifest[name]):
			c.Add(&shape.FieldError{Path: shape.JoinPath(nameManifest, name), Want: headWanted, Got: "a template", Value: shape.Excerpt(text)})
		case !isText || text == "":
			c.Add(missingHead(name, manifest[name]))
		}
	}
	if len(c.Found) > before {
		return
	}
	gvk, err := ManifestGVK(c.Short)
	if err != nil {
		c.AddError(err)
		return
	}
	for _, e := range reservedFields(manifest) {
		c.Add(e)
	}
	s, problem := builtIn(gvk)
	switch {
	case problem != nil:
		c.Add(problem)
	case s == nil && manifest[nameMetadata] != nil:
		c.Tree(shape.JoinPath(nameManifest, nameMetadata), shape.Of(metadataType), manifest[nameMetadata], false)
	case s != nil:
		c.Tree(nameManifest, s, manifest, false)
		checkManifestOverlay(c, s, gvk.Kind)
	}
}

func checkManifestOverlay(c *shape.Checker, s *shape.Shape, kind string) {
	if c.Spec == nil {
		return
	}
	m := s.Members[nameSpec]
	if m == nil {
		c.Add(noSpec(kind))
		return
	}
	c.Tree(nameSpec, m.Shape, c.Spec, true)
}

// buildManifest gives the object of a manifest. Values are converted by the Go type for kinds that come with Kubernetes; of other kinds
// only the metadata is, and the rest is taken as it is.
func buildManifest(d Declared, short map[string]any) (map[string]any, error) {
	gvk, err := ManifestGVK(short)
	if err != nil {
		return nil, err
	}
	object := shape.Object(short[nameManifest])
	if reserved := reservedFields(object); len(reserved) > 0 {
		return nil, reserved[0]
	}
	s, problem := builtIn(gvk)
	if problem != nil {
		return nil, problem
	}
	if s != nil {
		object, err = s.Fields(object, nameManifest)
	} else if object[nameMetadata] != nil {
		object[nameMetadata], err = shape.Convert(object[nameMetadata], metadataType, shape.JoinPath(nameManifest, nameMetadata))
	}
	if err != nil {
		return nil, err
	}
	if err := overlayManifest(object, d.Spec, s, gvk.Kind); err != nil {
		return nil, err
	}
	metadata := shape.Object(object[nameMetadata])
	if metadata == nil {
		metadata = map[string]any{}
	}
	object[nameMetadata] = d.metadata(metadata)
	return object, nil
}

// overlayManifest merges the overlay over the spec: by strategic merge where the Go type is known (s), else by JSON merge.
func overlayManifest(object, overlay map[string]any, s *shape.Shape, kind string) error {
	if overlay == nil {
		return nil
	}
	base := shape.Object(object[nameSpec])
	if s == nil {
		copied, err := shape.Copy(overlay, nameSpec)
		if err != nil {
			return err
		}
		object[nameSpec] = shape.MergeJSON(base, shape.Object(copied))
		return nil
	}
	m := s.Members[nameSpec]
	if m == nil {
		return noSpec(kind)
	}
	spec, err := shape.Merge(m.Shape, base, overlay, nameSpec)
	if err != nil {
		return err
	}
	object[nameSpec] = spec
	return nil
}
