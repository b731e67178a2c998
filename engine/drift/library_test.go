package drift

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// TestTheLibrarySaysOtherwise is why drift is not left to structured-merge-diff (docs/design/dependencies.md, "Drift"): it compares what
// is written, not what it means. Where a case fails because the library has learned it, ask again what of ours is still needed.
func TestTheLibrarySaysOtherwise(t *testing.T) {
	converter, comparer := applyconfigurations.NewTypeConverter(scheme.Scheme), NewComparer(nil)
	removedOrModified := func(declared, live *unstructured.Unstructured) (string, error) {
		d, err := converter.ObjectToTyped(declared, typed.AllowDuplicates)
		if err != nil {
			return "", err
		}
		l, err := converter.ObjectToTyped(live, typed.AllowDuplicates)
		if err != nil {
			return "", err
		}
		found, err := d.Compare(l)
		if err != nil {
			return "", err
		}
		text := ""
		found.Removed.Union(found.Modified).Leaves().Iterate(func(p fieldpath.Path) { text += ManagedPath(p) + " " })
		return text, nil
	}
	for name, tc := range map[string]struct{ kind, declared, live, library string }{
		"a quantity in another spelling": {claim, "spec: {resources: {requests: {storage: 1024Mi}}}", "spec: {resources: {requests: {storage: 1Gi}}}",
			"spec.resources.requests.storage "},
		"a port as a text": {service, "spec: {ports: [{port: 80, targetPort: '8080'}]}", "spec: {ports: [{port: 80, protocol: TCP, targetPort: 8080}]}",
			"spec.ports[port=80,protocol=TCP].targetPort "},
		"a zero that the API server drops": {deployment, "spec: {minReadySeconds: 0}", "spec: {}", "spec.minReadySeconds "},
		"a default inside of a list that has one owner": {"networking.k8s.io/v1 Ingress", "spec: {tls: [{secretName: a}]}",
			"spec: {tls: [{secretName: a, hosts: [b]}]}", "spec.tls "},
		"base64 with a line end": {secret, "data: {a: \"aGVsbG8=\\n\"}", "data: {a: aGVsbG8=}", "data.a "},
		"a field of a newer API server": {deployment, "spec: {replicas: 1}", "spec: {replicas: 1, later: true}",
			".spec.later: field not declared in schema"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			declared, live := object(t, tc.kind, tc.declared), object(t, tc.kind, tc.live)
			g.Expect(comparer.Differences(comparer.Prepare(declared), live)).To(BeEmpty())
			found, err := removedOrModified(declared, live)
			if err != nil {
				g.Expect(err).To(MatchError(tc.library))
				return
			}
			g.Expect(found).To(Equal(tc.library))
		})
	}
}
