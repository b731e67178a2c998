package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/managedfields/managedfieldstest"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply/taken"
	"github.com/orkspace/orkestra/engine/drift"
)

const (
	byUs    = "orkestra-0123456789abcdef"
	byOther = "orkestra-fedcba9876543210"
)

// keeper is an API server of one object, which tracks managed fields as the real one does: by its own code.
type keeper struct {
	t      *testing.T
	fields *managedfields.FieldManager
	live   *unstructured.Unstructured // nil: there is none
	sent   []string
	before func(request string) // called before each write
	clock  int64
	fills  map[string]any                  // what the API server puts in where nothing is
	judge  func(obj map[string]any) string // says why the API server refuses an object; nil: it never does
}

// once has something happen before the first write whose words end so.
func (k *keeper) once(request string, then func()) {
	k.before = func(sent string) {
		if strings.HasSuffix(sent, request) {
			k.before = func(string) {}
			then()
		}
	}
}

func keeps(t *testing.T, gvk schema.GroupVersionKind, content string) (*keeper, Patcher) {
	t.Helper()
	k := &keeper{t: t, fields: managedfieldstest.NewFakeFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), gvk), before: func(string) {}}
	k.live = &unstructured.Unstructured{Object: map[string]any{}}
	k.live.SetGroupVersionKind(gvk)
	k.live.SetResourceVersion("1")
	k.live.SetNamespace("a")
	k.live.SetName("x")
	k.merged("maker", content) // one without a UID is tracked from the beginning
	k.live.SetUID("u")
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(gvk, meta.RESTScopeNamespace)
	client, err := NewClient(&rest.Config{Host: server.URL, QPS: -1}, server.Client(), mapper)
	if err != nil {
		t.Fatal(err)
	}
	return k, Patcher{client: client, comparer: drift.NewComparer(nil)}
}

