package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// operator is one of test/e2e/testdata/operators: what an operator of another tool does, written as a box.
type operator struct {
	sample

	shows map[string]any // what the status of its resource says, by path
}

// operators are sixteen that users of other tools know from there. Together with the ports in config/samples they are what
// docs/design/language.md counts.
func operators() []operator {
	of := func(folder string, s sample, shows map[string]any) operator {
		s.folder = "../../test/e2e/testdata/operators/" + folder
		s.bare = true
		return operator{sample: s, shows: shows}
	}
	type fields = map[string]map[string]any
	const image = "spec.template.spec.containers.0.image"
	return []operator{
		of("clusteredparent", sample{
			edit: `{"metadata":{"labels":{"edited":"true"}}}`, edited: fields{"ClusterRole/reader": {"rules.0.verbs.0": "get"}}, remake: "ClusterRole/reader",
		}, nil),
		of("configmappropagation", sample{
			edit:   `{"spec":{"targetNamespaces":["copies-two"]}}`,
			edited: fields{"ConfigMap/copies-two/shared-settings": {"data.level": "high"}, "ConfigMap/copies-one/shared-settings": nil},
			remake: "ConfigMap/copies-two/shared-settings",
		}, map[string]any{"workingCopies": int64(2)}),
		of("connection", sample{
			edit: `{"spec":{"database":"bills"}}`, edited: fields{"Secret/orders-connection": {"data.database": "YmlsbHM="}}, remake: "Secret/orders-connection",
		}, map[string]any{"connection": "orders-connection"}),
		of("crontask", sample{
			edit: `{"spec":{"schedule":"0 4 * * *"}}`, edited: fields{"CronJob/nightly": {"spec.schedule": "0 4 * * *"}}, remake: "CronJob/nightly",
			bad: `{"spec":{"schedule":"at night"}}`, says: "a schedule has five fields",
		}, nil),
		of("daemonjob", sample{
			edit:   `{"spec":{"image":"registry.example.com/prepare:2"}}`,
			edited: fields{"DaemonSet/prepare": {image: "registry.example.com/prepare:2"}}, remake: "DaemonSet/prepare",
			also: endsWith(`{"spec":{"done":true}}`, "Succeeded"),
		}, map[string]any{"phase": "Running"}),
		of("ephemeralvolumeclaim", sample{
			prepare: giveVolumes("my-claim"),
			edit:    `{"metadata":{"labels":{"application":"another"}}}`,
			edited:  fields{"PersistentVolumeClaim/my-claim": {"metadata.labels.application": "another"}},
			bad:     `{"spec":{"size":"large"}}`, says: "a size is a quantity such as 1Gi",
		}, map[string]any{"claim": "my-claim"}),
		of("globalconfigmap", sample{
			edit:   `{"spec":{"data":{"text":"welcome"}}}`,
			edited: fields{"ConfigMap/operators-one/banner": {"data.text": "welcome"}, "ConfigMap/operators-two/banner": {"data.text": "welcome"}},
			remake: "ConfigMap/operators-one/banner",
		}, map[string]any{"namespaces": int64(2)}),
		of("podset", sample{
			edit: `{"spec":{"field":"other"}}`, edited: fields{"Pod/one-sleeper": {"spec.containers.0.env.0.value": "other"}}, remake: "Pod/one-sleeper",
			bad: `{"spec":{"duration":0}}`, says: "it takes a while",
		}, map[string]any{"message": "runs for 60 s"}),
		of("regiontiers", sample{
			edit: `{"spec":{"tiers":["gold"]}}`, edited: fields{"ConfigMap/plan-eu-gold": {"data.region": "eu"}, "ConfigMap/plan-us-iron": nil}, remake: "ConfigMap/plan-us-gold",
		}, map[string]any{"combinations": int64(4)}),
		of("schema", sample{
			edit:   `{"spec":{"encoding":"latin1"}}`,
			edited: fields{"Job/mydb-create": {"spec.template.spec.containers.0.env.0.value": "latin1"}}, once: []string{"Secret/mydb-login"},
			bad: `{"spec":{"encoding":"?"}}`, says: "an encoding is a word such as utf8",
		}, map[string]any{"url": "jdbc:mysql://db/mydb", "secretName": "mydb-login"}),
		of("tomcat", sample{
			edit: `{"spec":{"version":10}}`, edited: fields{"Deployment/cats": {image: "tomcat:10"}}, remake: "Deployment/cats",
			bad: `{"spec":{"version":8}}`, says: "versions before 9 are not kept up",
		}, map[string]any{"readyReplicas": int64(2)}),
		of("webapp", sample{
			edit:   `{"spec":{"ingress":{"enabled":false},"image":"nginx:2"}}`,
			edited: fields{"Deployment/front": {image: "nginx:2"}, "Ingress/front": nil}, remake: "Service/front",
		}, map[string]any{"availableReplicas": int64(2)}),
		of("webpage", sample{
			edit:   `{"spec":{"html":"<h1>Bye</h1>","exposed":true}}`,
			edited: fields{"ConfigMap/hello-html": {"data": map[string]any{"index.html": "<h1>Bye</h1>"}}, "Ingress/hello": {"spec.rules.0.host": "hello.example.com"}},
			remake: "ConfigMap/hello-html",
			bad:    `{"spec":{"html":"Bye"}}`, says: "a page is HTML",
		}, map[string]any{"htmlConfigMap": "hello-html"}),
		of("webservice", sample{
			edit:   `{"spec":{"scaler":{"replicas":3},"sidecar":null}}`,
			edited: fields{"Deployment/express": {"spec.replicas": int64(3)}}, remake: "Ingress/express",
		}, nil),
		of("workers", sample{
			edit: `{"spec":{"workers":["ada","cid"]}}`, edited: fields{"Pod/pool-cid": {"spec.containers.0.image": "registry.example.com/worker:1"}, "Pod/pool-bob": nil}, remake: "Pod/pool-ada",
		}, map[string]any{"names": []any{"ada", "bob"}}),
		of("xapp", sample{
			edit: `{"spec":{"image":"nginx:2"}}`, edited: fields{"Deployment/my-app": {image: "nginx:2"}}, remake: "Service/my-app",
		}, map[string]any{"replicas": int64(2)}),
	}
}

// endsWith makes a change after which no child is left, and waits for a phase.
func endsWith(change, phase string) func(context.Context, *life) {
	return func(ctx context.Context, l *life) {
		GinkgoHelper()
		l.patch(ctx, l.resource, change)
		Eventually(func(g Gomega) {
			g.Expect(l.children(ctx, g)).To(BeEmpty())
			g.Expect(at(get(ctx, g, l.resource).Object, "status.phase")).To(Equal(phase))
		}).WithContext(ctx).Should(Succeed())
	}
}

var _ = Describe("Operators of other tools", Ordered, ContinueOnFailure, func() {
	BeforeAll(func() {
		replaceManager(func(s *settings) { s.orkestra.AllowGrantingKinds = true })
	})

	for _, o := range operators() {
		It(o.folder[len("../../test/e2e/testdata/operators/"):]+": its life", func(ctx context.Context) {
			help := o.help
			o.help = func(ctx context.Context, l *life) {
				if help != nil {
					help(ctx, l)
				}
				status := l.settled(ctx).Object
				for path, want := range o.shows {
					Expect(at(status, "status."+path)).To(Equal(want), path)
				}
			}
			o.live(ctx)
		})
	}
})
