package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const generated = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    a: b
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: The kind.
        properties:
          rules:
            description: Rules run in their order.
            items:
              description: Rule is a Go type.
              properties:
                description:
                  default: none
                  description: Of a rule.
                  type: string
                labels:
                  additionalProperties:
                    description: LimitedString is a Go type.
                    type: string
                  description: Labels of a rule.
                  type: object
              type: object
            type: array
          any:
            additionalProperties: true
            description: Anything.
            type: object
        type: object
`

const rewritten = `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    a: b
    orkestra.orkspace.io/schema: 96c172ee8ecf566b
spec:
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: The kind.
        properties:
          any:
            additionalProperties: true
            description: Anything.
            type: object
          rules:
            description: Rules run in their order.
            items:
              properties:
                description:
                  default: none
                  description: Of a rule.
                  type: string
                labels:
                  additionalProperties:
                    type: string
                  description: Labels of a rule.
                  type: object
              type: object
            type: array
        type: object
`

func TestCommentsOfGoTypesGo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(generated), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := run(filepath.Dir(file)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != rewritten {
			t.Errorf("got\n%s\nwant\n%s", got, rewritten)
		}
	}
}

func TestWhatIsNoCRDIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := run(folder); err == nil || !strings.HasPrefix(err.Error(), "no CRD in ") {
		t.Errorf("an empty folder gives %v", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "role.yaml"), []byte("kind: ClusterRole\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(folder); err == nil || !strings.HasSuffix(err.Error(), "it is no CRD: it has no spec.versions") {
		t.Errorf("a role gives %v", err)
	}
}
