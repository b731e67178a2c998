package outside

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// reviewed is what an account may read: objects as `kind namespace/name`.
type reviewed struct {
	may   map[string]bool
	asked []string
	err   error
}

// Reads implements stage.Access.
func (r *reviewed) Reads(_ context.Context, kind schema.GroupVersionKind, namespace, name string) (time.Time, error) {
	what := kind.Kind + " " + namespace + "/" + name
	r.asked = append(r.asked, what)
	if r.err != nil {
		return time.Time{}, r.err
	}
	if !r.may[what] {
		return now.Add(15 * time.Second), &stage.WithheldError{Account: identity.Account{Namespace: "team", Name: "ann"}, What: what}
	}
	return now.Add(time.Minute), nil
}

// spaced are kinds that are all in namespaces.
type spaced struct{}

// Namespaced implements stage.Kinds.
func (spaced) Namespaced(schema.GroupVersionKind) (bool, error) { return true, nil }

// Schema implements stage.Kinds.
func (spaced) Schema(schema.GroupVersionKind) *apiextensionsv1.JSONSchemaProps { return nil }

// withheld runs the stages of a plan for a resource of an account.
func withheld(t *testing.T, p *plan, access *reviewed, c *caller, active bool) (*stage.Cycle, stage.Outcome, error) {
	t.Helper()
	cycle := stage.NewCycle(&p.Plan, website(t, `{host: x}`), now, stage.Ports{Observer: c, Caller: c, Marker: c, Kinds: spaced{}, Access: access})
	cycle.Children, cycle.Marks.Active = c, active
	var outcome stage.Outcome
	for _, s := range p.stages {
		var err error
		if outcome, err = s.Run(t.Context(), cycle); err != nil || outcome != stage.Next {
			return cycle, outcome, err
		}
	}
	return cycle, outcome, nil
}

const readsSecret = "cross: [{name: s, apiVersion: v1, kind: Secret, optional: true, selector: {name: x}}]\n"

func TestWhatTheAccountMayNotReadIsNotGiven(t *testing.T) {
	g := gomega.NewWithT(t)
	c, p := callable(nil), planOf(t, readsSecret)
	resource := website(t, `{host: x}`)
	c.others = append(c.others, secret(resource.GetNamespace(), "x", map[string]string{"a": "canary"}))
	what := "Secret " + resource.GetNamespace() + "/x"
	access := &reviewed{may: map[string]bool{what: true}}
	cycle, outcome, err := withheld(t, p, access, c, true)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(outcome).To(gomega.Equal(stage.Next))
	g.Expect(access.asked).To(gomega.Equal([]string{what}))
	g.Expect(cycle.Outside.CrossWithSecrets).To(gomega.HaveKey("s"))
	g.Expect(cycle.Inputs.Expires()).To(gomega.Equal(now.Add(time.Minute)), "the right is an input")

	access.may = nil
	cycle, outcome, err = withheld(t, p, access, c, true)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(outcome).To(gomega.Equal(stage.Next), "all others go on")
	g.Expect(cycle.Outside.Cross).To(gomega.BeEmpty())
	g.Expect(cycle.Outside.CrossWithSecrets).To(gomega.BeEmpty())
	g.Expect(cycle.Outside.LacksAny()).To(gomega.BeTrue(), "what reads it waits, also where it is optional")
	g.Expect(cycle.Waits).To(gomega.ConsistOf(stage.Wait{Of: ".cross.s", Reason: v1alpha1.ReasonForbidden, Message: "cross s: ServiceAccount team/ann may not read " + what + "; the box's condition PermissionsGranted names the right"}))
	g.Expect(cycle.Inputs.Expires()).To(gomega.Equal(now.Add(15*time.Second)), "it heals by itself")

	_, outcome, err = withheld(t, p, access, c, false)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(outcome).To(gomega.Equal(stage.Hold), "a new resource waits as a whole")

	access.err = errors.New("away")
	_, _, err = withheld(t, p, access, c, true)
	g.Expect(err).To(gomega.MatchError("s: away"), "no answer is no refusal")
}

func TestACallWhoseCredentialsMayNotBeReadIsNotMade(t *testing.T) {
	g := gomega.NewWithT(t)
	c, p := callable(nil), planOf(t, readsQuota+"  onError: Continue\n  auth: {secretRef: {name: x}}\n")
	access := &reviewed{}
	for active, want := range map[bool]stage.Outcome{true: stage.Next, false: stage.Hold} {
		cycle, outcome, err := withheld(t, p, access, c, active)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(outcome).To(gomega.Equal(want))
		g.Expect(cycle.Outside.External).To(gomega.BeEmpty(), "no failure of the call: its readers would change what they made")
		g.Expect(cycle.Outside.LacksAny()).To(gomega.BeTrue())
		g.Expect(cycle.Waits).To(gomega.ConsistOf(gomega.HaveField("Of", ".external.quota")))
	}
	g.Expect(c.asked).To(gomega.BeEmpty())
}
