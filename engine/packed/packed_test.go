package packed_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/orkspace/orkestra/engine/packed"
	"github.com/orkspace/orkestra/engine/value"
)

// unpacked gives what is unpacked of an object when what was packed is gone.
func unpacked(o *packed.Object) *unstructured.Unstructured {
	runtime.GC()
	return o.Unpack()
}

func TestNothingIsLost(t *testing.T) {
	g := NewWithT(t)
	words := packed.NewWords()
	for name, v := range map[string]any{
		"null": nil, "true": true, "false": false, "zero": int64(0), "minus one": int64(-1), "largest": int64(math.MaxInt64),
		"smallest": int64(math.MinInt64), "float that is whole": 3.0, "float": 0.1, "small float": math.SmallestNonzeroFloat64, "large float": math.MaxFloat64,
		"minus zero": math.Copysign(0, -1), "infinity": math.Inf(1), "empty text": "", "invalid UTF-8": "a\xff\xfe\x00z", "long text": strings.Repeat("ä", 10_000),
		"empty list": []any{}, "nil list": []any(nil), "empty object": map[string]any{}, "nil object": map[string]any(nil), "empty key": map[string]any{"": "", "\xff": int64(1)},
		"the same text as key and value": map[string]any{"same": "same", "other": []any{"same", "same", "other"}},
	} {
		in := map[string]any{"v": v, "list": []any{v, map[string]any{"v": v}}}
		for range 10 { // its texts become words
			g.Expect(unpacked(words.Pack(deepCopy(in))).Object).To(Equal(in), name)
		}
		out := unpacked(words.Pack(deepCopy(in))).Object["v"]
		g.Expect(fmt.Sprintf("%T %#v", out, out)).To(Equal(fmt.Sprintf("%T %#v", v, v)), name)
	}
}

func deepCopy(fields map[string]any) *unstructured.Unstructured {
	return (&unstructured.Unstructured{Object: copied(fields).(map[string]any)})
}

// copied copies as DeepCopy does, and keeps what is nil.
func copied(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if v == nil {
			return v
		}
		out := make(map[string]any, len(v))
		for key, element := range v {
			out[key] = copied(element)
		}
		return out
	case []any:
		if v == nil {
			return v
		}
		out := make([]any, len(v))
		for i, element := range v {
			out[i] = copied(element)
		}
		return out
	default:
		return v
	}
}

func TestRandomObjectsAreUnpackedAsTheyWere(t *testing.T) {
	g := NewWithT(t)
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		words := packed.NewWords()
		var ins []map[string]any
		var outs []*packed.Object
		for range 30 {
			in := randomObject(random, 4)
			ins, outs = append(ins, in), append(outs, words.Pack(deepCopy(in)))
		}
		runtime.GC()
		for i, out := range outs { // later ones have made words that earlier ones do not have
			g.Expect(reflect.DeepEqual(out.Unpack().Object, ins[i])).To(BeTrue(), "seed %d, object %d: %v, wanted %v", seed, i, out.Unpack().Object, ins[i])
			g.Expect(out.Size()).To(Equal(value.Size(ins[i])))
			obj := &unstructured.Unstructured{Object: ins[i]}
			g.Expect([]string{out.Namespace(), out.Name(), string(out.UID()), out.Version()}).To(Equal(
				[]string{obj.GetNamespace(), obj.GetName(), string(obj.GetUID()), obj.GetResourceVersion()}), "seed %d, object %d", seed, i)
			for name, v := range obj.GetLabels() {
				g.Expect(out.Label(name)).To(Equal(v))
			}
			g.Expect(out.Labels()).To(BeEquivalentTo(obj.GetLabels()))
		}
	}
}

var someTexts = []string{"", "a", "name", "labels", "metadata", "a\xff", "apps/v1", "ConfigMap", strings.Repeat("long", 40), "ns", "orkestra"}

func randomObject(random *rand.Rand, depth int) map[string]any {
	fields := randomMap(random, depth)
	m := randomMap(random, depth-1)
	for _, name := range []string{"namespace", "name", "uid", "resourceVersion"} {
		delete(m, name)
		if random.IntN(5) > 0 {
			m[name] = randomText(random)
		}
	}
	all := map[string]any{}
	for range random.IntN(4) {
		all[randomText(random)] = randomText(random)
	}
	delete(m, "labels")
	if len(all) > 0 {
		m["labels"] = all
	}
	fields["metadata"] = m
	return fields
}

