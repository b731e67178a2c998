package drift

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
)

func containers(list string) string { return pod("{containers: [" + list + "]}") }

func TestLists(t *testing.T) {
	const prefix = "spec.template.spec.containers"
	ingress := func(hosts string) string { return "spec: {tls: [" + hosts + "]}" }
	runDriftCases(t, NewComparer(nil), map[string]driftCase{
		"Sidecar":         {deployment, containers("{name: main, image: a}"), containers("{name: sidecar, image: b}, {name: main, image: a}"), nil},
		"Image":           {deployment, containers("{name: main, image: a}"), containers("{name: sidecar, image: a}, {name: main, image: b}"), []string{prefix + "[name=main].image"}},
		"ContainerGone":   {deployment, containers("{name: main, image: a}, {name: b, image: c}"), containers("{name: main, image: a}"), []string{prefix + "[name=b]"}},
		"AllGone":         {deployment, containers("{name: main, image: a}"), containers(""), []string{prefix}},
		"NoList":          {deployment, containers("{name: main, image: a}"), pod("{containers: text}"), []string{prefix}},
		"StrangeEntries":  {deployment, containers("{name: main, image: a}"), containers("text, 1, null, [a], {name: {a: b}}, {name: main, image: a}"), nil},
		"Order":           {deployment, containers("{name: a, image: a}, {name: b, image: b}, {name: c, image: c}"), containers("{name: c, image: c}, {name: a, image: a}, {name: b, image: b}"), nil},
		"EnvOrder":        {deployment, containers("{name: a, env: [{name: x, value: '1'}, {name: y, value: '2'}]}"), containers("{name: a, env: [{name: y, value: '2'}, {name: x, value: '1'}]}"), nil},
		"DefaultProtocol": {service, "spec: {ports: [{port: 80}]}", "spec: {ports: [{port: 80, protocol: TCP, targetPort: 80}]}", nil},
		"PortPath":        {service, "spec: {ports: [{port: 80, targetPort: 1}]}", "spec: {ports: [{port: 80, protocol: TCP, targetPort: 2}]}", []string{"spec.ports[port=80,protocol=TCP].targetPort"}},
		"OtherProtocol":   {service, "spec: {ports: [{port: 80, protocol: UDP}]}", "spec: {ports: [{port: 80, protocol: TCP}]}", []string{"spec.ports[port=80,protocol=UDP]"}},
		"SamePortTwice":   {service, "spec: {ports: [{port: 80, name: a}, {port: 80, protocol: UDP, name: b}]}", "spec: {ports: [{port: 80, protocol: UDP, name: b}, {port: 80, protocol: TCP, name: a}]}", nil},
		"ContainerPort":   {deployment, containers("{name: a, ports: [{containerPort: 80}]}"), containers("{name: a, ports: [{containerPort: 80, protocol: TCP}]}"), nil},
		"FloatKey":        {service, "spec: {ports: [{port: 80.0}]}", "spec: {ports: [{port: 80, protocol: TCP}]}", nil},
		"SelectorIsWhole": {service, "spec: {selector: {a: b}}", "spec: {selector: {a: b, c: d}}", []string{"spec.selector.c"}},
		"LabelSelector":   {deployment, "spec: {selector: {matchLabels: {a: b}}}", "spec: {selector: {matchLabels: {a: b, c: d}}}", []string{"spec.selector.matchLabels.c"}},
		"DefaultsInWhole": {
			deployment, containers("{name: a, env: [{name: b, valueFrom: {fieldRef: {fieldPath: p}}}]}"),
			containers("{name: a, env: [{name: b, valueFrom: {fieldRef: {fieldPath: p, apiVersion: v1}}}]}"), nil,
		},

		"Args":             {deployment, containers("{name: a, args: [x, y]}"), containers("{name: a, args: [x, y]}"), nil},
		"ArgsOrder":        {deployment, containers("{name: a, args: [x, y]}"), containers("{name: a, args: [y, x]}"), []string{prefix + "[name=a].args[0]", prefix + "[name=a].args[1]"}},
		"ArgsMore":         {deployment, containers("{name: a, args: [x]}"), containers("{name: a, args: [x, y, z]}"), []string{prefix + "[name=a].args[1]", prefix + "[name=a].args[2]"}},
		"ArgsFewer":        {deployment, containers("{name: a, args: [x, y]}"), containers("{name: a, args: [x]}"), []string{prefix + "[name=a].args[1]"}},
		"CommandGone":      {deployment, containers("{name: a, command: [x]}"), containers("{name: a}"), []string{prefix + "[name=a].command"}},
		"NullEntry":        {deployment, containers("{name: a, command: [null, x]}"), containers("{name: a, command: ['', x]}"), nil},
		"NullEntryWanted":  {deployment, containers("{name: a, command: [null, x]}"), containers("{name: a, command: [y, x]}"), []string{prefix + "[name=a].command[0]"}},
		"PositionalFields": {"networking.k8s.io/v1 Ingress", ingress("{secretName: a}"), ingress("{secretName: a, hosts: [b]}"), nil},
		"PositionalDiffer": {"networking.k8s.io/v1 Ingress", ingress("{secretName: a}"), ingress("{secretName: b}"), []string{"spec.tls[0].secretName"}},
		"PositionalMore":   {"networking.k8s.io/v1 Ingress", ingress("{secretName: a}"), ingress("{secretName: a}, {secretName: b}"), []string{"spec.tls[1]"}},

		"DuplicateKeys":      {deployment, containers("{name: a, env: [{name: x, value: '1'}, {name: x, value: '2'}]}"), containers("{name: a, env: [{name: y}, {name: x, value: '1'}, {name: x, value: '2'}]}"), nil},
		"DuplicateKeysFewer": {deployment, containers("{name: a, env: [{name: x, value: '1'}, {name: x, value: '2'}]}"), containers("{name: a, env: [{name: x, value: '1'}]}"), []string{prefix + "[name=a].env[name=x]"}},
		"KeysMissing":        {deployment, containers("{image: a}, {image: b}"), containers("{image: a}, {image: b}"), nil},
		"KeysNoScalars":      {deployment, containers("{name: [a]}"), containers("{name: [b]}"), []string{prefix + "[0].name[0]"}},
		"KeysQuoted":         {deployment, containers(`{name: "a]", image: b}`), containers(`{name: "a]", image: c}`), []string{prefix + `[name="a]"].image`}},
		"MixedEntries":       {deployment, containers("{name: a}, text"), containers("{name: a}, other"), []string{prefix + "[1]"}},
	})
}

// A list that others have turned around must not take quadratic time: the test would not end.
func TestLongLists(t *testing.T) {
	g := NewWithT(t)
	const n = 50_000
	c := NewComparer(nil)
	forward, backward := make([]any, 0, n), make([]any, 0, n)
	for i := range n {
		forward = append(forward, map[string]any{"name": fmt.Sprint("v", i), "value": "x"})
		backward = append(backward, map[string]any{"name": fmt.Sprint("v", n-1-i), "value": "x"})
	}
	obj := object(t, deployment, containers("{name: a}"))
	with := func(env []any) map[string]any {
		return map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "env": env}}}}}
	}
	obj.Object["spec"] = with(forward)
	prepared := c.Prepare(obj)
	obj.Object["spec"] = with(backward)
	g.Expect(c.Differences(prepared, obj)).To(BeEmpty())
}
