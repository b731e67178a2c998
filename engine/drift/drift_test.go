package drift

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// fromYAML reads an object as a client would: whole numbers are int64.
func fromYAML(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		tb.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		tb.Fatal(err)
	}
	return obj
}

// object puts a body under a kind: "v1 Secret", "apps/v1 Deployment".
func object(tb testing.TB, kind, body string) *unstructured.Unstructured {
	tb.Helper()
	apiVersion, name, _ := strings.Cut(kind, " ")
	return fromYAML(tb, "apiVersion: "+apiVersion+"\nkind: "+name+"\nmetadata: {name: x, namespace: ns}\n"+body)
}

func pod(spec string) string {
	return "spec: {template: {spec: " + spec + "}}"
}

// driftCase compares two bodies of one kind.
type driftCase struct {
	kind, desired, live string
	want                []string
}

func runDriftCases(t *testing.T, comparer *Comparer, cases map[string]driftCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			desired, live := object(t, tc.kind, tc.desired), object(t, tc.kind, tc.live)
			g.Expect(Paths(comparer.Differences(comparer.Prepare(desired), live))).To(HaveExactElements(toAny(tc.want)...))
			g.Expect(comparer.Differences(comparer.Prepare(desired), desired)).To(BeEmpty(), "desired against itself")
			g.Expect(comparer.Differences(comparer.Prepare(live), live)).To(BeEmpty(), "live against itself")
		})
	}
}

func toAny(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}

const (
	configMap     = "v1 ConfigMap"
	secret        = "v1 Secret"
	service       = "v1 Service"
	claim         = "v1 PersistentVolumeClaim"
	deployment    = "apps/v1 Deployment"
	networkPolicy = "networking.k8s.io/v1 NetworkPolicy"
	budget        = "policy/v1 PodDisruptionBudget"
	custom        = "example.com/v1 Thing"
)

