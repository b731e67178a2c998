package kinds

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestBuildManifests(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"a manifest of a built-in kind is converted": {
			key:   "resources",
			short: `{manifest: {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {labels: {n: 1}}, spec: {minAvailable: "1", selector: {matchLabels: {a: 2}}}}}`,
			spec:  `{minAvailable: null, maxUnavailable: 50%}`,
			want: `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: team, labels: {n: "1"}}
spec: {maxUnavailable: 50%, selector: {matchLabels: {a: "2"}}}
`,
		},
		"a manifest of another kind is taken as it is": {
			key:   "resources",
			short: `{manifest: {apiVersion: example.com/v1, kind: Thing, spec: {a: [], b: {c: 1, d: 2}, n: null}, extra: "1"}}`,
			spec:  `{b: {c: null, e: {f: null, g: 1}}, h: [1]}`,
			want: `
apiVersion: example.com/v1
kind: Thing
metadata: {name: web, namespace: team}
spec: {a: [], b: {d: 2, e: {g: 1}}, h: [1], n: null}
extra: "1"
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

func TestManifestGVK(t *testing.T) {
	g := NewWithT(t)
	gvk, err := ManifestGVK(tree(t, `{manifest: {apiVersion: apps/v1, kind: Deployment}}`))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(gvk.String()).To(Equal("apps/v1, Kind=Deployment"))
	for _, short := range []string{`{}`, `{manifest: []}`, `{manifest: {apiVersion: v1}}`, `{manifest: {kind: A}}`, `{manifest: {apiVersion: 1, kind: A}}`, `{manifest: {apiVersion: a/, kind: A}}`} {
		_, err := ManifestGVK(tree(t, short))
		g.Expect(err).To(HaveOccurred(), short)
	}
}
