package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/admission"
)

const (
	// fillTimeout bounds the wait for a cache that is read for the first time.
	fillTimeout = 4 * time.Second
	// unknownLife is how long it is believed that the API server does not know a kind.
	unknownLife = 10 * time.Minute
)

// Store keeps the policies of boxes. It is safe for concurrent use.
type Store struct {
	// Client reads from the manager's cache and writes.
	Client client.Client
	// Informers are those of that cache. nil: nobody is told of changes.
	Informers ctrlcache.Informers
	// Mapper knows which kinds the API server serves.
	Mapper meta.RESTMapper
	// Clock tells the time.
	Clock clock.PassiveClock
	// Changed is told which box's policies changed.
	Changed func(box string)

	mu      sync.Mutex
	watched map[string]bool      // kinds; guarded by mu
	boxes   map[string]bool      // those that ask for policies, and hear of changes; guarded by mu
	unknown map[string]time.Time // kinds that the API server did not know; guarded by mu
}

// Supports says whether the API server serves the policies that mutate, or only those that validate.
func (s *Store) Supports(mutation bool) bool {
	kind := kindValidating
	if mutation {
		kind = kindMutating
	}
	s.mu.Lock()
	at, asked := s.unknown[kind]
	s.mu.Unlock()
	if asked && s.Clock.Since(at) < unknownLife {
		return false
	}
	_, err := s.Mapper.RESTMapping(schema.GroupKind{Group: admissionregistrationv1.GroupName, Kind: kind}, "v1")
	if !meta.IsNoMatchError(err) {
		return true // or the API server can't be asked: what is written to it will say so
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unknown == nil {
		s.unknown = map[string]time.Time{}
	}
	s.unknown[kind] = s.Clock.Now()
	return false
}

// Watches says whether the policies of boxes are watched, which begins when they are first read.
func (s *Store) Watches() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.watched) > 0
}

// State is what there is of a box's policy that refuses.
type State struct {
	Exists   bool // the policy
	Current  bool // it says what is wanted
	Enforced bool // its binding refuses
}

// State reads what there is of the policy by which a box refuses.
func (s *Store) State(ctx context.Context, box *v1alpha1.OperatorBox, p admission.Policies) (State, error) {
	s.hears(box.Name, true)
	var state State
	objects := objectsOf(box, p, admissionregistrationv1.Deny)
	live, err := s.read(ctx, objects[0])
	if err != nil || live == nil || !metav1.IsControlledBy(live, box) {
		return state, err
	}
	state.Exists, state.Current = true, objects[0].has && sameSpec(live, objects[0].want)
	if live, err = s.read(ctx, objects[1]); err != nil || live == nil {
		return state, err
	}
	binding, _ := live.(*admissionregistrationv1.ValidatingAdmissionPolicyBinding)
	state.Enforced = metav1.IsControlledBy(live, box) && slices.Contains(binding.Spec.ValidationActions, admissionregistrationv1.Deny)
	return state, nil
}

// Apply brings the policies of a box to what is wanted. Nothing is sent where nothing differs.
func (s *Store) Apply(ctx context.Context, box *v1alpha1.OperatorBox, p admission.Policies, deny admissionregistrationv1.ValidationAction) error {
	objects := objectsOf(box, p, deny)
	for _, o := range objects {
		if o.has {
			if err := s.put(ctx, box, o); err != nil {
				return err
			}
		}
	}
	return s.delete(ctx, box, slices.DeleteFunc(objects, func(o object) bool { return o.has }))
}

// Remove deletes the policies of a box. Those of others stay.
func (s *Store) Remove(ctx context.Context, box *v1alpha1.OperatorBox) error {
	s.hears(box.Name, false)
	return s.delete(ctx, box, objectsOf(box, admission.Policies{}, admissionregistrationv1.Deny))
}

// Names are the policies that a box has when these are applied, as <kind>/<name>.
func Names(box *v1alpha1.OperatorBox, p admission.Policies) []string {
	var out []string
	for _, o := range objectsOf(box, p, admissionregistrationv1.Deny) {
		if o.has && (o.kind == kindValidating || o.kind == kindMutating) {
			out = append(out, o.String())
		}
	}
	return out
}

// put creates an object, or corrects it.
func (s *Store) put(ctx context.Context, box *v1alpha1.OperatorBox, o object) error {
	live, err := s.read(ctx, o)
	switch {
	case err != nil:
		return err
	case live == nil:
		return refused(o, s.Client.Create(ctx, o.want, client.FieldOwner(v1alpha1.FieldManager)))
	case ofFormer(live, box):
		return s.remove(ctx, live, o) // the garbage collector would, too; its event brings the box here again
	case !metav1.IsControlledBy(live, box):
		return taken(o, live)
	case sameSpec(live, o.want) && hasLabels(live, o.want):
		return nil
	}
	return refused(o, s.Client.Update(ctx, corrected(live, o.want), client.FieldOwner(v1alpha1.FieldManager)))
}

