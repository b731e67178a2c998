package drain

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	draining "github.com/orkspace/orkestra/controllers/drain"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

// accepted is what a leader answers on the Lease.
const accepted = "accepted-for/account"

// installation is a cluster with one box and one resource, both held, and a Lease that nobody holds.
type installation struct{ *shared.APIServer }

func install(t *testing.T) *installation {
	t.Helper()
	return &installation{&shared.APIServer{Objects: shared.Objects(t, "testdata/cluster.yaml")}}
}

func (i *installation) object(kind string) *unstructured.Unstructured {
	for _, obj := range i.Objects {
		if obj.GetKind() == kind {
			return obj
		}
	}
	return nil
}

func (i *installation) set(kind string, value any, fields ...string) {
	if err := unstructured.SetNestedField(i.object(kind).Object, value, fields...); err != nil {
		panic(err) // a mistake in a test
	}
}

// without takes the objects of a kind out of the cluster.
func (i *installation) without(kind string) {
	var left []*unstructured.Unstructured
	for _, obj := range i.Objects {
		if obj.GetKind() != kind {
			left = append(left, obj)
		}
	}
	i.Objects = left
}

// onLease calls do whenever the Lease is asked for, with how often it was.
func (i *installation) onLease(do func(times int)) {
	times := 0
	i.Refuse = func(path string) int {
		if strings.HasSuffix(path, "/leases/"+draining.LeaseName) {
			times++
			do(times)
		}
		return 0
	}
}

func (i *installation) drain(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	return shared.Run(t, NewCommand(), "", append([]string{"drain", "--kubeconfig", i.Start(t)}, args...)...)
}

func TestForceLetsGoOfEverything(t *testing.T) {
	g, i := NewWithT(t), install(t)
	i.object("Lease").SetAnnotations(map[string]string{v1alpha1.AnnotationDrain: v1alpha1.True})
	stdout, stderr, code := i.drain(t, "--force")
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal("operatorbox/shops: let go of, and of 1 resource\n"))
	g.Expect(i.object("Shop").GetFinalizers()).To(Equal([]string{"somebody.example.com/else"}), "only ours are taken off")
	g.Expect(i.object("OperatorBox").GetFinalizers()).To(BeEmpty())
	g.Expect(i.object("Lease").GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationDrain), "a manager that is installed later is asked for nothing")
	g.Expect(i.Wrote).To(ContainElement("PATCH /apis/demo.example.com/v1/namespaces/default/shops/flowers/status"), "the resource says that nobody keeps it")
	conditions, _, err := unstructured.NestedSlice(i.object("Shop").Object, "status", "conditions")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "Ready"), HaveKeyWithValue("reason", v1alpha1.ReasonDrained))))
}

func TestForceOfWhatCannotBeLetGo(t *testing.T) {
	refuse := func(i *installation, part string) {
		i.Refuse = func(path string) int {
			if strings.Contains(path, part) {
				return http.StatusForbidden
			}
			return 0
		}
	}
	for name, tc := range map[string]struct {
		change func(*installation)
		want   string
	}{
		"the CRD may not be read":     {func(i *installation) { refuse(i, "/customresourcedefinitions/") }, `operatorbox/shops: reading CustomResourceDefinition "shops.demo.example.com": no right`},
		"resources may not be listed": {func(i *installation) { refuse(i, "/v1/shops") }, `operatorbox/shops: listing shops.demo.example.com: no right`},
		"no version is served":        {func(i *installation) { i.set("CustomResourceDefinition", []any{}, "spec", "versions") }, `serves no version: without one, its resources can't be let go`},
		"revisions may not be read": {func(i *installation) {
			// One that the box does not name: a former revision may.
			i.object("Shop").SetAnnotations(map[string]string{v1alpha1.AnnotationManagedBy: "shops", v1alpha1.AnnotationFinalizers: "somebody.example.com/else"})
			refuse(i, "/controllerrevisions")
		}, `listing the ControllerRevisions of OperatorBox "shops" in namespace "orkestra-system": no right`},
		"the resource may not change":   {func(i *installation) { refuse(i, "/shops/flowers") }, `letting go of Shop default/flowers: `},
		"the box may not be changed":    {func(i *installation) { refuse(i, "/operatorboxes/shops") }, `operatorbox/shops: removing its finalizer: no right`},
		"its status may not be changed": {func(i *installation) { refuse(i, "/flowers/status") }, "Shop/default/flowers: its status stays as it is: no right"},
	} {
		t.Run(name, func(t *testing.T) {
			g, i := NewWithT(t), install(t)
			tc.change(i)
			stdout, stderr, code := i.drain(t, "--force")
			g.Expect(stdout).To(ContainSubstring(tc.want), stderr)
			if strings.HasPrefix(name, "its status") {
				g.Expect(code).To(BeZero(), "who forces a drain wants the resource free")
				return
			}
			g.Expect(code).To(Equal(exit.No))
			g.Expect(i.object("OperatorBox").GetFinalizers()).To(ConsistOf(v1alpha1.Finalizer), "a box is held while its resources are")
		})
	}
}

