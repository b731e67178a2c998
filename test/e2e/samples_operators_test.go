package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
			others: true,
			edit:   `{"metadata":{"labels":{"edited":"true"}}}`,
			edited: fields{"RoleBinding/operators-reader": {"roleRef.name": "operators-reader"}}, remake: "RoleBinding/operators-reader",
			also: unlabels("operators.e2e.test/default-binding"),
		}, nil),
		of("configmappropagation", sample{
			edit:   `{"spec":{"targetNamespaces":["copies-two"]}}`,
			edited: fields{"ConfigMap/copies-two/shared-settings": {"data.level": "high"}, "ConfigMap/copies-one/shared-settings": nil},
			remake: "ConfigMap/copies-two/shared-settings",
		}, map[string]any{"expectedCopies": int64(2), "actualCopies": int64(2)}),
		of("connection", sample{
			prepare: installProvider, help: writeKeys("my-keys-accesskey-0", "my-keys-accesskey-1"),
			edit: `{"metadata":{"labels":{"edited":"true"}}}`, edited: fields{"Secret/my-keys-connection-details": {"data.user-1": "a2V5LTE="}},
			remake: "Secret/my-keys-connection-details",
		}, nil),
		of("crontask", sample{
			edit: `{"spec":{"schedule":"0 4 * * *"}}`, edited: fields{"CronJob/nightly": {"spec.schedule": "0 4 * * *"}}, remake: "CronJob/nightly",
			bad: `{"spec":{"schedule":"at night"}}`, says: "a schedule has five fields",
		}, nil),
		of("daemonjob", sample{
			edit:   `{"spec":{"containers":[{"name":"hello","image":"registry.example.com/prepare:2"}]}}`,
			edited: fields{"DaemonSet/prepare-dj": {"spec.template.spec.initContainers.0.image": "registry.example.com/prepare:2"}}, remake: "DaemonSet/prepare-dj",
			also: completes,
		}, nil),
		of("ephemeralvolumeclaim", sample{
			prepare: giveVolumes("my-claim"),
			edit:    `{"metadata":{"labels":{"application":"another"}}}`,
			edited:  fields{"PersistentVolumeClaim/my-claim": {"metadata.labels.application": "another"}},
			bad:     `{"spec":{"size":"large"}}`, says: "a size is a quantity such as 1Gi",
		}, map[string]any{"claim": "my-claim"}),
		of("globalconfigmap", sample{
			edit:   `{"metadata":{"labels":{"edited":"true"}}}`,
			edited: fields{"ConfigMap/operators-two/banner": {"data.text": "hello"}, "ConfigMap/operators-source/banner": nil},
			remake: "ConfigMap/operators-one/banner",
		}, map[string]any{"working": "fine"}),
		of("podset", sample{
			edit: `{"spec":{"field":"other"}}`, edited: fields{"Pod/one-sleeper": {"spec.containers.0.env.0.value": "other"}}, remake: "Pod/one-sleeper",
			bad: `{"spec":{"duration":0}}`, says: "it takes a while",
			also: keepsUID,
		}, nil),
		of("regiontiers", sample{
			edit: `{"spec":{"tiers":["gold"]}}`, edited: fields{"Deployment/plan-eu-gold": {"spec.template.spec.containers.0.env.0.value": "eu"}, "Deployment/plan-us-iron": nil}, remake: "Deployment/plan-us-gold",
		}, map[string]any{"combinations": int64(4)}),
		of("schema", sample{
			edit:   `{"spec":{"encoding":"latin1"}}`,
			edited: fields{"Job/mydb-create": {"spec.template.spec.containers.0.args.2": "latin1"}}, once: []string{"Secret/mydb-secret"},
			bad: `{"spec":{"encoding":"?"}}`, says: "an encoding is a word such as utf8",
		}, map[string]any{"url": "jdbc:mysql://db/mydb", "secretName": "mydb-secret", "userName": "mydb-user", "status": "CREATED"}),
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
		}, map[string]any{"total": int64(2), "running": int64(2), "ready": true}),
		of("xapp", sample{
			edit: `{"spec":{"image":"nginx:2"}}`, edited: fields{"Deployment/my-app": {image: "nginx:2"}}, remake: "Service/my-app",
		}, map[string]any{"replicas": int64(2)}),
	}
}

// completes gives the DaemonSet of a DaemonJob nodes to run on: it goes when it has, and is not made again.
func completes(ctx context.Context, l *life) {
	GinkgoHelper()
	Expect(condition(get(ctx, Default, l.resource), "Complete").Status).To(Equal(metav1.ConditionFalse))
	l.patch(ctx, l.resource, `{"spec":{"nodeSelector":null}}`)
	Eventually(func(g Gomega) {
		g.Expect(l.children(ctx, g)).To(BeEmpty())
		g.Expect(condition(get(ctx, g, l.resource), "Complete").Status).To(Equal(metav1.ConditionTrue))
	}).WithContext(ctx).Should(Succeed())
	l.settled(ctx)
	l.quiet(ctx)
	Expect(l.children(ctx, Default)).To(BeEmpty())
}

// writeKeys plays the provider, which writes a Secret for each access key.
func writeKeys(secrets ...string) func(context.Context, *life) {
	return func(ctx context.Context, l *life) {
		GinkgoHelper()
		for i, name := range secrets {
			secret := sampleObject("v1", "Secret", name)
			secret.Object["stringData"] = map[string]any{"username": fmt.Sprintf("key-%d", i), "password": fmt.Sprintf("secret-%d", i)}
			DeferCleanup(l.remove, secret)
			l.apply(ctx, secret)
		}
	}
}

// keepsUID checks that the status names the Pod that there is, also after it was made again.
func keepsUID(ctx context.Context, l *life) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pod := l.children(ctx, g)["Pod/one-sleeper"]
		g.Expect(pod).NotTo(BeNil())
		g.Expect(at(get(ctx, g, l.resource).Object, "status.children")).To(Equal([]any{string(pod.GetUID())}))
	}).WithContext(ctx).Should(Succeed())
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
