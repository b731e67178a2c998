package operatorbox

import (
	"errors"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/controllers/admission"
	"github.com/orkspace/orkestra/controllers/crds"
	"github.com/orkspace/orkestra/engine"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// scope is one reconcile of a box: what its steps learned, which is all that its status shows.
type scope struct {
	box      *v1alpha1.OperatorBox
	deleted  bool // the box is being deleted, or is gone already
	draining bool // the manager is being drained: everything is to be let go

	account acting // as whom it acts

	located
	errors   field.ErrorList        // mistakes in the spec
	plan     *pipeline.Plan         // what was compiled; nil with errors
	missing  []access.Missing       // rights without which the box can't run
	withheld access.Missing         // rights to read that its resources miss while it runs
	enforced *admission.Enforcement // by the API server; nil: it is not asked to

	phase        health.Phase           // where a box without a sub-controller is
	reason       string                 // why the box is not Ready; empty: nothing that a step knows stands in its way
	message      string                 // goes with the reason
	notes        []string               // what else the condition Compiled says
	requeueAfter time.Duration          // when to reconcile again without an event
	silent       bool                   // nothing is shown: the box is gone, or another process shows it
	failed       error                  // the error of the reconcile, where the status must be written all the same
	stuck        bool                   // what ran of the box before does not stop
	unended      []types.NamespacedName // the reconciles that it waits for
}

// located is the CRD of a box.
type located struct {
	crdName    string
	live       *apiextensionsv1.CustomResourceDefinition // nil: it is not there, or not established
	crd        *pipeline.CRD                             // in the version that the box works in; nil: in none
	crdReason  string                                    // why there is none, or Established
	crdMessage string
	refused    bool // crd.definition was refused, and crd is what the box installed before
}

func newScope(box *v1alpha1.OperatorBox) *scope {
	return &scope{box: box, located: located{crdName: crds.NameOf(box)}}
}

// note says something of the spec that is no mistake in it.
func (s *scope) note(text string) { s.notes = append(s.notes, text) }

// stopped says that what ran before can't go on either. The message begins with it, because a box with mistakes usually goes on with its
// last revision, and users expect that.
func (s *scope) stopped(text string) {
	s.note(text)
	if !strings.HasPrefix(s.message, text) {
		s.message = strings.TrimSuffix(text+noteSeparator+s.message, noteSeparator)
	}
}

// notReady says why a box does not run what its spec says.
func (s *scope) notReady(phase health.Phase, reason, message string) {
	s.phase, s.reason, s.message = phase, reason, message
}

// showStuck shows that a step has ended because what runs of the box does not stop, if it has. It is not tried again: the engine tells when
// that has changed.
func (s *scope) showStuck(err error) (shown bool) {
	stuck, is := errors.AsType[*engine.StuckError](err)
	switch {
	case !is:
		return false
	case s.deleted:
		s.notReady(health.Stopped, v1alpha1.ReasonDeletionBlocked, whileDeleted+stuck.Waits())
	case s.draining:
		s.notReady(health.Suspended, v1alpha1.ReasonDraining, whileDrained+stuck.Waits())
	default:
		s.notReady(health.Pending, v1alpha1.ReasonStuck, whileStopped+stuck.Waits())
	}
	s.stuck, s.silent, s.unended = true, false, stuck.Resources
	return true
}

// established says that the CRD is there.
func (s *scope) established() {
	s.crdReason, s.crdMessage = v1alpha1.ReasonEstablished, "the CRD is served"
}

// noCRD says why the box has no CRD that it could work with.
func (s *scope) noCRD(phase health.Phase, reason, message string) {
	s.crdReason, s.crdMessage = reason, message
	s.notReady(phase, reason, message)
}

// report is what CRDHealth shows of a box, beside what the engine says of it.
func (s *scope) report() health.Report {
	return health.Report{Phase: s.phase, Reason: s.reason, Message: s.message, CRD: s.crdName, Unended: s.unended}
}
