package packed_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/packed"
)

// managedBy says of a decoded object whether a manager is among those of its fields.
func managedBy(obj map[string]any, manager string) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	for _, e := range entries {
		if entry, _ := e.(map[string]any); entry["manager"] == manager {
			return true
		}
	}
	return false
}

// sameHead says what is read otherwise of a packed object than of the whole one; empty: nothing.
func sameHead(words *packed.Words, content map[string]any, managers ...string) string {
	obj := &unstructured.Unstructured{Object: content}
	o := words.Pack(deepCopy(content))
	uid, version, namespace := o.Head()
	if uid != obj.GetUID() || version != obj.GetResourceVersion() || namespace != obj.GetNamespace() {
		return fmt.Sprintf("Head gives %q %q %q, the object has %q %q %q", uid, version, namespace, obj.GetUID(), obj.GetResourceVersion(), obj.GetNamespace())
	}
	for _, m := range managers {
		if is := managedBy(content, m); o.ManagedBy(m) != is {
			return fmt.Sprintf("ManagedBy(%q) gives %t, the object says %t", m, !is, is)
		}
	}
	return ""
}

// hostile are objects whose authors had this package in mind.
var hostile = []string{
	`{}`, `{"metadata":null}`, `{"metadata":[]}`, `{"metadata":"metadata"}`, `{"metadata":{}}`, `{"metadata":{"managedFields":null}}`,
	`{"metadata":{"managedFields":"orkestra"}}`, `{"metadata":{"managedFields":{"manager":"orkestra"}}}`, `{"metadata":{"managedFields":["orkestra",null,[{"manager":"orkestra"}]]}}`,
	`{"metadata":{"managedFields":[{}]}}`, `{"metadata":{"managedFields":[{"manager":null},{"manager":5},{"manager":["orkestra"]},{"manager":{"manager":"orkestra"}}]}}`,
	`{"metadata":{"managedFields":[{"manager":"a","fieldsV1":{"f:manager":{"manager":"orkestra"}}},{"operation":"orkestra","manager":"b"},{"manager":"orkestra"}]}}`,
	`{"metadata":{"managedFields":[{"fieldsV1":{"f:a\"manager\":\"orkestra":{}},"manager":"orkestr"}]}}`,
	`{"metadata":{"labels":{"managedFields":"orkestra","manager":"orkestra","uid":"l","resourceVersion":"l","namespace":"l"},"uid":"u"}}`,
	`{"metadata":{"annotations":{"a":"\"managedFields\":[{\"manager\":\"orkestra\"}]","uid":"x"},"namespace":"n","resourceVersion":"7","uid":"u"}}`,
	`{"metadata":{"uid":"a","uid":"b","managedFields":[{"manager":"orkestra"}],"managedFields":[{"manager":"x","manager":"y"}]}}`,
	`{"metadata":{"\u0075id":"escaped","m\u0061nagedFields":[{"\u006danager":"orkestr\u0061"}],"namespace":"\ud83c\udf75","resourceVersion":"\u0000"}}`,
	`{"metadata":{"uid":5,"resourceVersion":7,"namespace":{"namespace":"n"}}}`, `{"metadata":{"uid":["u"],"resourceVersion":null,"namespace":true}}`,
	`{"Metadata":{"uid":"U"},"metadata":{"UID":"u","resourceversion":"1","uid":"metadata","namespace":"managedFields","resourceVersion":"uid"}}`,
	`{"a":{"metadata":{"uid":"inner","managedFields":[{"manager":"orkestra"}]}},"metadata":{"name":"uid"}}`,
	`{"metadata":{"managedFields":[{"manager":""}],"uid":"","namespace":"","resourceVersion":""}}`,
}

// What is read of a packed object without unpacking it is what the whole object says, whatever its author has made of it.
func FuzzHead(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, "orkestra")
	}
	f.Fuzz(func(t *testing.T, text, manager string) {
		content, err := unmarshal(text)
		if err != nil || content == nil {
			return
		}
		words := packed.NewWords()
		for range 10 { // its texts become words
			if wrong := sameHead(words, content, manager, "orkestra", "", "manager"); wrong != "" {
				t.Fatalf("%s: %s", text, wrong)
			}
		}
	})
}

func TestRandomHeads(t *testing.T) {
	for seed := range uint64(200) {
		random, words := rand.New(rand.NewPCG(seed, 3)), packed.NewWords()
		names := []string{"manager", "managedFields", "uid", "resourceVersion", "namespace", "labels", "orkestra", "kubectl", ""}
		name := func() string { return names[random.IntN(len(names))] }
		for range 40 {
			content := randomObject(random, 3)
			metadata := content["metadata"].(map[string]any)
			for range random.IntN(3) {
				metadata[name()] = randomValue(random, 2)
			}
			if random.IntN(4) > 0 {
				entries := []any{}
				for range random.IntN(4) {
					entry := randomMap(random, 2)
					for range random.IntN(4) {
						entry[name()] = name()
					}
					if entries = append(entries, entry); random.IntN(5) == 0 {
						entries = append(entries, randomValue(random, 2))
					}
				}
				metadata["managedFields"] = entries
			}
			NewWithT(t).Expect(sameHead(words, content, names...)).To(BeEmpty(), "seed %d: %v", seed, content)
		}
	}
}