func TestScalars(t *testing.T) {
	runDriftCases(t, NewComparer(nil), map[string]driftCase{
		"Equal":          {configMap, "data: {a: b}", "data: {a: b}", nil},
		"OtherText":      {configMap, "data: {a: b}", "data: {a: c}", []string{"data.a"}},
		"QuotedPath":     {configMap, "data: {x.y: b}", "data: {x.y: c}", []string{"data['x.y']"}},
		"QuoteInPath":    {configMap, `data: {"a'b\"\n": b}`, "data: {}", []string{`data['a\'b"\n']`}},
		"OthersKeysStay": {configMap, "data: {a: b}", "data: {a: b, c: d}", nil},
		"Absent":         {configMap, "data: {a: b}", "data: {c: d}", []string{"data.a"}},
		"AbsentBranch":   {configMap, "data: {a: b, c: d}", "", []string{"data"}},
		"OtherShape":     {configMap, "data: {a: b}", "data: text", []string{"data"}},
		"ListForMap":     {configMap, "data: {a: b}", "data: [a]", []string{"data"}},
		"MapForScalar":   {configMap, "data: {a: b}", "data: {a: {}}", []string{"data.a"}},
		"MapForScalar2":  {configMap, "data: {a: b}", "data: {a: {b: c}}", []string{"data.a"}},
		"ScalarForMap":   {deployment, "spec: text", "spec: {replicas: 1}", []string{"spec"}},
		"FloatAndInt":    {deployment, "spec: {replicas: 3.0}", "spec: {replicas: 3}", nil},
		"OtherNumber":    {deployment, "spec: {replicas: 3}", "spec: {replicas: 4}", []string{"spec.replicas"}},
		"NumberForText":  {deployment, "spec: {replicas: 3}", `spec: {replicas: "3"}`, []string{"spec.replicas"}},
		"Base64":         {secret, `data: {a: "aGVs\nbG8="}`, "data: {a: aGVsbG8=}", nil},
		"OtherBase64":    {secret, "data: {a: aGVsbG8=}", "data: {a: aGVsbG9v}", []string{"data.a"}},
		"NotBase64":      {secret, "data: {a: '%'}", "data: {a: aGVsbG8=}", []string{"data.a"}},
		"IntOrString":    {service, `spec: {ports: [{port: 80, targetPort: "8080"}]}`, "spec: {ports: [{port: 80, protocol: TCP, targetPort: 8080}]}", nil},
		"IntOrString2":   {budget, "spec: {maxUnavailable: 1}", `spec: {maxUnavailable: "1"}`, nil},
		"Percent":        {budget, `spec: {maxUnavailable: "10%"}`, "spec: {maxUnavailable: 10}", []string{"spec.maxUnavailable"}},
		"Quantity":       {claim, "spec: {resources: {requests: {storage: 1024Mi}}}", "spec: {resources: {requests: {storage: 1Gi}}}", nil},
		"OtherQuantity":  {claim, "spec: {resources: {requests: {storage: 1G}}}", "spec: {resources: {requests: {storage: 1Gi}}}", []string{"spec.resources.requests.storage"}},
		"NoQuantity":     {claim, "spec: {resources: {requests: {storage: much}}}", "spec: {resources: {requests: {storage: 1Gi}}}", []string{"spec.resources.requests.storage"}},
		"QuantityMap":    {claim, "spec: {resources: {requests: {storage: 1Gi}}}", "spec: {resources: {requests: {storage: {a: b}}}}", []string{"spec.resources.requests.storage"}},
		"Time":           {"v1 Event", "eventTime: '2026-01-01T01:00:00.500000+01:00'", "eventTime: '2026-01-01T00:00:00.500000Z'", nil},
		"UnknownField":   {deployment, "spec: {later: {a: 1}}", "spec: {later: {a: 2}}", []string{"spec.later.a"}},
		"UnknownEqual":   {deployment, "spec: {later: {a: 1}}", "spec: {later: {a: 1, b: 2}}", nil},
		"StatusIgnored":  {deployment, "spec: {replicas: 1}", "spec: {replicas: 1}\nstatus: {replicas: 7}", nil},
		"StatusWanted":   {deployment, "status: {replicas: 1}", "status: {replicas: 7}", []string{"status.replicas"}},
		"CustomRaw":      {custom, "spec: {a: 1000m}", `spec: {a: "1"}`, []string{"spec.a"}},
		"CustomNumber":   {custom, "spec: {a: 1.0, b: 0.5}", "spec: {a: 1, b: 0.5}", nil},
		"BigNumber":      {custom, "spec: {a: 9223372036854775807}", "spec: {a: 9223372036854775806}", []string{"spec.a"}},
		"ForeignVersion": {"apps/v9 Deployment", "spec: {replicas: 1}", "spec: {replicas: 2}", []string{"spec.replicas"}},
	})
}

func TestQuantitySpellings(t *testing.T) {
	limits := func(cpu string) string {
		return pod("{containers: [{name: a, resources: {limits: {cpu: " + cpu + "}}}]}")
	}
	cases := map[string]driftCase{
		"Zero is not absent": {deployment, limits("0"), pod("{containers: [{name: a}]}"), []string{"spec.template.spec.containers[name=a].resources"}},
	}
	for _, spelling := range []string{"1", `"1"`, "1000m", "1.0", `"1.000"`, "1e0", `"1000000u"`} {
		cases[spelling] = driftCase{deployment, limits(spelling), limits(`"1"`), nil}
	}
	for _, spelling := range []string{`"1e3"`, "1k", "1000", `"1000000m"`} {
		cases["Thousand "+spelling] = driftCase{deployment, limits(spelling), limits("1k"), nil}
		cases["Not one "+spelling] = driftCase{deployment, limits(spelling), limits(`"1"`), []string{"spec.template.spec.containers[name=a].resources.limits.cpu"}}
	}
	runDriftCases(t, NewComparer(nil), cases)
}

