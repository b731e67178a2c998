package center

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/web/api"
)

// trier answers for a running box over flowers, which has a ConfigMap.
func trier(t *testing.T, spec string) *Center {
	t.Helper()
	box := &v1alpha1.OperatorBox{}
	NewWithT(t).Expect(yaml.Unmarshal([]byte(boxOf(spec)), box)).To(Succeed())
	box.Status.CRD.Name, box.Status.CRD.Kind, box.Status.CRD.Version = "shops.demo.example.com", "Shop", "v1"
	live := strings.Replace(flowers, "namespace: team-a", "namespace: team-a, uid: u", 1)
	child := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: team-a, labels: {orkestra.orkspace.io/owner-uid: u, orkestra.orkspace.io/box: shops, app.kubernetes.io/managed-by: orkestra}, annotations: {orkestra.orkspace.io/id: first}}\ndata: {ok: \"yes\"}\n"
	cluster := clusterOf(t, shopCRD, live, child)
	c := planner(t, cluster, box)
	c.Inspecting = inspect.NewSession(inspect.Ports{Objects: cluster, Own: c.Own, Mapper: mapperOf(cluster)})
	return c
}

func TestWhatIsTried(t *testing.T) {
	const spec = `  values: [{name: host, value: "{{ .metadata.name }}.example.com"}]
  cross: [{name: word, apiVersion: v1, kind: Secret, selector: {name: word}}]
  onReconcile: {configmaps: [{id: first, name: first, data: {ok: "no", host: "{{ .values.host }}"}}], secrets: [{id: login, once: true, data: {password: x}}]}`
	for name, tc := range map[string]struct {
		template, condition string
		want                api.Tried // but for notes
	}{
		"a path":              {"{{ .spec.image }}", "", api.Tried{Type: "string", Value: "nginx\n", Reads: []string{"spec.image"}}},
		"a number":            {"{{ len .spec.image }}", "", api.Tried{Type: "number", Value: "5\n", Reads: []string{"spec.image"}}},
		"a text":              {"plain", "", api.Tried{Type: "string", Value: "plain\n", Reads: []string{}}},
		"a value of the box":  {"{{ .values.host }}", "", api.Tried{Type: "string", Value: "flowers.example.com\n", Reads: []string{"metadata.name", "values.host"}}},
		"a misspelled path":   {"{{ .spec.imgae }}", "", api.Tried{Mistake: `did you mean "image"?`}},
		"an unknown function": {"{{ uper .spec.image }}", "", api.Tried{Mistake: `did you mean "upper"?`}},
		"what is drawn":       {"{{ randAlpha 5 }}", "", api.Tried{Mistake: "values are drawn where a child is made once"}},
		"what a Secret holds": {"{{ .children.login.data.password }}", "", api.Tried{Mistake: "what a Secret holds can be read only by"}},
		"too much":            {`{{ repeat 100000000 "a" }}`, "", api.Tried{Mistake: "limit", Reads: []string{}}},
		"a condition":         {"", "{field: spec.replicas, greaterThan: 1}", api.Tried{Verdict: &api.Verdict{Field: "spec.replicas", Wanted: "more than 1", Actual: "absent"}, Reads: []string{"spec.replicas"}}},
		"one that holds":      {"", "field: spec.image\nequals: nginx\n", api.Tried{Verdict: &api.Verdict{Holds: true, Field: "spec.image", Wanted: "equals nginx", Actual: "nginx"}, Reads: []string{"spec.image"}}},
		"CEL":                 {"", "{cel: self.spec.image == 'nginx'}", api.Tried{Verdict: &api.Verdict{Holds: true, Field: `cel "self.spec.image == 'nginx'"`}, Reads: []string{"spec.image"}}},
		"no operator":         {"", "{field: spec.image}", api.Tried{Path: "operator", Mistake: "say how the field is compared"}},
		"an unknown operator": {"", "{field: spec.image, operator: equal, value: a}", api.Tried{Path: "operator", Mistake: `did you mean "equals"?`}},
		"an unknown key":      {"", "{field: spec.image, equal: a}", api.Tried{Mistake: "equal"}},
		"a key twice":         {"", "field: a\nfield: b\nequals: c", api.Tried{Mistake: "duplicate key"}},
		"no condition":        {"", "[a]", api.Tried{Mistake: "wanted one condition"}},
		"no YAML":             {"", "a: b: c", api.Tried{Mistake: "not YAML"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got, err := trier(t, spec).Try(t.Context(), api.TryQuestion{Of: api.ResourceOf{Box: "shops", Namespace: "team-a", Name: "flowers"}, Template: tc.template, Condition: tc.condition})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got.Mistake).To(ContainSubstring(tc.want.Mistake))
			g.Expect(got.Notes).To(ContainElement(ContainSubstring("secrets is forbidden")), "what could not be read is said")
			if tc.want.Mistake == "" {
				g.Expect(got.Mistake).To(BeEmpty())
				if got.Verdict != nil && strings.HasPrefix(tc.condition, "{cel") {
					got.Verdict.Wanted, got.Verdict.Actual = "", ""
				}
				g.Expect(got.Reads).To(Equal(tc.want.Reads))
			}
			got.Notes, got.Mistake, got.Reads, tc.want.Mistake, tc.want.Reads = nil, "", nil, "", nil
			g.Expect(*got).To(Equal(tc.want))
		})
	}
}

func TestTriesThatAreNoQuestion(t *testing.T) {
	of := api.ResourceOf{Box: "shops", Namespace: "team-a", Name: "flowers"}
	for name, tc := range map[string]struct {
		q    api.TryQuestion
		want func(error) bool
	}{
		"nothing":        {api.TryQuestion{Of: of}, apierrors.IsBadRequest},
		"both":           {api.TryQuestion{Of: of, Template: "a", Condition: "{}"}, apierrors.IsBadRequest},
		"too long":       {api.TryQuestion{Of: of, Template: strings.Repeat("a", maxTried+1)}, apierrors.IsBadRequest},
		"no such box":    {api.TryQuestion{Of: api.ResourceOf{Box: "sheds", Name: "a"}, Template: "a"}, apierrors.IsNotFound},
		"no such object": {api.TryQuestion{Of: api.ResourceOf{Box: "shops", Namespace: "team-a", Name: "weeds"}, Template: "a"}, apierrors.IsNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := trier(t, "  onReconcile: {configmaps: [{data: {a: b}}]}").Try(t.Context(), tc.q)
			NewWithT(t).Expect(tc.want(err)).To(BeTrue(), "%v", err)
		})
	}
}
