package tree

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/output"
	"github.com/orkspace/orkestra/cmd/orkestra/session"
	"github.com/orkspace/orkestra/controllers/inspect"
	"github.com/orkspace/orkestra/engine/pipeline/overview"
)

const kindBox = "OperatorBox"

// What the column READY says.
const (
	yes     = "True"
	no      = "False"
	unknown = "Unknown"
	none    = "-"
)

// node is one object of the tree, or a declaration that has no child.
type node struct {
	// Kind, Namespace and Name of the object.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Declaration that the object is a child of, that patches it, or that has no child.
	Declaration string `json:"declaration,omitempty"`
	// Ready is True, False or Unknown; "-" where there is nothing to be ready: no declaration asks for the object, no box selects it, or it is an EndpointSlice.
	Ready string `json:"ready"`
	// Status says in a few words how it is: the state of a declaration, or what the object's own status says.
	Status string `json:"status"`
	// Created is when it was made.
	Created *metav1.Time `json:"created,omitempty"`
	// Children are what belongs to it.
	Children []*node `json:"children,omitempty"`
}

func boxNode(box *v1alpha1.OperatorBox) *node {
	n := &node{Kind: kindBox, Name: box.Name, Ready: unknown, Created: &box.CreationTimestamp}
	if ready := meta.FindStatusCondition(box.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		n.Ready, n.Status = string(ready.Status), ready.Reason
		if ready.Status != metav1.ConditionTrue {
			n.Status += ": " + ready.Message
		}
	}
	return n
}

// builder builds trees. Objects are listed once for each kind and namespace.
type builder struct {
	*session.Inspector

	shown  map[string]bool // the UIDs of resources that are in the tree, so that one that is its own descendant is not walked again
	listed map[listKey]*listResult
}

type listKey struct {
	kind      schema.GroupVersionKind
	namespace string
}

type listResult struct {
	objects []*unstructured.Unstructured
	err     error
}

// box reads a box by its name, for which the right to list boxes is not needed.
func (g *builder) box(ctx context.Context, name string) *v1alpha1.OperatorBox {
	box, err := g.Box(ctx, name)
	if err != nil {
		return nil // there is no more to say than the name: what it declares is not known either, which a note says
	}
	return box
}

// notes say which kinds could not be listed.
func (g *builder) notes() []string {
	var out []string
	for l, found := range g.listed {
		if found.err != nil && !meta.IsNoMatchError(found.err) {
			out = append(out, fmt.Sprintf("Objects of kind %s in namespace %q are not known: %v", l.kind.Kind, l.namespace, found.err))
		}
	}
	slices.Sort(out)
	return out
}

// resource gives the tree of a resource.
func (g *builder) resource(ctx context.Context, r *inspect.Resource) *node {
	n := &node{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Ready: no, Status: r.Said(), Created: &r.Created}
	switch {
	case r.Ready:
		n.Ready = yes
	case r.Unselected:
		n.Ready = none
	case r.Unknown:
		n.Ready = unknown
	}
	g.shown[string(r.UID())] = true
	for _, d := range r.Declarations {
		n.Children = append(n.Children, g.declaration(ctx, d))
	}
	for _, made := range r.Provided {
		id, what, _ := strings.Cut(made, ": ")
		n.Children = append(n.Children, &node{Kind: "provider", Name: what, Declaration: id, Ready: none, Status: "noted on the resource"})
	}
	return n
}

// declaration gives the tree of a declaration's child.
func (g *builder) declaration(ctx context.Context, d inspect.Declaration) *node {
	n := &node{Kind: d.Kind, Name: d.Name, Declaration: d.Declaration, Status: string(d.State), Ready: no, Created: d.Created}
	switch d.State {
	case overview.StateReady, overview.StateCompleted:
		n.Ready = yes
	case overview.StateUnknown:
		n.Ready = unknown
	case overview.StateOff, overview.StateUndeclared:
		n.Ready = none
	default:
	}
	if d.Reason != "" {
		n.Status += ": " + d.Reason
	}
	if d.Patch {
		return patchNode(n, d)
	}
	child := d.Child()
	if child == nil {
		return n
	}
	if namespace := child.GetNamespace(); strings.HasPrefix(d.Name, namespace+"/") {
		n.Namespace, n.Name = namespace, child.GetName()
	}
	if own, err := g.ResourceOf(ctx, child); err == nil && own != nil && !g.shown[string(own.UID())] {
		n.Children = g.resource(ctx, own).Children
		return n
	}
	n.Children = g.owned(ctx, child)
	return n
}

// patchNode shows an object that a resource patches. What belongs to the object is its owner's, and is not shown.
func patchNode(n *node, d inspect.Declaration) *node {
	if namespace, name, found := strings.Cut(d.Name, "/"); found {
		n.Namespace, n.Name = namespace, name
	}
	if d.State == overview.StateReady {
		n.Status = "patched by " + d.Declaration
	} else {
		n.Status = "patch " + d.Declaration + ": " + n.Status
	}
	return n
}

var pods = corev1.SchemeGroupVersion.WithKind("Pod")

