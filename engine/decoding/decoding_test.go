package decoding

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	restwatch "k8s.io/client-go/rest/watch"
)

const config = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"b","uid":"c","resourceVersion":"12"},"data":{"text":"quotes \" and \\ and } and ]","n":"ü"}}`

// events of a watch, as API servers send them and as none does.
func texts() map[string]string {
	event := func(kind, object string) string { return fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object) }
	return map[string]string{
		"added": event("ADDED", config), "modified": event("MODIFIED", config), "deleted": event("DELETED", config),
		"bookmark":           event("BOOKMARK", `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"13","creationTimestamp":null}}`),
		"error":              event("ERROR", `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old","reason":"Expired","code":410}`),
		"numbers":            event("ADDED", `{"apiVersion":"a.b/v1","kind":"N","spec":{"i":9223372036854775807,"f":1.5,"e":1e3,"nil":null,"no":[{},[],""]}}`),
		"large numbers":      event("ADDED", `{"apiVersion":"a.b/v1","kind":"N","spec":{"i":9223372036854775808,"f":0.1}}`),
		"a number beyond":    event("ADDED", `{"apiVersion":"a.b/v1","kind":"N","spec":{"i":1e400}}`),
		"items":              event("ADDED", `{"apiVersion":"a.b/v1","kind":"NList","items":[`+config+`]}`),
		"items of no list":   event("ADDED", `{"apiVersion":"a.b/v1","kind":"N","items":"none"}`),
		"spaces":             `{ "type": "ADDED", "object": ` + config + ` }`,
		"a line's end":       event("ADDED", config) + "\n",
		"the other order":    `{"object":` + config + `,"type":"ADDED"}`,
		"more behind":        `{"type":"ADDED","object":` + config + `,"other":{"a":"}"}}`,
		"twice":              `{"type":"ADDED","object":` + config + `,"object":{"apiVersion":"v1","kind":"Secret"}}`,
		"an escaped type":    `{"type":"ADD\u0045D","object":` + config + `}`,
		"a quote in a type":  `{"type":"ADDED\"","object":` + config + `}`,
		"an unknown type":    event("SEEN", config),
		"no type":            `{"object":` + config + `}`,
		"no object":          `{"type":"ADDED"}`,
		"null":               event("ADDED", `null`),
		"a text":             event("ADDED", `"text"`),
		"a list":             event("ADDED", `[`+config+`]`),
		"no kind":            event("ADDED", `{"apiVersion":"v1","metadata":{}}`),
		"a kind of a number": event("ADDED", `{"apiVersion":"v1","kind":5}`),
		"no version":         event("ADDED", `{"kind":"ConfigMap"}`),
		"a broken version":   event("ADDED", `{"apiVersion":"a/b/c","kind":"ConfigMap"}`),
		"metadata of a text": event("ADDED", `{"apiVersion":"v1","kind":"ConfigMap","metadata":"none"}`),
		"empty":              `{}`,
		"cut":                event("ADDED", config)[:100],
		"nothing":            ``,
	}
}

// stream decodes what a watch sends, as client-go does with a serializer: events until an error.
func stream(s runtime.NegotiatedSerializer, text string) (all []string) {
	info, _ := runtime.SerializerInfoForMediaType(s.SupportedMediaTypes(), runtime.ContentTypeJSON)
	frames := info.StreamSerializer.NewFrameReader(io.NopCloser(strings.NewReader(text)))
	decoder := restwatch.NewDecoder(streaming.NewDecoder(frames, info.StreamSerializer.Serializer), s.DecoderToVersion(info.Serializer, nil))
	var objects []runtime.Object
	for {
		kind, obj, err := decoder.Decode()
		if err != nil {
			for i, obj := range objects { // now that what comes later was read, too
				all[i] += fmt.Sprintf(" %T %#v", obj, obj)
			}
			return append(all, "error: "+err.Error())
		}
		all, objects = append(all, string(kind)), append(objects, obj)
	}
}

// both gives the serializer of the dynamic client, and ours.
func both() (theirs, ours runtime.NegotiatedSerializer) {
	theirs = dynamic.ConfigFor(&rest.Config{}).NegotiatedSerializer
	return theirs, serializer{theirs}
}

func TestAWatchIsDecodedAsTheDynamicClientDoes(t *testing.T) {
	theirs, ours := both()
	for name, text := range texts() {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(stream(ours, text+config)).To(Equal(stream(theirs, text+config)))
		})
	}
}

// TestWhatWasDecodedStays: the text of an event is in a buffer that the next one is read into.
func TestWhatWasDecodedStays(t *testing.T) {
	g := NewWithT(t)
	_, ours := both()
	first, second := texts()["added"], texts()["numbers"]
	all := stream(ours, first+"\n"+second+"\n"+first)
	g.Expect(all).To(HaveLen(4))
	g.Expect(all[0]).To(Equal(all[2]))
	g.Expect(all[3]).To(Equal("error: " + io.EOF.Error()))
}

