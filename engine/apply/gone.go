package apply

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// IsGone says whether an error means that the object that a request was about does not exist. A 404 alone does not: it is also
// the answer where the API server does not serve the kind, or not in this version, while the object is there; and where the
// namespace is missing. Only one that names the object speaks of it.
func IsGone(err error, obj *unstructured.Unstructured) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	if details == nil || details.Name != obj.GetName() {
		return false
	}
	return details.Kind != "namespaces" || obj.GetKind() == "Namespace"
}
