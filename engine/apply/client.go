package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/decoding"
)

// metadataOnly asks the API server for an object's metadata alone.
const metadataOnly = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json"

// Client sends the few kinds of requests that this package needs. It is not client-go's dynamic client because that hides
// whether an apply created the object, and what is ours depends on it.
type Client struct {
	rest   rest.Interface
	mapper meta.RESTMapper
	dryRun []string // the dryRun option of each write: nil, or All, so that nothing is stored
	// refusal answers everything but reads, deletions, and the removal of finalizers; nil: nothing is refused here.
	refusal *RefusedError
}

// OnlyDeletes gives a client that reads, deletes and removes finalizers, and answers every other request with a refusal instead of
// sending it.
func (c *Client) OnlyDeletes(refusal *RefusedError) *Client {
	restricted := *c
	restricted.refusal = refusal
	return &restricted
}

// refuses is nil where a request may be sent.
func (c *Client) refuses() error {
	if c.refusal == nil {
		return nil
	}
	return c.refusal
}

// NewClient gives a client for a configuration, whose requests go through an HTTP client.
func NewClient(config *rest.Config, httpClient *http.Client, mapper meta.RESTMapper) (*Client, error) {
	c := dynamic.ConfigFor(config)
	c.GroupVersion = &schema.GroupVersion{}
	c.APIPath = "/api"
	// Warnings are for people at a terminal. Kinds and fields that are deprecated are named when a box is compiled.
	c.WarningHandler = rest.NoWarnings{}
	r, err := rest.UnversionedRESTClientForConfigAndClient(c, httpClient)
	if err != nil {
		return nil, fmt.Errorf("making a REST client: %w", err)
	}
	return &Client{rest: r, mapper: mapper}, nil
}

// Fields of every object.
const (
	keyMetadata    = "metadata"
	keyKind        = "kind"
	keyAnnotations = "annotations"
	keyLabels      = "labels"
	keyVersion     = "resourceVersion"
)

// target is where a request goes.
type target struct {
	kind            schema.GroupVersionKind
	namespace, name string
}

func targetOf(obj *unstructured.Unstructured) target {
	return target{kind: obj.GroupVersionKind(), namespace: obj.GetNamespace(), name: obj.GetName()}
}

// path is the path of a request's URL. A target without a name gives the path of the collection.
func (c *Client) path(t target, subresources ...string) ([]string, error) {
	// A name with a slash in it, or of dots alone, would lead to another object, of any kind and in any namespace.
	for _, segment := range []string{t.namespace, t.name} {
		if problems := content.IsPathSegmentName(segment); len(problems) > 0 {
			return nil, &RefusedError{Reason: v1alpha1.ReasonInvalidChild,
				Message: fmt.Sprintf("%s %q: a name or namespace can't be a part of a path: it %s", t.kind.Kind, t.name, strings.Join(problems, ", "))}
		}
	}
	mapping, err := c.mapper.RESTMapping(t.kind.GroupKind(), t.kind.Version)
	if err != nil {
		return nil, fmt.Errorf("finding kind %s: %w", t.kind.Kind, err)
	}
	var p []string
	if t.kind.Group == "" {
		p = append(p, "api", t.kind.Version)
	} else {
		p = append(p, "apis", t.kind.Group, t.kind.Version)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		p = append(p, "namespaces", t.namespace)
	}
	p = append(p, mapping.Resource.Resource)
	if t.name != "" {
		p = append(p, t.name)
	}
	return append(p, subresources...), nil
}

// written gives a request the parameters of a write by a field manager: those of metav1.CreateOptions and PatchOptions that are set here. The codec of these
// goes through all of their fields by reflection, for each request.
func written(r *rest.Request, manager string, dryRun []string) *rest.Request {
	r = r.Param("fieldManager", manager)
	for _, mode := range dryRun {
		r = r.Param("dryRun", mode)
	}
	return r
}

