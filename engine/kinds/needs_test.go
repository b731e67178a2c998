package kinds

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/kinds/shape"
)

// need is what a declaration takes from the box's only workload and Service; empty where it takes nothing.
type need struct {
	workload string
	scalable bool
	service  string
}

func TestNeeds(t *testing.T) {
	selector, target := need{workload: "selector"}, need{workload: "target", scalable: true}
	backend := need{service: "serviceName and servicePort"}
	for name, tc := range map[string]struct {
		key, short, spec string
		want             need
	}{
		"a Service":                                          {"services", `{port: 80}`, ``, selector},
		"a Service with a selector":                          {"services", `{selector: {a: b}}`, ``, need{}},
		"a Service without one on purpose":                   {"services", `{selector: {}}`, ``, need{}},
		"a Service with more of a selector, which is merged": {"services", `{}`, `{selector: {a: b}}`, selector},
		"a name for a host":                                  {"services", `{type: ExternalName}`, ``, need{}},
		"an Ingress":                                         {"ingresses", `{}`, ``, backend},
		"an Ingress without port":                            {"ingresses", `{serviceName: a}`, ``, backend},
		"an Ingress with a backend":                          {"ingresses", `{serviceName: a, servicePort: 1}`, ``, need{}},
		"an Ingress with rules":                              {"ingresses", `{rules: [{host: a}]}`, ``, need{}},
		"an Ingress with a template":                         {"ingresses", `{rules: "{{ .spec.rules }}"}`, ``, need{}},
		"a Deployment":                                       {"deployments", `{}`, ``, need{}},
		"a StatefulSet":                                      {"statefulsets", `{}`, `{replicas: 1}`, need{service: "serviceName"}},
		"a StatefulSet with a Service":                       {"statefulsets", `{serviceName: a}`, ``, need{}},
		"a StatefulSet without one on purpose":               {"statefulsets", `{serviceName: ""}`, ``, need{}},
		"a StatefulSet whose spec names a Service":           {"statefulsets", `{}`, `{serviceName: a}`, need{}},
		"an HPA":                             {"hpas", `{maxReplicas: 3}`, ``, target},
		"an HPA with a target":               {"hpas", `{target: {kind: Deployment, name: a}}`, ``, need{}},
		"an HPA of another kind":             {"hpas", `{}`, `{scaleTargetRef: {apiVersion: a/v1, kind: A, name: a}}`, need{}},
		"a PDB":                              {"pdbs", `{minAvailable: 1}`, ``, selector},
		"a PDB with a selector":              {"pdbs", `{selector: {matchLabels: {a: b}}}`, ``, need{}},
		"a PDB for all pods":                 {"pdbs", `{selector: {}}`, ``, need{}},
		"a PDB whose spec selects":           {"pdbs", `{}`, `{selector: {}}`, need{}},
		"a NetworkPolicy":                    {"networkpolicies", `{}`, ``, need{workload: "podSelector"}},
		"a NetworkPolicy for all pods":       {"networkpolicies", `{podSelector: {}}`, ``, need{}},
		"a NetworkPolicy whose spec selects": {"networkpolicies", `{}`, `{podSelector: {}}`, need{}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			k := mustLookup(t, tc.key)
			var got need
			if fields, scalable, needs := k.NeedsWorkload(tree(t, tc.short), tree(t, tc.spec)); needs {
				got.workload, got.scalable = fields, scalable
			}
			if fields, needs := k.NeedsService(tree(t, tc.short), tree(t, tc.spec)); needs {
				got.service = fields
			}
			g.Expect(got).To(Equal(tc.want))
			required := requiredFields(k)
			delete(required, nameServicePort)
			_, err := k.Build(Declared{Name: "a", Short: merged(required, tree(t, tc.short)), Spec: tree(t, tc.spec)})
			switch {
			case got != need{}:
				g.Expect(err).To(BeAssignableToTypeOf(&shape.FieldError{}), "what needs something says so")
			case !strings.Contains(tc.short, "{{"):
				g.Expect(err).NotTo(HaveOccurred(), "what needs nothing is built without it")
			}
		})
	}
}
