package center

import (
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/access"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/web/api"
	"github.com/orkspace/orkestra/engine/web/view"
)

// advise adds to the page of a box what to do about the reason for which it is not well.
func advise(out *api.BoxDetail, box *v1alpha1.OperatorBox) {
	out.Todo, out.Page = view.BoxAdvice(out.Reason, out.Message != "" && slices.ContainsFunc(out.DependsOn, func(d api.Dependency) bool { return !d.Met }))
	if out.Reason == v1alpha1.ReasonForbidden {
		out.Todo = grant(box)
	}
}

// grant says how the rights are granted that a box lacks, with the whole command: messages are cut.
func grant(box *v1alpha1.OperatorBox) string {
	return "Grant the rights that are missing" + strings.TrimPrefix(access.HowToGrant(identity.Of(box), box.Name), "grant it") + "."
}