func parsed(t *testing.T, text string) map[string]any {
	t.Helper()
	var out map[string]any
	if err := yaml.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func overlay(obj, with map[string]any) {
	for k, v := range with {
		if m, ok := v.(map[string]any); ok {
			below, isMap := obj[k].(map[string]any)
			if !isMap {
				below = map[string]any{}
			}
			if overlay(below, m); isMap || len(below) > 0 {
				obj[k] = below
			}
			continue
		}
		if v == nil {
			delete(obj, k)
			continue
		}
		obj[k] = v
	}
}

// update is a write of another manager without server-side apply.
func (k *keeper) update(manager string, change func(obj map[string]any)) {
	k.t.Helper()
	next := k.live.DeepCopy()
	change(next.Object)
	answer, err := k.fields.Update(k.live.DeepCopy(), next, manager)
	if err != nil {
		k.t.Fatal(err)
	}
	k.stored(answer)
}

// merged is an update by a merge patch.
func (k *keeper) merged(manager, patch string) {
	k.t.Helper()
	k.update(manager, func(obj map[string]any) { overlay(obj, parsed(k.t, patch)) })
}

// applied is a server-side apply of another manager; false where it is refused.
func (k *keeper) applied(manager, content string, force bool) bool {
	k.t.Helper()
	obj := nothing(k.live)
	overlay(obj.Object, parsed(k.t, content))
	answer, err := k.fields.Apply(k.live.DeepCopy(), obj, manager, force)
	if apierrors.IsConflict(err) {
		return false
	}
	if err != nil {
		k.t.Fatal(err)
	}
	version := k.live.GetResourceVersion()
	if k.stored(answer); version == k.live.GetResourceVersion() {
		return true
	}
	entries := k.live.GetManagedFields()
	for i := range entries {
		if entries[i].Manager == manager && entries[i].Operation == metav1.ManagedFieldsOperationApply {
			k.clock++ // the writes of a test are within a second, by which they could not be told apart
			entries[i].Time = new(metav1.Unix(k.clock, 0))
		}
	}
	k.live.SetManagedFields(entries)
	return true
}

func (k *keeper) stored(answer runtime.Object) {
	next, _ := answer.(*unstructured.Unstructured)
	data, _ := next.Object["data"].(map[string]any) // null where a merge patch has taken the last of it
	for name, value := range k.fills {
		if data == nil {
			data = map[string]any{}
			next.Object["data"] = data
		}
		if data[name] == nil {
			data[name] = value
		}
	}
	version, _ := strconv.Atoi(k.live.GetResourceVersion()) // it is ours
	next.SetUID(k.live.GetUID())
	next.SetResourceVersion(k.live.GetResourceVersion())
	if !equality.Semantic.DeepEqual(k.live.Object, next.Object) {
		next.SetResourceVersion(strconv.Itoa(version + 1))
	}
	k.live = next
}

// ServeHTTP serves the requests of a Patcher.
func (k *keeper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	request := r.Method
	if r.Method == http.MethodPatch {
		request = r.Header.Get("Content-Type")[len("application/"):]
		if query.Get("dryRun") != "" {
			request += " dry"
		}
		if query.Get("force") == "true" {
			request += " force"
		}
	}
	k.sent = append(k.sent, request)
	k.before(request)
	w.Header().Set("Content-Type", "application/json")
	answer, err := k.answer(r, query.Get("fieldManager"), query.Get("force") == "true", query.Get("dryRun") != "")
	if err != nil {
		status := apierrors.NewInternalError(err).Status()
		if known := apierrors.APIStatus(nil); errors.As(err, &known) {
			status = known.Status()
		}
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		w.WriteHeader(int(status.Code))
		reply(w, status)
		return
	}
	reply(w, answer)
}

// reply writes an answer. Where that fails, the client notices.
func reply(w http.ResponseWriter, answer any) {
	text, err := json.Marshal(answer)
	if err == nil {
		_, err = w.Write(text)
	}
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

func (k *keeper) answer(r *http.Request, manager string, force, dry bool) (*unstructured.Unstructured, error) {
	resource := schema.GroupResource{Resource: "things"}
	if k.live == nil {
		return nil, apierrors.NewNotFound(resource, "x")
	}
	if r.Method == http.MethodGet {
		return k.live, nil
	}
	body, _ := io.ReadAll(r.Body) // an empty one fails below
	held := k.live
	var answer runtime.Object
	var err error
	if r.Header.Get("Content-Type") == string(types.ApplyPatchType) {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(body, &obj.Object); err != nil {
			return nil, err
		}
		if version := obj.GetResourceVersion(); obj.GetUID() != held.GetUID() || version != "" && version != held.GetResourceVersion() {
			return nil, apierrors.NewConflict(resource, "x", fmt.Errorf("the object has been modified"))
		}
		unstructured.RemoveNestedField(obj.Object, "metadata", "uid")
		unstructured.RemoveNestedField(obj.Object, "metadata", "resourceVersion")
		answer, err = k.fields.Apply(held.DeepCopy(), obj, manager, force)
	} else {
		var steps []struct {
			Path  string          `json:"path"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal(body, &steps); err != nil {
			return nil, err
		}
		var entries []metav1.ManagedFieldsEntry
		var version string
		if err := json.Unmarshal(steps[0].Value, &entries); err != nil {
			return nil, err
		}
		if err := json.Unmarshal(steps[2].Value, &version); err != nil || version != held.GetResourceVersion() {
			return nil, apierrors.NewConflict(resource, "x", fmt.Errorf("the object has been modified"))
		}
		if len(entries) == 0 { // which the API server takes for an update that says nothing of them
			entries = held.GetManagedFields()
		}
		next := held.DeepCopy()
		next.SetManagedFields(entries)
		answer, err = k.fields.Update(held.DeepCopy(), next, manager)
	}
	if err != nil {
		return nil, err
	}
	k.stored(answer)
	if out := k.live; k.judge != nil && k.judge(out.Object) != "" {
		k.live = held
		return nil, apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "x", field.ErrorList{field.Required(field.NewPath("spec"), k.judge(out.Object))})
	}
	out := k.live
	if dry {
		k.live = held
	}
	return out, nil
}

// owners gives who manages a field, each with the operation.
func (k *keeper) owners(path string) []string {
	var out []string
	for _, e := range k.live.GetManagedFields() {
		if e.FieldsV1 != nil && slices.Contains(pathsIn(e.FieldsV1), path) {
			out = append(out, e.Manager+" "+string(e.Operation)+e.Subresource)
		}
	}
	slices.Sort(out)
	return out
}

// texts gives the entries of a map; one that is empty and none at all are the same.
func (k *keeper) texts(path ...string) map[string]string {
	texts, _, _ := unstructured.NestedStringMap(k.live.Object, path...) // the API server has made sure of the types
	if texts == nil {
		texts = map[string]string{}
	}
	return texts
}

// forcing is one patch of a test, with what is noted of it.
type forcing struct {
	k     *keeper
	p     Patcher
	patch Patch
	notes int
	full  error // what Keep answers
}

func forced(k *keeper, p Patcher, manager, content string, force bool) *forcing {
	f := &forcing{k: k, p: p, patch: Patch{Manager: manager, Force: force}}
	f.says(content)
	f.patch.Keep = func(_ context.Context, fields *taken.Fields) error {
		if f.full != nil {
			return f.full
		}
		text, err := json.Marshal(fields) // as the mark has it
		if err != nil {
			return err
		}
		f.patch.Taken = nil
		f.notes++
		return json.Unmarshal(text, &f.patch.Taken)
	}
	return f
}

func (f *forcing) says(content string) {
	f.patch.Object = nothing(f.k.live)
	f.patch.Object.SetUID("")
	overlay(f.patch.Object.Object, parsed(f.k.t, content))
}

func (f *forcing) set(g Gomega) { g.ExpectWithOffset(1, f.try()).To(Succeed()) }

func (f *forcing) try() error {
	_, err := f.p.Patch(f.k.t.Context(), f.patch, f.k.live)
	return err
}

func (f *forcing) undo(g Gomega) Withdrawn {
	out, err := f.p.Withdraw(f.k.t.Context(), f.patch.Manager, f.patch.Object, f.patch.Taken)
	g.ExpectWithOffset(1, err).NotTo(HaveOccurred())
	f.patch.Taken = nil
	return out
}

var (
	configMaps  = corev1.SchemeGroupVersion.WithKind("ConfigMap")
	deployments = appsv1.SchemeGroupVersion.WithKind("Deployment")
)

const workload = `
spec:
  replicas: 3
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      containers:
      - {name: main, image: one, command: [run, "9007199254740993"]}
      - {name: side, image: two, ports: [{containerPort: 80, protocol: TCP}]}
`

func TestAForcedPatchTakesAndGivesBack(t *testing.T) {
	const image = "spec.template.spec.containers[name=main].image"
	for name, tc := range map[string]struct {
		made, patch string
		others      func(k *keeper)     // before it is taken
		meanwhile   func(k *keeper)     // while it is
		owners      map[string][]string // afterwards
		differs     func(k *keeper)     // what the object is to be, beside as it was
	}{
		"a number, of who updates":      {patch: `{spec: {replicas: 9}}`, owners: map[string][]string{"spec.replicas": {"maker Update"}}},
		"an entry of a list by its key": {patch: `{spec: {template: {spec: {containers: [{name: main, image: x, command: [go]}]}}}}`, owners: map[string][]string{image: {"maker Update"}}},
		"an entry by several keys":      {patch: `{spec: {template: {spec: {containers: [{name: side, ports: [{containerPort: 80, protocol: TCP, name: web}]}]}}}}`},
		"beside what is new":            {patch: `{metadata: {labels: {new: l}}, spec: {replicas: 9, template: {spec: {containers: [{name: third, image: x}]}}}}`},
		"of who applies": {
			patch: `{spec: {replicas: 9, minReadySeconds: 7}}`, others: func(k *keeper) { k.applied("applier", `{spec: {replicas: 4}}`, true) },
			owners: map[string][]string{"spec.replicas": {"applier Apply"}},
		},
		"of several": {
			patch: `{spec: {replicas: 9, template: {spec: {containers: [{name: main, image: x}]}}}}`,
			others: func(k *keeper) {
				k.applied("applier", `{spec: {replicas: 3}}`, false)
				k.merged("editor", `{spec: {minReadySeconds: 5}}`)
			},
			owners: map[string][]string{"spec.replicas": {"applier Apply", "maker Update"}, image: {"maker Update"}},
		},
		"not what the former manager sets again": {
			patch: `{spec: {replicas: 9}}`, meanwhile: func(k *keeper) { k.merged("maker", `{spec: {replicas: 8}}`) },
			owners: map[string][]string{"spec.replicas": {"maker Update"}}, differs: func(k *keeper) { k.merged("maker", `{spec: {replicas: 8}}`) },
		},
		"not what somebody else has taken": {
			patch: `{spec: {replicas: 9}}`, meanwhile: func(k *keeper) { k.applied("third", `{spec: {replicas: 8}}`, true) },
			owners: map[string][]string{"spec.replicas": {"third Apply"}}, differs: func(k *keeper) { k.applied("third", `{spec: {replicas: 8}}`, true) },
		},
		"not what somebody else wants, too": {
			patch: `{spec: {replicas: 9}}`, meanwhile: func(k *keeper) { k.applied("third", `{spec: {replicas: 9}}`, false) },
			owners: map[string][]string{"spec.replicas": {"third Apply"}}, differs: func(k *keeper) { k.applied("third", `{spec: {replicas: 9}}`, true) },
		},
		"of an object that nobody is known to manage": {
			patch: `{spec: {replicas: 9}}`, others: func(k *keeper) { k.live.SetManagedFields(nil) },
			owners: map[string][]string{"spec.replicas": {"before-first-apply Update"}},
		},
		"not what was removed": {
			patch: `{spec: {replicas: 9}}`, meanwhile: func(k *keeper) { k.merged("third", `{spec: {replicas: null}}`) },
			differs: func(k *keeper) { k.merged("third", `{spec: {replicas: null}}`) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			k, p := keeps(t, deployments, workload)
			twin, _ := keeps(t, deployments, workload)
			for _, one := range []*keeper{k, twin} {
				if tc.others != nil {
					tc.others(one)
				}
			}
			f := forced(k, p, byUs, tc.patch, true)
			f.set(g)
			k.sent = nil
			f.set(g)
			g.Expect(k.sent).To(BeEmpty(), "a patch that stands sends nothing")
			if tc.meanwhile != nil {
				tc.meanwhile(k)
			}
			if tc.differs != nil {
				tc.differs(twin)
			}
			g.Expect(f.undo(g)).To(BeZero())
			g.Expect(k.live.Object["spec"]).To(Equal(twin.live.Object["spec"]))
			g.Expect(k.live.GetLabels()).To(Equal(twin.live.GetLabels()))
			for path, owners := range tc.owners {
				g.Expect(k.owners(path)).To(Equal(owners), path)
			}
			for _, e := range k.live.GetManagedFields() {
				g.Expect(e.Manager).NotTo(Equal(byUs))
			}
		})
	}
}

// A history of two managers and two patches ends as it would have without the patches; but where the API server would put a default, the value of a patch
// may stay while nobody manages the field. What leaves no trace in the object can't count: an update that
// changes nothing, because the patch has set just that; and an apply that is refused. So the applier of these histories forces, and nobody but the
// applier writes what a patch has set.
func TestAPatchUndoneLeavesTheObjectAsItWouldBeWithoutIt(t *testing.T) {
	for run := range uint64(80) {
		seed, defaults := run/2, run%2 > 0
		t.Run(fmt.Sprint(seed, defaults), func(t *testing.T) {
			g := NewWithT(t)
			random := rand.New(rand.NewPCG(seed, 1))
			k, p := keeps(t, configMaps, `{data: {a: x, b: x}}`)
			twin, _ := keeps(t, configMaps, `{data: {a: x, b: x}}`)
			intent, story := map[string]string{}, ""
			keys := []string{"a", "b", "c", "d"}
			if defaults {
				k.fills, twin.fills = map[string]any{"c": "default"}, map[string]any{"c": "default"}
			}
			for round := range 6 {
				first := forced(k, p, byUs, `{metadata: {labels: {b: p}}, data: {b: p, c: p}}`, random.IntN(4) > 0)
				second := forced(k, p, byOther, `{data: {b: p, c: q}}`, random.IntN(2) > 0)
				patches := []*forcing{first, second}
				if random.IntN(2) > 0 {
					slices.Reverse(patches)
				}
				story += fmt.Sprintf("\n%d: %v %v", round, first.patch.Force, second.patch.Force)
				set := func() {
					for _, f := range patches {
						if err := f.try(); err != nil {
							g.Expect(err).To(BeAssignableToTypeOf(fmt.Errorf("%w", err)))
							g.Expect(err).To(MatchError(ContainSubstring("manages")))
						}
					}
				}
				for range 1 + random.IntN(5) {
					set()
					key, value := keys[random.IntN(len(keys))], []string{"null", "x", "z"}[random.IntN(3)]
					if random.IntN(3) > 0 {
						story += fmt.Sprintf(" %s=%s", key, value)
						for _, one := range []*keeper{k, twin} {
							one.merged("editor", fmt.Sprintf(`{data: {%[1]s: %[2]s}, metadata: {labels: {%[1]s: %[2]s}}}`, key, value))
						}
						continue
					}
					if delete(intent, key); value != "null" {
						intent[key] = []string{value, "p"}[random.IntN(2)]
					}
					story += fmt.Sprintf(" apply %v", intent)
					content, _ := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{"rev": story}}, "data": intent})
					for _, one := range []*keeper{k, twin} {
						g.Expect(one.applied("applier", string(content), true)).To(BeTrue())
					}
				}
				set()
				for _, f := range patches {
					out := f.undo(g)
					g.Expect(out.Left).To(Or(BeEmpty(), And(Equal([]string{"data.c"}), HaveEach(Not(BeEmpty())))), story)
					g.Expect(k.fills).To(Or(HaveLen(1), HaveLen(len(out.Left))), story)
				}
				is, was := k.texts("data"), twin.texts("data")
				if was["c"] == "default" {
					g.Expect(is["c"]).To(BeElementOf("p", "q", "default"), story)
					is["c"] = "default"
				}
				g.Expect(is).To(Equal(was), story)
				g.Expect(k.texts("metadata", "labels")).To(Equal(twin.texts("metadata", "labels")), story)
				for _, key := range keys {
					g.Expect(k.owners("data."+key)).To(Equal(twin.owners("data."+key)), story+" "+key)
				}
			}
		})
	}
}

// What can't be kept is not taken.
func TestAPatchTakesNothingThatItCantGiveBack(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {a: x, b: w}}`)
	f := forced(k, p, byUs, `{data: {a: p}}`, true)
	f.full = fmt.Errorf("no room")
	g.Expect(f.try()).To(MatchError(ContainSubstring("no room")))
	g.Expect(k.live.Object["data"]).To(HaveKeyWithValue("a", "x"))
	f.full = nil

	k.once("apply-patch+yaml force", func() { k.merged("editor", `{data: {a: z}}`) })
	g.Expect(apierrors.IsConflict(f.try())).To(BeTrue(), "somebody has written between the reading and the taking")
	g.Expect(k.live.Object["data"]).To(HaveKeyWithValue("a", "z"))
	f.set(g)
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "z", "b": "w"}))
	g.Expect(k.owners("data.a")).To(Equal([]string{"editor Update"}))

	former := k.live.DeepCopy()
	former.SetUID("former")
	f.patch.Taken = &taken.Fields{UID: former.GetUID()}
	_, err := f.p.Patch(t.Context(), f.patch, former)
	g.Expect(err).To(MatchError(ContainSubstring("it was deleted, and made again")))
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "z", "b": "w"}))

	secret, p := keeps(t, corev1.SchemeGroupVersion.WithKind("Secret"), `{data: {a: eA==}}`)
	s := forced(secret, p, byUs, `{data: {a: eQ==}}`, true)
	g.Expect(s.try()).To(MatchError(ContainSubstring("can't take fields of Secrets")))
	g.Expect(s.notes).To(BeZero())
}

