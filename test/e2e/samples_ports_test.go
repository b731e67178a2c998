package e2e_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ports are the operators of config/samples/ports, which other tools have as theirs.
func ports() []sample {
	return []sample{
		{
			folder: "ports/addressclaim",
			edit:   `{"spec":{"port":8443}}`,
			edited: map[string]map[string]any{"Service/ledger": {"spec.ports.0.port": int64(8443)}},
			remake: "Service/ledger",
			bad:    `{"spec":{"priority":901}}`, says: "priorities above 900 are kept for emergencies",
			also: handsOver,
		},
		{
			folder: "ports/bluegreen",
			edit:   `{"spec":{"image":"registry.example.com/payments:1.5.0"}}`,
			edited: map[string]map[string]any{
				"Deployment/payments-green": {"spec.replicas": int64(2), "spec.template.spec.containers.0.image": "registry.example.com/payments:1.5.0"},
				"Deployment/payments-blue":  {"spec.replicas": int64(0)},
				"Service/payments":          {"spec.selector.color": "green"},
			},
			remake: "Deployment/payments-green",
			bad:    `{"spec":{"image":"registry.example.com/payments:latest"}}`, says: "a release needs an image that stays the same",
		},
		{
			folder: "ports/configvolume",
			edit:   `{"spec":{"files":{"color.txt":"plum"}}}`,
			edited: map[string]map[string]any{"ConfigMap/branding": {"data": map[string]any{"name.txt": "Example Ltd.", "color.txt": "plum"}}},
			remake: "ConfigMap/branding",
			bad:    `{"spec":{"mountPath":"etc/branding"}}`, says: "a mount path begins with a slash",
			later: 1, // the Deployment
			also:  mountsAndTakesBack,
		},
		{
			folder: "ports/crdroles", others: true,
			gives: []rbacv1.PolicyRule{{APIGroups: []string{"finance.example.com"}, Resources: []string{"reports"},
				Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}}},
			edit:   `{"metadata":{"annotations":{"samples.orkspace.io/view-verbs":"get,list"}}}`,
			edited: map[string]map[string]any{"ClusterRole/reports.finance.example.com-view": {"rules.0.verbs": []any{"get", "list"}}},
			remake: "ClusterRole/reports.finance.example.com-view",
			bad:    `{"metadata":{"annotations":{"samples.orkspace.io/view-verbs":"*"}}}`, says: "verbs are written out",
			also: unlabels("samples.orkspace.io/roles"),
		},
		{
			folder: "ports/indexedjob", help: succeed("thumbnails-0", "thumbnails-1"),
			edit:   `{"spec":{"parallelism":3}}`,
			edited: map[string]map[string]any{"Pod/thumbnails-3": {"spec.containers.0.env.0.value": "3"}},
			remake: "Pod/thumbnails-3",
			bad:    `{"spec":{"parallelism":5}}`, says: "there are fewer parts than are to run at a time",
		},
		{
			folder: "ports/networkstack", prepare: installProvider, help: giveIDs("staging", "web", "data"),
			edit:   `{"spec":{"subnets":[{"name":"web","cidr":"10.0.1.0/24"}]}}`,
			edited: map[string]map[string]any{"RouteTable/staging": {"spec.subnetIDs": []any{"id-of-staging-web"}}, "Subnet/staging-data": nil},
			remake: "RouteTable/staging",
			bad:    `{"spec":{"subnets":[{"name":"web","cidr":"10.1.1.0/24"}]}}`, says: "subnets are parts of the network",
		},
		{
			folder: "ports/orderedset", prepare: giveVolumes("data-queue-0", "data-queue-1", "data-queue-2"),
			edit: `{"spec":{"image":"registry.example.com/queue:3.2.0","replicas":2}}`,
			edited: map[string]map[string]any{
				"Pod/queue-0": {"spec.containers.0.image": "registry.example.com/queue:3.2.0", "spec.containers.0.env.0.value": "registry.example.com/queue:3.2.0"},
				"Pod/queue-2": nil,
			},
			remake: "Pod/queue-0",
			bad:    `{"spec":{"image":"registry.example.com/queue:latest"}}`, says: "a Pod that is made again later would run another image",
			stays: []string{"PersistentVolumeClaim/data-queue-0", "PersistentVolumeClaim/data-queue-1"},
			also:  findsItsVolume,
		},
		{
			folder: "ports/secretpropagation",
			edit:   `{"metadata":{"labels":{"edited":"true"}}}`,
			edited: map[string]map[string]any{"Secret/builds-b/mirror-token": {"data.token": "ZXhhbXBsZQ=="}},
			remake: "Secret/builds-b/mirror-token",
			bad:    `{"spec":{"source":{"namespace":"kube-system"}}}`, says: "Secrets of the system stay there",
			also: followsLabels,
		},
		{
			folder: "ports/servicepod", others: true,
			edit:   `{"spec":{"replicas":3}}`,
			edited: map[string]map[string]any{"Service/brokers-2": {"spec.selector": map[string]any{"statefulset.kubernetes.io/pod-name": "brokers-2"}}},
			remake: "Service/brokers-1",
			bad:    `{"metadata":{"annotations":{"samples.orkspace.io/ports":"http"}}}`, says: "the ports are pairs such as 80:8080",
			also: unlabels("samples.orkspace.io/service-per-pod"),
		},
		{
			folder: "ports/sharedingress",
			edit:   `{"spec":{"domain":"shop.example.org"}}`,
			edited: map[string]map[string]any{"Ingress/shop": {"spec.rules.1.host": "shared-search.shop.example.org"}},
			remake: "Ingress/shop",
			bad:    `{"spec":{"domain":"*.example.org"}}`, says: "a domain is written out",
			also: fansIn,
		},
	}
}