// ownedKinds says of which kind the objects are that belong to objects of a kind.
var ownedKinds = map[schema.GroupKind]schema.GroupVersionKind{
	{Group: appsv1.GroupName, Kind: "Deployment"}:  appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	{Group: appsv1.GroupName, Kind: "ReplicaSet"}:  pods,
	{Group: appsv1.GroupName, Kind: "StatefulSet"}: pods,
	{Group: appsv1.GroupName, Kind: "DaemonSet"}:   pods,
	{Group: batchv1.GroupName, Kind: "CronJob"}:    batchv1.SchemeGroupVersion.WithKind("Job"),
	{Group: batchv1.GroupName, Kind: "Job"}:        pods,
	{Kind: "Service"}:                              discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
}

// owned gives what belongs to an object, by owner references.
func (g *builder) owned(ctx context.Context, owner *unstructured.Unstructured) []*node {
	kind, known := ownedKinds[owner.GroupVersionKind().GroupKind()]
	if !known {
		return nil
	}
	key := listKey{kind: kind, namespace: owner.GetNamespace()}
	if g.listed[key] == nil {
		objects, err := g.List(ctx, kind, key.namespace)
		g.listed[key] = &listResult{objects: objects, err: err}
	}
	var out []*node
	for _, obj := range g.listed[key].objects {
		if !slices.ContainsFunc(obj.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() }) {
			continue
		}
		if obj.GetKind() == "ReplicaSet" && retired(obj) {
			continue
		}
		created := obj.GetCreationTimestamp()
		n := &node{Kind: obj.GetKind(), Name: obj.GetName(), Created: &created}
		n.Ready, n.Status = readiness(obj)
		n.Children = g.owned(ctx, obj)
		out = append(out, n)
	}
	return out
}

// retired says whether a ReplicaSet is of a former version of its Deployment: it has no Pods, and is to have none. A Deployment keeps several of
// these, which would hide the one that runs.
func retired(obj *unstructured.Unstructured) bool {
	wanted, _, err := unstructured.NestedInt64(obj.Object, "spec", "replicas")
	left, _, leftErr := unstructured.NestedInt64(obj.Object, "status", "replicas")
	return err == nil && leftErr == nil && wanted == 0 && left == 0
}

// readiness says whether an object is ready, and why not: of a Pod what its containers wait for, of all others what kstatus says.
func readiness(obj *unstructured.Unstructured) (ready, words string) {
	res, err := status.Compute(obj)
	if err != nil {
		return unknown, "its status can't be read"
	}
	ready = no
	if res.Status == status.CurrentStatus {
		ready = yes
	}
	if why := waiting(obj); why != "" {
		return no, why
	}
	if obj.GetKind() == "EndpointSlice" {
		return none, ""
	}
	return ready, strings.Join(strings.Fields(strings.TrimSuffix(string(res.Status)+": "+res.Message, ": ")), " ")
}

// waiting says why a container of a Pod does not run; "" where all do, or where it is no Pod.
func waiting(obj *unstructured.Unstructured) string {
	if obj.GroupVersionKind() != pods {
		return ""
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		all, _, _ := unstructured.NestedSlice(obj.Object, "status", field) // of another shape: it says nothing
		for _, c := range all {
			container, _ := c.(map[string]any)
			for _, state := range []string{"waiting", "terminated"} {
				reason, found, _ := unstructured.NestedString(container, "state", state, "reason")
				if !found || reason == "Completed" || reason == "PodInitializing" {
					continue
				}
				message, _, _ := unstructured.NestedString(container, "state", state, "message")
				name, _, _ := unstructured.NestedString(container, "name")
				return strings.Join(strings.Fields(strings.TrimSuffix(fmt.Sprintf("%s: container %s: %s", reason, name, message), ": ")), " ")
			}
		}
	}
	return ""
}

// draw writes the tree.
func (a *answer) draw(w io.Writer) error {
	for _, line := range append([]string{a.Manager.Message}, a.Notes...) {
		if line != "" {
			if _, err := io.WriteString(w, output.Plain(line)+"\n"); err != nil {
				return err
			}
		}
	}
	rows := [][]string{{"NAME", "READY", "AGE", "STATUS"}}
	for _, box := range a.Items {
		rows = box.rows(rows, a.now, "", "")
	}
	return output.Table(w, rows)
}

// rows adds a node and those below it. before stands before its name, and below before those of its children.
func (n *node) rows(rows [][]string, now time.Time, before, below string) [][]string {
	name := n.Kind + "/" + strings.TrimPrefix(n.Namespace+"/"+n.Name, "/")
	if n.Name == "" {
		name = n.Declaration + " (" + n.Kind + ")"
	}
	age := "-"
	if n.Created != nil {
		age = duration.HumanDuration(now.Sub(n.Created.Time))
	}
	rows = append(rows, []string{before + name, n.Ready, age, n.Status})
	for i, child := range n.Children {
		if i == len(n.Children)-1 {
			rows = child.rows(rows, now, below+"└─", below+"  ")
		} else {
			rows = child.rows(rows, now, below+"├─", below+"│ ")
		}
	}
	return rows
}
