package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/pipeline"
	"github.com/orkspace/orkestra/engine/pipeline/declare"
	"github.com/orkspace/orkestra/engine/pipeline/hooks"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
	"github.com/orkspace/orkestra/engine/pipeline/settle"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// constructed says how a resource stands whose box has a constructor: its children are what it controls, of the kinds that the code lists. Its
// status is the reconciler's, and need not say whether it is ready: then the health of the box says whether it fails.
func (i *Inspector) constructed(ctx context.Context, res *Resource, code *hooks.Constructor, live *unstructured.Unstructured) {
	res.Notes = append(res.Notes, "It is reconciled by the constructor "+code.Name+", which makes its children and writes its status")
	for _, kind := range code.Kinds {
		all, err := i.List(ctx, kind, live.GetNamespace())
		if err != nil && !meta.IsNoMatchError(err) {
			res.Notes = append(res.Notes, fmt.Sprintf("Children of kind %s are not known: %s", kind.Kind, oneLine(message(err))))
		}
		for _, child := range all {
			if owner := metav1.GetControllerOf(child); owner == nil || owner.UID != live.GetUID() {
				continue
			}
			res.Declarations = append(res.Declarations, controlled(child))
		}
	}
	slices.SortStableFunc(res.Declarations, func(a, b Declaration) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name)) })
	if res.Reason == reasonUnseen {
		i.healthOf(ctx, res)
	}
}

// controlled is how an object stands that the reconciler has made.
func controlled(child *unstructured.Unstructured) Declaration {
	created := child.GetCreationTimestamp()
	d := Declaration{
		Declaration: pipeline.StepConstructor, APIVersion: child.GetAPIVersion(), Kind: child.GetKind(), Name: child.GetName(), Created: &created, State: overview.StateReady, child: child,
	}
	words := &declare.Declaration{}
	words.Quoted = true
	weight, why := settle.Why(words, child)
	d.Reason = why
	switch {
	case child.GetDeletionTimestamp() != nil:
		d.State = overview.StateTerminating
	case weight == stage.ChildFailed && why != "":
		d.State = overview.StateFailed
	case why != "":
		d.State = overview.StateProgressing
	}
	return d
}

// healthOf fills in from the health of the box whether a resource fails.
func (i *Inspector) healthOf(ctx context.Context, res *Resource) {
	health := &v1alpha1.CRDHealth{}
	if err := i.cluster.Client.Get(ctx, types.NamespacedName{Name: res.Box}, health); err != nil {
		res.Message = "its status has no condition Ready, and the health of the box is not known: " + oneLine(message(err))
		return
	}
	for _, f := range health.Status.Failing {
		if f.Namespace == res.Namespace && f.Name == res.Name {
			res.Reason, res.Message = f.Reason, f.Step+": "+f.Message
			return
		}
	}
	res.Ready, res.Reason, res.Message = true, "", ""
}
