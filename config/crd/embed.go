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

// BoxDefinition gives the CustomResourceDefinition of OperatorBox, as YAML. The caller may change what it gets.
func BoxDefinition() []byte { return bytes.Clone(operatorBox) }

// HealthDefinition gives the CustomResourceDefinition of CRDHealth, as YAML. The caller may change what it gets.
func HealthDefinition() []byte { return bytes.Clone(crdHealth) }
