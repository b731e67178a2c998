package drain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/cmd/orkestra/manager"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/controllers/crds"
	draining "github.com/orkspace/orkestra/controllers/drain"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/patches"
	"github.com/orkspace/orkestra/engine/release"
	"github.com/orkspace/orkestra/engine/revision"
	"github.com/orkspace/orkestra/engine/status"
)

// pageSize is how many resources are read at a time.
const pageSize = 500

// force takes all finalizers off by itself. An error with one box does not hold up the others.
func (d *drainer) force(ctx context.Context) error {
	boxes, installed, err := d.boxes(ctx)
	if err != nil || !installed {
		return err
	}
	if err := d.nobodyLeads(ctx); err != nil {
		return err
	}
	marker, err := d.marker()
	if err != nil {
		return err
	}
	failed := false
	for i := range boxes {
		box := &boxes[i]
		about := "operatorbox/" + box.Name
		n, err := d.forceResources(ctx, marker, box)
		if err == nil {
			err = d.forceBox(ctx, box)
		}
		if err != nil {
			failed = true
			d.say(about, err.Error())
			continue
		}
		d.say(about, fmt.Sprintf("let go of, and of %s", output.Count(n, "resource", "resources")))
	}
	if failed {
		return exit.ErrNo
	}
	// The annotation goes, so that a manager that is installed later does not drain.
	if lease, err := d.readLease(ctx); err != nil {
		return err
	} else if _, asked := lease.Annotations[v1alpha1.AnnotationDrain]; asked && !d.draining(lease) {
		return d.annotate(ctx, nil)
	}
	return nil
}

// draining says whether a manager may be there that drains.
func (d *drainer) draining(lease *coordinationv1.Lease) bool {
	return draining.Accepted(lease.Annotations[v1alpha1.AnnotationDrain]) && holder(lease) != ""
}

func holder(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// nobodyLeads fails while a manager leads that would put the finalizers back. The clocks of machines differ, so the time of the last renewal
// says nothing sure; instead it waits for as long as a lease holds, and sees whether it is renewed.
func (d *drainer) nobodyLeads(ctx context.Context) error {
	lease, err := d.readLease(ctx)
	if err != nil || holder(lease) == "" || d.draining(lease) {
		return err
	}
	life := manager.LeaseDuration
	if s := lease.Spec.LeaseDurationSeconds; s != nil {
		life = time.Duration(*s) * time.Second
	}
	_, _ = fmt.Fprintf(d.out, "Lease %q is held by %s: waiting %s to see whether it is renewed.\n", d.lease, holder(lease), life)
	wait := time.NewTimer(life)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return fmt.Errorf("waiting for Lease %q to run out: %w", d.lease, ctx.Err())
	}
	now, err := d.readLease(ctx)
	if err != nil || holder(now) == "" || d.draining(now) || now.Spec.RenewTime.Equal(lease.Spec.RenewTime) {
		return err
	}
	return fmt.Errorf("%s leads, and would put the finalizers back: run orkestra drain without --force, or stop the manager first", holder(now))
}

// marker is what takes the marks off, as the engine does it.
func (d *drainer) marker() (apply.Marker, error) {
	httpClient, err := rest.HTTPClientFor(d.config)
	if err != nil {
		return apply.Marker{}, fmt.Errorf("making an HTTP client: %w", err)
	}
	c, err := apply.NewClient(d.config, httpClient, d.client.RESTMapper())
	if err != nil {
		return apply.Marker{}, err
	}
	return apply.NewMarker(c), nil
}

