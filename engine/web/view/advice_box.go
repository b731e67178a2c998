package view

import "github.com/orkspace/orkestra/api/v1alpha1"

// The pages that say of a box what to do.
const (
	boxesSection = troubleshootPage + "#boxes"
	dependsPage  = "how-to/dependencies.md#see-what-is-awaited"
	rightsPage   = "operations.md#rights"
	tenantsPage  = "how-to/tenants.md#the-platform-team-for-each-operator"
)

// BoxAdvice says what to do about the reason for which a box does not run, or does not run well, and gives the address of the page that says more; both
// are empty where nothing is to be done. waits says that a dependency of the box is not met, which is no reason of its own.
func BoxAdvice(reason string, waits bool) (todo, page string) {
	a, known := boxAdvices[reason]
	switch {
	case known:
	case reason == "" && waits:
		a = advice{"New resources wait until each box in dependsOn is as it is wanted; those that are there already are kept. Look at the box that is named, make it, or take it out of dependsOn.", dependsPage}
	default:
		return "", ""
	}
	return a.todo, documentation + a.page
}

// boxAdvices are of the reasons of boxes. docs/how-to/troubleshoot.md has each of them.
var boxAdvices = map[string]advice{ //nolint:gochecknoglobals // a constant
	v1alpha1.ReasonStarting:            {"Wait: what it watches is being listed. If that lasts, the message says what is missing.", boxesSection},
	v1alpha1.ReasonCompileFailed:       {"Mend the mistakes that are named in the box, by their paths, and apply it again. orkestra validate, and the page \"Plan\" of the Control Center, check a box without applying it.", boxesSection},
	v1alpha1.ReasonUnknownFunction:     {"Run a manager that was built with the function: orkestra manager --list-functions says what one has.", boxesSection},
	v1alpha1.ReasonConstructorFailed:   {"Mend what the message names. The log of the manager has the stack of a panic.", "how-to/constructor.md#when-the-constructor-fails"},
	v1alpha1.ReasonCRDMissing:          {"Create the CustomResourceDefinition that is named, or mend crd.name in the box; with crd.definition, a box brings its own. The box starts by itself when it is there.", "how-to/install-your-crd.md"},
	v1alpha1.ReasonCRDNotEstablished:   {"Wait. If it lasts, the conditions of the CustomResourceDefinition say why the API server does not serve it.", boxesSection},
	v1alpha1.ReasonCRDVersionNotServed: {"Name a version in crd.version that is served: the message lists them.", boxesSection},
	v1alpha1.ReasonCRDClaimed:          {"Another box runs this CRD: delete one of the two, or give this one another CRD.", boxesSection},
	v1alpha1.ReasonCRDNotOwned:         {"Others have made this CRD: use it by crd.name, or take it over by crd.adopt: IfUnowned.", "how-to/install-your-crd.md#take-over-a-crd-that-exists"},
	v1alpha1.ReasonCRDRefused:          {"Mend crd.definition as the message says.", "how-to/install-your-crd.md#what-is-refused-and-what-is-not"},
	v1alpha1.ReasonStuck:               {"Restart the manager, and mend the code that does not heed its context.", stuckSection},

	v1alpha1.ReasonForbidden:         {"Grant the rights that are named, as the message says.", rightsPage},
	v1alpha1.ReasonAccountRequired:   {"Name a ServiceAccount in serviceAccountRef: this manager lets no box act as itself.", tenantsPage},
	v1alpha1.ReasonAccountNotAllowed: {"Name an account in one of the namespaces that the message lists, or have the manager's --box-namespaces name this one.", tenantsPage},
	v1alpha1.ReasonAccountMissing:    {"Make the ServiceAccount that is named, or name another one in serviceAccountRef.", boxesSection},
	v1alpha1.ReasonAccountChanged:    {"If the box may act as the new account, confirm it as the message says.", boxesSection},
	v1alpha1.ReasonAccountUnknown:    {"Wait for a moment after a start. If it lasts, grant the manager get, list and watch on serviceaccounts in that namespace.", boxesSection},

	v1alpha1.ReasonNoStatusSubresource: {"Add subresources: {status: {}} to the version of the CRD. Until then, results are in events and CRDHealth alone.", boxesSection},
	v1alpha1.ReasonStatusFieldsUnknown: {"Add the fields that are named to the schema of the CRD. Until then, they are left out.", boxesSection},

	v1alpha1.ReasonDegraded:        {"Open the worst of the resources that fail: its page says why, and what to do. The next reconcile that succeeds ends this.", troubleshootPage + "#crdhealth"},
	v1alpha1.ReasonSuspended:       {"Resume it when it is to go on: spec.suspend asks for this.", boxesSection},
	v1alpha1.ReasonStopped:         {"Look at the other conditions: they say why it was stopped.", boxesSection},
	v1alpha1.ReasonDraining:        {"Look at the resources that are left: their clean-up may fail. Or have Orkestra go on instead.", "how-to/uninstall.md#go-on-instead"},
	v1alpha1.ReasonDrained:         {"Uninstall Orkestra, or have it go on instead.", "how-to/uninstall.md#go-on-instead"},
	v1alpha1.ReasonDeletionBlocked: {"Look at the resources that are left: their clean-up may fail.", "how-to/cleanup.md#when-it-does-not-go"},
}
