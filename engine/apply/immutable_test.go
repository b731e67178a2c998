package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// shown is a cache that shows one child.
type shown struct {
	heard

	live *unstructured.Unstructured
}

func (c *shown) Get(schema.GroupVersionKind, string, string) (*unstructured.Unstructured, bool) {
	return c.live, true
}

// What the API server says of a change, and of making the same object anew.
const (
	validationRefuses = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,
		"message":"Widget \"web\" is invalid: spec.mode: Invalid value: \"b\": mode stays",
		"details":{"name":"web","group":"","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"Invalid value: \"b\": field is immutable","field":"spec.mode"}]}}`
	webhookRefuses = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,
		"message":"admission webhook \"a.b\" denied the request: Widget \"web\" is invalid: spec.mode: field is immutable",
		"details":{"name":"web","group":"","kind":"Widget","causes":[{"reason":"FieldValueInvalid","message":"field is immutable","field":"spec.mode"}]}}`
	otherKindRefused = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,
		"message":"Gadget.example.com \"web\" is invalid: spec.mode: field is immutable",
		"details":{"name":"web","group":"example.com","kind":"Gadget","causes":[{"reason":"FieldValueInvalid","message":"field is immutable","field":"spec.mode"}]}}`
	nameTaken   = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"AlreadyExists","code":409,"message":"widgets.example.com \"web\" already exists"}`
	quotaIsFull = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"widgets.example.com \"web\" is forbidden: exceeded quota: all"}`
)

func TestWhatCannotBeChangedInPlace(t *testing.T) {
	stays := drift.FieldPath{"spec", "address"}
	for name, tc := range map[string]struct {
		child          Child
		changed, fresh string // what the API server says of the change, and of making it anew
		made           string // what the living child was made of; default: mode a
		dry            bool
		requests       []string
		action         Action
		refused, kept  string // words of the error, and of why it is kept
		fields         []drift.Difference
	}{
		"is named": {
			changed: validationRefuses, fresh: nameTaken, requests: []string{"PATCH", "POST dry"},
			fields: []drift.Difference{{Path: "spec.mode", Live: "a", Wanted: "b"}},
		},
		"is made again": {
			child: Child{Replace: true}, changed: validationRefuses, fresh: nameTaken,
			requests: []string{"PATCH", "POST dry", "DELETE Background u1 7"}, action: Replaced,
		},
		"is asked for alone in a dry run": {
			child: Child{Replace: true}, changed: validationRefuses, fresh: nameTaken, dry: true,
			requests: []string{"PATCH dry", "POST dry", "DELETE Background u1 7 dry"}, action: None,
		},
		"is not what a webhook refuses with the same words": {
			child: Child{Replace: true}, changed: webhookRefuses, requests: []string{"PATCH"}, refused: "admission webhook",
		},
		"is not what is said of another object": {
			child: Child{Replace: true}, changed: otherKindRefused, requests: []string{"PATCH"}, refused: "Gadget",
		},
		"is not what would be refused of a new object as well": {
			child: Child{Replace: true}, changed: validationRefuses, fresh: validationRefuses,
			requests: []string{"PATCH", "POST dry"}, refused: "mode stays",
		},
		"stays where it could not be made again": {
			child: Child{Replace: true}, changed: validationRefuses, fresh: quotaIsFull,
			requests: []string{"PATCH", "POST dry"}, refused: "mode stays",
		},
		"stays where it was made with just that": {
			child: Child{Replace: true}, changed: validationRefuses, fresh: nameTaken, made: "b",
			requests: []string{"PATCH", "POST dry"}, kept: "something changes it when it is made",
			fields: []drift.Difference{{Path: "spec.mode", Live: "a", Wanted: "b"}},
		},
		"may be left over": {
			child:  Child{Leftovers: []Leftover{{Path: stays, Value: "None", Wanted: "an address"}}},
			fields: []drift.Difference{{Path: "spec.address", Live: "None", Wanted: drift.InWords("an address")}},
		},
		"is made again where it is left over": {
			child: Child{Replace: true, Leftovers: []Leftover{{Path: stays, Value: "None"}}}, fresh: nameTaken,
			requests: []string{"POST dry", "DELETE Background u1 7"}, action: Replaced,
		},
		"stays where it is left over and could not be made again": {
			child: Child{Replace: true, Leftovers: []Leftover{{Path: stays, Value: "None", Wanted: "x"}}}, fresh: quotaIsFull,
			requests: []string{"POST dry"}, kept: "it could not be made again: widgets.example.com \"web\" is forbidden: exceeded quota",
			fields: []drift.Difference{{Path: "spec.address", Live: "None", Wanted: drift.InWords("x")}},
		},
		"is not what is to be left alone": {
			child:   Child{Initial: []drift.FieldPath{stays}, Leftovers: []Leftover{{Path: stays, Value: "None"}}},
			changed: webhookRefuses, requests: []string{"PATCH"}, refused: "admission webhook",
		},
		"is not another value": {
			child:   Child{Leftovers: []Leftover{{Path: stays, Value: "Other"}}},
			changed: webhookRefuses, requests: []string{"PATCH"}, refused: "admission webhook",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var requests []string
			client := answering(t, func(w http.ResponseWriter, r *http.Request) {
				text, answer := r.Method, map[string]string{http.MethodPatch: tc.changed, http.MethodPost: tc.fresh, http.MethodDelete: `{"kind":"Status","apiVersion":"v1","status":"Success"}`}[r.Method]
				var options metav1.DeleteOptions
				if body, _ := io.ReadAll(r.Body); r.Method == http.MethodDelete && json.Unmarshal(body, &options) == nil {
					text += fmt.Sprintf(" %s %s %s", *options.PropagationPolicy, *options.Preconditions.UID, *options.Preconditions.ResourceVersion)
				}
				if r.URL.Query().Get("dryRun") != "" || options.DryRun != nil {
					text += " dry"
				}
				requests = append(requests, text)
				var status metav1.Status
				_ = json.Unmarshal([]byte(answer), &status)
				w.Header().Set("Content-Type", "application/json")
				if status.Code != 0 {
					w.WriteHeader(int(status.Code))
				}
				_, _ = io.WriteString(w, answer)
			})
			owner := Owner{Resource: &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Owner", "metadata": map[string]any{"uid": "o1", "name": "web"}}}, Box: "box", Label: "web"}
			widget := func(mode string) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": widgets.GroupVersion().String(), "kind": widgets.Kind,
					"metadata": map[string]any{"namespace": "ns", "name": "web"}, "spec": map[string]any{"mode": mode},
				}}
			}
			child := tc.child
			child.ID, child.Object = "widget", widget("b")
			made := child
			made.Object = widget("a")
			if tc.made != "" {
				made.Object = widget(tc.made)
			}
			live := owner.Claimed(made)
			live.Object["spec"] = map[string]any{"mode": "a", "address": "None"}
			live.SetUID("u1")
			live.SetResourceVersion("7")
			live.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: v1alpha1.FieldManager}})
			if text, err := initialText(child.Initial, nil); err == nil && child.Initial != nil {
				annotations := live.GetAnnotations()
				annotations[v1alpha1.AnnotationInitial] = text
				live.SetAnnotations(annotations)
			}
			writer := NewWriter(client, &shown{live: live}, drift.NewComparer(nil))
			apply := writer.Apply
			if tc.dry {
				apply = writer.DryRun().Apply
			}

			out, err := apply(t.Context(), owner, child)
			g.Expect(requests).To(Equal(tc.requests))
			if tc.action != "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(out).To(Equal(Outcome{Action: tc.action, Object: live}))
				return
			}
			var fixed *ImmutableError
			if tc.fields == nil {
				g.Expect(errors.As(err, &fixed)).To(BeFalse(), "%v", err)
				g.Expect(err).To(MatchError(ContainSubstring(tc.refused)))
				return
			}
			g.Expect(errors.As(err, &fixed)).To(BeTrue(), "%v", err)
			g.Expect(fixed.Fields).To(Equal(tc.fields))
			if tc.kept == "" {
				g.Expect(fixed.Kept).NotTo(HaveOccurred())
				return
			}
			g.Expect(fixed.Kept).To(MatchError(ContainSubstring(tc.kept)))
		})
	}
}

func TestWhichFieldsARefusalIsAbout(t *testing.T) {
	for name, tc := range map[string]struct {
		kind, declared, live string
		causes               []string
		want                 []string
	}{
		"the one that it names":           {"apps/v1 Deployment", `{spec: {replicas: 2, selector: {matchLabels: {a: "2"}}}}`, `{spec: {replicas: 1, selector: {matchLabels: {a: "1"}}}}`, []string{"spec.selector"}, []string{"spec.selector.matchLabels.a"}},
		"what a selector has no more":     {"apps/v1 Deployment", `{spec: {selector: {matchLabels: {a: "1"}}}}`, `{spec: {selector: {matchLabels: {a: "1", b: "1"}}}}`, []string{"spec.selector"}, []string{"spec.selector.matchLabels.b"}},
		"not what could be changed":       {"apps/v1 StatefulSet", `{spec: {replicas: 2, serviceName: b}}`, `{spec: {replicas: 1, serviceName: a}}`, []string{"spec"}, []string{"spec.serviceName"}},
		"a claim that shrinks":            {"v1 PersistentVolumeClaim", `{spec: {resources: {requests: {storage: 1Gi}}}}`, `{spec: {resources: {requests: {storage: 2Gi}}}}`, []string{"spec.resources.requests.storage"}, []string{"spec.resources.requests.storage"}},
		"a Service's address":             {"v1 Service", `{spec: {clusterIP: None}}`, `{spec: {clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1]}}`, []string{"spec.clusterIPs[0]"}, []string{"spec.clusterIP"}},
		"what is declared no more":        {"apps/v1 StatefulSet", `{spec: {}}`, `{spec: {serviceName: a}}`, []string{"spec", "spec"}, []string{"spec"}},
		"a name that begins with another": {"v1 Service", `{spec: {type: A, typeOf: b}}`, `{spec: {type: B, typeOf: a}}`, []string{"spec.type"}, []string{"spec.type"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var version, kind string
			_, err := fmt.Sscan(tc.kind, &version, &kind)
			g.Expect(err).NotTo(HaveOccurred())
			object := func(text string) *unstructured.Unstructured {
				obj := &unstructured.Unstructured{}
				g.Expect(yaml.Unmarshal([]byte(text), &obj.Object)).To(Succeed())
				obj.SetAPIVersion(version)
				obj.SetKind(kind)
				return obj
			}
			refusal := invalid(tc.causes)
			got := fixedFields(drift.NewComparer(nil), object(tc.declared), object(tc.live), refusal)
			g.Expect(drift.Paths(got)).To(Equal(tc.want))
		})
	}
}

func TestARefusalShowsValuesAsTheyAreWritten(t *testing.T) {
	g := NewWithT(t)
	object := func(size any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": map[string]any{
			"resources": map[string]any{"requests": map[string]any{"storage": size}},
		}}}
	}
	got := fixedFields(drift.NewComparer(nil), object("2048Mi"), object("1Gi"), invalid([]string{"spec"}))
	g.Expect(got).To(HaveExactElements(And(HaveField("Path", "spec.resources.requests.storage"), HaveField("Live", "1Gi"), HaveField("Wanted", "2048Mi"))))
}

func TestWhatBecomesOfWhatAReplacedChildOwns(t *testing.T) {
	object := func(kind, selector, labels string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": kind, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": selector}},
			"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": labels, "tier": "x"}}},
		}}}
	}
	for name, tc := range map[string]struct {
		kind, selector string
		want           metav1.DeletionPropagation
	}{
		"a StatefulSet's pods stay":                            {"StatefulSet", "web", metav1.DeletePropagationOrphan},
		"those that the new one would not know go with theirs": {"StatefulSet", "other", metav1.DeletePropagationBackground},
		"a Deployment's go":                                    {"Deployment", "web", metav1.DeletePropagationBackground},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(propagationFor(object(tc.kind, tc.selector, tc.selector), object(tc.kind, "web", "web"))).To(Equal(tc.want))
		})
	}
}

func invalid(fields []string) error {
	var causes field.ErrorList
	for _, f := range fields {
		causes = append(causes, field.Invalid(field.NewPath(f), "x", "no"))
	}
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Any"}, "web", causes)
}
