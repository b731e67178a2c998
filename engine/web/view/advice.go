package view

import "github.com/orkspace/orkestra/api/v1alpha1"

// documentation is where the pages of this project are that people read, and runbooks where those of the chart's alerts are.
const (
	documentation = "https://github.com/orkspace/orkestra/blob/main/docs/"
	runbooks      = documentation + "operations/alerts/"
)

// The pages, and their sections, that say of reasons what to do.
const (
	troubleshootPage   = "how-to/troubleshoot.md"
	readySection       = troubleshootPage + "#ready"
	reconcilingSection = troubleshootPage + "#reconciling"
	stalledSection     = troubleshootPage + "#stalled"
	stuckSection       = troubleshootPage + "#a-box-is-stuck"
	statusCommand      = "reference/cli.md#status"
)

// advice is what to do about a reason, in one or two sentences, and the page that says more.
type advice struct{ todo, page string }

// Advice says what to do about the reason for which a resource is not ready, and gives the address of the page that says more. The message, which begins
// with the step, tells errors apart that have no reason of their own. A reason that is not known, as one that a hook has made up, has the page alone.
func Advice(reason, message string) (todo, page string) {
	a, known := advices[reason]
	if reason == v1alpha1.ReasonReconcileError || reason == v1alpha1.ReasonRetrying {
		a = retried(a, message)
	}
	if !known {
		return "", documentation + troubleshootPage
	}
	return a.todo, documentation + a.page
}

const (
	waitOrMend = "It is tried again by itself, after pauses that grow. If the message stays, look at what it names, and at the last reconciles and events: they say " +
		"since when it is so. The log of the manager has the whole error."
	triedAgain   = " It is tried again once per resync, and at once when something changes that was read."
	nobodyKeeps  = "Nobody keeps the resource and its children any more. "
	lookAtManage = "If that lasts, see whether a manager is at work, and whether the box runs."
)

