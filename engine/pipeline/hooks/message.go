package hooks

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/hook/protocol"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// message is what a webhook is sent, and how its answer is read.
type message struct {
	body []byte
	// read reads an answer.
	read func(body any) (answered, error)
}

// answered is an answer that was read.
type answered struct {
	say func(*hook.Cycle) error
	// statusStays says that it says nothing of the status.
	statusStays bool
}

// sentValue is what a Secret holds, which the box lists.
type sentValue struct{ namespace, name, key, value string }

// read reads the Secrets that are sent. Those that were read are given, also where another one can't be.
func (w *webhook) read(ctx context.Context, k *call, data expr.Data) ([]sentValue, error) {
	var out []sentValue
	for _, s := range w.secrets {
		name, err := stage.Text(ctx, s.What+".name", s.Name, data)
		if err != nil {
			return out, err //nolint:wrapcheck // it says which name
		}
		values, err := s.Read(ctx, k.Cycle.Cycle, name, s.key)
		if err != nil {
			return out, err //nolint:wrapcheck // it says which Secret
		}
		namespace := s.Namespace
		if namespace == "" {
			namespace = k.Home()
		}
		out = append(out, sentValue{namespace, name, s.key, values[0]})
	}
	return out, nil
}

// message makes what is sent.
func (w *webhook) message(k *call, secrets []sentValue) (*message, error) {
	if w.protocol == v1alpha1.ProtocolMetacontroller {
		return w.composite(k, secrets)
	}
	uid := string(k.Stored.GetUID())
	q := &protocol.Request{
		APIVersion: protocol.Version, Kind: protocol.KindRequest, UID: uid, Phase: string(k.phase),
		Box: protocol.Box{Name: k.Plan.Box, Revision: k.Plan.Revision}, Resource: bare(k.resource()), Args: k.args,
		Children: protocol.Objects{}, Cross: k.Outside.Cross, External: k.Outside.External,
	}
	for _, gvk := range k.declared.Kinds {
		q.Children.Put(keyOf(gvk), "", nil)
	}
	for id, child := range k.made().Children() {
		q.Children.Put(keyOf(child.GroupVersionKind()), id, bare(kinds.View(child)))
	}
	for _, s := range secrets {
		if q.Secrets == nil {
			q.Secrets = map[string]map[string]string{}
		}
		if q.Secrets[s.name] == nil {
			q.Secrets[s.name] = map[string]string{}
		}
		q.Secrets[s.name][s.key] = s.value
	}
	return encode(q, func(body any) (answered, error) {
		answer, err := protocol.Read(body, uid)
		if err != nil {
			return answered{}, err //nolint:wrapcheck // it is put into words by who asked
		}
		if k.phase == hook.Reconcile && answer.Children == nil && answer.Wait == nil {
			return answered{}, errors.New("the answer has no children, for want of which all would be deleted: say children: [] where there are to be none")
		}
		return answered{say: answer.Say}, nil
	})
}

// composite makes what the hooks of a CompositeController are sent.
func (w *webhook) composite(k *call, secrets []sentValue) (*message, error) {
	home := k.Home()
	q := &protocol.CompositeRequest{
		Controller: w.controller(k), Parent: bare(k.resource()), Children: protocol.Objects{}, Related: protocol.Objects{}, Finalizing: k.phase == hook.Delete,
	}
	for _, gvk := range k.declared.Kinds {
		q.Children.Put(keyOf(gvk), "", nil)
	}
	for _, child := range k.objects() {
		q.Children.Add(bare(kinds.View(child)), home)
	}
	related(q.Related, k.Outside.Cross, home)
	addSecrets(q.Related, secrets, home)
	uid := string(k.Stored.GetUID())
	return encode(q, func(body any) (answered, error) {
		answer, err := protocol.ReadComposite(body, uid)
		if err != nil {
			return answered{}, err //nolint:wrapcheck // it is put into words by who asked
		}
		if err := answer.Check(q); err != nil {
			return answered{}, err //nolint:wrapcheck // it is put into words by who asked
		}
		say := func(c *hook.Cycle) error { return answer.Say(c, q, w.ownFields) }
		return answered{say: say, statusStays: answer.Status == nil}, nil
	})
}

// controller is the CompositeController that the box stands for.
func (w *webhook) controller(k *call) protocol.CompositeController {
	crd := k.Plan.CRD
	c := protocol.CompositeController{
		APIVersion: "metacontroller.k8s.io/v1alpha1", Kind: "CompositeController",
		Metadata: map[string]any{"name": k.Plan.Box, "uid": string(k.Plan.UID), "generation": k.Plan.Generation},
		Spec: protocol.CompositeSpec{
			ParentResource:      protocol.ResourceRule{APIVersion: crd.Kind.GroupVersion().String(), Resource: crd.Resource.Resource},
			ChildResources:      []protocol.ResourceRule{},
			ResyncPeriodSeconds: int64(w.resyncAfter / time.Second),
		},
	}
	for i, gvk := range k.declared.Kinds {
		c.Spec.ChildResources = append(c.Spec.ChildResources, protocol.ResourceRule{APIVersion: gvk.GroupVersion().String(), Resource: w.plurals[i]})
	}
	return c
}

// related adds the objects that cross gave.
func related(into protocol.Objects, v any, home string) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			related(into, one, home)
		}
	case map[string]any:
		if u := (&unstructured.Unstructured{Object: v}); u.GetAPIVersion() != "" && u.GetKind() != "" && u.GetName() != "" {
			into.Add(bare(v), home)
			return
		}
		for _, one := range v {
			related(into, one, home)
		}
	}
}

// addSecrets adds the Secrets that the box lists, with the keys that it lists.
func addSecrets(into protocol.Objects, secrets []sentValue, home string) {
	byName := map[[2]string]map[string]any{}
	for _, s := range secrets {
		at := [2]string{s.namespace, s.name}
		if byName[at] == nil {
			byName[at] = map[string]any{}
		}
		byName[at][s.key] = base64.StdEncoding.EncodeToString([]byte(s.value))
	}
	for at, data := range byName {
		into.Add(map[string]any{
			"apiVersion": corev1.SchemeGroupVersion.String(), "kind": "Secret", "metadata": map[string]any{"namespace": at[0], "name": at[1]}, "data": data,
		}, home)
	}
}

// bare gives an object without what changes with each write, and without the marks of Orkestra: where nothing has changed that a webhook reads, it
// is the same.
func bare(obj map[string]any) map[string]any {
	out := runtime.DeepCopyJSON(obj)
	for _, name := range []string{"managedFields", "resourceVersion"} {
		unstructured.RemoveNestedField(out, "metadata", name)
	}
	u := &unstructured.Unstructured{Object: out}
	u.SetAnnotations(unmarked(u.GetAnnotations()))
	u.SetLabels(unmarked(u.GetLabels()))
	return out
}

// unmarked gives labels or annotations that are not Orkestra's; nil where there are none.
func unmarked(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(key, _ string) bool {
		return strings.HasPrefix(key, v1alpha1.GroupName+"/") || key == corev1.LastAppliedConfigAnnotation
	})
	if len(all) == 0 {
		return nil
	}
	return all
}

func keyOf(gvk schema.GroupVersionKind) string {
	return protocol.KindKey(gvk.GroupVersion().String(), gvk.Kind)
}

func encode(q any, read func(any) (answered, error)) (*message, error) {
	body, err := json.Marshal(q)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return &message{body: body, read: read}, nil
}
