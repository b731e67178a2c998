package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	apivalidation "k8s.io/apimachinery/pkg/util/validation"
)

// hashLength is how much of a hash stands in a name: too much for somebody to look for a resource of theirs with the same.
const hashLength = 16

const kindNamespace = "Namespace"

// ClusterName is the name of a cluster-scoped object of a namespaced resource whose declaration gives none:
// <namespace>-<name>-<hash>. Without the hash, resource c of namespace a-b and resource b-c of namespace a would have the same.
func ClusterName(gvk schema.GroupVersionKind, namespace, resource string) string {
	longest, text := apivalidation.DNS1123SubdomainMaxLength, namespace+"-"+resource
	if gvk.Group == "" && gvk.Kind == kindNamespace {
		longest, text = apivalidation.DNS1123LabelMaxLength, strings.ReplaceAll(text, ".", "-")
	}
	if most := longest - hashLength - len("-"); len(text) > most {
		text = strings.TrimRight(text[:most], "-.")
	}
	return text + "-" + hashOf(namespace, resource)
}

// hashOf is the same for no two resources: no namespace holds a slash.
func hashOf(namespace, resource string) string {
	sum := sha256.Sum256([]byte(namespace + "/" + resource))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// Fixed is what the template of a name gives for every resource.
type Fixed struct {
	// Before and After are the text before the first value and after the last one.
	Before, After string
	// NamespaceAlone says that the template reads nothing but the namespace.
	NamespaceAlone bool
}

// TellsNamespace refuses the rendered name of a cluster-scoped object from which it can't be told to which namespace its resource belongs:
// who may write resources in one namespace could take the names of another. The namespace must come first, and end where no other
// namespace could end: at a character that namespaces don't have, such as a dot, or at the only hyphen; or the name ends in the hash of
// ClusterName. show says whether the message may quote the name.
func TellsNamespace(gvk schema.GroupVersionKind, name string, fixed Fixed, namespace, resource string, show bool) error {
	text := strings.TrimSuffix(strings.TrimPrefix(name, fixed.Before), fixed.After)
	if strings.HasSuffix(text, "-"+hashOf(namespace, resource)) || text == namespace && fixed.NamespaceAlone {
		return nil
	}
	if rest, ok := strings.CutPrefix(text, namespace); ok && rest != "" {
		switch delimiter := rest[0]; {
		case delimiter == '-' && !strings.ContainsFunc(rest[1:], func(r rune) bool { return !inWord(r) }) && rest != "-":
			return nil
		case delimiter != '-' && !inWord(rune(delimiter)):
			return nil
		}
	}
	delimited := fmt.Sprintf("begin it with {{ .metadata.namespace }} and a dot, as in %s.%s", namespace, resource)
	if gvk.Group == "" && gvk.Kind == kindNamespace {
		delimited = "end it with -{{ printf \"%s/%s\" .metadata.namespace .metadata.name | sha256sum | trunc 16 }}"
	}
	return fmt.Errorf("name: from %s it can't be told that its resource is in namespace %q: a resource of another namespace could have the same; %s, or remove it, and it is %s",
		shownName(name, show), namespace, delimited, ClusterName(gvk, namespace, resource))
}

// inWord says whether a character is one that namespaces have, and no hyphen.
func inWord(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
