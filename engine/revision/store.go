// Package revision keeps former specs of boxes: as ControllerRevisions, whose names are hashes of what they hold. It stores, reads and
// compiles them.
package revision

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
)

// Specs of boxes are kept in the manager's namespace, and snapshots of resources too: config/rbac/snapshots_role.yaml has the rights to
// write them. Snapshots without a signature, which former versions kept beside the resources, are found and deleted everywhere.
//
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list;watch;delete

// defaultHistory is used where revisionHistoryLimit is not set. The API server sets the same default; unit tests have none.
const defaultHistory = 10

// Store keeps the specs of boxes that compiled, as ControllerRevisions in the manager's namespace. The name of a revision is made
// from what it holds (boxspec.RevisionOf), so that one that was replaced by hand is noticed. It is safe for concurrent use.
//
// A revision has no owner reference. The garbage collector would delete it as soon as its box is deleted in the foreground,
// while the box still serves deletions with it; and one that comes back from a backup would name an owner that is no more.
type Store struct {
	client    client.Client // writes only: reading through it would start an informer for all ControllerRevisions
	live      client.Reader // reads from the API server
	namespace string

	mu     sync.Mutex
	stored map[string]string         // by box, the hash of its newest revision, once this process has found or written it; guarded by mu
	places map[string]boxspec.Places // by box, once Places was asked for it; guarded by mu
	leads  int                       // how often it began to lead; guarded by mu
	seen   seen
}

// NewStore gives one that writes through c and reads from the API server.
func NewStore(c client.Client, live client.Reader, namespace string) *Store {
	return &Store{client: c, live: live, namespace: namespace, stored: map[string]string{}, places: map[string]boxspec.Places{}}
}

// Lead forgets what was read while another process led, which has kept and removed revisions since.
func (s *Store) Lead() {
	s.mu.Lock()
	clear(s.stored)
	clear(s.places)
	s.leads++
	s.mu.Unlock()
	s.seen.forget()
}

// Spare names revisions that stay though they are old. It may look through all resources of a box, so it is only asked where something would
// be removed. Where it is not known which these are, as after a start of the process, none is removed until the next spec is kept.
type Spare func(ctx context.Context) (spared []string, known bool, err error)

// Keep stores the spec of a box as its newest revision, and removes old ones above the box's limit, but none of those to spare.
// It costs one request where a former process has stored the revision, and none where this one has.
func (s *Store) Keep(ctx context.Context, box *v1alpha1.OperatorBox, spare Spare) error {
	data, err := boxspec.Data(box)
	if err != nil {
		return err
	}
	name := boxspec.RevisionOf(box.Name, data)
	hash := boxspec.HashOf(data)
	if s.has(box.Name, hash) {
		return nil
	}
	s.addPlaces(box) // before it is stored: a place too many does no harm, one too few would hide children
	found, err := s.find(ctx, Ref{Name: name, Hash: hash})
	if err != nil {
		return err
	}
	if found != nil && box.Status.Revision == name {
		s.note(box.Name, hash)
		return nil
	}
	all, err := s.List(ctx, box.Name)
	if err != nil {
		return err
	}
	if err := s.put(ctx, found, all, s.object(box.Name, name, data)); err != nil {
		return err
	}
	s.note(box.Name, hash)
	all = slices.DeleteFunc(all, func(old appsv1.ControllerRevision) bool { return old.Name == name })
	return s.prune(ctx, box, all, spare)
}

// find gives a revision; nil: there is none. One that holds something else is removed.
func (s *Store) find(ctx context.Context, of Ref) (*appsv1.ControllerRevision, error) {
	found := &appsv1.ControllerRevision{}
	err := s.live.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: of.Name}, found)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // see the comment above
	}
	if err != nil {
		return nil, fmt.Errorf("reading ControllerRevision %s: %w", s.at(of.Name), err)
	}
	if boxspec.HashOf(found.Data.Raw) == of.Hash && found.DeletionTimestamp == nil {
		return found, nil
	}
	return nil, s.remove(ctx, found)
}

