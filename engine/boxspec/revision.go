package pipeline

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

// Revision names the content of a box's spec: the box's name, and a hash of what SpecData gives.
func Revision(box *v1alpha1.OperatorBox) string {
	data, err := SpecData(box)
	if err != nil {
		// A spec that was decoded from JSON encodes to JSON; if not, Compile names the field.
		return box.Name
	}
	return RevisionOf(box.Name, data)
}

// RevisionOf names the revision of a box whose spec is data, in whatever order its fields are.
func RevisionOf(box string, data []byte) string {
	return box + "-" + HashOf(data)[:revisionDigits]
}

// HashOf is the whole hash of a spec, in whatever order its fields are. Who remembers a revision to read it later remembers this, too: for
// the digits in its name, another content can be found by trying.
func HashOf(data []byte) string {
	if sorted, err := sortedJSON(data); err == nil {
		data = sorted
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// specHash is the whole hash of a box's spec; empty where it does not encode, as Revision says.
func specHash(box *v1alpha1.OperatorBox) string {
	data, err := SpecData(box)
	if err != nil {
		return ""
	}
	return HashOf(data)
}

// SpecData gives a box's spec as JSON with sorted keys. The order of fields in a Go type says nothing about a spec, and whoever
// patches an object that holds the data writes them in this order, too. Neither do empty lists and maps say anything.
func SpecData(box *v1alpha1.OperatorBox) ([]byte, error) {
	data, err := json.Marshal(canonical(box).Spec)
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

// DecodeSpec reads what SpecData gave. A field that this version does not know is an error.
func DecodeSpec(data []byte) (*v1alpha1.OperatorBoxSpec, error) {
	spec := &v1alpha1.OperatorBoxSpec{}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(spec); err != nil {
		return nil, fmt.Errorf("reading a spec: %w", err)
	}
	return spec, nil
}
