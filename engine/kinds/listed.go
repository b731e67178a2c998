package kinds

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/orkspace/orkestra/engine/kinds/shape"
	"github.com/orkspace/orkestra/engine/value"
)

// MaxListedKinds is how many kinds one manifest may list: each of them is watched.
const MaxListedKinds = 16

// textNotRead is the way out where a manifest is a text: a newline in somebody's spec would add fields to it.
const textNotRead = "; a text is never read as YAML: give a map, by one action such as {{ .spec.template }} or {{ dict … }}, or by a value with cel"

// listedExample shows how a kind is listed.
const listedExample = "wanted group/version/Kind, or version/Kind for those of the core group: v1/ConfigMap, apps/v1/Deployment"

// ListedKinds gives the kinds that a `resources` declaration lists for a manifest that one template gives, from its short fields, rendered or
// not. The error is a *shape.FieldError.
func ListedKinds(short map[string]any) ([]schema.GroupVersionKind, error) {
	entries, isList := short[nameKinds].([]any)
	switch {
	case short[nameKinds] == nil, isList && len(entries) == 0:
		return nil, shape.Missing(nameKinds, "the kinds that the template may give: rights and watches are derived from them: kinds: [v1/ConfigMap]")
	case !isList:
		return nil, &shape.FieldError{Path: nameKinds, Want: "list of kinds without a template, such as [v1/ConfigMap]", Got: value.TypeName(short[nameKinds])}
	case len(entries) > MaxListedKinds:
		return nil, &shape.FieldError{Path: nameKinds, Got: fmt.Sprintf("it lists %d kinds, and at most %d are allowed", len(entries), MaxListedKinds)}
	}
	out := make([]schema.GroupVersionKind, 0, len(entries))
	for i, v := range entries {
		gvk, problem := listedKind(v)
		if problem == "" && slices.ContainsFunc(out, func(other schema.GroupVersionKind) bool { return other.GroupKind() == gvk.GroupKind() }) {
			problem = fmt.Sprintf("%s is in this list already; list each kind once, in one version", gvk.Kind)
		}
		if problem != "" {
			return nil, &shape.FieldError{Path: fmt.Sprintf("%s[%d]", nameKinds, i), Got: problem, Value: shape.Excerpt(v)}
		}
		out = append(out, gvk)
	}
	return out, nil
}

// listedKind reads one entry. problem says what is wrong with it.
func listedKind(v any) (gvk schema.GroupVersionKind, problem string) {
	text, isText := v.(string)
	parts := strings.Split(text, "/")
	switch {
	case !isText:
		return gvk, listedExample
	case strings.Contains(text, "{{"):
		return gvk, "no template may stand here, since rights and watches are derived from it; " + listedExample
	case strings.Contains(text, "*"):
		return gvk, "a wildcard would be a right over everything; list each kind; " + listedExample
	case len(parts) == 2:
		gvk = schema.GroupVersionKind{Version: parts[0], Kind: parts[1]}
	case len(parts) == 3 && len(validation.IsDNS1123Subdomain(parts[0])) == 0:
		gvk = schema.GroupVersionKind{Group: parts[0], Version: parts[1], Kind: parts[2]}
	default:
		return gvk, listedExample
	}
	lower := strings.ToLower(gvk.Kind)
	if len(validation.IsDNS1035Label(gvk.Version)) > 0 || len(validation.IsDNS1035Label(lower)) > 0 || lower[0] == gvk.Kind[0] {
		return gvk, listedExample
	}
	return gvk, ""
}

// Listed gives a kind as it is listed.
func Listed(gvk schema.GroupVersionKind) string { return gvk.GroupVersion().String() + "/" + gvk.Kind }

// checkListedKinds checks what stands beside a manifest that one template gives.
func checkListedKinds(c *shape.Checker) {
	listed, err := ListedKinds(c.Short)
	if err != nil {
		c.AddError(err)
		return
	}
	for i, gvk := range listed {
		s, problem := builtIn(gvk)
		switch {
		case problem != nil:
			problem.Path, problem.Value = fmt.Sprintf("%s[%d]", nameKinds, i), Listed(gvk)
			c.Add(problem)
		case s != nil:
			checkManifestOverlay(c, s, gvk.Kind)
		}
	}
}
