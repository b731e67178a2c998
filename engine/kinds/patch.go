package kinds

import (
	"cmp"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

const (
	namePatch = "patch" // the short field that holds what a patch sets
	nameForce = "force" // the one by which it takes what others hold
)

func patchKinds() []Kind {
	return []Kind{{Key: keyPatches, Rank: rankRest, fields: reflect.TypeFor[v1alpha1.PatchFields](), check: checkPatch, build: buildPatch}}
}

// IsPatch says whether declarations under the key set fields of objects that others own.
func (k Kind) IsPatch() bool { return k.Key == keyPatches }

// PatchGVK gives the kind of the object that a patch names, from its short fields; an empty one where that is wrong, which Check reports.
func PatchGVK(short map[string]any) schema.GroupVersionKind {
	target := shape.Object(short[nameTarget])
	apiVersion, _ := target[nameAPIVersion].(string)
	kind, _ := target[nameKind].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || gv.Version == "" || kind == "" {
		return schema.GroupVersionKind{}
	}
	return gv.WithKind(kind)
}

// patchedMetadata are the fields of the metadata that a patch may set.
var patchedMetadata = []string{"annotations", "labels"}

// reservedInPatch finds what a patch sets although it is not its to set.
func reservedInPatch(gvk schema.GroupVersionKind, patch map[string]any) []*shape.FieldError {
	var out []*shape.FieldError
	reserve := func(path, why string) {
		out = append(out, &shape.FieldError{Path: shape.JoinPath(namePatch, path), Got: why})
	}
	for _, name := range []string{nameAPIVersion, nameKind} {
		if patch[name] != nil {
			reserve(name, "not for a patch to set: target says it")
		}
	}
	if patch[nameStatus] != nil {
		reserve(nameStatus, "not for a patch to set: the status of an object is what its controller says")
	}
	if gvk.Group == "" && gvk.Kind == "Secret" && patch["stringData"] != nil {
		reserve("stringData", "not for a patch to set, because the API server keeps none; write data, in base64 (b64enc)")
	}
	for name, v := range shape.Object(patch[nameMetadata]) {
		if v != nil && !slices.Contains(patchedMetadata, name) {
			reserve(shape.JoinPath(nameMetadata, name), "not for a patch to set: of the metadata, it sets labels and annotations")
		}
	}
	slices.SortFunc(out, func(a, b *shape.FieldError) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

// checkPatch checks what can be known of a patch before its templates are rendered.
func checkPatch(c *shape.Checker) {
	target := shape.Object(c.Short[nameTarget])
	for _, name := range []string{nameAPIVersion, nameKind, nameName} {
		path := shape.JoinPath(nameTarget, name)
		switch text, isText := target[name].(string); {
		case !isText || text == "":
			c.Add(shape.Missing(path, "the object to patch"))
		case name != nameName && c.IsTemplate(text):
			c.Add(&shape.FieldError{Path: path, Want: headWanted, Got: "a template", Value: shape.Excerpt(text)})
		}
	}
	patch, isObject := c.Short[namePatch].(map[string]any)
	if !isObject || len(patch) == 0 {
		c.Add(shape.Missing(namePatch, "the fields to set"))
		return
	}
	gvk := PatchGVK(c.Short)
	checkForce(c, gvk)
	for _, e := range reservedInPatch(gvk, patch) {
		c.Add(e)
	}
	if gvk.Empty() {
		if apiVersion, isText := target[nameAPIVersion].(string); isText && apiVersion != "" && !c.IsTemplate(apiVersion) {
			if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
				c.Add(&shape.FieldError{Path: shape.JoinPath(nameTarget, nameAPIVersion), Want: "group/version or version", Got: value.TypeName(apiVersion), Value: shape.Excerpt(apiVersion)})
			}
		}
		return
	}
	patch = maps.Clone(patch)
	delete(patch, nameStatus) // of which no more is to be said
	s, problem := builtIn(gvk)
	switch {
	case problem != nil:
		problem.Path = shape.JoinPath(nameTarget, nameKind)
		c.Add(problem)
	case s != nil:
		c.Tree(namePatch, s, patch, true)
	case patch[nameMetadata] != nil:
		c.Tree(shape.JoinPath(namePatch, nameMetadata), shape.Of(reflect.TypeFor[metav1.ObjectMeta]()), patch[nameMetadata], false)
	}
}

// checkForce refuses what force can't be. Whether a patch takes from others is for the author of the box to say, and not for a resource. What a Secret
// holds would be kept where others can read it.
func checkForce(c *shape.Checker, gvk schema.GroupVersionKind) {
	force, isSet := c.Short[nameForce]
	if text, isText := force.(string); isText && c.IsTemplate(text) { // any other is of a wrong type, which is found for all fields
		c.Add(&shape.FieldError{Path: nameForce, Want: "true or false", Got: value.TypeName(text), Value: shape.Excerpt(text)})
	}
	if isSet && force != false && gvk.Group == "" && gvk.Kind == "Secret" {
		c.Forbid(nameForce, "the former values of what is taken are kept in an annotation, and those of a Secret must not be; remove force")
	}
}

// buildPatch gives the object that is applied: the fields of the patch, and what names its target.
func buildPatch(d Declared, short map[string]any) (map[string]any, error) {
	gvk, patch := PatchGVK(short), shape.Object(short[namePatch])
	if reserved := reservedInPatch(gvk, patch); len(reserved) > 0 {
		return nil, reserved[0] // which a template has led to
	}
	s, problem := builtIn(gvk)
	if problem != nil {
		return nil, problem
	}
	convert := copyOf
	if s != nil {
		convert = func(patch map[string]any) (map[string]any, error) { return s.Fields(patch, namePatch) }
	}
	object, err := convert(patch)
	if err != nil {
		return nil, err
	}
	metadata := shape.Object(object[nameMetadata])
	if metadata == nil {
		metadata = map[string]any{}
	}
	object[nameAPIVersion], object[nameKind] = gvk.GroupVersion().String(), gvk.Kind
	object[nameMetadata] = d.metadata(metadata)
	return object, nil
}

// copyOf copies the fields of a kind whose type is not known; its metadata is that of every kind.
func copyOf(patch map[string]any) (map[string]any, error) {
	tree, err := shape.Copy(patch, namePatch)
	if err != nil {
		return nil, err
	}
	object := shape.Object(tree)
	if object[nameMetadata] != nil {
		object[nameMetadata], err = shape.Convert(object[nameMetadata], metadataType, shape.JoinPath(namePatch, nameMetadata))
	}
	return object, err
}