func TestEmptyAndZero(t *testing.T) {
	runDriftCases(t, NewComparer(nil), map[string]driftCase{
		"FalseDropped":          {deployment, pod("{hostNetwork: false}"), pod("{}"), nil},
		"FalseDroppedBranch":    {deployment, pod("{hostNetwork: false}"), "spec: {}", nil},
		"FalseWanted":           {deployment, pod("{hostNetwork: false}"), pod("{hostNetwork: true}"), []string{"spec.template.spec.hostNetwork"}},
		"ZeroDropped":           {deployment, "spec: {minReadySeconds: 0}", "spec: {}", nil},
		"ZeroWanted":            {deployment, "spec: {minReadySeconds: 0}", "spec: {minReadySeconds: 5}", []string{"spec.minReadySeconds"}},
		"ZeroPointerStays":      {deployment, "spec: {replicas: 0}", "spec: {minReadySeconds: 1}", []string{"spec.replicas"}},
		"ZeroPointerEqual":      {deployment, "spec: {replicas: 0}", "spec: {replicas: 0}", nil},
		"TextZeroIsNoZero":      {deployment, pod("{containers: [{name: a, env: [{name: b, value: '0'}]}]}"), pod("{containers: [{name: a, env: [{name: b}]}]}"), []string{"spec.template.spec.containers[name=a].env[name=b].value"}},
		"EmptyTextDropped":      {deployment, pod("{schedulerName: ''}"), pod("{}"), nil},
		"EmptyTextWanted":       {deployment, pod("{schedulerName: ''}"), pod("{schedulerName: mine}"), []string{"spec.template.spec.schedulerName"}},
		"NullIsNotSet":          {deployment, "spec: {replicas: null, template: {metadata: {creationTimestamp: null}}}", "spec: {replicas: 3, template: {metadata: {}}}", nil},
		"NullBranch":            {deployment, "spec: null", "spec: {replicas: 3}", nil},
		"EmptyMapSetsNothing":   {deployment, "spec: {strategy: {}}", "spec: {strategy: {type: Recreate}}", nil},
		"EmptyMapAbsent":        {deployment, "spec: {strategy: {}}", "spec: {replicas: 1}", nil},
		"EmptyListAbsent":       {deployment, pod("{tolerations: [], containers: [{name: a, args: [], env: []}]}"), pod("{containers: [{name: a}]}"), nil},
		"EmptyListNull":         {deployment, pod("{tolerations: []}"), pod("{tolerations: null}"), nil},
		"EmptyListWanted":       {deployment, pod("{containers: [{name: a, args: []}]}"), pod("{containers: [{name: a, args: [b]}]}"), []string{"spec.template.spec.containers[name=a].args[0]"}},
		"EmptyListOtherShape":   {deployment, pod("{tolerations: []}"), pod("{tolerations: text}"), []string{"spec.template.spec.tolerations"}},
		"EmptyListOthersAdd":    {deployment, pod("{containers: [{name: a, env: []}]}"), pod("{containers: [{name: a, env: [{name: b, value: c}]}]}"), nil},
		"EmptyListOfWords":      {custom, "spec: {a: []}", "spec: {a: ''}", nil},
		"EveryEmptyIsTheSame":   {custom, "spec: {a: '', b: {}, c: [], d: '', e: {}, f: []}", "spec: {a: [], b: [], c: '', d: {}}", nil},
		"CustomFalseIsNoAbsent": {custom, "spec: {a: false}", "spec: {}", []string{"spec.a"}},
		"EmptySelectorMeans":    {networkPolicy, "spec: {ingress: [{from: [{namespaceSelector: {}}]}]}", "spec: {ingress: [{from: [{podSelector: {}}]}]}", []string{"spec.ingress[0].from[0].namespaceSelector", "spec.ingress[0].from[0].podSelector"}},
		"EmptySelectorEqual":    {networkPolicy, "spec: {podSelector: {}, ingress: [{from: [{namespaceSelector: {}}]}]}", "spec: {ingress: [{from: [{namespaceSelector: {}}]}]}", nil},
		"EmptyDirGone":          {deployment, pod("{volumes: [{name: a, emptyDir: {}}]}"), pod("{volumes: [{name: a, hostPath: {path: /}}]}"), []string{"spec.template.spec.volumes[name=a].emptyDir"}},
		"EmptyValueOfKey":       {configMap, "data: {a: ''}", "data: {b: c}", []string{"data.a"}},
		"EmptyValueEqual":       {configMap, "data: {a: ''}", "data: {a: ''}", nil},
		"EmptyDivisor":          {deployment, pod("{containers: [{name: a, env: [{name: b, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 0}}}]}]}"), pod("{containers: [{name: a, env: [{name: b, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}]}"), nil},
	})
}

