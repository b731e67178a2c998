package pipeline

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/hook"
)

// errRefused is what the API server says of a child that it does not take.
var errRefused = answer(422, metav1.StatusReasonInvalid, `Service "shop" is invalid: spec.ports[0].port: Invalid value: 70000`)

// refuses has the API server refuse objects by their names.
func (p *ports) refuses(names ...string) {
	p.apply = func(ctx context.Context, owner apply.Owner, child apply.Child) (apply.Outcome, error) {
		if slices.Contains(names, child.Object.GetName()) {
			return apply.Outcome{}, errRefused
		}
		return p.applyChild(ctx, owner, child)
	}
}

// rolledBefore is a rollout of ConfigMaps, and what is declared beside it. Its items may have a name for each image.
func rolledBefore(rollout, name, beside string) string {
	return strings.TrimSuffix(strings.Replace(rolled(rollout), `name: "{{ .item }}", forEach: {`, `name: "`+name+`", forEach: {key: "{{ .item }}", `, 1), "]}") + beside
}

const aService = `], services: [{port: 80, selector: {a: b}}]}`

// TestARolloutGoesOnWhileAnotherDeclarationFails: what left the list and is out of service goes at once, and holds nobody.
func TestARolloutGoesOnWhileAnotherDeclarationFails(t *testing.T) {
	for name, tc := range map[string]struct {
		name   string
		cycles []string // what each does, while all that is declared comes up after it
	}{
		"under the same name": {"{{ .item }}", []string{"delete a", "change b", "change c", ""}},
		"under another name":  {"{{ .item }}{{ .spec.image }}", []string{"delete av2", "create bv2", "create cv2", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := planOf(t, rolledBefore(`{}`, tc.name, aService))
			up := func() {
				for _, c := range p.list(configMapKind, "u1") {
					if !strings.HasPrefix(c.GetName(), "a") || madeOf(c) == "v1" {
						p.up(c.GetName())
					}
				}
			}
			stored := website(t, `{image: v1, tags: [a, b, c]}`)
			for range 3 {
				r, _ := shownBy(g, p, plan, stored)
				stored = r.Stored
				up()
			}
			p.refuses("shop")
			_, err := p.run(plan, withSpec(t, stored, `{image: v2, tags: [a, b, c]}`)) // a never gets current
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("Invalid value: 70000")))
			p.done()
			changed := withSpec(t, stored, `{image: v2, tags: [b, c]}`)
			for _, did := range tc.cycles {
				_, err := p.run(plan, changed)
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("Invalid value: 70000")), "it is still shown")
				g.Expect(strings.ReplaceAll(strings.Join(p.done(), ", "), "ConfigMap/", "")).To(gomega.Equal(did))
				up()
			}
			p.refuses()
			r, _ := shownBy(g, p, plan, changed)
			shownBy(g, p, plan, r.Stored)
			g.Expect(p.list(configMapKind, "u1")).To(gomega.HaveLen(2), "the others are left until nothing fails")
		})
	}
}

