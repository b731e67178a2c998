// Package decoding reads what the API server sends of objects of any kind. The results are those of client-go's dynamic client, which goes through the
// text of an event of a watch a dozen times, to find where it ends, of what kind it is and what is in it; this package does so five times. To take in
// such events is a large part of what a process does (docs/performance.md, "Its processor time").
//
// Custom kinds that are called Status, APIGroup, APIGroupList, APIResourceList or APIVersions are decoded as what they are: the dynamic client takes
// them for the types of Kubernetes' own protocol, in whichever group they are.
package decoding

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// NewDynamic gives a dynamic client whose watches decode as this package does. The error is one of the configuration.
func NewDynamic(config *rest.Config) (dynamic.Interface, error) {
	c := dynamic.ConfigFor(config)
	c.NegotiatedSerializer = serializer{c.NegotiatedSerializer}
	c.GroupVersion, c.APIPath = nil, "/" // the dynamic client gives whole paths
	httpClient, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("making an HTTP client: %w", err)
	}
	requests, err := rest.UnversionedRESTClientForConfigAndClient(c, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a REST client: %w", err)
	}
	return dynamic.New(requests), nil
}

// Object decodes one object, which has a kind.
func Object(text []byte) (*unstructured.Unstructured, error) {
	obj := &unstructured.Unstructured{}
	err := utiljson.Unmarshal(text, &obj.Object)
	if err == nil && obj.GetKind() == "" {
		err = errors.New("it has no kind")
	}
	if err != nil {
		return nil, fmt.Errorf("decoding the API server's answer: %w", err)
	}
	return obj, nil
}

// serializer is that of the dynamic client, with other decoders of JSON.
type serializer struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (s serializer) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := slices.Clone(s.NegotiatedSerializer.SupportedMediaTypes())
	for i, info := range infos {
		if info.MediaType != runtime.ContentTypeJSON || info.StreamSerializer == nil {
			continue
		}
		stream := *info.StreamSerializer
		stream.Serializer = events{stream.Serializer}
		infos[i].Serializer, infos[i].StreamSerializer = objects{info.Serializer}, &stream
	}
	return infos
}

// objects decodes objects. What is decoded into something given, what is no object of a cluster, and what is broken, is left to the other serializer.
type objects struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (o objects) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	if into != nil {
		return o.Serializer.Decode(text, defaults, into)
	}
	obj, err := Object(text)
	if err != nil {
		return o.Serializer.Decode(text, defaults, nil)
	}
	kind := obj.GroupVersionKind()
	if kind.Version == "" || kind.GroupKind() == (schema.GroupKind{Kind: "Status"}) { // the error that a watch ends with has a type of its own
		return o.Serializer.Decode(text, defaults, nil)
	}
	return obj, &kind, nil
}

// events decodes the events of a watch, and leaves the object in each to objects.
type events struct{ runtime.Serializer }

// Decode implements runtime.Decoder.
func (e events) Decode(text []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	event, ok := into.(*metav1.WatchEvent)
	if !ok {
		return e.Serializer.Decode(text, defaults, into)
	}
	kind, object, ok := split(text)
	if !ok {
		return e.Serializer.Decode(text, defaults, into)
	}
	event.Type, event.Object.Raw = kind, object // of a buffer that is used again, when the object has been decoded
	return event, &schema.GroupVersionKind{Version: "v1", Kind: "WatchEvent"}, nil
}

// split finds the type and the object in the text of an event, as API servers encode it: the two, in this order, without a space. false: it is not
// encoded so, or there is more in it. The reader of the stream has seen that it is JSON.
func split(text []byte) (kind string, object []byte, ok bool) {
	rest, ok := bytes.CutPrefix(text, []byte(`{"type":"`))
	if !ok {
		return "", nil, false
	}
	name, rest, _ := bytes.Cut(rest, []byte(`"`))
	if rest, ok = bytes.CutPrefix(rest, []byte(`,"object":{`)); !ok || bytes.IndexByte(name, '\\') >= 0 {
		return "", nil, false
	}
	object = text[len(text)-len(rest)-1:]
	end := closing(object)
	return string(name), object[:end], string(bytes.TrimSpace(object[end:])) == "}"
}

// closing gives where the object ends that a text begins with: behind its last brace.
func closing(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}