func TestMetadata(t *testing.T) {
	runDriftCases(t, NewComparer(nil), map[string]driftCase{
		"Labels":        {configMap, "metadata: {labels: {a/b: c}}", "metadata: {labels: {a/b: d}}", []string{"metadata.labels['a/b']"}},
		"EmptyLabel":    {configMap, "metadata: {labels: {a: ''}}", "metadata: {labels: {b: ''}}", []string{"metadata.labels.a"}},
		"OthersLabels":  {configMap, "metadata: {labels: {a: b}}", "metadata: {labels: {a: b, c: d}}", nil},
		"Annotations":   {configMap, "metadata: {annotations: {a: b}}", "metadata: {annotations: {a: c}}", []string{"metadata.annotations.a"}},
		"OwnHash":       {configMap, "metadata: {annotations: {orkestra.orkspace.io/applied: b}}", "metadata: {annotations: {orkestra.orkspace.io/applied: c}}", nil},
		"IgnoredFields": {configMap, "metadata: {name: a, namespace: b, uid: c, resourceVersion: d, generateName: e, generation: 1, creationTimestamp: null}", "metadata: {name: z}", nil},
		"Finalizers":    {configMap, "metadata: {finalizers: [a/b, c/d]}", "metadata: {finalizers: [c/d, e/f, a/b]}", nil},
		"NoFinalizer":   {configMap, "metadata: {finalizers: [a/b, c/d]}", "metadata: {finalizers: [c/d]}", []string{"metadata.finalizers[a/b]"}},
		"Owners": {
			configMap, "metadata: {ownerReferences: [{uid: u, name: a, controller: true}]}",
			"metadata: {ownerReferences: [{uid: v, name: b}, {uid: u, name: a, controller: true, blockOwnerDeletion: true}]}", nil,
		},
		"OtherOwner": {
			configMap, "metadata: {ownerReferences: [{uid: u, name: a, controller: true}]}",
			"metadata: {ownerReferences: [{uid: u, name: a, controller: false}]}", []string{"metadata.ownerReferences[uid=u].controller"},
		},
		"NoOwner":        {configMap, "metadata: {ownerReferences: [{uid: u, name: a}]}", "", []string{"metadata.ownerReferences"}},
		"CustomTheSame":  {custom, "metadata: {finalizers: [a/b], labels: {a: ''}}", "metadata: {finalizers: [c/d, a/b], labels: {a: ''}}", nil},
		"CustomTheSame2": {custom, "metadata: {finalizers: [a/b], labels: {a: ''}}", "metadata: {finalizers: [c/d], labels: {}}", []string{"metadata.finalizers[a/b]", "metadata.labels.a"}},
	})
}

func TestSecretStringData(t *testing.T) {
	runDriftCases(t, NewComparer(nil), map[string]driftCase{
		"Stored":        {secret, "stringData: {a: hello}", "data: {a: aGVsbG8=}", nil},
		"Changed":       {secret, "stringData: {a: hello}", "data: {a: aGVsbG9v}", []string{"data.a"}},
		"Absent":        {secret, "stringData: {a: hello}", "data: {b: aGVsbG8=}", []string{"data.a"}},
		"BeforeData":    {secret, "stringData: {a: hello}\ndata: {a: eA==, b: eA==}", "data: {a: aGVsbG8=, b: eA==}", nil},
		"DataCounts":    {secret, "stringData: {a: hello}\ndata: {b: eA==}", "data: {a: aGVsbG8=, b: eQ==}", []string{"data.b"}},
		"NotText":       {secret, "stringData: {a: 1}", "data: {}", []string{"stringData"}},
		"OnlyOfSecrets": {custom, "stringData: {a: hello}", "data: {a: aGVsbG8=}", []string{"stringData"}},
	})
}

