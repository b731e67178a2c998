package rollback

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Shown reads objects that may hold snapshots of a resource, without the key: the newest first, also those whose Err says that they hold none. It is for
// those who show what a resource may go back to: a signature that is wrong is found when that happens.
func Shown(resource *unstructured.Unstructured, objects []*unstructured.Unstructured) []Entry {
	var entries []Entry
	for _, obj := range objects {
		if !Is(obj) || obj.GetDeletionTimestamp() != nil {
			continue
		}
		e := Entry{Object: obj}
		if e.Snapshot, _, e.Err = decode(obj, hashSize); e.Err == nil && e.Snapshot.Metadata["uid"] != string(resource.GetUID()) {
			e.Err = errors.New("it is the snapshot of another resource")
		}
		entries = append(entries, e)
	}
	sortEntries(entries)
	return entries
}
