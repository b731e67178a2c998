package apply

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Create makes an object that must not exist yet, as it is given, and gives the API server's answer. It is for what Orkestra
// itself keeps: nothing says whose the object is but what it holds.
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
