package access

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	shown   = `show what grants it with "kubectl get operatorbox box -o yaml | orkestra rbac -f - --cluster", read that, and apply it`
	labeled = `grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: "true"`
)

// TestSentence: what the advice says grants what is missing, and no more.
func TestSentence(t *testing.T) {
	pods := []Right{{Verb: "get", Resource: "pods"}, {Verb: "list", Resource: "pods"}}
	secrets := []Right{{Verb: "get", Resource: "secrets", Name: "x", Namespace: "m"}, {Verb: "get", Resource: "secrets", Name: "x", Namespace: "n"}}
	acting := Right{Verb: "impersonate", Resource: "serviceaccounts", Namespace: "platform", Name: "greeting"}
	const forAccount = `the manager may not impersonate serviceaccounts "greeting" in namespace "platform"; list the account in the chart's trust.boxNamespaces ` +
		`({name: platform, accounts: [greeting]}); without the chart, bind the manager to a Role in that namespace with impersonate on serviceaccounts and this one resourceName`
	for name, test := range map[string]struct {
		missing []Missing
		want    string
	}{
		"of the manager's caches":        {[]Missing{{Box: "box", Rights: pods}}, "the manager may not get/list pods; " + labeled},
		"to act as an account":           {[]Missing{{Box: "box", Rights: []Right{acting}}}, forAccount},
		"to act as one, and for caches":  {[]Missing{{Box: "box", Rights: append([]Right{acting}, pods...)}}, "the manager may not get/list pods; " + labeled + "; " + forAccount},
		"of an account":                  {[]Missing{{Account: shop, Box: "box", Rights: secrets}}, `ServiceAccount team-a/shop may not get secrets "x" in namespace "m", get secrets "x" in namespace "n"; ` + shown},
		"of both":                        {[]Missing{{Account: shop, Box: "box", Rights: secrets[:1]}, {Rights: pods}}, `ServiceAccount team-a/shop may not get secrets "x" in namespace "m"; ` + shown + "; the manager may not get/list pods; " + labeled},
		"of an account that acts itself": {[]Missing{{Account: shop, Box: "box", Rights: []Right{acting}}}, `ServiceAccount team-a/shop may not impersonate serviceaccounts "greeting" in namespace "platform"; ` + shown},
		"of a box without an account": {[]Missing{{Box: "box", AsManager: true, Rights: pods}}, "the manager may not get/list pods; name an account for the box in spec.serviceAccountRef: " +
			`show what grants it with "kubectl get operatorbox box -o yaml | orkestra rbac -f - --cluster --account NAMESPACE/NAME", read that, and apply it; or, for all boxes without one, ` + labeled},
		"in all namespaces": {[]Missing{{Account: shop, Box: "box", Everywhere: true, Rights: pods}}, "ServiceAccount team-a/shop may not get/list pods; " +
			"what stands without a namespace is missing in all of them, and spec.namespaces.include limits the box to those that it names; " + shown},
	} {
		NewWithT(t).Expect(Sentence(test.missing...)).To(Equal(test.want), name)
	}
}

// A box may need rights in many namespaces, and the order in which reviews are answered is nobody's business.
func TestASentenceIsBoundedAndDeterministic(t *testing.T) {
	g := NewWithT(t)
	var rights []Right
	for i := range 300 {
		namespace := fmt.Sprintf("team-%03d", i)
		rights = append(rights, Right{Verb: "patch", Resource: "configmaps", Namespace: namespace}, Right{Verb: "create", Resource: "configmaps", Namespace: namespace})
	}
	whole := Missing{Account: shop, Box: "box", Rights: rights}
	text := Sentence(whole)
	g.Expect(text).To(HavePrefix(`ServiceAccount team-a/shop may not create/patch configmaps in namespace "team-000", create/patch configmaps in namespace "team-001", `))
	g.Expect(text).To(HaveSuffix(`in namespace "team-019", and 280 more; ` + shown))
	g.Expect(Lacks(whole)).To(HaveSuffix(`create/patch configmaps in namespace "team-299"`), "the command says all")
	slices.Reverse(rights)
	g.Expect(Sentence(whole)).To(Equal(text))
}
