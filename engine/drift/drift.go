// Package drift compares what is declared with what lives: which fields of a rendered object are otherwise on the live one, by their
// meaning and not by their spelling, and whether the declaration itself has changed since it was applied. It is pure: it is handed objects,
// and the schemas of custom kinds.
package drift

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/value"
)

// Comparer compares what a declaration sets with what is live (design: architecture.md, "Drift"). It sends nothing and
// changes nothing. It is safe for concurrent use.
type Comparer struct {
	schemas *schemas
}

// NewComparer gives a comparer. custom gives the schemas of custom kinds; nil is allowed and means that their lists are
// compared by position. The schema of the built-in kinds is read here, which takes a moment: one comparer per process.
func NewComparer(custom ListSchema) *Comparer {
	return &Comparer{schemas: newSchemas(custom)}
}

// Prepared is a rendered object in the form in which it is compared. It is immutable and may be kept for as long as the
// rendered object stays the same.
type Prepared struct {
	root   expectation
	secret bool
}

// Difference is a field that a declaration sets and that is otherwise on the live object.
type Difference struct {
	// Path of the field, made to be read: spec.template.spec.containers[name=main].image, metadata.labels['a/b'].
	Path string
	// Live is the value on the live object, as it is written there; nil where it is absent. Equal uses it to recognize the same
	// difference again. It may come from a Secret, so it must not be shown of one. An object or a list is shared memory: read only.
	Live any
	// Wanted is the declared value where it is a scalar, an InWords where a Leftover asks for something that nobody declared, and nil
	// for objects and lists. It may come from a Secret, too.
	Wanted any

	scalar scalarType
}

// InWords says what a field should hold where no declaration writes out a value: "an address".
type InWords string

// Paths are those of differences, in the same order.
func Paths(differences []Difference) []string {
	paths := make([]string, 0, len(differences))
	for _, d := range differences {
		paths = append(paths, d.Path)
	}
	return paths
}

// Equal says whether two differences are the same: the same path, the same live value, in whatever spelling.
func (d Difference) Equal(other Difference) bool {
	return d.Path == other.Path && value.Same(d.scalar.canonical(d.Live), other.scalar.canonical(other.Live))
}

// Prepare does the part of a comparison that depends on the rendered object alone. The object may be changed afterwards.
func (c *Comparer) Prepare(desired *unstructured.Unstructured) *Prepared {
	p := &Prepared{root: expectation{place: orUnknown(nil), form: formObject}}
	if desired == nil {
		return p
	}
	p.secret = isSecret(desired)
	content := desired.Object
	if p.secret {
		content = foldStringData(content)
	}
	p.root.expectRoot(content, c.schemas.root(desired.GroupVersionKind()), c.schemas.metadata)
	return p
}

// Differences lists the fields that the rendered object sets and the live object has otherwise, sorted by path; none where
// the live object is as declared. Fields that the rendered object does not set, or sets to null, are not compared.
func (c *Comparer) Differences(p *Prepared, live *unstructured.Unstructured) []Difference {
	if p == nil {
		return nil
	}
	content := map[string]any{}
	if live != nil && live.Object != nil {
		content = live.Object
	}
	if p.secret {
		content = foldStringData(content)
	}
	var found comparison
	found.compare(&p.root, content)
	slices.SortStableFunc(found.differences, func(a, b Difference) int { return cmp.Compare(a.Path, b.Path) })
	return found.differences
}

func isSecret(obj *unstructured.Unstructured) bool {
	return obj.GetKind() == "Secret" && obj.GetAPIVersion() == "v1"
}

// Stored gives the content of an object in the form in which the API server stores it: a Secret has no stringData there. The content of
// all other kinds is given as it is, not copied.
func Stored(obj *unstructured.Unstructured) map[string]any {
	if !isSecret(obj) {
		return obj.Object
	}
	return foldStringData(obj.Object)
}

// foldStringData gives a Secret's content with stringData moved into data, in base64, as the API server does when it stores a Secret. A key
// that both have gets the value of stringData.
func foldStringData(content map[string]any) map[string]any {
	plain, ok := content["stringData"].(map[string]any)
	if !ok {
		return content
	}
	stored, _ := content["data"].(map[string]any)
	data := make(map[string]any, len(stored)+len(plain))
	maps.Copy(data, stored)
	for key, value := range plain {
		text, isText := value.(string)
		if !isText {
			return content // the API server refuses it; until then it is compared as written
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	folded := maps.Clone(content)
	delete(folded, "stringData")
	folded["data"] = data
	return folded
}
