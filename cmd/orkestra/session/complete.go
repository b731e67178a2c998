package session

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completeTimeout is how long a completion may take, and completeLimit how many names one offers: somebody waits at a prompt.
const (
	completeTimeout = 3 * time.Second
	completeLimit   = 500
)

// Offer is what a completion offers.
type Offer struct {
	// Boxes by their names.
	Boxes bool
	// Resources of boxes, as KIND/NAME.
	Resources bool
	// Most is how many arguments there may be; 0: any number.
	Most int
}

// asking gives a completion that asks the cluster. Where it can't be asked, nothing is offered: an error would be typed into the prompt.
func (f *Flags) asking(answer func(ctx context.Context, i *Inspector, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		i, err := f.New(ctx, time.Now())
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return answer(ctx, i, args, typed)
	}
}

// Complete gives a completion of names that the cluster has.
func (f *Flags) Complete(o Offer) cobra.CompletionFunc {
	return f.asking(func(ctx context.Context, i *Inspector, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if o.Most > 0 && len(args) >= o.Most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		found, directive := i.complete(ctx, o, typed)
		return slices.DeleteFunc(found, func(name string) bool { return slices.Contains(args, name) }), directive
	})
}

func (i *Inspector) complete(ctx context.Context, o Offer, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if kind, name, named := strings.Cut(typed, "/"); named {
		return i.namesOf(ctx, kind, kind+"/", name), cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := i.Boxes() // who may not list them is offered nothing
	var found []cobra.Completion
	kinds := map[string]bool{}
	for n := range all {
		if o.Boxes && strings.HasPrefix(all[n].Name, typed) {
			found = append(found, all[n].Name)
		}
		if kind := strings.ToLower(all[n].Status.CRD.Kind); o.Resources && kind != "" && strings.HasPrefix(kind, typed) {
			kinds[kind+"/"] = true
		}
	}
	if len(kinds) == 0 {
		return found, cobra.ShellCompDirectiveNoFileComp
	}
	// The name follows the slash without a space.
	return append(found, slices.Sorted(maps.Keys(kinds))...), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// namesOf are those of the objects of a kind that begin so, behind what is written before them.
func (i *Inspector) namesOf(ctx context.Context, kind, before, typed string) (found []cobra.Completion) {
	target, err := i.Resolve(kind, "")
	if err != nil {
		return nil
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(target.Kind)
	if err := i.Client().List(ctx, list, client.InNamespace(target.Namespace), client.Limit(completeLimit)); err != nil {
		return nil
	}
	for n := range list.Items {
		if strings.HasPrefix(list.Items[n].Name, typed) {
			found = append(found, before+list.Items[n].Name)
		}
	}
	return found
}

// CompleteKinds offers the kinds of boxes and of their resources, and behind a kind its objects.
func (f *Flags) CompleteKinds() cobra.CompletionFunc {
	return f.asking(func(ctx context.Context, i *Inspector, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		kind, name, slash := strings.Cut(typed, "/")
		switch {
		case len(args) > 0:
			return i.namesOf(ctx, args[0], "", typed), cobra.ShellCompDirectiveNoFileComp
		case slash:
			return i.namesOf(ctx, kind, kind+"/", name), cobra.ShellCompDirectiveNoFileComp
		}
		all, _ := i.Boxes() // who may not list them is offered the kind of boxes
		kinds := map[string]bool{"boxes": true}
		for n := range all {
			if plural, _, found := strings.Cut(all[n].Status.CRD.Name, "."); found {
				kinds[plural] = true
			}
		}
		maps.DeleteFunc(kinds, func(kind string, _ bool) bool { return !strings.HasPrefix(kind, typed) })
		return slices.Sorted(maps.Keys(kinds)), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeNamespaces offers the namespaces that the caller may list.
func (f *Flags) completeNamespaces() cobra.CompletionFunc {
	return f.asking(func(ctx context.Context, i *Inspector, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return i.namesOf(ctx, "namespaces", "", typed), cobra.ShellCompDirectiveNoFileComp
	})
}

// completeContexts offers those of the kubeconfig.
func (f *Flags) completeContexts(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return slices.DeleteFunc(f.server.Contexts(), func(name string) bool { return !strings.HasPrefix(name, typed) }), cobra.ShellCompDirectiveNoFileComp
}
