package kinds

import (
	"reflect"
	"slices"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/kinds/shape"
)

func TestBuildConfig(t *testing.T) {
	for name, tc := range map[string]buildCase{
		"a Secret's data is stored in base64": {
			key: "secrets", short: `{type: kubernetes.io/basic-auth, immutable: true, data: {username: app, n: 5, empty: "", encoded: YQ==}}`,
			want: `
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: team}
type: kubernetes.io/basic-auth
immutable: true
data: {username: YXBw, n: NQ==, empty: "", encoded: WVE9PQ==}
`,
		},
		"a Secret without data": {
			key: "secrets", short: `{data: {}}`,
			want: `{apiVersion: v1, kind: Secret, metadata: {name: web, namespace: team}}`,
		},
		"a ServiceAccount": {
			key: "serviceaccounts", short: `{automountToken: "false", imagePullSecrets: [{name: registry}]}`,
			want: `
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: team}
automountServiceAccountToken: false
imagePullSecrets: [{name: registry}]
`,
		},
		"the smallest claim": {
			key: "pvcs", short: `{storage: 10Gi}`,
			want: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web, namespace: team}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
`,
		},
		"a claim with everything": {
			key: "pvcs", short: `{storage: 1e3, storageClassName: "", accessModes: [ReadWriteMany], volumeMode: Block}`, spec: `{volumeName: disk, resources: {limits: {storage: 2k}}}`,
			want: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web, namespace: team}
spec:
  accessModes: [ReadWriteMany]
  storageClassName: ""
  volumeMode: Block
  volumeName: disk
  resources: {requests: {storage: "1000"}, limits: {storage: 2k}}
`,
		},
		"a claim whose spec has all": {
			key: "pvcs", short: `{}`, spec: `{accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}`,
			want: `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: web, namespace: team}
spec: {accessModes: [ReadOnlyMany], resources: {requests: {storage: 1Gi}}}
`,
		},
		"a Namespace": {key: "namespaces", short: `{}`, want: `{apiVersion: v1, kind: Namespace, metadata: {name: web}}`},
		"a Namespace with a finalizer": {
			key: "namespaces", short: `{finalizers: [kubernetes]}`,
			want: `{apiVersion: v1, kind: Namespace, metadata: {name: web}, spec: {finalizers: [kubernetes]}}`,
		},
		"a ResourceQuota": {
			key: "resourcequotas", short: `{hard: {pods: 20, requests.cpu: 4}, scopes: [NotTerminating]}`,
			spec: `{scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}}`,
			want: `
apiVersion: v1
kind: ResourceQuota
metadata: {name: web, namespace: team}
spec:
  hard: {pods: "20", requests.cpu: "4"}
  scopes: [NotTerminating]
  scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: Exists}]}
`,
		},
		"a LimitRange": {
			key: "limitranges", short: `{limits: [{type: Container, default: {memory: 128Mi}}]}`,
			want: `
apiVersion: v1
kind: LimitRange
metadata: {name: web, namespace: team}
spec: {limits: [{type: Container, default: {memory: 128Mi}}]}
`,
		},
	} {
		t.Run(name, tc.run)
	}
}

// TestSpecFields: where the short fields are those of the object's spec, they are all of them, with the same types.
func TestSpecFields(t *testing.T) {
	for _, key := range []string{"limitranges", "namespaces", "networkpolicies", "resourcequotas"} {
		t.Run(key, func(t *testing.T) {
			g := NewWithT(t)
			k := mustLookup(t, key)
			short, spec := shape.Of(k.fields), shape.Of(k.spec)
			names := slices.DeleteFunc(slices.Clone(short.Names), func(name string) bool { return name == nameWorkload }) // stands for podSelector
			g.Expect(names).To(Equal(spec.Names))
			for _, name := range names {
				g.Expect(short.Members[name].Shape).To(BeEquivalentTo(spec.Members[name].Shape), name)
			}
		})
	}
}

// TestNoShortFieldIsACommonOne: a declaration's common fields are taken out before its short ones are read.
func TestNoShortFieldIsACommonOne(t *testing.T) {
	g := NewWithT(t)
	for _, key := range Keys() {
		for _, name := range mustLookup(t, key).FieldNames() {
			g.Expect(slices.Contains(v1alpha1.CommonFieldNames(), name)).To(BeFalse(), "%s.%s", key, name)
		}
	}
	g.Expect(reflect.TypeFor[v1alpha1.CommonFields]().NumField()).To(BeNumerically(">", 0))
}
