package derive

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apifield "k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/importer/draft"
	"github.com/orkspace/orkestra/controllers/input"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/check"
)

const (
	fieldMetadata    = "metadata"
	fieldLabels      = "labels"
	fieldAnnotations = "annotations"
	labelInstance    = "app.kubernetes.io/instance"
)

// read takes the manifests of one instance that the box can make.
func (t *translation) read(given Instance) *instance {
	in := &instance{}
	if len(given.Docs) > 0 {
		in.first = given.Docs[0]
	}
	c := &cleaning{t: t}
	seen := map[string]input.Document{}
	for _, doc := range given.Docs {
		o := t.object(doc, c)
		if o == nil {
			continue
		}
		key := strings.Join([]string{o.kind, o.namespace, o.name}, "\x00")
		if before, twice := seen[key]; twice {
			t.Say(doc, subject(doc), "metadata.name", fmt.Sprintf("left out: %s:%d is the same object", before.File, before.Line()), true)
			continue
		}
		seen[key] = doc
		in.objects = append(in.objects, o)
	}
	c.tell()
	if len(in.objects) == 0 {
		t.Say(in.first, "", "", "there is no object that the box could make", true)
		return in
	}
	t.identify(in, given)
	return in
}

// subject is how remarks speak of a document.
func subject(doc input.Document) string {
	if doc.Kind() == "" {
		return ""
	}
	return fmt.Sprintf("%s %q", doc.Kind(), doc.Name())
}

// object reads one manifest; nil: it is left out, and a remark says why.
func (t *translation) object(doc input.Document, c *cleaning) *object {
	if doc.Wrong != nil {
		return nil // it is told by whoever has read it
	}
	out := func(path, why string, wrong bool) *object {
		t.Say(doc, subject(doc), path, "left out: "+why, wrong)
		return nil
	}
	gv, err := schema.ParseGroupVersion(doc.APIVersion())
	switch {
	case doc.APIVersion() == "" || err != nil:
		return out("apiVersion", "wanted group/version, or v1: this is no object of Kubernetes", true)
	case doc.Kind() == "":
		return out("kind", "wanted a kind: this is no object of Kubernetes", true)
	}
	content := runtime.DeepCopyJSON(doc.Content)
	metadata, ok := content[fieldMetadata].(map[string]any)
	switch {
	case !ok || doc.Name() == "" && text(metadata["generateName"]) == "":
		return out("metadata.name", "wanted a name", true)
	case doc.Name() == "":
		return out("metadata.generateName", "a child has a name, so that it is found again", true)
	}
	obj := &unstructured.Unstructured{Object: content}
	if hook, is := obj.GetAnnotations()["helm.sh/hook"]; is {
		return out("metadata.annotations[helm.sh/hook]", fmt.Sprintf("Helm runs it as the hook %s, at a moment that a box does not have; for what is to run once before the rest there is onCreate", hook), false)
	}
	gvk := gv.WithKind(doc.Kind())
	if strings.Contains(doc.Name(), "{{") {
		return out("metadata.name", "the name of an object can't hold {{", true)
	}
	if errs := check.Name(gvk, doc.Name(), apifield.NewPath("metadata", "name")); len(errs) > 0 {
		return out("metadata.name", errs[0].Detail, true)
	}
	scope := check.Scope(gvk, nil)
	if gvk.Group == v1alpha1.GroupName {
		return out("kind", "a box does not make boxes", false)
	}
	if why := check.GrantsRights(obj, scope == meta.RESTScopeNameRoot, check.Leave{Flag: t.allowGranting}); why != "" {
		return out("kind", "apply it apart: "+why, false)
	}
	if scope == meta.RESTScopeNameRoot {
		return out("kind", "apply it apart: it has no namespace, and is there once, while each resource would make it", false)
	}
	if scope == "" {
		t.Say(doc, subject(doc), "kind", "the kind is not one of Kubernetes: it is taken for one with namespaces, and its CRD must be there", false)
	}
	o := &object{doc: doc, content: content, kind: gvk.String(), name: doc.Name(), namespace: text(metadata["namespace"]), custom: scope == ""}
	c.clean(o, metadata)
	return o
}

// cleaning takes off what is not the author's.
type cleaning struct {
	t     *translation
	helms []input.Document // that have labels by which Helm knows its own
}

