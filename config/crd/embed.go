// Package crd holds the CRDs of Orkestra's own kinds as they are generated, for programs that must know their schemas without
// an API server. It holds nothing else: no other package may be imported here.
package crd

import (
	"bytes"
	_ "embed"
)

//go:embed bases/orkestra.orkspace.io_operatorboxes.yaml
var operatorBox []byte

//go:embed bases/orkestra.orkspace.io_crdhealths.yaml
var crdHealth []byte

// BoxName is the name of the CustomResourceDefinition of OperatorBox.
const BoxName = "operatorboxes.orkestra.orkspace.io"

// SchemaAnnotation marks a CustomResourceDefinition of Orkestra with a digest of its versions, which make generate writes. A manager tells by it
// whether a CRD is the one that it was built with.
const SchemaAnnotation = "orkestra.orkspace.io/schema"

// BoxSchema gives that mark of the CustomResourceDefinition of OperatorBox.
func BoxSchema() string {
	for line := range bytes.Lines(operatorBox) {
		if digest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(SchemaAnnotation+": ")); ok {
			return string(digest)
		}
	}
	return ""
}

// BoxDefinition gives the CustomResourceDefinition of OperatorBox, as YAML. The caller may change what it gets.
func BoxDefinition() []byte { return bytes.Clone(operatorBox) }

// HealthDefinition gives the CustomResourceDefinition of CRDHealth, as YAML. The caller may change what it gets.
func HealthDefinition() []byte { return bytes.Clone(crdHealth) }