// put makes a revision the newest of its box. If the box has gone back to a former spec, found is its revision, which gets a higher
// number: the data of a ControllerRevision can't be changed, and need not be.
func (s *Store) put(ctx context.Context, found *appsv1.ControllerRevision, all []appsv1.ControllerRevision, wanted *appsv1.ControllerRevision) error {
	box, newest := wanted.Labels[v1alpha1.LabelRevisionOf], int64(0)
	if len(all) > 0 {
		newest = all[0].Revision
	}
	if found == nil {
		wanted.Revision = newest + 1
		if err := s.client.Create(ctx, wanted, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			s.seen.change(box, "") // it may have been written all the same
			return fmt.Errorf("creating ControllerRevision %s: %w", s.at(wanted.Name), err)
		}
		s.seen.change(box, wanted.ResourceVersion)
		return nil
	}
	if len(all) > 0 && all[0].Name == found.Name {
		return nil
	}
	found.Revision = newest + 1
	if found.Labels == nil {
		found.Labels = map[string]string{}
	}
	maps.Copy(found.Labels, wanted.Labels) // somebody may have taken them off
	if err := s.client.Update(ctx, found, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		s.seen.change(box, "")
		return fmt.Errorf("raising ControllerRevision %s: %w", s.at(found.Name), err)
	}
	s.seen.change(box, found.ResourceVersion)
	return nil
}

// prune removes old revisions above the box's limit, the oldest first.
func (s *Store) prune(ctx context.Context, box *v1alpha1.OperatorBox, old []appsv1.ControllerRevision, spare Spare) error {
	left := defaultHistory
	if limit := box.Spec.RevisionHistoryLimit; limit != nil {
		left = int(*limit)
	}
	if len(old) <= left {
		return nil
	}
	spared, known, err := spare(ctx)
	if err != nil || !known {
		return err
	}
	for i := range old[left:] {
		name := old[left+i].Name
		if name == box.Status.Revision || slices.Contains(spared, name) {
			continue
		}
		if err := s.remove(ctx, &old[left+i]); err != nil {
			return err
		}
	}
	return nil
}

// List gives the revisions of a box, the newest first. They are no older than what this process has seen: what it has written itself is among
// them, and what was there when it began to lead; what somebody else writes comes with the cache of the API server, a moment later.
func (s *Store) List(ctx context.Context, box string) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	err := s.seen.list(ctx, s.live, box, &list, client.InNamespace(s.namespace), client.MatchingLabels{v1alpha1.LabelRevisionOf: box})
	if err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of OperatorBox %q in namespace %q: %w", box, s.namespace, err)
	}
	slices.SortFunc(list.Items, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), cmp.Compare(a.Name, b.Name))
	})
	return list.Items, nil
}

// Boxes names the boxes of which there are revisions, in no order.
func (s *Store) Boxes(ctx context.Context) ([]string, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ControllerRevisionList"))
	if err := s.seen.now(ctx, s.live, list, client.InNamespace(s.namespace), client.HasLabels{v1alpha1.LabelRevisionOf}); err != nil {
		return nil, fmt.Errorf("listing ControllerRevisions in namespace %q: %w", s.namespace, err)
	}
	var boxes []string
	for i := range list.Items {
		boxes = append(boxes, list.Items[i].Labels[v1alpha1.LabelRevisionOf])
	}
	return boxes, nil
}

// Ref is a revision, as a status or a snapshot names it, for reading it later.
type Ref struct {
	// Name of the ControllerRevision.
	Name string
	// Hash of all that it holds; empty: the reference was made by a version that knew the name alone.
	Hash string
}

// Read gives the spec that a revision of a box holds. An Error says why there is none; any other error is the API
// server's, and may go by itself.
func (s *Store) Read(ctx context.Context, box string, of Ref) (*v1alpha1.OperatorBoxSpec, error) {
	name := of.Name
	if !strings.HasPrefix(name, box+"-") {
		return nil, Error(fmt.Sprintf("revision %q is none of box %q", name, box))
	}
	found := &appsv1.ControllerRevision{}
	err := s.live.Get(ctx, types.NamespacedName{Namespace: s.namespace, Name: name}, found)
	if apierrors.IsNotFound(err) {
		return nil, Error(fmt.Sprintf("revision %q of box %q is no longer kept: there is no ControllerRevision %s", name, box, s.at(name)))
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %q of box %q: %w", name, box, err)
	}
	if of.Hash != "" && boxspec.HashOf(found.Data.Raw) != of.Hash {
		return nil, s.replaced(box, name)
	}
	return s.decode(box, found)
}