func TestAPatchTakesNothingOfOrkestra(t *testing.T) {
	g := NewWithT(t)
	child, p := keeps(t, configMaps, `{data: {b: w}}`)
	g.Expect(child.applied(v1alpha1.FieldManager, `{data: {a: x}}`, true)).To(BeTrue())
	of := forced(child, p, byUs, `{data: {a: p}}`, true)
	g.Expect(of.try()).To(MatchError(ContainSubstring("manages data.a")), "it would be given back in the name of the manager, as a child is made")
	g.Expect(of.notes).To(BeZero())
	g.Expect(child.live.Object["data"]).To(HaveKeyWithValue("a", "x"))

	k, p := keeps(t, configMaps, `{data: {a: x}}`)
	first, second := forced(k, p, byUs, `{data: {a: p}}`, true), forced(k, p, byOther, `{data: {a: q}}`, true)
	first.set(g)
	const end = "; take the field out of the patch, or have the other manager let go of it"
	g.Expect(second.try()).To(MatchError(HaveSuffix(`: "` + byUs + `", another patch, manages data.a` + end +
		`; no resource that this process serves makes the other patch: docs/how-to/patches.md#whose-a-patch-is says how to find it`)))
	names := map[string]string{byUs: "the patch of x"}
	second.patch.Named = func(manager string) string { return names[manager] }
	g.Expect(second.try()).To(MatchError(HaveSuffix(`: the patch of x manages data.a` + end)))
	g.Expect(second.notes).To(BeZero())

	second.says(`{data: {a: p}}`) // the same value is nobody's loss
	second.set(g)
	g.Expect(first.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "x"}), "without the first, the second would have found what its maker has")
	second.set(g)
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "p"}))
	g.Expect(second.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "x"}))
}

