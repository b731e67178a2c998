package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"hash"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/value"
)

// hashLength is how many hexadecimal characters of the SHA-256 are kept: 64 bits, for what is compared with one other value.
const hashLength = 16

// Hash of a rendered object, 16 hexadecimal characters. It does not depend on the order of maps, nor on the annotation that
// holds it; absent, null and empty lists are the same, and so are 1 and 1.0. Other empty values are not the same as absent
// ones: `podSelector: {}` means something.
func Hash(desired *unstructured.Unstructured) string {
	h := hasher{digest: sha256.New(), text: make([]byte, 0, 2*enough), names: make([]string, 0, 32)}
	if desired != nil {
		h.fields(withoutHash(desired.Object))
	}
	h.digest.Write(h.text)
	return hex.EncodeToString(h.digest.Sum(h.text[:0]))[:hashLength]
}

// withoutHash gives the object without the annotation that holds its hash, copied as far as needed.
func withoutHash(object map[string]any) map[string]any {
	metadata, _ := object[keyMetadata].(map[string]any)
	annotations, _ := metadata[keyAnnotations].(map[string]any)
	if _, marked := annotations[v1alpha1.AnnotationApplied]; !marked {
		return object
	}
	metadata, annotations = maps.Clone(metadata), maps.Clone(annotations)
	delete(annotations, v1alpha1.AnnotationApplied)
	metadata[keyAnnotations] = annotations
	if len(annotations) == 0 {
		delete(metadata, keyAnnotations)
	}
	object = maps.Clone(object)
	object[keyMetadata] = metadata
	return object
}

// hasher writes a JSON value in the form in which it is hashed: as JSON, but a string has its length in front instead of quotes around it.
// That is as unambiguous, and much faster because nothing is escaped. A change of this form makes every child look changed once.
type hasher struct {
	digest hash.Hash
	// text is what the digest does not have yet.
	text []byte
	// names is the stack of the names that are being sorted.
	names []string
}

func (h *hasher) fields(fields map[string]any) {
	// Objects nest, so each one sorts its names at the top of one shared stack instead of in a slice of its own.
	bottom := len(h.names)
	for name, value := range fields {
		if list, ok := value.([]any); value != nil && (!ok || len(list) > 0) {
			h.names = append(h.names, name)
		}
	}
	names := h.names[bottom:]
	slices.Sort(names)
	h.text = append(h.text, '{')
	for _, name := range names {
		h.string(name)
		h.value(fields[name])
		h.flush()
	}
	h.text = append(h.text, '}')
	h.names = h.names[:bottom]
}

// enough is how many bytes the digest is given at once, or more: a buffer for all of an object's text would be the largest thing that a cycle allocates.
const enough = 512

// flush gives the digest the text, where that is worth a call.
func (h *hasher) flush() {
	if len(h.text) >= enough {
		h.digest.Write(h.text)
		h.text = h.text[:0]
	}
}

func (h *hasher) value(value any) {
	switch v := value.(type) {
	case map[string]any:
		h.fields(v)
	case []any:
		h.list(v)
	case string:
		h.string(v)
	case bool:
		h.text = strconv.AppendBool(h.text, v)
	case nil:
		h.text = append(h.text, "null"...)
	default:
		h.number(v)
	}
}

func (h *hasher) string(s string) {
	h.text = append(strconv.AppendInt(append(h.text, '"'), int64(len(s)), 10), ':')
	h.text = append(h.text, s...)
}

func (h *hasher) list(list []any) {
	// An entry can't be absent, but an empty list in a list is as good as null.
	if len(list) == 0 {
		h.text = append(h.text, "null"...)
		return
	}
	h.text = append(h.text, '[')
	for _, entry := range list {
		h.value(entry)
		h.text = append(h.text, ',')
	}
	h.text = append(h.text, ']')
}

func (h *hasher) number(v any) {
	n, ok := value.Comparable(v)
	if !ok {
		// Not a JSON value; rendered objects hold none. What can't be encoded is as good as nothing.
		if data, err := json.Marshal(v); err == nil {
			h.text = append(h.text, data...)
		}
		return
	}
	switch n := n.(type) {
	case int64:
		h.text = strconv.AppendInt(h.text, n, 10)
	case float64:
		h.text = strconv.AppendFloat(h.text, n, 'g', -1, 64)
	}
}