// sampleObject names an object of a sample.
func sampleObject(apiVersion, kind, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(samplesNamespace)
	o.SetName(name)
	return o
}

// showStatus sets the status of an object as soon as it is there.
func showStatus(ctx context.Context, o *unstructured.Unstructured, status string) {
	GinkgoHelper()
	Eventually(func() error {
		return kube.Status().Patch(ctx, o.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`)))
	}).WithContext(ctx).Should(Succeed(), nameOf(o))
}

// handsOver takes the priority of the holder away and gives it back: the address is the other's meanwhile, and never both have it.
func handsOver(ctx context.Context, l *life) {
	GinkgoHelper()
	address, other := sampleObject("v1", "Service", "ledger"), l.besides[0]
	has := func(app string, holder string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(at(get(ctx, g, address).Object, "spec.selector.app")).To(Equal(app))
			for _, claim := range []*unstructured.Unstructured{l.resource, other} {
				g.Expect(at(get(ctx, g, claim).Object, "status.holder")).To(Equal(holder))
			}
		}).WithContext(ctx).Should(Succeed())
	}
	has("ledger", "primary")
	l.patch(ctx, other, `{"spec":{"priority":200}}`)
	has("ledger-readonly", "stand-in")
	l.settled(ctx)
	l.patch(ctx, other, `{"spec":{"priority":0}}`)
	has("ledger", "primary")
	l.settled(ctx)
	l.remove(ctx, l.resource)
	Eventually(func(g Gomega) {
		g.Expect(at(get(ctx, g, address).Object, "spec.selector.app")).To(Equal("ledger-readonly"))
	}).WithContext(ctx).Should(Succeed())
	l.apply(ctx, l.resource)
	has("ledger", "primary")
	l.settled(ctx)
	l.remove(ctx, other)
}

// succeed plays the programs of these Pods, which come to an end.
func succeed(pods ...string) func(context.Context, *life) {
	return func(ctx context.Context, _ *life) {
		GinkgoHelper()
		for _, name := range pods {
			pod := sampleObject("v1", "Pod", name)
			Eventually(func(g Gomega) { g.Expect(at(get(ctx, g, pod).Object, "status.phase")).To(Equal("Running")) }).WithContext(ctx).Should(Succeed())
			showStatus(ctx, pod, `{"phase":"Succeeded"}`)
		}
	}
}

// installProvider applies the kinds of the provider.
func installProvider(ctx context.Context, l *life) {
	GinkgoHelper()
	kinds := l.read("provider.yaml")
	DeferCleanup(func(ctx context.Context) {
		for _, kind := range kinds {
			l.remove(ctx, kind)
		}
	})
	l.apply(ctx, kinds...)
	for _, kind := range kinds {
		listed(ctx, sampleObject(at(kind.Object, "spec.group").(string)+"/v1", at(kind.Object, "spec.names.kind").(string), "").GroupVersionKind())
	}
}

// giveIDs plays the provider, which gives each part its id when it is there.
func giveIDs(network string, subnets ...string) func(context.Context, *life) {
	return func(ctx context.Context, l *life) {
		GinkgoHelper()
		const provider = "cloud.samples.orkspace.io/v1"
		waits := func(text string) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				g.Expect(condition(get(ctx, g, l.resource), "Reconciling").Message).To(ContainSubstring(text))
			}).WithContext(ctx).Should(Succeed())
		}
		waits("children.net.status.id is not there yet")
		showStatus(ctx, sampleObject(provider, "Network", network), `{"id":"id-of-`+network+`"}`)
		for _, subnet := range subnets {
			waits("routes: ")
			name := network + "-" + subnet
			showStatus(ctx, sampleObject(provider, "Subnet", name), `{"id":"id-of-`+name+`"}`)
		}
	}
}

// findsItsVolume makes a set larger that was made smaller: the Pod that comes back has the volume that it had.
func findsItsVolume(ctx context.Context, l *life) {
	GinkgoHelper()
	claim := sampleObject("v1", "PersistentVolumeClaim", "data-queue-2")
	left := get(ctx, Default, claim)
	Expect(left.GetOwnerReferences()).To(BeEmpty(), "it is nobody's while its Pod is away")
	l.patch(ctx, l.resource, `{"spec":{"replicas":3}}`)
	Eventually(func(g Gomega) {
		g.Expect(l.children(ctx, g)).To(And(HaveKey("Pod/queue-2"), HaveKey("PersistentVolumeClaim/data-queue-2")))
	}).WithContext(ctx).Should(Succeed())
	now := l.settled(ctx)
	Expect(at(now.Object, "status.replicas")).To(Equal(int64(3)))
	Expect(at(now.Object, "status.readyReplicas")).To(Equal(int64(3)))
	Expect(get(ctx, Default, claim).GetUID()).To(Equal(left.GetUID()))
	Expect(at(get(ctx, Default, claim).Object, "status.phase")).To(Equal("Bound"))
}

// followsLabels takes the label of a namespace away, and gives it to it again: the copy goes and comes.
func followsLabels(ctx context.Context, l *life) {
	GinkgoHelper()
	namespace := l.besides[2]
	Expect(nameOf(namespace)).To(Equal("Namespace/builds-b"))
	l.patch(ctx, namespace, `{"metadata":{"labels":{"samples.orkspace.io/secrets":null}}}`)
	Eventually(func(g Gomega) {
		g.Expect(l.children(ctx, g)).To(And(HaveLen(1), HaveKey("Secret/builds-a/mirror-token")))
		g.Expect(at(get(ctx, g, l.resource).Object, "status.copies")).To(Equal(int64(1)))
	}).WithContext(ctx).Should(Succeed())
	l.patch(ctx, namespace, `{"metadata":{"labels":{"samples.orkspace.io/secrets":"builds"}}}`)
	Eventually(func(g Gomega) { g.Expect(l.children(ctx, g)).To(HaveLen(2)) }).WithContext(ctx).Should(Succeed())
	l.patch(ctx, l.besides[0], `{"stringData":{"token":"new"}}`)
	Eventually(func(g Gomega) {
		for name, copied := range l.children(ctx, g) {
			g.Expect(at(copied.Object, "data.token")).To(Equal("bmV3"), name)
		}
	}).WithContext(ctx).Should(Succeed())
}

// fansIn takes the label of one Service away, then of the other: the Ingress loses a rule, and goes.
func fansIn(ctx context.Context, l *life) {
	GinkgoHelper()
	l.patch(ctx, l.besides[0], `{"metadata":{"labels":{"samples.orkspace.io/publish":null}}}`)
	Eventually(func(g Gomega) {
		g.Expect(at(get(ctx, g, sampleObject("networking.k8s.io/v1", "Ingress", "shop")).Object, "spec.rules")).To(HaveLen(1))
	}).WithContext(ctx).Should(Succeed())
	l.patch(ctx, l.besides[1], `{"metadata":{"labels":{"samples.orkspace.io/publish":null}}}`)
	Eventually(func(g Gomega) {
		g.Expect(l.children(ctx, g)).To(BeEmpty())
		g.Expect(at(get(ctx, g, l.resource).Object, "status.hosts")).To(BeEmpty())
	}).WithContext(ctx).Should(Succeed())
	l.settled(ctx)
	l.quiet(ctx)
}

// mountsAndTakesBack checks that the Deployment has the volume, gets it again, and has what its owner gave it when the resource is gone.
func mountsAndTakesBack(ctx context.Context, l *life) {
	GinkgoHelper()
	deployment := l.besides[0]
	has := func(volumes, mounts []string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			now := get(ctx, g, deployment).Object
			g.Expect(each(at(now, "spec.template.spec.volumes"), "name")).To(ConsistOf(volumes))
			g.Expect(each(at(now, "spec.template.spec.containers.0.volumeMounts"), "mountPath")).To(ConsistOf(mounts))
		}).WithContext(ctx).Should(Succeed())
	}
	with := []string{"scratch", "branding"}
	has(with, []string{"/tmp", "/etc/branding"})

	By("moving the mount")
	l.patch(ctx, l.resource, `{"spec":{"mountPath":"/etc/brand"}}`)
	has(with, []string{"/tmp", "/etc/brand"})

	By("deleting the resource, and making it again")
	l.remove(ctx, l.resource)
	has([]string{"scratch"}, []string{"/tmp"})
	Expect(at(get(ctx, Default, deployment).Object, "spec.template.spec.containers.0.image")).To(Equal("registry.example.com/reports:1.0.0"))
	l.apply(ctx, l.resource)
	has(with, []string{"/tmp", "/etc/branding"})

	By("deleting the Deployment, and making it again")
	l.remove(ctx, deployment)
	Eventually(func(g Gomega) {
		g.Expect(condition(get(ctx, g, l.resource), "Reconciling")).To(HaveField("Reason", "WaitingForTarget"))
	}).WithContext(ctx).Should(Succeed())
	l.apply(ctx, deployment)
	has(with, []string{"/tmp", "/etc/branding"})
	l.settled(ctx)
}

// unlabels takes the label by which an object of others is selected away, and gives it back: its children go and come, and it stays as it is.
func unlabels(label string) func(context.Context, *life) {
	return func(ctx context.Context, l *life) {
		GinkgoHelper()
		before := l.snapshot(ctx, Default)
		uid, kinds := string(get(ctx, Default, l.resource).GetUID()), getBox(ctx, Default, l.box.GetName()).Status.ManagedKinds
		l.patch(ctx, l.resource, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, label))
		l.left(ctx, uid, kinds, nil)
		for _, by := range get(ctx, Default, l.resource).GetManagedFields() {
			Expect(by.Manager).NotTo(HavePrefix("orkestra"), "nothing is written to it")
		}
		l.patch(ctx, l.resource, fmt.Sprintf(`{"metadata":{"labels":{%q:"yes"}}}`, label))
		Eventually(func(g Gomega) { g.Expect(l.snapshot(ctx, g)).To(Equal(before)) }).WithContext(ctx).Should(Succeed())
	}
}

// each gives a field of all elements of a list.
func each(list any, field string) []string {
	all, _ := list.([]any)
	var out []string
	for _, element := range all {
		text, _ := at(element, field).(string)
		out = append(out, text)
	}
	return out
}
