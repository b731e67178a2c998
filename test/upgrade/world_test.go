package upgrade

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/test/localcluster"
	"github.com/orkspace/orkestra/test/plane"
)

const root = "../.."

// world is a cluster without the CRDs of any release.
type world struct {
	*plane.Plane

	kube client.Client
}

func newWorld(t *testing.T) *world {
	t.Helper()
	log.SetLogger(logr.Discard())
	p := plane.Bare(t, localcluster.Options{})
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	kube, err := client.New(p.Cluster.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &world{Plane: p, kube: kube}
}

// definitions applies the CRDs of a release.
func (w *world) definitions(t *testing.T, of string) {
	t.Helper()
	w.Kubectl(t, "apply", "--server-side", "--force-conflicts", "-f", of+"/config/crd/bases", "-f", of+"/config/default/namespace.yaml")
	w.Established(t, "crd/operatorboxes.orkestra.orkspace.io", "crd/crdhealths.orkestra.orkspace.io")
}

// manager starts the manager of a release. It leads when the lease of one that was killed has run out.
func (w *world) manager(t *testing.T, binary string) *plane.Program {
	t.Helper()
	return plane.Start(t, binary, "manager", "--kubeconfig", w.Cluster.Kubeconfig(), "--metrics-bind-address", "0", "--health-probe-bind-address", "0",
		"--allow-granting-kinds", "--log-format", "text", "--shutdown-timeout", "10s")
}

// samples applies the samples of a release, with their resources.
func (w *world) samples(t *testing.T, of string) {
	t.Helper()
	folders, err := filepath.Glob(of + "/config/samples/*/kustomization.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, file := range folders {
		folder := filepath.Dir(file)
		w.Kubectl(t, "apply", "--server-side", "-k", folder)
		plane.Eventually(t, "the resource of "+folder+" is taken", func() error {
			_, err := w.Cluster.Kubectl(t.Context(), "apply", "--server-side", "-f", folder+"/resource.yaml")
			return err
		})
	}
}

// look is what a cluster has of boxes.
type look struct {
	// specs are those of boxes and of their resources, and children the versions of their children; by kind, namespace and name.
	specs    map[string]any
	children map[string]string
}

// settled waits until no child changes any more, and gives what there is.
func (w *world) settled(t *testing.T) (now look) {
	t.Helper()
	plane.Eventually(t, "all has settled", func() error {
		before := now
		var err error
		if now, err = w.look(t.Context()); err != nil {
			return err
		}
		if len(now.children) == 0 || !reflect.DeepEqual(before, now) {
			return fmt.Errorf("something still changes: %d children", len(now.children))
		}
		return nil
	})
	return now
}

func (w *world) look(ctx context.Context) (look, error) {
	found := look{specs: map[string]any{}, children: map[string]string{}}
	var boxes v1alpha1.OperatorBoxList
	if err := w.kube.List(ctx, &boxes); err != nil {
		return found, err
	}
	if err := w.specs(ctx, found.specs, v1alpha1.GroupVersion.WithKind("OperatorBox")); err != nil {
		return found, err
	}
	for i := range boxes.Items {
		box := &boxes.Items[i]
		if !meta.IsStatusConditionTrue(box.Status.Conditions, v1alpha1.ConditionReady) {
			return found, fmt.Errorf("box %s is not Ready: %v", box.Name, box.Status.Conditions)
		}
		if box.Name == loaded {
			continue
		}
		if err := w.ofBox(ctx, found, box); err != nil {
			return found, err
		}
	}
	return found, nil
}

// ofBox adds the resources and the children of a box.
func (w *world) ofBox(ctx context.Context, found look, box *v1alpha1.OperatorBox) error {
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := w.kube.Get(ctx, client.ObjectKey{Name: box.Spec.CRD.Name}, crd); err != nil {
		return err
	}
	group, _, err := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, err2 := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	if err := errors.Join(err, err2, w.specs(ctx, found.specs, schema.GroupVersionKind{Group: group, Version: "v1", Kind: kind})); err != nil {
		return err
	}
	for _, kind := range box.Status.ManagedKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(schema.GroupVersionKind(kind))
		err := w.kube.List(ctx, list, client.MatchingLabels{v1alpha1.LabelBox: box.Name})
		if meta.IsNoMatchError(err) {
			continue // the kind is optional, and is not served here
		}
		if err != nil {
			return err
		}
		for _, child := range list.Items {
			found.children[kind.Kind+" "+child.GetNamespace()+"/"+child.GetName()] = version(&child)
		}
	}
	return nil
}

// since gives what was written to, or lost, since an earlier look. A field that is new is not among it: the CRDs of another release have other defaults.
func (l look) since(before look) (differences []string) {
	for child, version := range before.children {
		if now := l.children[child]; now != version {
			differences = append(differences, fmt.Sprintf("%s: %q, was %q", child, now, version))
		}
	}
	for child := range l.children {
		if _, known := before.children[child]; !known {
			differences = append(differences, child+" is new")
		}
	}
	for object, spec := range before.specs {
		differences = append(differences, lost(spec, l.specs[object], object)...)
	}
	slices.Sort(differences)
	return differences
}

// lost gives the paths of values that are not what they were.
func lost(before, now any, at string) (paths []string) {
	fields, isObject := before.(map[string]any)
	if !isObject {
		if !reflect.DeepEqual(before, now) {
			return []string{fmt.Sprintf("%s: %v, was %v", at, now, before)}
		}
		return nil
	}
	present, _ := now.(map[string]any)
	for name, value := range fields {
		paths = append(paths, lost(value, present[name], at+"."+name)...)
	}
	return paths
}

// version tells whether somebody has written to a child: who has set fields of it, and when. Its status does not matter, which others write.
func version(child *unstructured.Unstructured) string {
	text := string(child.GetUID())
	for _, entry := range child.GetManagedFields() {
		if entry.Subresource == "" {
			text += fmt.Sprintf(" %s at %s", entry.Manager, entry.Time.UTC().Format(time.RFC3339))
		}
	}
	return text
}

// specs adds the specs of all objects of a kind.
func (w *world) specs(ctx context.Context, to map[string]any, kind schema.GroupVersionKind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	if err := w.kube.List(ctx, list); err != nil {
		return err
	}
	for _, object := range list.Items {
		if object.GetName() != loaded {
			to[kind.Kind+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object["spec"]
		}
	}
	return nil
}
