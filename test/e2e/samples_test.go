package e2e_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

// sample is what the life of one of config/samples needs to know besides its files.
type sample struct {
	folder  string
	replace map[string]string // in its files
	catalog *catalog

	// prepare does what the cluster would do, or what the author asks of it, before the box is applied.
	prepare func(ctx context.Context, l *life)
	// help does what the cluster would do for the children, after the resource is applied.
	help func(ctx context.Context, l *life)

	edit   string                    // a patch of the resource
	edited map[string]map[string]any // what it changes: by child, by path
	remake string                    // the child that is deleted; empty: none, since the cluster would not let another one work
	once   []string                  // children that are made once, and left alone
	bad    string                    // a patch of the resource that validation denies
	says   string                    // with these words
	stays  []string                  // children that stay when the resource is deleted
	bare   bool                      // there is no role: the manager has all rights
	others bool                      // the box serves objects of others: there is no CRD, and nothing is written to them
	gives  []rbacv1.PolicyRule       // rights that its children give, which is why whoever makes them needs them
	later  int                       // how many of the required rules are for objects that a resource names: they are asked for when it does
	also   func(ctx context.Context, l *life)
}

// samples are the ten operators of config/samples.
func samples() []sample {
	return []sample{
		{
			folder: "hello",
			edit:   `{"spec":{"name":"Ada"}}`,
			edited: map[string]map[string]any{"ConfigMap/world": {"data.greeting": "Hello, Ada!"}},
			remake: "ConfigMap/world",
			bad:    `{"spec":{"name":"ada"}}`, says: "a name begins with a capital letter",
		},
		{
			folder: "website", help: giveAddress("docs"),
			edit: `{"spec":{"host":"help.example.com","autoscaling":{"maxReplicas":8}}}`,
			edited: map[string]map[string]any{
				"Ingress/docs": {"spec.rules.0.host": "help.example.com"}, "HorizontalPodAutoscaler/docs": {"spec.maxReplicas": int64(8)},
			},
			remake: "Ingress/docs",
			bad:    `{"spec":{"replicas":9}}`, says: "autoscaling.maxReplicas must not be below replicas",
		},
		{
			folder: "shop",
			edit:   `{"spec":{"host":"roses.example.com","web":{"replicas":2}}}`,
			edited: map[string]map[string]any{
				"Deployment/flowers-web": {"spec.replicas": int64(2)}, "ConfigMap/flowers-api": {"data.PUBLIC_URL": "https://roses.example.com/"},
			},
			remake: "Service/flowers-api",
			bad:    `{"spec":{"web":{"image":"registry.example.com/shop/web:latest"}}}`, says: "nobody knows what latest is tomorrow",
		},
		{
			folder: "postgres", prepare: giveVolumes("data-orders-0", "orders-backups"),
			edit: `{"spec":{"resources":{"memory":"2Gi"},"backup":{"keepDays":30}}}`,
			edited: map[string]map[string]any{
				"StatefulSet/orders":    {"spec.template.spec.containers.0.resources.limits.memory": "2Gi"},
				"CronJob/orders-backup": {"spec.jobTemplate.spec.template.spec.containers.0.env.2.value": "30"},
			},
			remake: "Service/orders",
			once:   []string{"Secret/orders-credentials"},
			bad:    `{"spec":{"backup":{"keepDays":91}}}`, says: "backups are kept for at most 90 days",
			stays: []string{"Secret/orders-credentials", "PersistentVolumeClaim/orders-backups"},
			also:  passwordStays,
		},
		{
			folder: "redis",
			edit:   `{"spec":{"mode":"standalone"}}`,
			edited: map[string]map[string]any{
				"Deployment/sessions": {"spec.replicas": int64(1)}, "Service/sessions": {"spec.selector": podLabels("sessions", "sessions")},
				"StatefulSet/sessions": nil, "Service/sessions-pods": nil, "PodDisruptionBudget/sessions": nil,
			},
			remake: "Service/sessions",
			once:   []string{"Secret/sessions-auth"},
			bad:    `{"spec":{"mode":"sentinel","replicas":2}}`, says: "sentinels need at least 3 servers to choose from",
		},
		{
			folder: "backupschedule", prepare: nobodyAnswers, help: answers,
			edit:   `{"spec":{"schedule":"45 3 * * *","suspend":true}}`,
			edited: map[string]map[string]any{"CronJob/uploads": {"spec.schedule": "45 3 * * *", "spec.suspend": true}},
			remake: "CronJob/uploads",
			bad:    `{"spec":{"schedule":"every night"}}`, says: "a schedule has five fields",
			also: wasToldOnce,
		},
		{
			folder: "tenantspace",
			edit:   `{"spec":{"environments":[{"name":"prod","pods":300}],"owners":[{"kind":"Group","name":"acme-admins"}]}}`,
			edited: map[string]map[string]any{
				"ResourceQuota/acme-prod/tenant": {"spec.hard.pods": "300"}, "RoleBinding/acme-prod/owners": {"subjects.0.name": "acme-admins"},
				"Namespace/acme-dev": nil,
			},
			remake: "RoleBinding/acme-prod/owners",
			bad:    `{"spec":{"environments":[{"name":"prod","memory":"1024Gi"}]}}`, says: "an environment may have at most 128Gi of memory",
		},
		{
			folder: "previewenv",
			edit:   `{"spec":{"replicas":2}}`,
			edited: map[string]map[string]any{"Deployment/preview-pr-1234/web": {"spec.replicas": int64(2)}},
			remake: "Service/preview-pr-1234/web",
			bad:    `{"spec":{"ttl":"15d"}}`, says: "a preview lives for at most 14 days",
			also: expires,
		},
		{
			folder: "trainingjob",
			edit:   `{"spec":{"parameters":{"LEARNING_RATE":"0.02"}}}`,
			edited: map[string]map[string]any{"ConfigMap/digits-parameters": {"data.LEARNING_RATE": "0.02"}},
			remake: "ConfigMap/digits-parameters",
			bad:    `{"spec":{"deadlineSeconds":604801}}`, says: "a training may take at most a week",
			also: showsOutcomes,
		},
		{
			folder: "secretcopier",
			edit:   `{"spec":{"namespaces":["copies-b"]}}`,
			edited: map[string]map[string]any{"Secret/copies-b/registry-token": {"data.token": "ZXhhbXBsZQ=="}, "Secret/copies-a/registry-token": nil},
			remake: "Secret/copies-b/registry-token",
			bad:    `{"spec":{"namespaces":["copies-b","default"]}}`, says: "the Secret is in this namespace already",
			also: followsSource,
		},
	}
}