func TestForceOfABoxWhoseCRDIsGone(t *testing.T) {
	g, i := NewWithT(t), install(t)
	crd := i.object("CustomResourceDefinition")
	config := i.Start(t)
	i.without(crd.GetKind())
	stdout, stderr, code := shared.Run(t, NewCommand(), "", "drain", "--force", "--kubeconfig", config)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal("operatorbox/shops: let go of, and of 0 resources\n"))
}

// The manager answers on the Lease, and says on each box how far it is.
func TestDrainFollowsTheManager(t *testing.T) {
	g, i := NewWithT(t), install(t)
	i.onLease(func(times int) {
		switch times {
		case 2: // the first one asks
			i.object("Lease").SetAnnotations(map[string]string{v1alpha1.AnnotationDrain: accepted})
			i.set("OperatorBox", []any{map[string]any{"type": "Ready", "status": "False", "reason": v1alpha1.ReasonDraining, "message": "1 resource is held"}}, "status", "conditions")
		case 3:
			i.set("OperatorBox", []any{map[string]any{"type": "Ready", "status": "False", "reason": v1alpha1.ReasonDrained, "message": ""}}, "status", "conditions")
			i.object("OperatorBox").SetFinalizers(nil)
		}
	})
	stdout, stderr, code := i.drain(t)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(stdout).To(Equal("operatorbox/shops: 1 resource is held\noperatorbox/shops: drained\nNothing is held any more: 1 box.\n"))
}

func TestDrainMakesTheLeaseOfAManagerThatHasNone(t *testing.T) {
	g, i := NewWithT(t), install(t)
	config := i.Start(t)
	i.without("Lease")
	i.onLease(func(times int) {
		if times > 1 { // it was made after the first try to change it
			i.object("Lease").SetAnnotations(map[string]string{v1alpha1.AnnotationDrain: accepted})
			i.object("OperatorBox").SetFinalizers(nil)
			i.set("OperatorBox", []any{map[string]any{"type": "Ready", "status": "False", "reason": v1alpha1.ReasonDrained, "message": ""}}, "status", "conditions")
		}
	})
	_, stderr, code := shared.Run(t, NewCommand(), "", "drain", "--kubeconfig", config)
	g.Expect(code).To(BeZero(), stderr)
	g.Expect(i.Wrote).To(ContainElement("POST /apis/coordination.k8s.io/v1/namespaces/orkestra-system/leases"))
}

func TestTheLeaseMayNotBeChanged(t *testing.T) {
	g, i := NewWithT(t), install(t)
	i.Refuse = func(path string) int {
		if strings.Contains(path, "/leases/") {
			return http.StatusForbidden
		}
		return 0
	}
	_, stderr, code := i.drain(t)
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(HavePrefix(`error: annotating Lease "orkestra-system/orkestra-leader" (is -n the manager's namespace?): `))
	_, stderr, code = i.drain(t, "--undo")
	g.Expect(code).To(Equal(exit.No))
	g.Expect(stderr).To(HavePrefix(`error: reading Lease "orkestra-system/orkestra-leader": `))
}

func TestForceOfABoxThatNeverHadACRD(t *testing.T) {
	g, i := NewWithT(t), install(t)
	i.set("OperatorBox", map[string]any{"definition": map[string]any{"group": "demo.example.com"}}, "spec", "crd")
	stdout, stderr, code := i.drain(t, "--force")
	g.Expect(code).To(BeZero(), stdout+stderr)
	g.Expect(stdout).To(Equal("operatorbox/shops: let go of, and of 0 resources\n"))
	g.Expect(i.object("OperatorBox").GetFinalizers()).To(BeEmpty(), "its definition can't be read, so it has served nothing")
}