// apply is a server-side apply by the manager of declarations. created says whether the answer was a creation.
func (c *Client) apply(ctx context.Context, obj *unstructured.Unstructured, force bool) (answer *unstructured.Unstructured, created bool, err error) {
	return c.applyAs(ctx, v1alpha1.FieldManager, obj, force)
}

// applyAs is apply by another field manager: that of marks, or of initial fields.
func (c *Client) applyAs(
	ctx context.Context, manager string, obj *unstructured.Unstructured, force bool,
) (answer *unstructured.Unstructured, created bool, err error) {
	if err := c.refuses(); err != nil {
		return nil, false, err
	}
	path, err := c.path(targetOf(obj))
	if err != nil {
		return nil, false, err
	}
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, false, fmt.Errorf("encoding %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	var code int
	raw, err := c.read(obj.GroupVersionKind(), written(c.rest.Patch(types.ApplyPatchType).AbsPath(path...), manager, c.dryRun).
		Param("force", strconv.FormatBool(force)).Body(body).Do(ctx).StatusCode(&code))
	if err != nil {
		return nil, false, err
	}
	answer, err = decoding.Object(raw)
	return answer, code == http.StatusCreated, err
}

// create is a POST: it never changes what exists.
func (c *Client) create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if err := c.refuses(); err != nil {
		return nil, err
	}
	t := targetOf(obj)
	t.name = ""
	path, err := c.path(t)
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", obj.GetKind(), obj.GetName(), err)
	}
	raw, err := c.read(t.kind, written(c.rest.Post().AbsPath(path...), v1alpha1.FieldManager, c.dryRun).Body(body).Do(ctx))
	if err != nil {
		return nil, err
	}
	return decoding.Object(raw)
}

// get reads an object, past every cache.
func (c *Client) get(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	path, err := c.path(t)
	if err != nil {
		return nil, err
	}
	raw, err := c.read(t.kind, c.rest.Get().AbsPath(path...).Do(ctx))
	if err != nil {
		return nil, err
	}
	return decoding.Object(raw)
}

// metadata reads the metadata of an object, past every cache.
func (c *Client) metadata(ctx context.Context, t target) (*unstructured.Unstructured, error) {
	path, err := c.path(t)
	if err != nil {
		return nil, err
	}
	raw, err := c.read(t.kind, c.rest.Get().AbsPath(path...).SetHeader("Accept", metadataOnly).Do(ctx))
	if err != nil {
		return nil, err
	}
	obj, err := decoding.Object(raw)
	if err != nil {
		return nil, err
	}
	// The answer calls itself PartialObjectMetadata.
	obj.SetGroupVersionKind(t.kind)
	return obj, nil
}

// mergePatch sends a JSON merge patch, to a subresource where one is given.
func (c *Client) mergePatch(ctx context.Context, t target, manager string, patch []byte, subresources ...string) (*unstructured.Unstructured, error) {
	return c.patch(ctx, t, types.MergePatchType, manager, patch, subresources...)
}

// patch sends a patch of the given kind.
func (c *Client) patch(
	ctx context.Context, t target, kind types.PatchType, manager string, patch []byte, subresources ...string,
) (*unstructured.Unstructured, error) {
	if err := c.refuses(); err != nil {
		return nil, err
	}
	return c.sendPatch(ctx, t, kind, manager, patch, subresources...)
}

// removeFinalizers sends a patch that takes finalizers off, and does nothing else.
func (c *Client) removeFinalizers(ctx context.Context, t target, patch []byte) error {
	_, err := c.sendPatch(ctx, t, types.MergePatchType, v1alpha1.FieldManagerMarks, patch)
	return err
}

func (c *Client) sendPatch(
	ctx context.Context, t target, kind types.PatchType, manager string, patch []byte, subresources ...string,
) (*unstructured.Unstructured, error) {
	path, err := c.path(t, subresources...)
	if err != nil {
		return nil, err
	}
	raw, err := c.read(t.kind, written(c.rest.Patch(kind).AbsPath(path...), manager, c.dryRun).Body(patch).Do(ctx))
	if err != nil {
		return nil, err
	}
	return decoding.Object(raw)
}

