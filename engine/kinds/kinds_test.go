package kinds

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func schemaGVK(object map[string]any) schema.GroupVersionKind {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

func TestLookup(t *testing.T) {
	g := NewWithT(t)
	k, ok := Lookup("configMaps")
	g.Expect(ok).To(BeTrue())
	g.Expect(k.Key).To(Equal("configmaps"))
	g.Expect(k.GVK.Kind).To(Equal("ConfigMap"))
	for _, key := range []string{"", "pods", "deployment", "pdb"} {
		_, ok := Lookup(key)
		g.Expect(ok).To(BeFalse(), key)
	}
}

func TestKeys(t *testing.T) {
	g := NewWithT(t)
	g.Expect(strings.Join(Keys(), ", ")).To(Equal(keysOfTheAPI(t)), "the CRD lets through other keys than the table has")
	g.Expect(Keys()).To(HaveLen(23))
}

// keysOfTheAPI reads the message of the rule by which the API server refuses unknown keys.
func keysOfTheAPI(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile("../../api/v1alpha1/declaration_types.go")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`valid keys: ([^"]*)"`).FindSubmatch(source)
	if found == nil {
		t.Fatal("the API has no rule that lists the keys")
	}
	return string(found[1])
}

func TestRanks(t *testing.T) {
	g := NewWithT(t)
	order := [][]string{
		{"namespaces"}, {"serviceaccounts"}, {"roles", "rolebindings", "clusterroles", "clusterrolebindings"},
		{"configmaps", "secrets"}, {"pvcs"}, {"services"}, {"deployments", "statefulsets", "daemonsets"}, {"jobs", "cronjobs"},
		{"ingresses"}, {"hpas"}, {"pdbs"}, {"networkpolicies", "resourcequotas", "limitranges", "resources", "patches"},
	}
	seen := 0
	for rank, keys := range order {
		for _, key := range keys {
			g.Expect(table[key].Rank).To(Equal(rank), key)
			seen++
		}
	}
	g.Expect(seen).To(Equal(len(table)))
	g.Expect(RankOf(schema.GroupVersionKind{Group: "apps", Version: "v9", Kind: "StatefulSet"})).To(Equal(6))
	g.Expect(RankOf(schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Deployment"})).To(Equal(11))
	g.Expect(RankOf(schema.GroupVersionKind{})).To(Equal(11))
}

func TestNames(t *testing.T) {
	for name, tc := range map[string]struct {
		gvk              schema.GroupVersionKind
		singular, plural string
	}{
		"a key's":       {schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, "deployment", "deployments"},
		"a short key's": {schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, "pvc", "pvcs"},
		"another kind's": {
			schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Proxy"}, "proxy", "proxies",
		},
		"a kind that is only called like a key's": {
			schema.GroupVersionKind{Group: "serving.example.com", Version: "v1", Kind: "Service"}, "service", "services",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(SingularOf(tc.gvk)).To(Equal(tc.singular))
			g.Expect(PluralOf(tc.gvk)).To(Equal(tc.plural))
		})
	}
}

func TestKindsOfTheTable(t *testing.T) {
	g := NewWithT(t)
	for key, k := range table {
		g.Expect(k.Key).To(Equal(key))
		if key == "resources" || key == "patches" {
			continue
		}
		g.Expect(k.Singular).NotTo(BeEmpty(), key)
		g.Expect(k.GVK.Empty()).To(BeFalse(), key)
		g.Expect(kindNames).To(HaveKey(k.GVK.GroupKind()))
		g.Expect(k.ClusterScoped).To(Equal(slices.Contains([]string{"namespaces", "clusterroles", "clusterrolebindings"}, key)), key)
	}
	for _, key := range Keys() {
		k := mustLookup(t, key)
		g.Expect(k.IsWorkload()).To(Equal(slices.Contains([]string{"daemonsets", "deployments", "statefulsets"}, key)), key)
		g.Expect(k.IsScalable()).To(Equal(slices.Contains([]string{"deployments", "statefulsets"}, key)), key)
	}
	g.Expect(mustLookup(t, "services").FieldNames()).To(Equal([]string{
		"headless", "port", "ports", "protocol", "selector", "targetPort", "type", "workload",
	}))
}