// TestWhatIsNotPrunedAfterAnError: what is in service, since what could not be written may use it, and what it is not certain of that nothing stands for it.
// Each of these cycles would prune the ConfigMap a in the end, without its error. It is out of service but for the first.
func TestWhatIsNotPrunedAfterAnError(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string // what stands beside the rollout; before: as after, where it is empty
		name          string // of the items
		to            string // the spec then; without a where it is empty
		refused       []string
		serves        bool
		meddles       func(*unstructured.Unstructured) // with a
		pruned        bool
	}{
		"what is in service":                                 {after: aService, refused: []string{"shop"}, serves: true},
		"what is out of service":                             {after: aService, refused: []string{"shop"}, pruned: true},
		"with an item that is refused":                       {after: aService, to: `{image: v2, tags: [b]}`, refused: []string{"b"}, pruned: true},
		"the former object of an item that is refused":       {name: "{{ .item }}{{ if eq .spec.image `v2` }}2{{ end }}", after: aService, to: `{image: v2, tags: [a, b]}`, refused: []string{"a2"}},
		"what has the name that another declaration renders": {after: `, {id: other, name: a}], services: [{port: 80, selector: {a: b}}]}`, before: aService, refused: []string{"a"}},
		"what another declaration may have that was not rendered": {
			before:  aService,
			after:   `, {id: other, name: a, data: {x: "{{ .children.service.metadata.name }}"}}], services: [{port: 80, selector: {a: b}}]}`,
			refused: []string{"shop"},
		},
		"what another declaration of its kind was rendered for": {after: `, {id: other, name: other}], services: [{port: 80, selector: {a: b}}]}`, refused: []string{"shop"}, pruned: true},
		"what another kind was not rendered for": {
			after:   `], services: [{port: 80, selector: {a: b}}], ingresses: [{host: "{{ .children.service.metadata.name }}"}]}`,
			refused: []string{"shop"}, pruned: true,
		},
		"where the resource may go back": {after: aService + "\nrollback: {}", refused: []string{"shop"}},
		"what is read by what was not rendered, in reverse": {
			after:   `], services: [{port: 80, selector: {a: b}}], ingresses: [{host: '{{ .children.service.metadata.name }}{{ len .children.web }}'}]}` + "\ndeletion: {children: Reverse}",
			refused: []string{"shop"},
		},
		"what is read by what was rendered, in reverse": {
			after:   `], services: [{port: 80, selector: {a: b}, labels: {of: "{{ len .children.web }}"}}]}` + "\ndeletion: {children: Reverse}",
			refused: []string{"shop"}, pruned: true,
		},
		"what a former box has made": {
			after: aService, refused: []string{"shop"},
			meddles: func(c *unstructured.Unstructured) {
				labels := c.GetLabels()
				labels["orkestra.orkspace.io/box"] = "former"
				c.SetLabels(labels)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			if tc.name == "" {
				tc.name = "{{ .item }}"
			}
			if tc.to == "" {
				tc.to = `{image: v1, tags: [b]}`
			}
			if tc.before == "" {
				tc.before = tc.after
			}
			stored := website(t, `{image: v1, tags: [a, b]}`)
			for range 3 {
				r, _ := shownBy(g, p, planOf(t, rolledBefore(`{maxUnavailable: 2}`, tc.name, tc.before)), stored)
				stored = r.Stored
				p.up("a", "b")
			}
			if !tc.serves {
				p.edit("a", withPhase("down"))
			}
			if tc.meddles != nil {
				p.edit("a", tc.meddles)
			}
			p.done()
			p.refuses(tc.refused...)
			stored = withSpec(t, stored, tc.to)
			stored.SetGeneration(2)
			_, err := p.run(planOf(t, rolledBefore(`{maxUnavailable: 2}`, tc.name, tc.after)), stored)
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("Invalid value: 70000")))
			g.Expect(slices.Contains(p.done(), "delete ConfigMap/a")).To(gomega.Equal(tc.pruned))
		})
	}
}

// TestARolloutGoesOnBesideAHook that may make objects of its kind, once that has said what it makes.
func TestARolloutGoesOnBesideAHook(t *testing.T) {
	for name, tc := range map[string]struct {
		hook   string
		pruned bool
	}{
		"it says it":                  {`runHooksFirst: true`, true},
		"it waits for what it reads":  {`runHooksFirst: true, args: {a: "{{ .children.configmaps.absent.data.x }}"}`, true},
		"its turn comes after others": {`runHooksFirst: false`, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			p := newPorts()
			plan := hooked(t, hook.Hooks[*unstructured.Unstructured]{OnReconcile: func(context.Context, *call) error { return nil }},
				tc.hook+`, resources: [{kind: ConfigMap}]`, rolledBefore(`{}`, "{{ .item }}", aService))
			stored := website(t, `{image: v1, tags: [a, b]}`)
			for range 2 {
				r, _ := shownBy(g, p, plan, stored)
				stored = r.Stored
				p.up("a", "b")
			}
			p.edit("a", withPhase("down"))
			p.done()
			p.refuses("shop")
			_, err := p.run(plan, withSpec(t, stored, `{image: v1, tags: [b]}`))
			g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("Invalid value: 70000")))
			g.Expect(slices.Contains(p.done(), "delete ConfigMap/a")).To(gomega.Equal(tc.pruned))
		})
	}
}

// TestWhatCannotBePrunedAfterAnErrorIsSaid behind the error, whose class it does not change, and tried again.
func TestWhatCannotBePrunedAfterAnErrorIsSaid(t *testing.T) {
	g := gomega.NewWithT(t)
	p := newPorts()
	plan := planOf(t, rolledBefore(`{}`, "{{ .item }}", aService))
	r, _ := shownBy(g, p, plan, website(t, `{image: v1, tags: [a]}`))
	p.refuses("shop")
	p.delete = func(context.Context, *unstructured.Unstructured) error { return errors.New("no leader") }
	r, err := p.run(plan, withSpec(t, r.Stored, `{image: v1, tags: []}`))
	expectStep(g, err, "onReconcile", Refused, "InvalidChild")
	g.Expect(err.Error()).To(gomega.HaveSuffix("Invalid value: 70000; prune: web#a: no leader"))
	g.Expect(r.Inputs.Expires()).NotTo(gomega.BeZero())
}