func TestAPatchGivesBackWhatItDoesNotSetAnyMore(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {a: x, b: w}}`)
	f := forced(k, p, byUs, `{data: {a: p, b: p}}`, true)
	f.set(g)
	f.says(`{data: {b: r, c: r}}`)
	f.set(g)
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "x", "b": "r", "c": "r"}))
	g.Expect(k.owners("data.a")).To(Equal([]string{"maker Update"}))
	g.Expect(f.patch.Taken.Fields).To(HaveLen(1))
	k.sent = nil
	f.set(g)
	g.Expect(k.sent).To(BeEmpty())

	f.patch.Taken.UID = "former" // of an object that is gone
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "x"}), "nothing is given to another object of the name")
}

// What was noted for a write that failed is noted once, however often it is tried: else the mark would grow until it is full.
func TestAPatchThatIsTriedAgainNotesAFieldOnce(t *testing.T) {
	for operation, take := range map[string]func(k *keeper){
		"Apply":  func(k *keeper) { k.applied("owner", `{data: {a: x}}`, true) },
		"Update": func(k *keeper) { k.merged("owner", `{data: {a: x}}`) },
	} {
		t.Run(operation, func(t *testing.T) {
			g := NewWithT(t)
			k, p := keeps(t, configMaps, `{data: {z: z}}`)
			take(k)
			f := forced(k, p, byUs, `{data: {a: p}}`, true)
			k.before = func(request string) {
				if request == "apply-patch+yaml force" {
					k.merged("busy", fmt.Sprintf(`{data: {o: "%d"}}`, len(k.sent)))
				}
			}
			for range 3 {
				g.Expect(apierrors.IsConflict(f.try())).To(BeTrue())
			}
			k.before = func(string) {}
			f.set(g)
			g.Expect(f.patch.Taken.Fields).To(HaveLen(1))
			g.Expect(f.undo(g)).To(BeZero())
			g.Expect(k.live.Object["data"]).To(HaveKeyWithValue("a", "x"))
			g.Expect(k.owners("data.a")).To(Equal([]string{"owner " + operation}))
		})
	}
}

func TestAFieldThatWasGivenUpGoesWithThePatch(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {z: z}}`)
	k.applied("applier", `{data: {a: x, b: x}}`, false)
	f := forced(k, p, byUs, `{data: {a: p}}`, true)
	f.set(g)
	g.Expect(k.applied("applier", `{data: {b: w}}`, false)).To(BeTrue())
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"b": "w", "z": "z"}))
}