func TestNilObjects(t *testing.T) {
	g := NewWithT(t)
	c := NewComparer(nil)
	desired := object(t, configMap, "data: {a: b}\nmetadata: {labels: {a: b}}")
	empty := &unstructured.Unstructured{}
	g.Expect(Paths(c.Differences(c.Prepare(desired), nil))).To(Equal([]string{"data", "metadata"}))
	g.Expect(Paths(c.Differences(c.Prepare(desired), empty))).To(Equal([]string{"data", "metadata"}))
	g.Expect(c.Differences(c.Prepare(nil), desired)).To(BeEmpty())
	g.Expect(c.Differences(c.Prepare(empty), desired)).To(BeEmpty())
	g.Expect(c.Differences(nil, desired)).To(BeEmpty())
	g.Expect(c.Differences(nil, nil)).To(BeEmpty())
	nameless := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "a/b/c", "spec": map[string]any{"a": int64(1)}}}
	g.Expect(c.Differences(c.Prepare(nameless), nameless)).To(BeEmpty())
}

func TestDifferencesAreSorted(t *testing.T) {
	g := NewWithT(t)
	c := NewComparer(nil)
	desired, live := object(t, configMap, "data: {}"), object(t, configMap, "data: {other: x}")
	data := map[string]any{}
	for i := range 100 {
		data[fmt.Sprint("k", i)] = "x"
	}
	desired.Object["data"] = data
	paths := Paths(c.Differences(c.Prepare(desired), live))
	g.Expect(paths).To(HaveLen(100))
	g.Expect(slices.IsSorted(paths)).To(BeTrue())
}

func TestPreparedIsACopy(t *testing.T) {
	g := NewWithT(t)
	c := NewComparer(nil)
	desired := object(t, deployment, pod("{containers: [{name: a, image: i}]}"))
	live := desired.DeepCopy()
	prepared := c.Prepare(desired)
	g.Expect(unstructured.SetNestedField(desired.Object, "changed", "spec", "template", "spec", "containers")).To(Succeed())
	desired.SetUID("u")
	g.Expect(c.Differences(prepared, live)).To(BeEmpty())
}

func TestDifferenceEqual(t *testing.T) {
	g := NewWithT(t)
	c := NewComparer(nil)
	prepared := c.Prepare(object(t, deployment, pod("{containers: [{name: a, resources: {limits: {cpu: 2}}}]}")))
	first := func(cpu string) Difference {
		found := c.Differences(prepared, object(t, deployment, pod("{containers: [{name: a, resources: {limits: {cpu: "+cpu+"}}}]}")))
		g.Expect(found).To(HaveLen(1))
		return found[0]
	}
	g.Expect(first("1000m").Live).To(Equal("1000m"), "as it is written")
	g.Expect(first("1").Equal(first("1000m"))).To(BeTrue(), "another spelling is the same difference")
	g.Expect(first("1").Equal(first("3"))).To(BeFalse())
	a := Difference{Path: "a", Live: map[string]any{"b": []any{int64(1), "x", nil}}}
	g.Expect(a.Equal(Difference{Path: "a", Live: map[string]any{"b": []any{1.0, "x", nil}}})).To(BeTrue())
	g.Expect(a.Equal(Difference{Path: "b", Live: a.Live})).To(BeFalse())
	for _, other := range []any{nil, "b", map[string]any{}, map[string]any{"c": 1}, map[string]any{"b": []any{int64(1)}}, map[string]any{"b": []any{int64(1), "y", nil}}} {
		g.Expect(a.Equal(Difference{Path: "a", Live: other})).To(BeFalse())
	}
}

func TestConcurrentUse(t *testing.T) {
	c := NewComparer(nil)
	desired, live := typical(t)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for i := range desired {
				if found := c.Differences(c.Prepare(desired[i]), live[i]); len(found) > 0 {
					t.Errorf("%s: %v", desired[i].GetKind(), found)
				}
			}
		})
	}
	group.Wait()
}
