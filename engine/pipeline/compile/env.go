package compile

import (
	"io"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/boxspec"
	"github.com/orkspace/orkestra/engine/hook"
	"github.com/orkspace/orkestra/engine/provider"
)

// Env is what a box is compiled against.
type Env struct {
	// CRD is the CRD in the version that the box works in.
	CRD CRD
	// Mapper resolves the kinds of manifests. nil: scopes and plurals are guessed, as for kinds that are not installed.
	Mapper meta.RESTMapper
	// AllKinds says that the mapper knows all kinds of an API server: others are not installed.
	AllKinds bool
	// Random is where the values of declarations with `once: true` come from. Default: the system's source.
	Random io.Reader
	// Now is the time at which certificates begin that such declarations make. Default: the system's clock.
	Now func() time.Time
	// BoxSchema gives the schema of the CRD that another box serves; nil where that is not known. Paths through cross are
	// checked against it. nil: nothing is known of other boxes.
	BoxSchema func(box string) *apiextensionsv1.JSONSchemaProps
	// BoxCRD gives the CRD that another box serves; nil where that is not known. The right to read its resources is derived from it. nil:
	// nothing is known of other boxes.
	BoxCRD func(box string) *CRD
	// DependsOn names the boxes that another box depends on. nil: rings of dependencies can't be seen.
	DependsOn func(box string) []string
	// FormerPlaces are those of the kept revisions of the box: there may be children of them.
	FormerPlaces boxspec.Places
	// AllowGrantingKinds lets boxes make kinds that grant rights.
	AllowGrantingKinds bool
	// Code has the functions that are compiled into the manager. nil: it is not known which.
	Code *hook.Registry
	// WebhookServices are the Services that webhooks may be, by namespace, or namespace/name, besides those in the namespace of the account of
	// the box. nil: it is not known which.
	WebhookServices []string
	// Elders are the older boxes over the same kind of others: what they select is theirs.
	Elders []Elder
	// Providers are those that are compiled in. nil: that is not known, and the resources of providers are not checked.
	Providers *provider.Registry
	// ExternalOnly says that the operator names the only hosts that may be called, so that a URL's host may come from a resource.
	ExternalOnly bool
}

// Elder is an older box over the same kind of others, and what it selects.
type Elder struct {
	// Box is its name.
	Box string
	// Namespaces, Selector and Annotations are those of its spec.
	Namespaces  v1alpha1.NamespaceSelection
	Selector    *metav1.LabelSelector
	Annotations *v1alpha1.AnnotationSelector
}

// CRD is a CRD in the version that a plan works in.
type CRD struct {
	// Name is <plural>.<group>.
	Name string
	// UID of the CRD object; a CRD that was deleted and made again has another.
	UID types.UID
	// Generation of the CRD object that the plan was checked against.
	Generation int64
	// Kind of the resources.
	Kind schema.GroupVersionKind
	// Resource is how the API server serves them.
	Resource schema.GroupVersionResource
	// Namespaced says whether resources live in namespaces.
	Namespaced bool
	// Going says that the CRD is being deleted, or will be with its box. Orkestra then deletes the children itself: the garbage collector
	// can't look up owners whose kind is gone, and may leave their children behind.
	Going bool
	// HasStatus says whether the version has a status subresource.
	HasStatus bool
	// Schema of the version; nil where it has none.
	Schema *apiextensionsv1.JSONSchemaProps
	// OfOthers says that the box is not the operator of the kind: it serves some objects of others, and leaves them as they are. Nothing is
	// written to their metadata, and of their status only what the box declares.
	OfOthers bool
}

// Same says whether a plan for one of the two is a plan for the other.
func (c CRD) Same(other CRD) bool {
	return c.UID == other.UID && c.Generation == other.Generation && c.Resource == other.Resource && c.Going == other.Going
}