// forceResources lets go of the resources of a box, and counts them.
func (d *drainer) forceResources(ctx context.Context, marker apply.Marker, box *v1alpha1.OperatorBox) (n int, err error) {
	name := crds.NameOf(box)
	if name == "" {
		return 0, nil // its definition can't be read, and it has never served a CRD
	}
	crd := crds.OfKubernetes(box)
	if crd == nil {
		crd = &apiextensionsv1.CustomResourceDefinition{}
		if err := d.client.Get(ctx, types.NamespacedName{Name: name}, crd); err != nil {
			if client.IgnoreNotFound(err) == nil {
				return 0, nil // and with the CRD its resources
			}
			return 0, fmt.Errorf("reading CustomResourceDefinition %q: %w", name, err)
		}
	}
	served, ok := crds.First(crd, "")
	if !ok {
		return 0, fmt.Errorf("CustomResourceDefinition %q serves no version: without one, its resources can't be let go", name)
	}
	statuses, err := status.NewWriter(served.Schema, served.HasStatus)
	if err != nil {
		return 0, fmt.Errorf("CustomResourceDefinition %q: %w", name, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(served.Kind.GroupVersion().WithKind(cmp.Or(crd.Spec.Names.ListKind, crd.Spec.Names.Kind+"List")))
	which := client.MatchingLabels{}
	if crds.OthersName(box) != "" { // the label tells which objects of others have marks of the box; their conditions are not Orkestra's
		which[v1alpha1.LabelServedBy] = box.Name
		statuses = statuses.FieldsOnly()
	}
	for more := ""; ; {
		if err := d.client.List(ctx, list, which, client.Limit(pageSize), client.Continue(more)); err != nil {
			return n, fmt.Errorf("listing %s: %w", name, err)
		}
		for i := range list.Items {
			resource := &list.Items[i]
			if !held(resource) {
				continue
			}
			d.sayReleased(ctx, statuses, resource)
			if err := d.forceResource(ctx, marker, box, resource); err != nil {
				return n, err
			}
			n++
		}
		if more = list.GetContinue(); more == "" {
			return n, nil
		}
	}
}

// held says whether a resource carries a mark of ours.
func held(resource *unstructured.Unstructured) bool {
	_, managed := resource.GetAnnotations()[v1alpha1.AnnotationManagedBy]
	_, served := resource.GetLabels()[v1alpha1.LabelServedBy]
	return managed || served || slices.Contains(resource.GetFinalizers(), v1alpha1.Finalizer)
}

// sayReleased writes to the status of a resource that no manager keeps it any more; not where it is being deleted, which its metadata shows.
// An error is printed and holds up nothing: --force is there to release the resource.
func (d *drainer) sayReleased(ctx context.Context, statuses *status.Writer, resource *unstructured.Unstructured) {
	f := release.Drained()
	patch, err := statuses.ReleasePatch(resource, f.Reason, f.Message, metav1.Now())
	if resource.GetDeletionTimestamp() != nil || err != nil || patch == nil {
		return
	}
	err = d.client.Status().Patch(ctx, resource, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1alpha1.FieldManagerStatus))
	if err != nil {
		d.say(fmt.Sprintf("%s/%s/%s", resource.GetKind(), resource.GetNamespace(), resource.GetName()), "its status stays as it is: "+err.Error())
	}
}

func (d *drainer) forceResource(ctx context.Context, marker apply.Marker, box *v1alpha1.OperatorBox, resource *unstructured.Unstructured) error {
	finalizers := []string{v1alpha1.Finalizer}
	for _, own := range box.Spec.Finalizers {
		finalizers = append(finalizers, string(own))
	}
	revisions := revision.NewStore(d.client, d.client, d.lease.Namespace)
	finalizers, err := apply.Finalizers(ctx, resource, finalizers, func(ctx context.Context) ([]string, error) {
		return revisions.Finalizers(ctx, box.Name)
	})
	if err != nil {
		return err
	}
	if err = marker.Release(ctx, resource, finalizers, patches.Marks(resource)); err == nil {
		return nil
	}
	// The marks may stay where the API server refuses to take them off. The finalizers are what holds a resource.
	if marker.Finish(ctx, resource, finalizers) == nil {
		return nil
	}
	return fmt.Errorf("letting go of %s %s/%s: %w", resource.GetKind(), resource.GetNamespace(), resource.GetName(), err)
}

func (d *drainer) forceBox(ctx context.Context, box *v1alpha1.OperatorBox) error {
	if !controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer) {
		return nil
	}
	base := box.DeepCopy()
	controllerutil.RemoveFinalizer(box, v1alpha1.Finalizer)
	err := d.client.Patch(ctx, box, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{}), client.FieldOwner(v1alpha1.FieldManager))
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing its finalizer: %w", err)
	}
	return nil
}
