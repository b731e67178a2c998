package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/controllers/drain"
)

// noAnswer is what is said while no manager has seen that a drain is asked for.
const noAnswer = "no manager has answered"

// drain asks the manager, and waits until it holds nothing.
func (d *drainer) drain(ctx context.Context) error {
	if _, installed, err := d.boxes(ctx); err != nil || !installed {
		return err
	}
	if err := d.annotate(ctx, v1alpha1.True); err != nil {
		return err
	}
	return d.watch(ctx, d.progress)
}

// watch calls look whenever the Lease or a box has changed, until it is done, fails, or ctx ends.
func (d *drainer) watch(ctx context.Context, look func(ctx context.Context, seen client.Reader) (done bool, err error)) error {
	seen, err := cache.New(d.config, cache.Options{
		Scheme: d.client.Scheme(), Mapper: d.client.RESTMapper(),
		ByObject: map[client.Object]cache.ByObject{&coordinationv1.Lease{}: {Namespaces: map[string]cache.Config{
			d.lease.Namespace: {FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, d.lease.Name)},
		}}},
	})
	if err != nil {
		return fmt.Errorf("making a cache: %w", err)
	}
	wake := make(chan struct{}, 1)
	tell := func(any) {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	running, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	defer group.Wait()
	defer stop()
	group.Go(func() { _ = seen.Start(running) }) // it ends without an error when it is told to
	for _, kind := range []client.Object{&v1alpha1.OperatorBox{}, &coordinationv1.Lease{}} {
		informer, err := seen.GetInformer(running, kind)
		if err != nil {
			return d.expired(ctx, fmt.Errorf("watching boxes and the lease: %w", err))
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: tell, UpdateFunc: func(_, now any) { tell(now) }, DeleteFunc: tell,
		}); err != nil {
			return fmt.Errorf("watching boxes and the lease: %w", err)
		}
	}
	if !seen.WaitForCacheSync(running) {
		return d.expired(ctx, errors.New("the API server does not let boxes and the lease be watched"))
	}
	for {
		done, err := look(running, seen)
		if done || err != nil {
			return err
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return d.expired(ctx, exit.ErrNo)
		}
	}
}

// expired says what is left when there is no time any more.
func (d *drainer) expired(ctx context.Context, err error) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return err
	}
	if left := d.said[leftOver]; left != "" {
		return fmt.Errorf("not drained in time: %s", left)
	}
	return fmt.Errorf("not drained in time: %w", err)
}

// leftOver is the key under which said keeps what is left, which is printed only at the end.
const leftOver = ""

// progress prints how far the drain is, and says whether it is complete.
func (d *drainer) progress(ctx context.Context, seen client.Reader) (done bool, err error) {
	lease := &coordinationv1.Lease{}
	if err := seen.Get(ctx, d.lease, lease); err != nil {
		if client.IgnoreNotFound(err) == nil {
			return false, fmt.Errorf("following the drain: Lease %q is gone", d.lease)
		}
		return false, fmt.Errorf("reading Lease %q: %w", d.lease, err)
	}
	word, asked := lease.Annotations[v1alpha1.AnnotationDrain]
	if !asked {
		return false, fmt.Errorf("somebody has taken the annotation %s off Lease %q: the manager goes on", v1alpha1.AnnotationDrain, d.lease)
	}
	var boxes v1alpha1.OperatorBoxList
	if err := seen.List(ctx, &boxes); err != nil {
		return false, fmt.Errorf("listing OperatorBoxes: %w", err)
	}
	slices.SortFunc(boxes.Items, func(a, b v1alpha1.OperatorBox) int { return cmp.Compare(a.Name, b.Name) })
	var left []string
	for i := range boxes.Items {
		box := &boxes.Items[i]
		state, held := stateOf(box)
		if !held {
			d.say("operatorbox/"+box.Name, "drained")
			continue
		}
		if !drain.Accepted(word) {
			state = noAnswer
		}
		left = append(left, fmt.Sprintf("operatorbox/%s: %s", box.Name, state))
		d.say("operatorbox/"+box.Name, state)
	}
	if !drain.Accepted(word) {
		d.said[leftOver] = fmt.Sprintf("%s: does it run in namespace %q? Without one, use --force", noAnswer, d.lease.Namespace)
		return false, nil
	}
	d.said[leftOver] = joined(left)
	if len(left) > 0 {
		return false, nil
	}
	_, _ = fmt.Fprintf(d.out, "Nothing is held any more: %s.\n", counted(len(boxes.Items), "box", "boxes"))
	return true, nil
}

// stateOf says whether something of a box is held, and what the manager says of it. A box that was never held says so too: the
// manager could hold it until it has seen that it is to hold nothing.
func stateOf(box *v1alpha1.OperatorBox) (state string, held bool) {
	ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady)
	has := controllerutil.ContainsFinalizer(box, v1alpha1.Finalizer)
	switch {
	case box.DeletionTimestamp != nil && !has:
		return "", false
	case ready == nil, ready.Reason != v1alpha1.ReasonDraining && ready.Reason != v1alpha1.ReasonDrained && ready.Reason != v1alpha1.ReasonDeletionBlocked:
		return "the manager has not looked at it yet", true
	case ready.Reason == v1alpha1.ReasonDrained && !has:
		return "", false
	}
	return ready.Message, true
}

func joined(lines []string) string {
	const most = 20
	text := ""
	for i, line := range lines {
		if i == most {
			return text + fmt.Sprintf("\n  %d more", len(lines)-most)
		}
		text += "\n  " + line
	}
	return text
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