// written are the fields of metadata that the API server, or a controller, writes.
var written = []string{"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "finalizers", "generateName", "generation", "managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid"}

func (c *cleaning) clean(o *object, metadata map[string]any) {
	say := func(path, message string) { c.t.Say(o.doc, subject(o.doc), path, message, false) }
	if metadata["uid"] != nil {
		say("metadata.uid", "it was read from a cluster: what the API server has filled in, such as clusterIP, is still in it")
	}
	for _, name := range written {
		delete(metadata, name)
	}
	if o.content["status"] != nil {
		delete(o.content, "status")
		say("status", "left out: it is what the cluster says")
	}
	drop(metadata, fieldAnnotations, func(key, _ string) bool {
		return key == "kubectl.kubernetes.io/last-applied-configuration" || key == "deployment.kubernetes.io/revision" || strings.HasPrefix(key, "meta.helm.sh/")
	})
	c.helm(o, metadata)
	if o.kind == "/v1, Kind=Secret" {
		c.secret(o)
	}
	var left nulls
	o.content, _ = left.without("", o.content).(map[string]any)
	if o.custom && len(left.fields) > 0 {
		say(left.fields[0], "null is left out, as if the field was not there: "+listed(left.fields))
	}
	if len(left.items) > 0 {
		say(left.items[0], "null is left out of the list: "+listed(left.items))
	}
}

// helm takes off the labels by which Helm knows its own, unless something selects by them.
func (c *cleaning) helm(o *object, metadata map[string]any) {
	selected, _, _ := unstructured.NestedMap(o.content, "spec", "selector", "matchLabels")
	owned := func(key, value string) bool {
		return selected[key] == nil && (key == "helm.sh/chart" || key == "app.kubernetes.io/managed-by" && value == "Helm")
	}
	// Orkestra writes some labels of its own into each child, whoever was there before.
	found := drop(metadata, fieldLabels, func(key, value string) bool { return owned(key, value) || slices.Contains(apply.OwnershipLabels, key) })
	for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTemplate", "spec", "template"}} {
		template, _, _ := unstructured.NestedFieldNoCopy(o.content, path...)
		if template, ok := template.(map[string]any); ok {
			if below, ok := template[fieldMetadata].(map[string]any); ok {
				found = drop(below, fieldLabels, owned) || found
			}
		}
	}
	if found {
		c.helms = append(c.helms, o.doc)
	}
}

// tell says of how many objects the labels of Helm were taken.
func (c *cleaning) tell() {
	if len(c.helms) > 0 {
		c.t.Say(c.helms[0], subject(c.helms[0]), "metadata.labels",
			fmt.Sprintf("helm.sh/chart and app.kubernetes.io/managed-by: left out, of this object and %d others: they say that something else has made it", len(c.helms)-1), false)
	}
}

// secret writes stringData as data, as the API server does.
func (c *cleaning) secret(o *object) {
	plain, ok := o.content["stringData"].(map[string]any)
	if !ok {
		return
	}
	data, _ := o.content["data"].(map[string]any)
	if data == nil {
		data = map[string]any{}
	}
	for key, value := range plain {
		if s, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(s))
		}
	}
	o.content["data"] = data
	delete(o.content, "stringData")
}

// drop removes entries of a map of texts, and the map where nothing is left in it.
func drop(of map[string]any, name string, which func(key, value string) bool) (found bool) {
	entries, _ := of[name].(map[string]any)
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		if which(key, text(entries[key])) {
			found = true
			delete(entries, key)
		}
	}
	if found && len(entries) == 0 {
		delete(of, name)
	}
	return found
}

// nulls are the paths of what was left out because it is null. The API server takes a field that is null for one that is not there, unless the schema of
// a custom kind says that it may be null. In a list, null is nothing that a manifest of a box could say.
type nulls struct{ fields, items []string }

// without gives a value without what is null.
func (n *nulls) without(at string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := draft.Below(at, key)
			if v[key] == nil {
				delete(v, key)
				n.fields = append(n.fields, below)
				continue
			}
			v[key] = n.without(below, v[key])
		}
		return v
	case []any:
		out := make([]any, 0, len(v))
		for i, item := range v {
			below := fmt.Sprintf("%s[%d]", at, i)
			if item == nil {
				n.items = append(n.items, below)
				continue
			}
			out = append(out, n.without(below, item))
		}
		return out
	default:
		return v
	}
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
