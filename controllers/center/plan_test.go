package center

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/controllers/validation"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/web/api"
)

const shopCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: shops.demo.example.com}
spec:
  group: demo.example.com
  scope: Namespaced
  names: {plural: shops, singular: shop, kind: Shop, listKind: ShopList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {image: {type: string}, replicas: {type: integer, default: 2}}}}}}}]
`

// boxOf is a box over shops that declares something.
func boxOf(spec string) string {
	return "apiVersion: orkestra.orkspace.io/v1alpha1\nkind: OperatorBox\nmetadata: {name: shops}\nspec:\n  crd: {name: shops.demo.example.com}\n" + spec + "\n"
}

const flowers = "apiVersion: demo.example.com/v1\nkind: Shop\nmetadata: {name: flowers, namespace: team-a}\nspec: {image: nginx}\n"

// memoryCluster has objects, and refuses to show Secrets.
type memoryCluster struct {
	crds    []*apiextensionsv1.CustomResourceDefinition
	objects []*unstructured.Unstructured
	reads   int
	read    func() // is called by each read; nil: nothing is
}

func clusterOf(tb testing.TB, texts ...string) *memoryCluster {
	tb.Helper()
	c := &memoryCluster{}
	for _, text := range texts {
		if strings.Contains(text, "CustomResourceDefinition") {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			if err := yaml.Unmarshal([]byte(text), crd); err != nil {
				tb.Fatal(err)
			}
			c.crds = append(c.crds, crd)
			continue
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			tb.Fatal(err)
		}
		c.objects = append(c.objects, obj)
	}
	return c
}

var errSecrets = errors.New(`secrets is forbidden: user "ann" cannot list resource "secrets"`)

func (c *memoryCluster) Get(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	c.noteRead()
	if kind.Kind == "Secret" {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, errSecrets)
	}
	for _, obj := range c.objects {
		if obj.GroupVersionKind() == kind && obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

func (c *memoryCluster) List(_ context.Context, kind schema.GroupVersionKind, namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	c.noteRead()
	if kind.Kind == "Secret" {
		return nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errSecrets)
	}
	var out []*unstructured.Unstructured
	for _, obj := range c.objects {
		if obj.GroupVersionKind() == kind && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	return out, nil
}

func (c *memoryCluster) noteRead() {
	if c.reads++; c.read != nil {
		c.read()
	}
}

func (c *memoryCluster) CRD(_ context.Context, name string) (*apiextensionsv1.CustomResourceDefinition, error) {
	if c.read != nil {
		c.read()
	}
	for _, crd := range c.crds {
		if crd.Name == name {
			return crd, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

func (*memoryCluster) Nearest(context.Context, string, ...string) string { return "" }

// planner answers from a cluster; nil: of none anything is known.
func planner(tb testing.TB, cluster *memoryCluster, running ...*v1alpha1.OperatorBox) *Center {
	tb.Helper()
	p := Ports{Clock: clock.RealClock{}}
	if cluster != nil {
		p.Checking.Cluster = cluster
		p.Inspecting = inspect.NewSession(inspect.Ports{Objects: cluster})
	}
	if tt, is := tb.(*testing.T); is {
		for _, b := range running {
			p.Own = objects(tt, false, b)
		}
	}
	return &Center{Ports: p}
}

// mapperOf knows the kinds of the CRDs of a cluster, ConfigMaps and Secrets.
func mapperOf(c *memoryCluster) meta.RESTMapper {
	m := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []string{"ConfigMap", "Secret"} {
		m.Add(schema.GroupVersionKind{Version: "v1", Kind: kind}, meta.RESTScopeNamespace)
	}
	for _, crd := range c.crds {
		m.Add(schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind}, meta.RESTScopeNamespace)
	}
	return m
}

var _ validation.Cluster = (*memoryCluster)(nil)

func TestWhatIsWrongWithBoxes(t *testing.T) {
	good := boxOf(`  onReconcile: {configmaps: [{data: {image: "{{ .spec.image }}"}}]}`)
	bad := boxOf(`  onReconcile: {configmaps: [{data: {image: "{{ .spec.imgae }}"}}]}`)
	for name, tc := range map[string]struct {
		text string
		want []string // line, column, path and message of the mistakes; of a valid box none
		note string
	}{
		"good":            {good, nil, ""},
		"its CRD beside":  {good + "---\n" + shopCRD, nil, ""},
		"a wrong type":    {boxOf("  workers: many"), []string{`6:3 spec.workers: want integer, got string`}, "templates, conditions and kinds are checked when the types are right"},
		"a wrong path":    {bad, []string{`6:38 spec.onReconcile.configmaps[0].data.image: `}, ""},
		"no YAML":         {"a: b: c", []string{"1:0 : not YAML: mapping values are not allowed in this context"}, ""},
		"too deep":        {boxOf("  onReconcile: " + strings.Repeat("[", 300) + strings.Repeat("]", 300)), []string{"1:0 : it is nested deeper than 200 levels"}, ""},
		"of another CRD":  {strings.ReplaceAll(good, "shops.demo", "sheds.demo"), nil, "schema of sheds.demo.example.com unknown: paths are not checked; give the CRD beside the box"},
		"hostile letters": {boxOf("  \"<script>\\x1b\": 1"), []string{"6:3 spec[<script>\x1b]: unknown field"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			out, err := planner(t, clusterOf(t, shopCRD)).Compile(t.Context(), api.CompileQuestion{Boxes: tc.text})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.Documents).To(HaveLen(1))
			got := out.Documents[0]
			g.Expect(out.Valid).To(Equal(len(tc.want) == 0))
			g.Expect(got.Valid).To(Equal(out.Valid))
			g.Expect(got.Mistakes).To(HaveLen(len(tc.want)), "%v", got.Mistakes)
			for i, want := range tc.want {
				m := got.Mistakes[i]
				g.Expect(fmt.Sprintf("%d:%d %s: %s", m.Line, m.Column, m.Path, m.Message)).To(HavePrefix(want))
			}
			if tc.note != "" {
				g.Expect(got.Notes).To(ContainElement(tc.note))
			}
		})
	}
}

func TestTextsThatAreNoQuestion(t *testing.T) {
	for name, text := range map[string]string{
		"nothing": "", "a comment": "# a box is to come", "another object": flowers, "too many": strings.Repeat("---\na: b\n", maxDocuments+1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := planner(t, nil).Compile(t.Context(), api.CompileQuestion{Boxes: text})
			NewWithT(t).Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
		})
	}
}

// Of documents there may be fifty, also of those that would be compiled, and of those that are empty.
func TestDocumentsThatAreTooMany(t *testing.T) {
	for name, text := range map[string]string{
		"boxes": strings.Repeat("---\n"+boxOf("  workers: 1"), maxDocuments+1), "empty ones": strings.Repeat("---\n", 10*maxDocuments+2),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := planner(t, nil).Compile(t.Context(), api.CompileQuestion{Boxes: text})
			g.Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(HaveSuffix("give at most 50")))
		})
	}
}

// TestAQuestionReadsNoMoreThanIsShown: of a box that reads much for many resources, what is beyond is not read, and said.
func TestAQuestionReadsNoMoreThanIsShown(t *testing.T) {
	g, cluster := NewWithT(t), clusterOf(t, shopCRD)
	var cross, resources strings.Builder
	for i := range 8 {
		fmt.Fprintf(&cross, "  - {name: word%d, apiVersion: v1, kind: ConfigMap, selector: {name: word%d}}\n", i, i)
	}
	for i := range maxDocuments {
		resources.WriteString("---\n" + strings.Replace(flowers, "name: flowers", fmt.Sprintf("name: flowers%d", i), 1))
	}
	out, err := planner(t, cluster).Render(t.Context(), api.RenderQuestion{Boxes: boxOf("  cross:\n" + cross.String() + "  onReconcile: {configmaps: [{data: {a: b}}]}"), Resource: resources.String()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(cluster.reads).To(BeNumerically("<=", maxReads))
	g.Expect(out.Resources[maxDocuments-1].Notes).To(ContainElement(ContainSubstring(errTooMuch.Error())))
}

func TestMistakesThatAreTooMany(t *testing.T) {
	g := NewWithT(t)
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, "  x%d: 1\n", i)
	}
	out, err := planner(t, nil).Compile(t.Context(), api.CompileQuestion{Boxes: boxOf(text.String())})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Documents[0].Mistakes).To(HaveLen(maxMistakes + 1))
	g.Expect(out.Documents[0].Mistakes[maxMistakes].Message).To(HaveSuffix("more mistakes are not shown: mend these first"))
}

func TestWhatTheClusterWouldGet(t *testing.T) {
	g := NewWithT(t)
	box := boxOf(`  onReconcile: {configmaps: [{name: settings, data: {replicas: "{{ .spec.replicas }}"}}], secrets: [{once: true, data: {password: never-shown}}]}`)
	out, err := planner(t, clusterOf(t, shopCRD)).Render(t.Context(), api.RenderQuestion{Boxes: box, Resource: flowers})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Compiled.Valid).To(BeTrue(), "%v", out.Compiled)
	g.Expect(out.Resources).To(HaveLen(1))
	r := out.Resources[0]
	g.Expect([]string{r.Kind, r.Namespace, r.Name, r.Error}).To(Equal([]string{"Shop", "team-a", "flowers", ""}))
	g.Expect(r.Objects).NotTo(BeEmpty(), "%+v", r)
	g.Expect(r.Objects).To(ContainElement(And(HaveField("Name", "settings"), HaveField("YAML", ContainSubstring(`replicas: "2"`)))))
	g.Expect(r.Objects).To(ContainElement(And(HaveField("Kind", "Secret"), HaveField("YAML", ContainSubstring("password: '*** (11 bytes)'")))))
	g.Expect(fmt.Sprint(out)).NotTo(ContainSubstring("never-shown"))
	g.Expect(r.Conditions).To(ContainElement(HaveField("Type", "Ready")))
}

// What may not be read, and what is not called, is said; what waits for it is not made up.
func TestWhatCouldNotBeKnown(t *testing.T) {
	for spec, want := range map[string]string{
		`cross: [{name: word, apiVersion: v1, kind: Secret, selector: {name: word}}]`: `Secret "team-a/word" could not be read: `,
		`external: [{name: quota, url: "https://quota.example.com/"}]`:                `give the answer under "What else the cluster has", as external: {quota: {status: 200, body: {}}}`,
	} {
		g := NewWithT(t)
		out, err := planner(t, clusterOf(t, shopCRD)).Render(t.Context(), api.RenderQuestion{Boxes: boxOf("  " + spec + "\n  onReconcile: {configmaps: [{data: {a: b}}]}"), Resource: flowers})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(out.Compiled.Valid).To(BeTrue(), "%v", out.Compiled)
		g.Expect(fmt.Sprintf("%+v", out.Resources[0])).To(ContainSubstring(want))
	}
}

// Gates that wait for children open where the children of the resource are as they wait for, and where it is said that they are.
func TestChildrenOpenGates(t *testing.T) {
	box := boxOf(`  onReconcile: {configmaps: [{id: first, name: first, data: {ok: "no"}}, {name: second, when: [{field: children.first.data.seen, equals: "yes"}], data: {a: b}}]}`)
	const first = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: first, namespace: team-a, labels: {orkestra.orkspace.io/owner-uid: u}}\ndata: {seen: \"yes\"}\n"
	live := strings.Replace(flowers, "namespace: team-a", "namespace: team-a, uid: u", 1)
	running := &v1alpha1.OperatorBox{}
	running.Name, running.Status.CRD.Name, running.Status.CRD.Kind, running.Status.CRD.Version = "shops", "shops.demo.example.com", "Shop", "v1"
	of := &api.ResourceOf{Box: "shops", Namespace: "team-a", Name: "flowers"}
	for name, tc := range map[string]struct {
		cluster []string
		q       api.RenderQuestion
		want    int
	}{
		"none is there":        {[]string{live}, api.RenderQuestion{Of: of}, 1},
		"it is in the cluster": {[]string{live, first}, api.RenderQuestion{Of: of}, 2},
		"it is said":           {nil, api.RenderQuestion{Resource: flowers, Rest: first}, 2},
		"it stands beside":     {nil, api.RenderQuestion{Resource: flowers + "---\n" + first}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			tc.q.Boxes = box
			out, err := planner(t, clusterOf(t, append(tc.cluster, shopCRD)...), running).Render(t.Context(), tc.q)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(out.Compiled.Valid).To(BeTrue(), "%v", out.Compiled)
			g.Expect(out.Resources[0].Objects).To(HaveLen(tc.want), "%v", out.Resources[0])
			if tc.want == 1 {
				g.Expect(out.Resources[0].Waits).To(ContainElement(ContainSubstring("children.first.data.seen")))
			}
		})
	}
}

func TestQuestionsThatCannotBeRendered(t *testing.T) {
	box := boxOf(`  onReconcile: {configmaps: [{data: {a: b}}]}`)
	for name, tc := range map[string]struct {
		q    api.RenderQuestion
		want string
	}{
		"no resource":     {api.RenderQuestion{Boxes: box}, "Give a resource as text, or the name of one"},
		"two":             {api.RenderQuestion{Boxes: box, Resource: flowers, Of: &api.ResourceOf{}}, "and not both"},
		"another kind":    {api.RenderQuestion{Boxes: box, Resource: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}"}, "no box in the boxes serves this kind; they serve Shop.demo.example.com"},
		"no YAML":         {api.RenderQuestion{Boxes: box, Resource: "a: b: c"}, "the resource, line 1: not YAML"},
		"only a comment":  {api.RenderQuestion{Boxes: box, Resource: "# nothing"}, "There is no object"},
		"answers unasked": {api.RenderQuestion{Boxes: box, Resource: flowers, Rest: "external: {quota: {}}"}, "makes a call of this name"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := planner(t, clusterOf(t, shopCRD)).Render(t.Context(), tc.q)
			g.Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
			g.Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
	g := NewWithT(t)
	out, err := planner(t, clusterOf(t, shopCRD)).Render(t.Context(), api.RenderQuestion{Boxes: box, Resource: strings.Replace(flowers, "image: nginx", "image: 5", 1)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Resources[0].Mistakes).To(HaveExactElements(And(HaveField("Path", "spec.image"), HaveField("Line", 4))))
	out, err = planner(t, clusterOf(t, shopCRD)).Render(t.Context(), api.RenderQuestion{Boxes: strings.Replace(box, "data", "dta", 1), Resource: flowers})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out.Compiled.Valid).To(BeFalse())
	g.Expect(out.Resources).To(BeEmpty())
}

// A box that reads more than is shown is not let read on.
func TestReadsAreBounded(t *testing.T) {
	g, cluster := NewWithT(t), clusterOf(t, shopCRD)
	c := &counted{Cluster: cluster}
	for range maxReads / 2 {
		_, err := c.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "", "a")
		g.Expect(err).NotTo(HaveOccurred())
		_, err = c.List(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "", labels.Everything())
		g.Expect(err).NotTo(HaveOccurred())
	}
	_, err := c.Get(t.Context(), schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, "", "a")
	g.Expect(err).To(MatchError(errTooMuch))
	_, err = c.CRD(t.Context(), "shops.demo.example.com")
	g.Expect(err).To(MatchError(errTooMuch))
	g.Expect(cluster.reads).To(Equal(maxReads))
}

// ofAllKinds is as much of each kind as the schema of boxes allows.
func ofAllKinds() string {
	var b strings.Builder
	for _, phase := range []string{"onCreate", "onReconcile", "onDelete"} {
		b.WriteString("  " + phase + ":\n")
		for _, key := range kinds.Keys() {
			b.WriteString("    " + key + ": [" + strings.TrimSuffix(strings.Repeat("{name: a},", 64), ",") + "]\n")
		}
	}
	return b.String()
}

// Texts that mean harm are answered: they are bounded before they are read.
func TestTextsThatMeanHarm(t *testing.T) {
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [a, b, c, d, e, f, g, h, i, j]\n")
	for i := 1; i < 12; i++ {
		fmt.Fprintf(&aliases, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	const mebibyte = 1 << 20
	// many is as many of something as there is room for.
	many := func(between string, one func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < 900_000; i++ {
			b.WriteString(one(i) + between)
		}
		return strings.TrimSuffix(b.String(), between)
	}
	same := func(text string) func(int) string { return func(int) string { return text } }
	data := func(data string) string { return boxOf("  onReconcile: {configmaps: [{data: {" + data + "}}]}") }
	for name, text := range map[string]string{
		"aliases of aliases":    aliases.String(),
		"aliases of one list":   "a: &a [" + many(",", same("1")) + "]\nb: [*a, *a, *a, *a, *a, *a, *a, *a, *a]\n",
		"lists in lists":        boxOf("  onReconcile: " + strings.Repeat("[", mebibyte/2)),
		"many unknown fields":   boxOf(many("\n", func(i int) string { return fmt.Sprintf("  k%d: {}", i) })),
		"many wrong ports":      boxOf("  onReconcile: {services: [{ports: [" + many(",", same("{port: []}")) + "]}]}"),
		"many documents":        strings.Repeat("---\na: b\n", mebibyte/9),
		"many declarations":     boxOf("  onReconcile: {services: [" + many(",", same("{port: 80}")) + "]}"),
		"many of all kinds":     boxOf(ofAllKinds()),
		"many templates":        data(many(",", func(i int) string { return fmt.Sprintf(`k%d: "{{.spec.image}}"`, i) })),
		"many values with no":   data(many(",", func(i int) string { return fmt.Sprintf("k%d: no", i) })),
		"many odd keys":         data(many(",", func(i int) string { return fmt.Sprintf("0x%x: a", i) })),
		"many odd numbers":      data(many(",", func(i int) string { return fmt.Sprintf("k%d: 1.%d0", i, i) })),
		"many keys twice":       data(many(",", same("a: b"))),
		"many keys far down":    boxOf("  onReconcile: " + strings.Repeat("{a: ", 180) + "{" + many(",", func(i int) string { return fmt.Sprintf("k%d: a", i) }) + "}" + strings.Repeat("}", 180)),
		"many conditions":       boxOf("  when: [" + many(",", same(`{field: spec.image, equals: a}`)) + "]"),
		"a key of dots":         boxOf("  " + strings.Repeat("a.", mebibyte/3) + ": 1"),
		"a text of one letter":  data(`a: "` + strings.Repeat("a", mebibyte-500) + `"`),
		"a template of actions": data(`a: "` + strings.Repeat("{{.x}}", mebibyte/8) + `"`),
		"a path of fields":      boxOf("  when: [{field: " + strings.Repeat("a.", mebibyte/3) + "b, equals: c}]"),
	} {
		t.Run(name, func(t *testing.T) {
			out, err := planner(t, clusterOf(t, shopCRD)).Compile(t.Context(), api.CompileQuestion{Boxes: text})
			if err != nil {
				NewWithT(t).Expect(apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
				return
			}
			for _, d := range out.Documents {
				if len(d.Mistakes) > maxMistakes+1 || len(d.Notes) > maxMistakes+1 {
					t.Errorf("%d mistakes, %d notes", len(d.Mistakes), len(d.Notes))
				}
			}
		})
	}
}

// TestNobodyWorksForWhoHasGone: when the question has gone while something is read, nothing else is read.
func TestNobodyWorksForWhoHasGone(t *testing.T) {
	var boxes, resources strings.Builder
	for i := range 40 {
		boxes.WriteString("---\n" + strings.NewReplacer("name: shops}", fmt.Sprintf("name: shops%d}", i), "shops.demo", fmt.Sprintf("shops%d.demo", i)).Replace(boxOf("  workers: 1")))
		resources.WriteString("---\n" + strings.Replace(flowers, "name: flowers", fmt.Sprintf("name: flowers%d", i), 1))
	}
	crossing := boxOf("  cross: [{name: word, apiVersion: v1, kind: ConfigMap, selector: {name: word}}]\n  onReconcile: {configmaps: [{data: {a: b}}]}") + "---\n" + shopCRD
	for name, ask := range map[string]func(context.Context, *Center) error{
		"compile": func(ctx context.Context, c *Center) error {
			_, err := c.Compile(ctx, api.CompileQuestion{Boxes: boxes.String()})
			return err
		},
		"render": func(ctx context.Context, c *Center) error {
			_, err := c.Render(ctx, api.RenderQuestion{Boxes: crossing, Resource: resources.String()})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, cluster := NewWithT(t), clusterOf(t)
			ctx, leave := context.WithCancel(t.Context())
			reads := 0
			cluster.read = func() {
				reads++
				leave()
			}
			g.Expect(ask(ctx, planner(t, cluster))).To(MatchError(context.Canceled))
			g.Expect(reads).To(Equal(1))

			late := errors.New("it takes too long")
			timed, end := context.WithCancelCause(t.Context())
			cluster.read = func() { end(late) }
			g.Expect(ask(timed, planner(t, cluster))).To(MatchError(late), "who still waits is told why there is no answer")
		})
	}
}

// leaving is a context that ends when somebody has looked at it once.
type leaving struct {
	context.Context

	looks atomic.Int32
}

func (l *leaving) Err() error {
	if l.looks.Add(1) == 1 {
		return nil
	}
	return context.Canceled
}

// TestWhoHasGoneHasNoBoxesChecked: neither what is no box, nor a box when its schema has been looked at.
func TestWhoHasGoneHasNoBoxesChecked(t *testing.T) {
	g := NewWithT(t)
	gone, leave := context.WithCancel(t.Context())
	leave()
	_, err := planner(t, nil).Compile(gone, api.CompileQuestion{Boxes: flowers})
	g.Expect(err).To(MatchError(context.Canceled))

	cluster, reads := clusterOf(t, shopCRD), 0
	cluster.read = func() { reads++ }
	_, err = planner(t, cluster).Compile(&leaving{Context: context.Background()}, api.CompileQuestion{Boxes: boxOf("  workers: 1")})
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(reads).To(BeZero())
}

// FuzzPlans compiles and renders any text: it is answered, or refused as a bad request, and the same text in the same way.
func FuzzPlans(f *testing.F) {
	f.Add(boxOf(`  onReconcile: {configmaps: [{data: {image: "{{ .spec.image }}"}}]}`), flowers, "")
	f.Add(boxOf(`  external: [{name: quota, url: "https://q.example.com"}]`)+"---"+shopCRD, flowers, "external: {quota: {status: 200}}")
	f.Add("kind: OperatorBox\n", "a: &a [*a]", "- 1")
	f.Add("\xff", "{", "---\n...")
	f.Fuzz(func(t *testing.T, boxes, resource, rest string) {
		answer := func() string {
			c := planner(t, clusterOf(t, shopCRD))
			compiled, err := c.Compile(t.Context(), api.CompileQuestion{Boxes: boxes})
			if err != nil && !apierrors.IsBadRequest(err) {
				t.Fatal(err)
			}
			rendered, renderErr := c.Render(t.Context(), api.RenderQuestion{Boxes: boxes, Resource: resource, Rest: rest})
			if renderErr != nil && !apierrors.IsBadRequest(renderErr) {
				t.Fatal(renderErr)
			}
			if rendered != nil && compiled != nil && compiled.Valid != rendered.Compiled.Valid {
				t.Errorf("it is valid: %t and %t", compiled.Valid, rendered.Compiled.Valid)
			}
			return fmt.Sprint(err, renderErr, compiled)
		}
		if first, second := answer(), answer(); first != second {
			t.Errorf("two answers:\n%s\n%s", first, second)
		}
	})
}
