package rendering

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/external"
)

// State is what a cluster has besides what is rendered, as far as it is given.
type State struct {
	objects []*unstructured.Unstructured
	byKey   map[objectKey]*unstructured.Unstructured // the first of each
	answers map[string]*external.Answer
	webhook map[string]any // the body of its answer; nil: none is given
	// provided are the outputs of what providers make, by the ids of declarations.
	provided map[string]any
}

// ReadState reads documents: objects, and answers, which are checked before (see CheckAnswers).
func (r *Rendering) ReadState(docs []input.Document) (*State, error) {
	s := &State{answers: map[string]*external.Answer{}, provided: map[string]any{}}
	for _, doc := range docs {
		answers, _ := doc.Content[ofCalls].(map[string]any)
		answer, answered := doc.Content[ofWebhook].(map[string]any)
		provided, _ := doc.Content[ofProviders].(map[string]any)
		keys := doc.Keys()
		switch {
		case len(doc.Content) == 0:
		case len(keys) > 0:
			return nil, fmt.Errorf("%s:%d: %s: %s", doc.File, keys[0].Line, keys[0].Path, keys[0].Message)
		case holdsAnswers(doc):
			if answered {
				s.webhook = answer
			}
			maps.Copy(s.provided, provided)
			if err := s.addAnswers(answers); err != nil {
				return nil, fmt.Errorf("%s: %w", doc.File, err)
			}
		case doc.Kind() == "" || doc.APIVersion() == "" || doc.Name() == "":
			return nil, fmt.Errorf("%s: wanted objects with apiVersion, kind and metadata.name, or a document with nothing but `external`, `webhook` and `providers`", doc.File)
		default:
			s.Add(asStored(&unstructured.Unstructured{Object: doc.Content}, r.Mapper))
		}
	}
	return s, nil
}

// asStored gives an object as a cluster would have it: in a namespace, and with what stringData becomes.
func asStored(obj *unstructured.Unstructured, mapper meta.RESTMapper) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	if namespaced, err := isNamespaced(mapper, obj.GroupVersionKind(), ""); err == nil && namespaced && obj.GetNamespace() == "" {
		obj.SetNamespace(metav1.NamespaceDefault)
	}
	written, ok := obj.Object["stringData"].(map[string]any)
	if !ok || obj.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") {
		return obj
	}
	data, _ := obj.Object["data"].(map[string]any)
	data = maps.Clone(data)
	if data == nil {
		data = map[string]any{}
	}
	for k, v := range written {
		if s, ok := v.(string); ok {
			data[k] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	delete(obj.Object, "stringData")
	obj.Object["data"] = data
	return obj
}

func (s *State) addAnswers(answers map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		given, ok := answers[name].(map[string]any)
		if !ok {
			return fmt.Errorf("external.%s: wanted an object with status, body and headers", name)
		}
		for _, key := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains([]string{"status", "body", "headers"}, key) {
				return fmt.Errorf("external.%s.%s: unknown; wanted status, body and headers, with what the service says in body", name, key)
			}
		}
		answer := &external.Answer{Status: okStatus, Headers: map[string]any{}, Body: given["body"]}
		if status, found := given["status"]; found {
			n, isNumber := status.(int64)
			if !isNumber {
				return fmt.Errorf("external.%s.status: wanted a number", name)
			}
			answer.Status = int(n)
		}
		if headers, found := given["headers"]; found {
			if answer.Headers, ok = headers.(map[string]any); !ok {
				return fmt.Errorf("external.%s.headers: wanted an object", name)
			}
		}
		s.answers[name] = answer
	}
	return nil
}

// okStatus is the status of an answer that names none.
const okStatus = 200

// get gives an object; nil where there is none.
func (s *State) get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	return s.byKey[objectKey{kind: kind, namespace: namespace, name: name}]
}

// list gives the objects of a namespace, or of all, that the labels select, by namespace and name.
func (s *State) list(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range s.objects {
		if obj.GroupVersionKind() == kind && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	slices.SortStableFunc(out, byName)
	return out
}

// Add has a cluster have an object.
func (s *State) Add(obj *unstructured.Unstructured) {
	s.objects = append(s.objects, obj)
	if s.byKey == nil {
		s.byKey = map[objectKey]*unstructured.Unstructured{}
	}
	if key := keyOf(obj); s.byKey[key] == nil {
		s.byKey[key] = obj
	}
}