// jsonPatch sends a JSON patch.
func (c *Client) jsonPatch(ctx context.Context, t target, manager string, patch []byte) (*unstructured.Unstructured, error) {
	return c.patch(ctx, t, types.JSONPatchType, manager, patch)
}

// delete deletes exactly the object that was read: same UID, same resourceVersion. gone says that it is removed already.
func (c *Client) delete(ctx context.Context, obj *unstructured.Unstructured, propagation metav1.DeletionPropagation) (gone bool, err error) {
	path, err := c.path(targetOf(obj))
	if err != nil {
		return false, err
	}
	uid, version := obj.GetUID(), obj.GetResourceVersion()
	raw, err := c.sendDelete(ctx, path, metav1.DeleteOptions{
		Preconditions:     &metav1.Preconditions{UID: &uid, ResourceVersion: &version},
		PropagationPolicy: &propagation,
	})
	if err != nil {
		return false, err
	}
	answer := &unstructured.Unstructured{}
	if err := answer.UnmarshalJSON(raw); err != nil {
		return false, fmt.Errorf("decoding the answer to a delete: %w", err)
	}
	// An object that finalizers hold comes back with its deletion time; one that is gone as a Status, or as it last was.
	return answer.GetKind() == "Status" || answer.GetDeletionTimestamp() == nil, nil
}

func (c *Client) sendDelete(ctx context.Context, path []string, options metav1.DeleteOptions) ([]byte, error) {
	options.TypeMeta, options.DryRun = metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"}, c.dryRun
	body, err := json.Marshal(&options)
	if err != nil {
		return nil, fmt.Errorf("encoding delete options: %w", err)
	}
	return read(c.rest.Delete().AbsPath(path...).Body(body).Do(ctx))
}

// DeleteResource deletes a resource, in whichever version it is by now, unless it was replaced since it was read. One that is gone is no
// error.
func (c *Client) DeleteResource(ctx context.Context, resource *unstructured.Unstructured) error {
	if err := c.refuses(); err != nil {
		return err
	}
	path, err := c.path(targetOf(resource))
	if err != nil {
		return err
	}
	uid := resource.GetUID()
	_, err = c.sendDelete(ctx, path, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %q: %w", resource.GetKind(), resource.GetName(), err)
	}
	return nil
}

// WriteStatus sends a merge patch to the status subresource of a resource and gives the resource as it is then.
func (c *Client) WriteStatus(ctx context.Context, resource *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	return c.mergePatch(ctx, targetOf(resource), v1alpha1.FieldManagerStatus, patch, "status")
}

// Create makes an object that must not exist yet, as it is given, and gives the API server's answer. It is for objects in which Orkestra
// keeps its own data, such as revisions: no owner label or hash is put on them.
func (c *Client) Create(ctx context.Context, obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	return c.create(ctx, obj)
}

// Remove deletes exactly the object that was read. One that is gone is no error.
func (c *Client) Remove(ctx context.Context, obj *unstructured.Unstructured) error {
	if _, err := c.delete(ctx, obj, metav1.DeletePropagationBackground); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return nil
}

// forgetful is a mapper that is told of kinds whose path the API server does not know.
type forgetful interface {
	Unserved(kind schema.GroupVersionKind)
}

// read is read, for a request about a kind. Where the API server does not know the path, the mapper is told that it was wrong.
func (c *Client) read(kind schema.GroupVersionKind, result rest.Result) ([]byte, error) {
	raw, err := read(result)
	if m, ok := c.mapper.(forgetful); ok && isUnserved(err) {
		m.Unserved(kind)
	}
	return raw, err
}

// isUnserved says whether an error means that the API server does not know the path of a request: it names no object.
func isUnserved(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	return details == nil || details.Name == ""
}

// read gives the body of an answer, or the error in the API server's own words, with its causes: Raw alone gives a generic error.
func read(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}
