package boxspec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// revisionDigits is the length of the hash in the name of a revision.
const revisionDigits = 10

// Revision names the content of a box's spec: the box's name, and a hash of what Data gives.
func Revision(box *v1alpha1.OperatorBox) string {
	revision, _ := Identity(box)
	return revision
}

// Identity is the name of the revision of a box's spec, and the whole hash of that spec. Of a spec that can't be encoded they are the box's name,
// and empty: one that was decoded from JSON can be; if not, Compile names the field.
func Identity(box *v1alpha1.OperatorBox) (revision, hash string) {
	data, err := Data(box)
	if err != nil {
		return box.Name, ""
	}
	hash = hashOf(data)
	return revisionOf(box.Name, hash), hash
}

// RevisionOf names the revision of a box whose spec is data, in whatever order its fields are.
func RevisionOf(box string, data []byte) string {
	return revisionOf(box, HashOf(data))
}

func revisionOf(box, hash string) string { return box + "-" + hash[:revisionDigits] }

// HashOf is the whole hash of a spec, in whatever order its fields are. What names a revision to be read later must hold this hash beside
// the name: the name has 40 bits of it, and somebody can search for another spec that has the same name.
func HashOf(data []byte) string {
	if sorted, err := sortedJSON(data); err == nil {
		data = sorted
	}
	return hashOf(data)
}

// hashOf is HashOf for data whose fields are sorted.
func hashOf(sorted []byte) string {
	sum := sha256.Sum256(sorted)
	return hex.EncodeToString(sum[:])
}

// Data gives a box's spec as JSON with sorted keys and without empty lists and maps (see Canonical). Keys are sorted so that moving a field
// in a Go type changes no revision, and because a client that patches an object which holds the data writes sorted keys too.
func Data(box *v1alpha1.OperatorBox) ([]byte, error) {
	data, err := json.Marshal(Canonical(box).Spec)
	if err != nil {
		return nil, fmt.Errorf("encoding the spec of OperatorBox %q: %w", box.Name, err)
	}
	return sortedJSON(data)
}

// sortedJSON writes JSON anew with sorted keys. Numbers stay as they are written.
func sortedJSON(data []byte) ([]byte, error) {
	var content any
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, fmt.Errorf("reading JSON: %w", err)
	}
	return json.Marshal(content)
}

// Decode reads what Data gave. A field that this version does not know is an error.
func Decode(data []byte) (*v1alpha1.OperatorBoxSpec, error) {
	spec := &v1alpha1.OperatorBoxSpec{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(spec); err != nil {
		return nil, fmt.Errorf("reading a spec: %w", err)
	}
	return spec, nil
}