// advices are of the reasons of resources. docs/how-to/troubleshoot.md has each of them.
var advices = map[string]advice{ //nolint:gochecknoglobals // a constant
	v1alpha1.ReasonReconcileError: {waitOrMend, readySection},
	v1alpha1.ReasonBoxDeleted:     {nobodyKeeps + "Make a box for it, or delete it.", readySection},
	v1alpha1.ReasonNotSelected:    {nobodyKeeps + "Set a label, or change namespaces or selector of the box.", readySection},
	v1alpha1.ReasonDrained:        {nobodyKeeps + "Uninstall Orkestra, or have it go on.", readySection},

	v1alpha1.ReasonWaitingForGate:       {"Make the condition true, or wait. Where nothing should wait for it, say optional: true in the box.", reconcilingSection},
	v1alpha1.ReasonChildrenNotCurrent:   {"Look at the child that is named: it has not settled. What is said of its Pods is among the events of this resource.", reconcilingSection},
	v1alpha1.ReasonRollingOut:           {"Mend the item that is named, or change what is declared of it. The others go on by themselves.", reconcilingSection},
	v1alpha1.ReasonChildTerminating:     {"Wait: the child is made again when it is gone. If it stays, see to the finalizers that the message names.", reconcilingSection},
	v1alpha1.ReasonRetrying:             {waitOrMend, reconcilingSection},
	v1alpha1.ReasonFighting:             {"Let only one of the two set the field: leave it out of the declaration, name it in initialFields, or stop the other one.", reconcilingSection},
	v1alpha1.ReasonDeleting:             {"Wait for the clean-up. If it does not end, see to what the message names.", "how-to/cleanup.md#when-it-does-not-go"},
	v1alpha1.ReasonPaused:               {"Nothing is made or corrected. Resume it: take the annotation " + v1alpha1.AnnotationPaused + " off.", reconcilingSection},
	v1alpha1.ReasonNamespaceWithdrawn:   {"Have the people of that namespace let the resource in again, by the annotation allow-from, or lead it elsewhere.", reconcilingSection},
	v1alpha1.ReasonWaitingForCross:      {"Make the object that is named, or say optional: true in the box. It is seen when it comes.", reconcilingSection},
	v1alpha1.ReasonWaitingForRelease:    {"Another box still cleans up after the object. See what that one waits for.", reconcilingSection},
	v1alpha1.ReasonWaitingForHook:       {"Wait, or look at what the hook names.", reconcilingSection},
	v1alpha1.ReasonWaitingForProvider:   {"Wait, or make the Secret that is named.", reconcilingSection},
	v1alpha1.ReasonWaitingForTarget:     {"Make the object that is to be patched, or say optional: true in the patch.", reconcilingSection},
	v1alpha1.ReasonWaitingForDependency: {"Look at the box that is named; where there is none, make it, or take it out of dependsOn. This resource goes on by itself.", reconcilingSection},

	v1alpha1.ReasonValidationFailed: {"Change the resource so that it keeps the rule that is named.", stalledSection},
	v1alpha1.ReasonTemplateError:    {"Give the resource the field that is named, or write default or if in the template of the box.", stalledSection},
	v1alpha1.ReasonConditionError:   {"Set valueType in the condition of the box, or change the value: the two can't be compared.", stalledSection},
	v1alpha1.ReasonInvalidChild:     {"Change the resource or the box: the API server refuses the child as it is rendered." + triedAgain, stalledSection},
	v1alpha1.ReasonAdmissionDenied:  {"Ask who runs the webhook or the policy that is named." + triedAgain, stalledSection},
	v1alpha1.ReasonNotOwned: {"If nobody controls the other object: rename or delete it, or set adopt: IfUnowned in the box. If another resource does, give each a child of its own: " +
		"begin its name in the box with {{ .metadata.name }}." + triedAgain, stalledSection},
	v1alpha1.ReasonProviderRefused: {"Change what is declared: the message has the words of the service.", "how-to/providers.md#what-a-service-says"},
	v1alpha1.ReasonProviderDenied:  {"Mend the Secret that the declaration's credentials name.", stalledSection},
	v1alpha1.ReasonConflict:        {"Let only one of the two set the field, or say force: true in the patch.", "how-to/patches.md#fields-of-others"},
	v1alpha1.ReasonDuplicateChild:  {"Give one of the two declarations another name.", stalledSection},
	v1alpha1.ReasonForbidden:       {"Grant the right that is missing. The page of the box says which it is, and has the command.", "operations.md#rights"},
	v1alpha1.ReasonBudgetExceeded:  {"Make what the template renders smaller, or give the box less to do: the message names the limit.", stalledSection},
	v1alpha1.ReasonExternalFailed:  {"Mend the service, the address or the Secret that is named." + triedAgain, "how-to/external.md#when-a-call-fails"},
	v1alpha1.ReasonWebhookFailed:   {"Mend the webhook, its Service or the Secret that is named." + triedAgain, "how-to/webhooks.md#waiting-and-failing"},
	v1alpha1.ReasonHookFailed:      {"Change what the message names." + triedAgain, stalledSection},
	v1alpha1.ReasonUnknownFunction: {"Run a manager that has the function: nobody else can say whether there is something to clean up.", stalledSection},
	v1alpha1.ReasonCleanupFailed:   {"Look at the clean-up Job that is named, and at the log of its Pod.", "how-to/cleanup.md#when-it-does-not-go"},
	v1alpha1.ReasonChildFailed:     {"Mend the child that is named: it does not go on by itself. All else is reconciled as ever.", stalledSection},
	v1alpha1.ReasonHeld:            {"Mend the spec of the resource, or the box. The children are those of its last good spec until then.", "how-to/rollback.md#the-hold"},
	v1alpha1.ReasonRollbackFailed:  {"Mend what the message names: the last good state can't be put back." + triedAgain, stalledSection},

	v1alpha1.ReasonOverdue: {"Mend the code that does not heed its context, and restart the manager.", stuckSection},
	"FirstReconcile":       {"Wait: its first reconcile has not ended.", statusCommand},
	"Unseen":               {"Wait until a manager looks at it. " + lookAtManage, statusCommand},
	"Outdated":             {"Wait until its newest spec is reconciled. " + lookAtManage, statusCommand},
	"NotRunning":           {"Look at the box: its page says what it lacks.", statusCommand},
}