func randomText(random *rand.Rand) string {
	if random.IntN(3) > 0 {
		return someTexts[random.IntN(len(someTexts))]
	}
	raw := make([]byte, random.IntN(40))
	for i := range raw {
		raw[i] = byte(random.UintN(256))
	}
	return string(raw)
}

func randomMap(random *rand.Rand, depth int) map[string]any {
	fields := map[string]any{}
	for range random.IntN(7) {
		fields[randomText(random)] = randomValue(random, depth)
	}
	return fields
}

func randomValue(random *rand.Rand, depth int) any {
	kinds := 9
	if depth > 0 {
		kinds = 12
	}
	switch random.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return random.IntN(2) == 0
	case 2:
		return int64(random.Uint64())
	case 3:
		return random.NormFloat64()
	case 4:
		return int64(random.IntN(300)) - 100
	case 5:
		return float64(random.IntN(300))
	case 9:
		list := make([]any, random.IntN(5))
		for i := range list {
			list[i] = randomValue(random, depth-1)
		}
		return list
	case 10, 11:
		return randomMap(random, depth-1)
	default:
		return randomText(random)
	}
}

func TestWhatIsNoJSONIsKeptAsItIs(t *testing.T) {
	g := NewWithT(t)
	words := packed.NewWords()
	for range 10 {
		obj := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{
			"namespace": "ns", "name": "n", "uid": "u", "resourceVersion": "7", "labels": map[string]any{"a": "b"}}, "port": int32(80)}}
		o := words.Pack(obj)
		g.Expect(o.Unpack()).To(BeIdenticalTo(obj))
		g.Expect([]any{o.Key(), o.UID(), o.Version(), o.Label("a"), o.Labels()}).To(Equal([]any{"ns/n", types.UID("u"), "7", "b", labels.Set{"a": "b"}}))
		next := map[string]any{"metadata": map[string]any{"name": "next", "labels": map[string]any{"a": "b"}}}
		g.Expect(unpacked(words.Pack(deepCopy(next))).Object).To(Equal(next), "nothing of it is left")
	}
}

func TestMetadataIsReadWithoutUnpacking(t *testing.T) {
	g := NewWithT(t)
	o := packed.NewWords().Pack(configMap(1))
	runtime.GC()
	accessor, err := meta.Accessor(o)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect([]any{accessor.GetNamespace(), accessor.GetName(), accessor.GetUID(), accessor.GetResourceVersion()}).To(Equal(
		[]any{"default", "applied-settled0-1-a", types.UID("f5637079-f7be-4f08-8628-000000000001"), "1001"}))
	g.Expect(o.Key()).To(Equal("default/applied-settled0-1-a"))
	g.Expect(o.Label("orkestra.orkspace.io/box")).To(Equal("applied"))
	g.Expect(o.Label("none")).To(BeEmpty())
	for _, object := range []*packed.Object{o, packed.Whole(configMap(1))} {
		uid, version, namespace := object.Head()
		g.Expect([]string{string(uid), version, namespace}).To(Equal([]string{"f5637079-f7be-4f08-8628-000000000001", "1001", "default"}))
		g.Expect(object.ManagedBy("orkestra")).To(BeTrue())
		g.Expect(object.ManagedBy("ork")).To(BeFalse())
	}

	var none *packed.Object
	g.Expect(none.Unpack()).To(BeNil())
	g.Expect(none.Name() + none.Label("a")).To(BeEmpty())
	g.Expect(none.Size()).To(BeZero())
	g.Expect(none.Labels()).To(BeEmpty())
	g.Expect(packed.NewWords().Pack(nil)).To(BeNil())
	g.Expect(packed.Whole(nil)).To(BeNil())
}

func TestWhatSomebodyHoldsIsNotUnpackedAgain(t *testing.T) {
	g := NewWithT(t)
	o := packed.NewWords().Pack(configMap(1))
	first := o.Unpack()
	runtime.GC()
	g.Expect(o.Unpack()).To(BeIdenticalTo(first))
	runtime.KeepAlive(first)
}