// Whatever a withdrawal comes to in the middle, the next one ends it.
func TestAnUndoThatFailsInTheMiddleIsEndedByTheNext(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {a: x}}`)
	f := forced(k, p, byUs, `{data: {a: p, m: p}}`, true)
	f.set(g)
	k.once("json-patch+json", func() { k.merged("editor", `{data: {o: o}}`) })
	_, err := p.Withdraw(t.Context(), byUs, f.patch.Object, f.patch.Taken)
	g.Expect(apierrors.IsConflict(err)).To(BeTrue())
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "x", "o": "o"}))
	g.Expect(k.owners("data.a")).To(Equal([]string{"maker Update"}))
}

// What the API server would answer with a default can't be taken back: it stays, with no manager, and is named. The rest goes.
func TestAnUndoThatWouldPutInADefaultIsLeft(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {a: x}}`)
	f := forced(k, p, byUs, `{data: {a: p, m: p}}`, true)
	f.set(g)
	k.fills = map[string]any{"m": "default"}
	k.sent = nil
	g.Expect(f.undo(g)).To(Equal(Withdrawn{Left: []string{"data.m"}, Why: "otherwise the API server would put in values of its own; no field manager has them any more, so anybody may set or remove them"}))
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"a": "x", "m": "p"}))
	g.Expect(k.owners("data.a")).To(Equal([]string{"maker Update"}))
	g.Expect(k.owners("data.m")).To(BeEmpty())
	g.Expect(k.applied("other", `{data: {m: o}}`, false)).To(BeTrue(), "nobody stands in the way")
	g.Expect(f.undo(g)).To(BeZero())
	g.Expect(k.live.Object["data"]).To(HaveKeyWithValue("m", "o"))
}

