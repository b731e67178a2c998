package view

import (
	"slices"
	"strings"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// symptom is what tells errors apart that may pass by themselves: the step that failed, with which the message begins, or words of the API server.
type symptom struct {
	steps, words []string
	advice
}

const growing = " It is tried again by itself, after pauses that grow."

// symptoms are in the order in which they count: what the API server says names the cause more closely than the step in which it was said.
var symptoms = []symptom{ //nolint:gochecknoglobals // a constant
	{words: []string{"exceeded quota: "}, advice: advice{
		"The ResourceQuota that is named has no room. Delete what is not needed in its namespace, have the resource or the box ask for less, or ask who runs the namespace for more." + growing, readySection,
	}},
	{words: []string{"failed calling webhook ", "failed to call webhook"}, advice: advice{
		"An admission webhook of the cluster does not answer. Look at the Service that is named and at its Pods, or ask who runs it." + growing, readySection,
	}},
	{words: []string{": panic: "}, advice: advice{
		"This is a mistake in code, of a hook or of Orkestra, and no error of the resource. The log of the manager has the stack: mend the hook, or report it." + growing, readySection,
	}},
	{words: []string{"onDelete has not finished within "}, advice: advice{
		"The clean-up waits for the condition that is named, and nothing else does. See to what it waits for, or give it up: kubectl annotate the resource with " +
			v1alpha1.AnnotationSkipCleanup + "=true, and what is left outside stays." + growing,
		"how-to/cleanup.md#when-it-does-not-go",
	}},
	{steps: []string{"external"}, advice: advice{
		"The service does not answer as the box expects. See whether it is up, and whether the manager's Pod can reach it (its name, its port, a NetworkPolicy), or ask who runs it." + growing,
		"how-to/external.md#when-a-call-fails",
	}},
	{steps: []string{"hook"}, advice: advice{
		"The hook has failed, in its own words, or its webhook does not answer. Look at the Pods behind the webhook, or at the log of the manager that has the hook." + growing,
		"how-to/webhooks.md#waiting-and-failing",
	}},
	{steps: []string{"constructor"}, advice: advice{
		"The reconciler of the box's constructor has failed, in its own words. Look at the log of the manager." + growing, "how-to/constructor.md#what-the-box-does-with-an-answer",
	}},
	{steps: []string{"providers", "outputs"}, advice: advice{
		"The service of the provider fails, or can't be reached. See whether it is up, and whether the manager's Pod can reach it." + growing, "how-to/providers.md#what-a-service-says",
	}},
	{words: []string{"context deadline exceeded", "connection refused", "connection reset by peer", "i/o timeout", "etcdserver: ", "currently unable to handle the request", "too many requests"}, advice: advice{
		"The API server, or what it asks, does not answer in time. Look at its health and its load." + growing, readySection,
	}},
}

// retried is what to do about an error that may pass by itself; otherwise where nothing in its message says more.
func retried(otherwise advice, message string) advice {
	step, _, _ := strings.Cut(message, ": ")
	for _, s := range symptoms {
		if slices.Contains(s.steps, step) || slices.ContainsFunc(s.words, func(word string) bool { return strings.Contains(message, word) }) {
			return s.advice
		}
	}
	return otherwise
}
