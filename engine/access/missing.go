package access

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/orkspace/orkestra/engine/identity"
)

// Missing are rights that somebody lacks.
type Missing struct {
	// Account that lacks them; the zero value: the manager.
	Account identity.Account
	// Box that needs them; the commands that show what grants them name it. Empty: they are needed beside all boxes.
	Box string
	// AsManager says that the box names no account, so that the manager needs the rights to act in its place. They are missing as soon as the manager
	// makes nothing itself, which is the default of the chart, and an account is the better way out.
	AsManager bool
	// Everywhere says that rights are missing in all namespaces because the box does not name its own in spec.namespaces.include.
	Everywhere bool
	// Rights that are missing, sorted.
	Rights []Right
}

// maxShown bounds the resources that a message names for each who lacks rights: it is a condition, an event and a line of the log. The command that
// the message gives prints all.
const maxShown = 20

// Sentence is the message for users: who may not do what, as `verb/verb resource.group`, and how to grant it.
func Sentence(missing ...Missing) string {
	var texts []string
	for _, m := range missing {
		others, accounts := m.split()
		if len(others.Rights) > 0 || len(accounts) == 0 {
			texts = append(texts, others.sentence())
		}
		for _, r := range accounts {
			texts = append(texts, lacks(m.Account, list([]Right{r}))+"; "+actAs(r))
		}
	}
	return strings.Join(texts, "; ")
}

func (m Missing) sentence() string {
	lines := list(m.Rights)
	more := ""
	if len(lines) > maxShown {
		lines, more = lines[:maxShown], fmt.Sprintf(", and %d more", len(lines)-maxShown)
	}
	return lacks(m.Account, lines) + more + "; " + HowToGrant(m)
}

// split parts from what the manager lacks the rights to act as accounts: the ClusterRole that grants the rest would let it act as every account of the
// name, in all namespaces.
func (m Missing) split() (others Missing, accounts []Right) {
	others = m
	if !m.Account.IsManager() {
		return others, nil
	}
	others.Rights = nil
	for _, r := range m.Rights {
		if r.Verb == "impersonate" && r.Resource == "serviceaccounts" && r.Namespace != "" && r.Name != "" {
			accounts = append(accounts, r)
		} else {
			others.Rights = append(others.Rights, r)
		}
	}
	return others, accounts
}

// actAs says how the manager comes to act as an account.
func actAs(r Right) string {
	return fmt.Sprintf("list the account in the chart's trust.boxNamespaces ({name: %s, accounts: [%s]}); without the chart, "+
		"bind the manager to a Role in that namespace with impersonate on serviceaccounts and this one resourceName", r.Namespace, r.Name)
}

// HowToGrant says how rights are granted that are not those to act as an account. A tenant may have written the box, so that what grants an account its
// rights is shown before it is applied.
func HowToGrant(m Missing) string {
	show := `show what grants it with "kubectl get operatorbox ` + m.Box + ` -o yaml | orkestra rbac -f - --cluster`
	const read = `", read that, and apply it`
	switch {
	case !m.Account.IsManager() && m.Everywhere:
		return "what stands without a namespace is missing in all of them, and spec.namespaces.include limits the box to those that it names; " + show + read
	case !m.Account.IsManager():
		return show + read
	case m.AsManager:
		return "name an account for the box in spec.serviceAccountRef: " + show + " --account NAMESPACE/NAME" + read + "; or, for all boxes without one, " + byLabel
	default:
		return byLabel
	}
}

const byLabel = `grant it with a ClusterRole labeled orkestra.orkspace.io/aggregate-to-manager: "true"`

// Lacks says who may not do what, all of it, without how to grant it.
func Lacks(m Missing) string { return lacks(m.Account, list(m.Rights)) }

func lacks(account identity.Account, lines []string) string {
	return fmt.Sprintf("%s may not %s", account, strings.Join(lines, ", "))
}

// list names rights, those on one resource together, in an order that does not depend on theirs.
func list(rights []Right) []string {
	verbs := map[string][]string{}
	for _, r := range rights {
		at := r.what() + r.where()
		if !slices.Contains(verbs[at], r.Verb) {
			verbs[at] = append(verbs[at], r.Verb)
		}
	}
	texts := make([]string, 0, len(verbs))
	for _, what := range slices.Sorted(maps.Keys(verbs)) {
		texts = append(texts, strings.Join(slices.Sorted(slices.Values(verbs[what])), "/")+" "+what)
	}
	return texts
}
