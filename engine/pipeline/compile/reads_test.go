package compile

import (
	"testing"

	"github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/expr"
)

// All groups of a box have Secrets that are read by their id.
func TestASecretOfEveryGroupIsReadByItsID(t *testing.T) {
	for name, box := range map[string]string{
		"onCreate":    `onCreate: {secrets: [{id: s}]}`,
		"onReconcile": `onReconcile: {secrets: [{id: s}]}`,
		"onDelete":    `onDelete: {secrets: [{id: s}]}`,
		"onRollback":  `rollback: {onRollback: {secrets: [{id: s}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			b := &Box{OperatorBox: &v1alpha1.OperatorBox{}}
			g.Expect(yaml.UnmarshalStrict([]byte(box), &b.Spec)).To(gomega.Succeed())
			g.Expect(b.LeadsToSecret(expr.Path{RootChildren, "s"})).To(gomega.BeTrue())
			g.Expect(b.LeadsToSecret(expr.Path{RootChildren, "other"})).To(gomega.BeFalse())
		})
	}
}