// Somebody who sets a field while the patch is undone keeps it: that it is there is no default, and the rest goes.
func TestAFieldThatIsSetDuringTheUndoIsTheirs(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, configMaps, `{data: {z: z}}`)
	f := forced(k, p, byUs, `{data: {a: p, m: p}}`, false)
	f.set(g)
	k.once(" dry", func() { k.merged("editor", `{data: {m: theirs}}`) })
	out, err := p.Withdraw(t.Context(), byUs, f.patch.Object, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(out).To(BeZero())
	g.Expect(k.live.Object["data"]).To(Equal(map[string]any{"z": "z", "m": "theirs"}))
}

// An entry of a list that nobody but the patch names any more goes with the patch, and nothing of it is given back.
func TestAnEntryThatIsGivenUpGoesWithThePatch(t *testing.T) {
	g := NewWithT(t)
	k, p := keeps(t, deployments, `{spec: {template: {spec: {containers: [{name: main, image: one}]}}}}`)
	k.applied("applier", `{spec: {template: {spec: {containers: [{name: side, image: two}]}}}}`, false)
	k.merged("editor", `{spec: {minReadySeconds: 5}}`)
	k.update("editor", func(obj map[string]any) {
		containers, _, _ := unstructured.NestedSlice(obj, "spec", "template", "spec", "containers")
		for _, c := range containers {
			if fields, _ := c.(map[string]any); fields["name"] == "side" {
				fields["image"] = "edited"
			}
		}
		g.Expect(unstructured.SetNestedSlice(obj, containers, "spec", "template", "spec", "containers")).To(Succeed())
	})
	f := forced(k, p, byUs, `{spec: {template: {spec: {containers: [{name: side, image: p}]}}}}`, true)
	f.set(g)
	g.Expect(k.applied("applier", `{spec: {paused: true}}`, true)).To(BeTrue())
	g.Expect(f.undo(g)).To(BeZero())
	containers, _, _ := unstructured.NestedSlice(k.live.Object, "spec", "template", "spec", "containers")
	g.Expect(containers).To(HaveLen(1), "%v", containers)
}