func (s *Store) replaced(box, name string) error {
	return Error(fmt.Sprintf(
		"revision %q of box %q was replaced by hand: ControllerRevision %s does not hold what its name says; delete it", name, box, s.at(name)))
}

// decode gives the spec that a ControllerRevision holds.
func (s *Store) decode(box string, found *appsv1.ControllerRevision) (*v1alpha1.OperatorBoxSpec, error) {
	if boxspec.RevisionOf(box, found.Data.Raw) != found.Name {
		return nil, s.replaced(box, found.Name)
	}
	spec, err := boxspec.Decode(found.Data.Raw)
	if err != nil {
		return nil, Error(fmt.Sprintf(
			"revision %q of box %q does not decode: ControllerRevision %s: %v", found.Name, box, s.at(found.Name), err))
	}
	return spec, nil
}

// Finalizers are those that the revisions of a box name. A revision that does not hold what its name says names none.
func (s *Store) Finalizers(ctx context.Context, box string) ([]string, error) {
	all, err := s.List(ctx, box)
	if err != nil {
		return nil, err
	}
	var out []string
	for i := range all {
		spec, err := s.decode(box, &all[i])
		if err != nil {
			continue
		}
		for _, f := range spec.Finalizers {
			out = append(out, string(f))
		}
	}
	return out, nil
}

// Last names the revision that a box ran last: the one in its status, or else the newest; an empty Ref: none is kept.
func (s *Store) Last(ctx context.Context, box *v1alpha1.OperatorBox) (Ref, error) {
	if box.Status.Revision != "" {
		return Ref{Name: box.Status.Revision, Hash: box.Status.RevisionHash}, nil
	}
	all, err := s.List(ctx, box.Name)
	if err != nil || len(all) == 0 {
		return Ref{}, err
	}
	return Ref{Name: all[0].Name}, nil
}

// Namespace is where the revisions are kept.
func (s *Store) Namespace() string { return s.namespace }

// Forget removes all revisions of a box that is gone, and the snapshots of its resources, which can be gone back to with them alone.
func (s *Store) Forget(ctx context.Context, box string) error {
	s.note(box, "")
	s.forgetPlaces(box)
	var snapshots appsv1.ControllerRevisionList
	if err := s.seen.now(ctx, s.live, &snapshots, client.InNamespace(s.namespace), client.MatchingLabels{v1alpha1.LabelSnapshot: v1alpha1.True, v1alpha1.LabelBox: box}); err != nil {
		return fmt.Errorf("listing the snapshots of OperatorBox %q in namespace %q: %w", box, s.namespace, err)
	}
	all, err := s.List(ctx, box)
	if err != nil {
		return err
	}
	// Revisions go last: by them the next process finds that something is left.
	for _, found := range append(snapshots.Items, all...) {
		if err := s.remove(ctx, &found); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) remove(ctx context.Context, found *appsv1.ControllerRevision) error {
	err := s.client.Delete(ctx, found, client.Preconditions{UID: &found.UID})
	if box := found.Labels[v1alpha1.LabelRevisionOf]; box != "" {
		s.seen.change(box, "") // whatever came of it
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting ControllerRevision %s: %w", s.at(found.Name), err)
	}
	return nil
}

func (s *Store) object(box, name string, data []byte) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: name,
			Labels: map[string]string{v1alpha1.LabelRevisionOf: box, v1alpha1.LabelManagedBy: v1alpha1.ManagedByValue},
		},
		Data: runtime.RawExtension{Raw: data},
	}
}

// at names a revision as kubectl would.
func (s *Store) at(name string) string { return s.namespace + "/" + name }

func (s *Store) has(box, hash string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stored[box] == hash
}

// note keeps what is stored of a box; an empty hash: nothing is.
func (s *Store) note(box, hash string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if hash == "" {
		delete(s.stored, box)
		return
	}
	s.stored[box] = hash
}

// Error says why a revision can't be had. Asking again does not help until somebody changes something.
type Error string

// Error implements error.
func (e Error) Error() string { return string(e) }