func TestATextOfManyObjectsIsStoredOnce(t *testing.T) {
	g := NewWithT(t)
	words := packed.NewWords()
	const n = 200
	all := make([]*packed.Object, 0, n)
	json := int64(0)
	before := heap()
	for i := range n {
		o := words.Pack(configMap(i))
		all, json = append(all, o), json+o.Size()
	}
	g.Expect(heap()-before).To(BeNumerically("<", json), "packed objects take less than their JSON")
	runtime.KeepAlive(all)
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Objects of which no two have a text in common, and large ones, must not let Words grow.
func TestWordsAreBounded(t *testing.T) {
	g := NewWithT(t)
	words := packed.NewWords()
	before := heap()
	for i := range 3000 {
		in := map[string]any{"large": strings.Repeat(fmt.Sprint(i), 1000)}
		for j := range 50 {
			in[fmt.Sprint("field-", i/10, "-", j)] = fmt.Sprint(i/10, "/", j, strings.Repeat("-", 100)) // each in ten objects
		}
		o := words.Pack(deepCopy(in))
		if i%500 == 0 {
			g.Expect(unpacked(o).Object).To(Equal(in))
		}
	}
	g.Expect(heap()-before).To(BeNumerically("<", 2<<20), "of 30 MB")
	runtime.KeepAlive(words)
}

func TestPackingAndUnpackingAtTheSameTime(t *testing.T) {
	g := NewWithT(t)
	words := packed.NewWords()
	var all sync.WaitGroup
	wrong := make(chan any, 4)
	for worker := range 4 {
		all.Go(func() {
			for i := range 200 {
				o := words.Pack(configMap(worker*1000 + i))
				if i%50 == 0 {
					runtime.GC()
				}
				if !reflect.DeepEqual(o.Unpack(), configMap(worker*1000+i)) || o.Name() != configMap(worker*1000+i).GetName() {
					wrong <- o.Unpack()
					return
				}
			}
		})
	}
	all.Wait()
	g.Expect(wrong).To(BeEmpty())
}

// configMap is a child, as the cache of children has it.
func configMap(i int) *unstructured.Unstructured {
	return decoded(fmt.Sprintf(`{"apiVersion":"v1","data":{"host":"applied-settled0-%[1]d"},"kind":"ConfigMap","metadata":{"annotations":{
		"orkestra.orkspace.io/applied":"%016[2]x","orkestra.orkspace.io/declaration":"configmaps/{{ .metadata.name }}-a"},
		"creationTimestamp":"2026-11-26T15:%02[3]d:41Z","labels":{"app.kubernetes.io/managed-by":"orkestra","orkestra-owner":"applied-settled0-%[1]d",
		"orkestra.orkspace.io/box":"applied","orkestra.orkspace.io/managed":"true","orkestra.orkspace.io/owner-uid":"08f1e85e-c7f2-4e1a-8754-%012[1]d"},
		"managedFields":[{"manager":"orkestra"}],"name":"applied-settled0-%[1]d-a","namespace":"default","ownerReferences":[{
		"apiVersion":"noise.example.com/v1","blockOwnerDeletion":true,"controller":true,"kind":"Applied","name":"applied-settled0-%[1]d",
		"uid":"08f1e85e-c7f2-4e1a-8754-%012[1]d"}],"resourceVersion":"%[4]d","uid":"f5637079-f7be-4f08-8628-%012[1]d"}}`, i, uint64(i)*0x9e3779b97f4a7c15, i%60, 1000+i))
}

// parent is a resource with a status.
func parent(i int) *unstructured.Unstructured {
	return decoded(fmt.Sprintf(`{"apiVersion":"noise.example.com/v1","kind":"Applied","metadata":{"annotations":{
		"orkestra.orkspace.io/active-since":"2026-11-26T15:%02[2]d:41Z","orkestra.orkspace.io/managed-by":"applied",
		"orkestra.orkspace.io/managed-since":"2026-11-26T15:%02[2]d:41Z"},"creationTimestamp":"2026-11-26T15:%02[2]d:40Z",
		"finalizers":["orkestra.orkspace.io/cleanup"],"generation":1,"labels":{"orkestra.orkspace.io/managed":"true"},"name":"applied-settled0-%[1]d",
		"namespace":"default","resourceVersion":"%[3]d","uid":"08f1e85e-c7f2-4e1a-8754-%012[1]d"},"spec":{"host":"applied-settled0-%[1]d"},"status":{
		"conditions":[{"lastTransitionTime":"2026-11-26T15:%02[2]d:41Z","message":"the last reconcile succeeded","observedGeneration":1,
		"reason":"ReconcileSucceeded","status":"True","type":"Ready"},{"lastTransitionTime":"2026-11-26T15:%02[2]d:41Z","message":"nothing is under way",
		"observedGeneration":1,"reason":"Settled","status":"False","type":"Reconciling"},{"lastTransitionTime":"2026-11-26T15:%02[2]d:41Z",
		"message":"nothing stands in the way","observedGeneration":1,"reason":"NotStalled","status":"False","type":"Stalled"}],"observedGeneration":1}}`, i, i%60, 1000+i))
}

// deployment is a child of about 4 KB.
func deployment(i int) *unstructured.Unstructured {
	obj := configMap(i)
	obj.Object["kind"], obj.Object["apiVersion"] = "Deployment", "apps/v1"
	delete(obj.Object, "data")
	container := `{"image":"registry.example.com/team/app:1.2.3","imagePullPolicy":"IfNotPresent","name":"c%d","ports":[{"containerPort":8080,"name":"http","protocol":"TCP"}],
		"resources":{"limits":{"cpu":"500m","memory":"128Mi"},"requests":{"cpu":"250m","memory":"64Mi"}},"env":[{"name":"A","value":"a"},{"name":"B","valueFrom":{"secretKeyRef":{"key":"k","name":"s"}}}],
		"livenessProbe":{"failureThreshold":3,"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"periodSeconds":10,"successThreshold":1,"timeoutSeconds":1},
		"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","volumeMounts":[{"mountPath":"/etc/config","name":"config"}]}`
	obj.Object["spec"] = decoded(fmt.Sprintf(`{"progressDeadlineSeconds":600,"replicas":2,"revisionHistoryLimit":10,"selector":{"matchLabels":{"app":"a%[1]d"}},
		"strategy":{"rollingUpdate":{"maxSurge":"25%%","maxUnavailable":"25%%"},"type":"RollingUpdate"},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"a%[1]d"}},
		"spec":{"containers":[`+container+","+container+","+container+`],"dnsPolicy":"ClusterFirst","restartPolicy":"Always","schedulerName":"default-scheduler","securityContext":{},
		"terminationGracePeriodSeconds":30,"volumes":[{"configMap":{"defaultMode":420,"name":"a%[1]d"},"name":"config"}]}}}`, i, 1, 2, 3)).Object
	obj.Object["status"] = decoded(`{"availableReplicas":2,"conditions":[{"lastTransitionTime":"2026-11-26T15:35:41Z","lastUpdateTime":"2026-11-26T15:35:41Z","message":"Deployment has minimum availability.","reason":"MinimumReplicasAvailable","status":"True","type":"Available"},{"lastTransitionTime":"2026-11-26T15:35:41Z","lastUpdateTime":"2026-11-26T15:35:41Z","message":"ReplicaSet has successfully progressed.","reason":"NewReplicaSetAvailable","status":"True","type":"Progressing"}],"observedGeneration":1,"readyReplicas":2,"replicas":2,"updatedReplicas":2}`).Object
	return obj
}

func decoded(text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	fields, err := unmarshal(text)
	if err != nil {
		panic(err)
	}
	obj.Object = fields
	return obj
}

func unmarshal(text string) (fields map[string]any, err error) {
	return fields, utiljson.Unmarshal([]byte(text), &fields)
}

func BenchmarkPacked(b *testing.B) {
	for name, made := range map[string]func(int) *unstructured.Unstructured{"ConfigMap": configMap, "resource": parent, "Deployment": deployment} {
		words := packed.NewWords()
		all := make([]*packed.Object, 200)
		text := 0
		before := heap()
		for i := range all {
			obj := made(i)
			all[i] = words.Pack(obj)
		}
		taken := heap() - before
		for _, o := range all {
			raw, err := json.Marshal(o.Unpack().Object)
			if err != nil {
				b.Fatal(err)
			}
			text += len(raw)
		}
		raw, err := json.Marshal(made(1).Object)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name+"/pack", func(b *testing.B) {
			obj := made(1)
			for b.Loop() {
				words.Pack(obj)
			}
			b.ReportMetric(float64(taken)/float64(text), "heap/JSON")
			b.ReportMetric(float64(text)/200, "JSON-bytes")
			b.ReportAllocs()
		})
		b.Run(name+"/unpack", func(b *testing.B) {
			o := packed.Decoded(all[199])
			for b.Loop() {
				o()
			}
			b.ReportAllocs()
		})
		b.Run(name+"/version", func(b *testing.B) {
			for b.Loop() {
				all[199].Version()
			}
			b.ReportAllocs()
		})
		b.Run(name+"/json", func(b *testing.B) {
			for b.Loop() {
				_, _ = unmarshal(string(raw))
			}
			b.ReportAllocs()
		})
	}
}

// BenchmarkPackedHead is what a cycle that finds nothing to do looks at of a child.
func BenchmarkPackedHead(b *testing.B) {
	o := packed.NewWords().Pack(configMap(1))
	b.ReportAllocs()
	for b.Loop() {
		if _, version, _ := o.Head(); version == "" || !o.ManagedBy("orkestra") {
			b.Fatal("it is not read")
		}
	}
}
