package validate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
)

// A CRD in the files that the API server would refuse is told at the line of its mistake, wherever the file is given.
func TestCRDsThatTheAPIServerRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ old, new, want string }{
		"right":             {"Website", "Website", ""},
		"an unknown type":   {"host: {type: string}", "host: {type: strng}", `:23: CustomResourceDefinition "websites.demo.example.com": spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.host.type: Unsupported value: "strng", did you mean "string"?`},
		"a wrong default":   {"tls: {type: boolean}", "tls: {type: boolean, default: 3}", `:24: CustomResourceDefinition "websites.demo.example.com": spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.tls.default: want boolean, got integer`},
		"no stored version": {"storage: true", "storage: false", `:9: CustomResourceDefinition "websites.demo.example.com": spec.versions: must have exactly one version marked as storage version`},
		"an unknown field":  {"subresources: ", "subresourcs: ", `:13: CustomResourceDefinition "websites.demo.example.com": spec.versions[0].subresourcs: unknown field, did you mean "subresources"?`},
		"a reserved group":  {"demo.example.com", "demo.k8s.io", `metadata.annotations[api-approved.kubernetes.io]: `},
	} {
		for _, flag := range []string{"-f", "--crd"} {
			t.Run(name+" by "+flag, func(t *testing.T) {
				g := NewWithT(t)
				changed := strings.ReplaceAll(read(g, websites), tc.old, tc.new)
				file := filepath.Join(t.TempDir(), "crd.yaml")
				g.Expect(os.WriteFile(file, []byte(changed), 0o600)).To(Succeed())
				stdout, stderr, code := orkestra(t, "", "validate", "-f", fixtures+"valid.yaml", flag, file)
				if tc.want == "" {
					g.Expect(code).To(BeZero(), stdout+stderr)
					return
				}
				g.Expect(code).To(Equal(exit.No), stdout+stderr)
				g.Expect(stdout).To(ContainSubstring(tc.want))
			})
		}
	}
}

// A document of our group without a kind is told what is missing, and not that its kind is unknown.
func TestADocumentWithoutAKind(t *testing.T) {
	stdout, stderr, code := orkestra(t, "apiVersion: orkestra.orkspace.io/v1alpha1\nknd: OperatorBox\nmetadata: {name: pages}\n", "validate", "-f", "-")
	g := NewWithT(t)
	g.Expect(code).To(Equal(exit.No), stdout+stderr)
	g.Expect(stdout).To(ContainSubstring(`object "pages": kind: is missing: orkestra.orkspace.io/v1alpha1 has OperatorBox and CRDHealth`))
}

// A child whose kind Kubernetes does not serve has a note, unless a CRD of the files does.
func TestAKindThatKubernetesServesNoMore(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	box, crd := filepath.Join(folder, "box.yaml"), filepath.Join(folder, "crd.yaml")
	g.Expect(os.WriteFile(box, []byte(`apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: website}
spec:
  crd: {name: websites.demo.example.com}
  onReconcile: {resources: [{manifest: {apiVersion: networking.k8s.io/v2, kind: Ingress, metadata: {name: a}}}]}
`), 0o600)).To(Succeed())
	const note = "note: spec.onReconcile.resources[0]: Kubernetes has no Ingress of networking.k8s.io/v2: write networking.k8s.io/v1"
	stdout, stderr, code := orkestra(t, "", "validate", "-f", box, "--crd", websites)
	g.Expect(code).To(BeZero())
	g.Expect(stdout + stderr).To(ContainSubstring(note))

	again := strings.NewReplacer(
		"metadata:\n", "metadata:\n  annotations: {api-approved.kubernetes.io: unapproved}\n", "demo.example.com", "networking.k8s.io", "websites", "ingresses", "website", "ingress", "Website", "Ingress", "name: v1", "name: v2").Replace(read(g, websites))
	g.Expect(os.WriteFile(crd, []byte(again), 0o600)).To(Succeed())
	stdout, stderr, code = orkestra(t, "", "validate", "-f", box, "--crd", websites, "--crd", crd)
	g.Expect(code).To(BeZero(), stdout+stderr)
	g.Expect(stdout + stderr).NotTo(ContainSubstring("Kubernetes has no"))
}