var _ = Describe("The samples", Ordered, ContinueOnFailure, longest, func() {
	var backups *catalog
	BeforeAll(func(ctx context.Context) {
		backups = startCatalog()
		// The manager has the rights that an installation gives it, and those that the samples bring.
		rbac := filepath.Join("..", "..", "config")
		_, err := cluster.Kubectl(ctx, "apply", "-f", filepath.Join(rbac, "default", "namespace.yaml"))
		Expect(err).NotTo(HaveOccurred())
		_, err = cluster.Kubectl(ctx, "apply", "-k", filepath.Join(rbac, "rbac"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) {
			_, err := cluster.Kubectl(ctx, "delete", "-k", filepath.Join(rbac, "rbac"), "--ignore-not-found")
			Expect(err).NotTo(HaveOccurred())
		})
		replaceManager(func(s *settings) {
			s.config.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:orkestra-system:orkestra", Groups: []string{
				"system:serviceaccounts", "system:serviceaccounts:orkestra-system", "system:authenticated",
			}}
			s.orkestra.AllowGrantingKinds = true
			s.orkestra.ExternalAllow = []string{hostOf(backups.server.URL)}
		})
	})

	for _, s := range slices.Concat(samples(), ports()) {
		It(s.folder+": its whole life", func(ctx context.Context) {
			backups.forget() // what former lives have told
			s.catalog, s.replace = backups, map[string]string{"https://catalog.example.com": backups.server.URL}
			s.live(ctx)
		})

		It(s.folder+": as an account that has the required rules and no others", func(ctx context.Context) {
			backups.forget() // what former lives have told
			s.catalog, s.replace = backups, map[string]string{"https://catalog.example.com": backups.server.URL}
			s.liveAsAccount(ctx)
		})
	}

	It("as accounts that lack one of the required rules: each box names it, and nothing is begun", func(ctx context.Context) {
		var all []*lacking
		for _, s := range slices.Concat(samples(), ports()) {
			backups.forget() // what former lives have told
			s.catalog, s.replace = backups, map[string]string{"https://catalog.example.com": backups.server.URL}
			all = append(all, s.lackingEach(ctx))
		}
		since := auditedUntilNow()
		for round := 0; begin(ctx, round, all); round++ {
			By(fmt.Sprintf("taking another rule of each, time %d of %d, seed %d", round+1, taken, GinkgoRandomSeed()))
			for _, l := range all {
				l.shows(ctx, round)
			}
		}
		for _, e := range auditedOf(since, func(text string) bool { return strings.Contains(text, `"orkestra.orkspace.io/box"`) }) {
			Expect(e.writes()).To(BeFalse(), "%s", e)
		}
		for _, l := range all {
			Expect(getBox(ctx, Default, l.box.GetName()).Status.ManagedKinds).To(BeEmpty(), "no child was to be made")
		}
	})
})