// delete deletes objects of a box, bindings first: a policy without one does nothing.
func (s *Store) delete(ctx context.Context, box *v1alpha1.OperatorBox, objects []object) error {
	for _, o := range slices.Backward(objects) {
		if mutates(o) && !s.Supports(true) {
			continue
		}
		live, err := s.read(ctx, o)
		if err != nil {
			return err
		}
		if live == nil || !metav1.IsControlledBy(live, box) && !ofFormer(live, box) {
			continue
		}
		if err := s.remove(ctx, live, o); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) remove(ctx context.Context, live client.Object, o object) error {
	uid := live.GetUID()
	err := s.Client.Delete(ctx, live, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("deleting %s: %w", o, err)
	}
	return nil
}

// read gives an object from the cache; nil: there is none.
func (s *Store) read(ctx context.Context, o object) (client.Object, error) {
	ctx, cancel := context.WithTimeout(ctx, fillTimeout)
	defer cancel()
	if err := s.watch(ctx, o); err != nil {
		return nil, err
	}
	live, _ := o.want.DeepCopyObject().(client.Object)
	err := s.Client.Get(ctx, client.ObjectKeyFromObject(o.want), live)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see the comment above
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", o, err)
	}
	return live, nil
}

// watch has the boxes told of changes of a kind, from when it is first read: most installations have no policies of boxes, and may not
// have the right to read them.
func (s *Store) watch(ctx context.Context, o object) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched[o.kind] {
		return nil
	}
	if s.watched == nil {
		s.watched = map[string]bool{}
	}
	if s.Informers != nil {
		empty, _ := o.want.DeepCopyObject().(client.Object)
		informer, err := s.Informers.GetInformer(ctx, empty, ctrlcache.BlockUntilSynced(false))
		if err == nil {
			_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: s.tell, UpdateFunc: func(_, obj any) { s.tell(obj) }, DeleteFunc: s.tell,
			})
		}
		if err != nil {
			return fmt.Errorf("watching %s: %w", o.kind, err)
		}
	}
	s.watched[o.kind] = true
	return nil
}

// hears notes whether a box is told of changes.
func (s *Store) hears(box string, hears bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.boxes == nil {
		s.boxes = map[string]bool{}
	}
	if hears {
		s.boxes[box] = true
	} else {
		delete(s.boxes, box)
	}
}

// tell has the boxes reconciled that an object may be of, by its name.
func (s *Store) tell(obj any) {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	o, ok := obj.(client.Object)
	if !ok {
		return
	}
	name, _ := strings.CutPrefix(o.GetName(), namePrefix)
	short, _ := strings.CutSuffix(name, warnSuffix)
	for _, box := range slices.Compact([]string{name, short}) {
		s.mu.Lock()
		hears := s.boxes[box]
		s.mu.Unlock()
		if hears {
			s.Changed(box)
		}
	}
}

func mutates(o object) bool { return o.kind == kindMutating || o.kind == kindMutatingBinding }

// ofFormer says whether an object is of a box of the same name that is gone.
func ofFormer(live client.Object, box *v1alpha1.OperatorBox) bool {
	owner := metav1.GetControllerOf(live)
	return owner != nil && isBox(owner) && owner.Name == box.Name && owner.UID != box.UID
}

func isBox(owner *metav1.OwnerReference) bool {
	return owner.Kind == "OperatorBox" && owner.APIVersion == v1alpha1.GroupVersion.String()
}

func taken(o object, live client.Object) error {
	e := &TakenError{Object: o.String(), Policy: live.GetLabels()[v1alpha1.LabelPolicy]}
	if owner := metav1.GetControllerOf(live); owner != nil {
		e.Owner = owner.Kind + " " + owner.Name
	}
	return e
}

// refused tells what the API server refuses from what may pass by itself.
func refused(o object, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		return &RefusedError{Object: o.String(), Err: err}
	default:
		return fmt.Errorf("writing %s: %w", o, err)
	}
}

func sameSpec(live, want client.Object) bool {
	a, errA := specOf(live)
	b, errB := specOf(want)
	return errA == nil && errB == nil && equality.Semantic.DeepEqual(a, b)
}

func specOf(o client.Object) (any, error) {
	tree, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("reading a policy: %w", err)
	}
	return tree["spec"], nil
}

func hasLabels(live, want client.Object) bool {
	labels := live.GetLabels()
	for k, v := range want.GetLabels() {
		if labels[k] != v {
			return false
		}
	}
	return true
}

// corrected is what is wanted, in place of the object that lives.
func corrected(live, want client.Object) client.Object {
	next, _ := want.DeepCopyObject().(client.Object)
	labels := map[string]string{}
	maps.Copy(labels, live.GetLabels())
	maps.Copy(labels, want.GetLabels())
	next.SetLabels(labels)
	next.SetAnnotations(live.GetAnnotations())
	next.SetFinalizers(live.GetFinalizers())
	next.SetResourceVersion(live.GetResourceVersion())
	next.SetUID(live.GetUID())
	return next
}
