package render

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/cmd/orkestra/input"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// state is what --with says that a cluster has besides what is rendered.
type state struct {
	objects []*unstructured.Unstructured
	answers map[string]*external.Answer
	webhook map[string]any // the body of its answer; nil: none is given
	// provided are the outputs of what providers make, by the ids of declarations.
	provided map[string]any
}

// readState reads the documents of --with. Those with answers are checked: see asked.
func readState(docs []input.Document, mapper meta.RESTMapper) (*state, error) {
	s := &state{answers: map[string]*external.Answer{}, provided: map[string]any{}}
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
			s.objects = append(s.objects, asStored(&unstructured.Unstructured{Object: doc.Content}, mapper))
		}
	}
	return s, nil
}

// asStored gives an object as a cluster would have it: in a namespace, and with what stringData becomes.
func asStored(obj *unstructured.Unstructured, mapper meta.RESTMapper) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	if namespaced, err := isNamespaced(mapper, obj.GroupVersionKind()); err == nil && namespaced && obj.GetNamespace() == "" {
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

func (s *state) addAnswers(answers map[string]any) error {
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

// Call implements pipeline.Caller with the answers that were given.
func (s *state) Call(_ context.Context, request *external.Request) (*external.Answer, error) {
	answer := s.answers[request.Name]
	switch {
	case answer == nil:
		return nil, &external.Error{Refused: true, Text: fmt.Sprintf("nothing is called here: give the answer by --with, as external: {%s: {status: 200, body: {}}}", request.Name)}
	case len(request.Expected) > 0 && !slices.Contains(request.Expected, answer.Status):
		return nil, &external.Error{Refused: true, Status: answer.Status, Text: fmt.Sprintf("answered %d, wanted %v", answer.Status, request.Expected)}
	default:
		return answer, nil
	}
}

// get gives an object; nil where there is none.
func (s *state) get(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	for _, obj := range s.objects {
		if obj.GroupVersionKind() == kind && obj.GetNamespace() == namespace && obj.GetName() == name {
			return obj
		}
	}
	return nil
}

// list gives the objects of a namespace, or of all, that the labels select, by namespace and name.
func (s *state) list(kind schema.GroupVersionKind, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for _, obj := range s.objects {
		if obj.GroupVersionKind() == kind && (namespace == "" || obj.GetNamespace() == namespace) && selector.Matches(labels.Set(obj.GetLabels())) {
			out = append(out, obj)
		}
	}
	slices.SortStableFunc(out, byName)
	return out
}

// errNotCalled is why nothing is known of what a webhook makes.
var errNotCalled = errors.New("the webhook is not called here, so that what it makes is not known: give its answer by --with, as webhook: {children: []}")

// Answer implements pipeline.StandIn with the answer that was given. What every answer repeats of its request is filled in.
func (s *state) Answer(request []byte) (any, error) {
	if s.webhook == nil {
		return nil, errNotCalled
	}
	var asked struct {
		APIVersion string `json:"apiVersion"`
		UID        string `json:"uid"`
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	if asked.APIVersion != protocol.Version {
		return s.webhook, nil // the hooks of Metacontroller repeat nothing
	}
	answer := maps.Clone(s.webhook)
	for name, text := range map[string]string{"apiVersion": protocol.Version, "kind": protocol.KindResponse} {
		if answer[name] == nil {
			answer[name] = text
		}
	}
	answer["uid"] = asked.UID // one that was recorded is about the resource as a cluster had it
	return answer, nil
}