// live runs the whole life of a sample.
func (s sample) live(ctx context.Context) {
	GinkgoHelper()
	By("applying it")
	l := s.begin(ctx)
	l.settled(ctx)
	l.asExpected(ctx)
	l.quiet(ctx)

	By("editing the resource")
	l.patch(ctx, l.resource, s.edit)
	l.settled(ctx)
	l.follows(ctx)
	l.quiet(ctx)

	By("changing every child by hand")
	l.drifts(ctx)
	l.quiet(ctx)

	if s.remake != "" {
		By("deleting a child")
		l.remakes(ctx, s.remake)
		l.quiet(ctx)
	}

	if s.bad != "" {
		By("giving the resource a bad value, and taking it back")
		l.survives(ctx)
		l.quiet(ctx)
	}

	By("changing the box")
	l.patch(ctx, l.box, `{"spec":{"commonLabels":{"samples.orkspace.io/release":"2"}}}`)
	l.running(ctx)
	l.labeledBy(ctx, "samples.orkspace.io/release", "2")
	l.quiet(ctx)
	if s.also != nil {
		By("doing what is special to it")
		s.also(ctx, l)
	}

	By("deleting the resource")
	uid, children := string(get(ctx, Default, l.resource).GetUID()), l.children(ctx, Default)
	kinds := getBox(ctx, Default, l.box.GetName()).Status.ManagedKinds
	l.remove(ctx, l.resource)
	l.left(ctx, uid, kinds, children)
	l.remove(ctx, l.box)
}

// follows waits until the children are as the edit says.
func (l *life) follows(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		children := l.children(ctx, g)
		for name, fields := range l.edited {
			if fields == nil {
				g.Expect(children).NotTo(HaveKey(name))
				continue
			}
			g.Expect(children).To(HaveKey(name))
			for path, value := range fields {
				g.Expect(at(children[name].Object, path)).To(Equal(value), "%s %s", name, path)
			}
		}
	}).WithContext(ctx).Should(Succeed())
}

// survives gives the resource a bad value, checks that this changes nothing else, and mends it.
func (l *life) survives(ctx context.Context) {
	GinkgoHelper()
	good, before, uids := get(ctx, Default, l.resource), l.snapshot(ctx, Default), l.uids(ctx, Default)
	l.patch(ctx, l.resource, l.bad)
	Eventually(func(g Gomega) { l.denied(ctx, g) }).WithContext(ctx).Should(Succeed())
	Expect(l.uids(ctx, Default)).To(Equal(uids))
	Expect(l.snapshot(ctx, Default)).To(Equal(before))

	bad := get(ctx, Default, l.resource)
	bad.Object["spec"] = good.Object["spec"]
	bad.SetAnnotations(good.GetAnnotations())
	Expect(kube.Update(ctx, bad)).To(Succeed())
	l.settled(ctx)
	Expect(l.uids(ctx, Default)).To(Equal(uids))
}

// denied checks that validation denies the resource, in the words of the box.
func (l *life) denied(ctx context.Context, g Gomega) {
	if l.others {
		failing := getHealth(ctx, g, l.box.GetName()).Status.Failing
		g.Expect(failing).To(ConsistOf(And(HaveField("Name", l.resource.GetName()), HaveField("Message", ContainSubstring(l.says)))))
		return
	}
	now := get(ctx, g, l.resource)
	g.Expect(condition(now, v1alpha1.ConditionStalled)).To(And(HaveField("Status", metav1.ConditionTrue),
		HaveField("Reason", v1alpha1.ReasonValidationFailed), HaveField("Message", ContainSubstring(l.says))))
	g.Expect(condition(now, v1alpha1.ConditionReady).Status).To(Equal(metav1.ConditionFalse))
}

// labeledBy waits until all children but those that are made once have a label.
func (l *life) labeledBy(ctx context.Context, label, value string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		children := l.children(ctx, g)
		for _, name := range l.once {
			delete(children, name)
		}
		for name, child := range children {
			g.Expect(child.GetLabels()).To(HaveKeyWithValue(label, value), name)
		}
	}).WithContext(ctx).Should(Succeed())
}
