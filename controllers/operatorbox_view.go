package controllers

import (
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/orkspace/orkestra/engine/health"
	"github.com/orkspace/orkestra/engine/pipeline"
)

// view is what one look at a box found: all that its status shows.
type view struct {
	crdName    string
	live       *apiextensionsv1.CustomResourceDefinition // nil: it is not there, or not established
	crd        *pipeline.CRD                             // in the version that the box works in; nil: in none
	crdReason  string                                    // why there is none, or Established
	crdMessage string
	refused    bool // crd.definition was, and the CRD is the one of before
	compiled   bool // a compile was tried
	errors     field.ErrorList
	plan       *pipeline.Plan // what was compiled; nil with errors
	missing    []string       // rights
	phase      health.Phase   // where a box without a sub-controller is
	reason     string         // of not being Ready
	message    string
	again      time.Duration // when to look again without an event
	notes      []string      // what else is to be said of the spec
}

// note says something of the spec that is no mistake in it.
func (v *view) note(text string) { v.notes = append(v.notes, text) }

// lost says that what ran before can't go on either. It leads the message: people take a box with mistakes for one that goes on.
func (v *view) lost(text string) {
	v.note(text)
	if !strings.HasPrefix(v.message, text) {
		v.message = strings.TrimSuffix(text+noteSeparator+v.message, noteSeparator)
	}
}

// report is what CRDHealth shows of a box, beside what the engine says of it.
func (v *view) report() health.Report {
	return health.Report{Phase: v.phase, Reason: v.reason, Message: v.message, CRD: v.crdName}
}