// TestABrokenWatchIsDecodedAsTheDynamicClientDoes takes pieces out of texts, doubles and exchanges them.
func TestABrokenWatchIsDecodedAsTheDynamicClientDoes(t *testing.T) {
	g := NewWithT(t)
	theirs, ours := both()
	var all []string
	for _, name := range []string{"added", "error", "numbers", "more behind", "items", "an escaped type"} {
		all = append(all, texts()[name])
	}
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 1))
		text, other := all[random.IntN(len(all))], all[random.IntN(len(all))]
		from := random.IntN(len(text))
		to := min(len(text), from+random.IntN(12))
		at := random.IntN(len(other))
		text = text[:from] + other[at:min(len(other), at+random.IntN(12))] + text[to:]
		g.Expect(stream(ours, text)).To(Equal(stream(theirs, text)), "seed %d: %s", seed, text)
	}
}

// TestOneObjectIsDecodedAsTheDynamicClientDoes is about answers to requests, for which a client may know a version, or what an error is.
func TestOneObjectIsDecodedAsTheDynamicClientDoes(t *testing.T) {
	g := NewWithT(t)
	theirs, ours := both()
	for name, text := range texts() {
		var event struct {
			Object json.RawMessage `json:"object"`
		}
		_ = json.Unmarshal([]byte(text), &event) // some are broken, and stay so
		text = string(event.Object)
		for _, defaults := range []*schema.GroupVersionKind{nil, {Version: "v1"}, {Version: "v1", Kind: "Status"}} {
			decoded := func(s runtime.NegotiatedSerializer) string {
				info, _ := runtime.SerializerInfoForMediaType(s.SupportedMediaTypes(), runtime.ContentTypeJSON)
				obj, kind, err := info.Serializer.Decode([]byte(text), defaults, nil)
				return fmt.Sprintf("%#v %v %v", obj, kind, err)
			}
			g.Expect(decoded(ours)).To(Equal(decoded(theirs)), "%s, %v", name, defaults)
		}
	}
}

// TestCustomKindsAreNoProtocol: they may have any name.
func TestCustomKindsAreNoProtocol(t *testing.T) {
	g := NewWithT(t)
	_, ours := both()
	for _, kind := range []string{"Status", "APIGroup", "APIVersions"} {
		all := stream(ours, fmt.Sprintf(`{"type":"ADDED","object":{"apiVersion":"a.b/v1","kind":%q,"spec":{"a":"b"}}}`, kind))
		g.Expect(all[0]).To(HavePrefix("ADDED *unstructured.Unstructured"))
		g.Expect(all[0]).To(ContainSubstring(`"a":"b"`))
	}
}

// TestWhatIsGivenIsFilled is about answers that are decoded into something, such as lists.
func TestWhatIsGivenIsFilled(t *testing.T) {
	g := NewWithT(t)
	_, ours := both()
	info, _ := runtime.SerializerInfoForMediaType(ours.SupportedMediaTypes(), runtime.ContentTypeJSON)
	list := &unstructured.UnstructuredList{}
	_, _, err := info.Serializer.Decode([]byte(`{"apiVersion":"v1","kind":"ConfigMapList","items":[`+config+`]}`), nil, list)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(list.Items).To(HaveLen(1))
	_, kind, err := info.Serializer.Decode([]byte(`{"kind":"ConfigMap"}`), &schema.GroupVersionKind{Version: "v1"}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kind.Version).To(Equal("v1"))
}

// TestWhatAPIServersSendIsSplit: what is not takes the long way, and nobody would see that.
func TestWhatAPIServersSendIsSplit(t *testing.T) {
	g := NewWithT(t)
	_, ours := both()
	info, _ := runtime.SerializerInfoForMediaType(ours.SupportedMediaTypes(), runtime.ContentTypeJSON)
	g.Expect(info.Serializer).To(BeAssignableToTypeOf(objects{}))
	g.Expect(info.StreamSerializer.Serializer).To(BeAssignableToTypeOf(events{}))
	for name, wanted := range map[string]bool{
		"added": true, "modified": true, "deleted": true, "bookmark": true, "error": true, "numbers": true, "items": true, "a line's end": true, "no kind": true,
		"spaces": false, "the other order": false, "more behind": false, "twice": false, "an escaped type": false, "a quote in a type": false, "no type": false,
		"no object": false, "null": false, "a list": false, "empty": false, "nothing": false, "cut": false,
	} {
		text := texts()[name]
		kind, object, ok := split([]byte(text))
		g.Expect(ok).To(Equal(wanted), name)
		if ok {
			g.Expect(fmt.Sprintf(`{"type":%q,"object":%s}`, kind, object)).To(Equal(strings.TrimSpace(text)), name)
		}
	}
}

func TestAnObjectHasAKind(t *testing.T) {
	g := NewWithT(t)
	obj, err := Object([]byte(config))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.GetName()).To(Equal("a"))
	_, err = Object([]byte(`{"metadata":{}}`))
	g.Expect(err).To(MatchError("decoding the API server's answer: it has no kind"))
	_, err = Object([]byte(`{"kind":`))
	g.Expect(err).To(MatchError("decoding the API server's answer: unexpected end of JSON input"))
}
