package apply

import (
	"bytes"
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/drift"
)

// Correction is a field that others had changed, and that is as it is declared again.
type Correction struct {
	drift.Difference

	// SetBy is the field manager that had set it. It is empty where that can't be told: one that takes a field away leaves no trace.
	SetBy string
}

// corrections gives what an apply has put back: what differed before, and does not any more. What still differs is the server's own
// form of a value, and nobody had changed that.
func corrections(before, left []drift.Difference, entries []metav1.ManagedFieldsEntry) []Correction {
	var out []Correction
	for _, d := range before {
		if slices.ContainsFunc(left, d.Equal) {
			continue
		}
		out = append(out, Correction{Difference: d, SetBy: conflictingManager(entries, d.Path)})
	}
	return out
}

// conflictingManager gives the last field manager, other than ours, that wrote a field, whose path is that of a Difference; empty where
// none owns it.
func conflictingManager(entries []metav1.ManagedFieldsEntry, path string) string {
	if path == LabelsPath {
		return "" // somebody took our labels off
	}
	others := slices.DeleteFunc(slices.Clone(entries), func(e metav1.ManagedFieldsEntry) bool {
		return e.Subresource == "status" || e.FieldsV1 == nil || v1alpha1.IsFieldManager(e.Manager) ||
			!slices.ContainsFunc(pathsIn(e.FieldsV1), func(p string) bool { return drift.IsBelow(path, p) || drift.IsBelow(p, path) })
	})
	if len(others) == 0 {
		return ""
	}
	return slices.MinFunc(others, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(timeOf(b).Time.Compare(timeOf(a).Time), cmp.Compare(a.Manager, b.Manager))
	}).Manager
}

// LabelsPath is the path of the difference that is reported for a child that has lost its owner label.
const LabelsPath = keyMetadata + "." + keyLabels

func timeOf(e metav1.ManagedFieldsEntry) metav1.Time {
	if e.Time == nil {
		return metav1.Time{}
	}
	return *e.Time
}

// pathsIn gives the paths of the fields that an entry manages, in the notation of Difference.Path; none where the entry can't be read.
func pathsIn(fields *metav1.FieldsV1) []string {
	var set fieldpath.Set
	if err := set.FromJSON(bytes.NewReader(fields.GetRawBytes())); err != nil {
		return nil
	}
	var paths []string
	set.Leaves().Iterate(func(p fieldpath.Path) { paths = append(paths, drift.ManagedPath(p)) })
	return paths
}
