package main

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// What a box reads of others, where nobody says what a cluster has. That an object does not exist can't be known then.
func TestRenderSaysWhatWasNotRead(t *testing.T) {
	const unread = "was not read: no cluster is given; give it by --with, or let --cluster read it"
	for name, tc := range map[string]struct{ spec, want string }{
		"an object": {
			`cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: settings}}]`,
			`cross a: ConfigMap "default/settings" ` + unread,
		},
		"objects by labels": {
			`cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {a: b}}}]`,
			`cross a: ConfigMap in namespace "default" with the labels "a=b" ` + unread,
		},
		"an optional object": {
			`cross: [{name: a, apiVersion: v1, kind: ConfigMap, selector: {name: settings}, optional: true}]`,
			`cross a: ConfigMap "default/settings" ` + unread,
		},
		"the Secret of a call": {
			`external: [{name: a, url: "https://a.example.com", auth: {secretRef: {name: token}}}]`,
			`Secret "default/token" ` + unread,
		},
		"a namespace": {
			`onReconcile: {configmaps: [{namespace: "{{ .spec.host }}"}]}`,
			`Namespace "other" ` + unread,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out := try(t, tc.spec).website("web", `{host: other}`)
			said := out.condition(v1alpha1.ConditionReady).Message + "\n" + out.condition(v1alpha1.ConditionReconciling).Message
			out.Expect(said).To(And(ContainSubstring(tc.want), Not(ContainSubstring("exist"))))
		})
	}
}
