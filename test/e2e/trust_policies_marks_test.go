package e2e_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/orkspace/orkestra/api/v1alpha1"
)

var _ = Describe("The marks of Orkestra", func() {
	var w *world
	var tenant *user
	BeforeEach(func(ctx context.Context) {
		w = newWorld(ctx)
		tenant = w.tenant(ctx)
	})
	// forged is an object with one label or annotation.
	forged := func(name, kind, key, value string) *corev1.ConfigMap {
		c := w.configMap(name)
		if kind == "labels" {
			c.Labels = map[string]string{key: value}
		} else {
			c.Annotations = map[string]string{key: value}
		}
		return c
	}

	DescribeTable("are set, changed and removed by nobody else, on children and on resources", func(ctx context.Context, kind, key string) {
		message := "the " + map[string]string{"labels": "label ", "annotations": "annotation "}[kind] + key + " is set, changed and removed by boxes alone"
		Expect(tenant.client.Create(ctx, forged("forged", kind, key, "x"))).To(refusedBy("marks", message))
		plain := w.configMap("plain")
		Expect(tenant.client.Create(ctx, plain)).To(Succeed())
		Expect(tenant.mark(ctx, plain, kind, key, "x")).To(refusedBy("marks", message))

		By("one that is marked already")
		Expect(kube.Create(ctx, forged("marked", kind, key, "x"))).To(Succeed())
		Expect(tenant.mark(ctx, w.configMap("marked"), kind, key, "y")).To(refusedBy("marks", message))
		Expect(tenant.mark(ctx, w.configMap("marked"), kind, key, "")).To(refusedBy("marks", message))
		Expect(tenant.merge(ctx, w.configMap("marked"), `{"data":{"a":"b"}}`)).To(Succeed(), "what leaves the marks as they are")
		Expect(tenant.merge(ctx, w.configMap("marked"), `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"plain","uid":"`+
			string(plain.UID)+`"}]}}`)).To(Succeed(), "owner references are the garbage collector's business")

		By("a resource of a box")
		w.website(ctx, "web", `{}`)
		Expect(tenant.mark(ctx, w.ref("web"), kind, key, "x")).To(refusedBy("marks", message))
		Expect(tenant.client.Delete(ctx, w.configMap("marked"))).To(Succeed())
	},
		Entry("managed", "labels", v1alpha1.LabelManaged),
		Entry("the owner's name", "labels", v1alpha1.LabelOwner),
		Entry("the owner's UID", "labels", v1alpha1.LabelOwnerUID),
		Entry("the box", "labels", v1alpha1.LabelBox),
		Entry("the hash of what was applied", "annotations", v1alpha1.AnnotationApplied),
		Entry("the declaration", "annotations", v1alpha1.AnnotationDeclaration),
		Entry("since when", "annotations", v1alpha1.AnnotationManagedSince),
		Entry("other namespaces", "annotations", v1alpha1.AnnotationNamespaces),
		Entry("finalizers", "annotations", v1alpha1.AnnotationFinalizers),
		Entry("snapshots", "annotations", v1alpha1.AnnotationSnapshots),
		Entry("what is done", "annotations", v1alpha1.AnnotationDone),
		Entry("one that is not known yet", "annotations", v1alpha1.GroupName+"/of-a-later-version"),
	)

	It("are guarded where a subresource writes metadata", func(ctx context.Context) {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "plain"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
		Expect(tenant.client.Create(ctx, service)).To(Succeed())
		service.Annotations = map[string]string{v1alpha1.AnnotationApplied: "x"}
		Expect(tenant.client.Status().Update(ctx, service)).To(refusedBy("marks", v1alpha1.AnnotationApplied))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "pod"}, Spec: onePod()}
		pod.Spec.SchedulerName = "none"
		Expect(tenant.client.Create(ctx, pod)).To(Succeed())
		bound := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "pod", Annotations: map[string]string{v1alpha1.AnnotationApplied: "x"}}, Target: corev1.ObjectReference{Kind: "Node", Name: "none"}}
		Expect(tenant.client.SubResource("binding").Create(ctx, pod, bound)).To(refusedBy("marks", v1alpha1.AnnotationApplied))
	})

	It("are the names under which it owns fields, too", func(ctx context.Context) {
		const message = "the field managers orkestra, orkestra-initial, orkestra-repair, orkestra-marks and orkestra-status are Orkestra's"
		plain := w.configMap("plain")
		Expect(tenant.client.Create(ctx, plain)).To(Succeed())
		for _, manager := range []string{
			v1alpha1.FieldManager, v1alpha1.FieldManagerInitial, v1alpha1.FieldManagerRepair, v1alpha1.FieldManagerMarks, v1alpha1.FieldManagerStatus,
		} {
			owner := client.FieldOwner(manager)
			Expect(tenant.client.Create(ctx, w.configMap("forged"), owner)).To(refusedBy("marks", message))
			Expect(tenant.merge(ctx, plain, `{"data":{"a":"b"}}`, owner)).To(refusedBy("marks", message))
			Expect(tenant.client.Update(ctx, plain.DeepCopy(), owner)).To(refusedBy("marks", message))
			Expect(tenant.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(w.manifest("plain")), owner)).To(refusedBy("marks", message))
			written := plain.DeepCopy()
			entry := metav1.ManagedFieldsEntry{
				Manager: manager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "v1", FieldsType: "FieldsV1", Time: &plain.CreationTimestamp,
				FieldsV1: metav1.NewFieldsV1(`{"f:data":{"f:a":{}}}`),
			}
			written.ManagedFields = append(written.ManagedFields, entry)
			Expect(tenant.client.Update(ctx, written)).To(refusedBy("marks", message), "in metadata.managedFields")
		}
		Expect(tenant.merge(ctx, plain, `{"data":{"a":"b"}}`, client.FieldOwner("orkestra-fan"))).To(Succeed())
	})

	It("do not count what people set on purpose", func(ctx context.Context) {
		w.website(ctx, "web", `{}`)
		for _, key := range []string{v1alpha1.AnnotationPaused, v1alpha1.AnnotationReconcileAt, v1alpha1.AnnotationSkipCleanup} {
			Expect(tenant.mark(ctx, w.ref("web"), "annotations", key, "true")).To(Succeed(), key)
			Expect(tenant.mark(ctx, w.ref("web"), "annotations", key, "")).To(Succeed(), key)
		}
		w.setPolicy(ctx, "marks", "allowSkipCleanup", "false", func() error {
			return tenant.merge(ctx, w.ref("web"), `{"metadata":{"annotations":{"`+v1alpha1.AnnotationSkipCleanup+`":"true"}}}`, client.DryRunAll)
		}, refusedBy("marks", "the annotation "+v1alpha1.AnnotationSkipCleanup))
	})

	It("are written by a box as its account, in its own name; by the account alone they are not", func(ctx context.Context) {
		account := "system:serviceaccount:" + w.namespace + ":mine"
		plain := &user{name: account, client: as(account)}
		plain.mayIn(ctx, w.namespace, rule("", "create patch", "configmaps"))
		boxed := &user{name: account, client: as(account, forBox("mine"))}
		Expect(plain.client.Create(ctx, forged("forged", "labels", v1alpha1.LabelBox, "mine"))).To(refusedBy("marks", v1alpha1.LabelBox))
		Expect(boxed.client.Create(ctx, forged("child", "labels", v1alpha1.LabelBox, "mine"), client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
		Expect(boxed.mark(ctx, w.configMap("child"), "annotations", v1alpha1.AnnotationApplied, "x")).To(Succeed())
		Expect(boxed.client.Create(ctx, forged("stolen", "labels", v1alpha1.LabelBox, "theirs"))).
			To(refusedBy("marks", "box mine writes an object in the name of another box"))
		Expect(boxed.mark(ctx, w.configMap("child"), "labels", v1alpha1.LabelBox, "theirs")).To(refusedBy("marks", "in the name of another box"))

		By("the manager, whose name a box can't borrow")
		me := &user{name: managerAccount, client: as(managerAccount)}
		me.mayIn(ctx, w.namespace, rule("", "create patch", "configmaps"))
		Expect(me.client.Create(ctx, forged("own", "labels", v1alpha1.LabelBox, "any"), client.FieldOwner(v1alpha1.FieldManager))).To(Succeed())
		borrowed := &user{name: managerAccount, client: as(managerAccount, forBox("mine"))}
		Expect(borrowed.client.Create(ctx, forged("borrowed", "labels", v1alpha1.LabelBox, "any"))).To(refusedBy("marks", "in the name of another box"))
	})

	It("come back from a backup by those who may restore it", func(ctx context.Context) {
		velero := &user{name: w.id + "-velero", client: as(w.id + "-velero")}
		velero.mayIn(ctx, w.namespace, rule("", "create", "configmaps"))
		Expect(velero.client.Create(ctx, forged("restored", "labels", v1alpha1.LabelBox, "any"))).To(refusedBy("marks", v1alpha1.LabelBox))
		velero.may(ctx, rule(v1alpha1.GroupName, "restore", "operatorboxes/marks"))
		Expect(velero.client.Create(ctx, forged("restored", "labels", v1alpha1.LabelBox, "any"))).To(Succeed())
	})

	It("are in no template, from which a controller would copy them", func(ctx context.Context) {
		const message = "a template holds labels or annotations of Orkestra"
		marked := metav1.ObjectMeta{Labels: map[string]string{"app": "a", v1alpha1.LabelOwnerUID: "x"}}
		noted := metav1.ObjectMeta{Labels: map[string]string{"app": "a"}, Annotations: map[string]string{v1alpha1.AnnotationApplied: "x"}}
		clean := metav1.ObjectMeta{Labels: map[string]string{"app": "a"}}
		job := onePod()
		job.RestartPolicy = corev1.RestartPolicyNever
		claim := corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}
		ephemeral := onePod()
		ephemeral.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
			VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{ObjectMeta: marked, Spec: claim},
		}}}}
		selector := &metav1.LabelSelector{MatchLabels: clean.Labels}
		named := metav1.ObjectMeta{Namespace: w.namespace, Name: "forged"}
		defaulted := named // the API server gives a Job without labels those of its template
		defaulted.Labels = clean.Labels
		deployment := func(template metav1.ObjectMeta, pod corev1.PodSpec) *appsv1.Deployment {
			return &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{Selector: selector, Template: corev1.PodTemplateSpec{ObjectMeta: template, Spec: pod}}}
		}
		cron := func(of, template metav1.ObjectMeta) *batchv1.CronJob {
			return &batchv1.CronJob{ObjectMeta: named, Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: of, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: template, Spec: job}},
			}}}
		}
		for what, obj := range map[string]client.Object{
			"a Deployment":             deployment(marked, onePod()),
			"its annotations":          deployment(noted, onePod()),
			"an ephemeral volume":      deployment(clean, ephemeral),
			"a Job":                    &batchv1.Job{ObjectMeta: defaulted, Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: marked, Spec: job}}},
			"a CronJob":                cron(marked, clean),
			"the Pods of a CronJob":    cron(clean, marked),
			"a PodTemplate":            &corev1.PodTemplate{ObjectMeta: named, Template: corev1.PodTemplateSpec{ObjectMeta: marked, Spec: job}},
			"a Pod, for its volumes":   &corev1.Pod{ObjectMeta: named, Spec: ephemeral},
			"the claims of a workload": &appsv1.StatefulSet{ObjectMeta: named, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: corev1.PodTemplateSpec{ObjectMeta: clean, Spec: onePod()}, VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "v", Labels: marked.Labels}, Spec: claim}}}},
			"a ReplicaSet":             &appsv1.ReplicaSet{ObjectMeta: named, Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: corev1.PodTemplateSpec{ObjectMeta: marked, Spec: onePod()}}},
		} {
			Expect(tenant.client.Create(ctx, obj)).To(refusedBy("templates", message), what)
		}

		By("one that was none before")
		Expect(tenant.client.Create(ctx, deployment(clean, onePod()))).To(Succeed())
		Expect(tenant.merge(ctx, deployment(clean, onePod()), `{"spec":{"template":{"metadata":{"labels":{"`+v1alpha1.LabelBox+`":"x"}}}}}`)).
			To(refusedBy("templates", message))
		Expect(tenant.merge(ctx, deployment(clean, onePod()), `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`)).To(Succeed())

		By("a box, which never writes them there")
		account := "system:serviceaccount:" + w.namespace + ":mine"
		boxed := &user{name: account, client: as(account, forBox("mine"))}
		boxed.mayIn(ctx, w.namespace, rule("batch", "create", "cronjobs"))
		Expect(boxed.client.Create(ctx, cron(marked, clean))).To(refusedBy("templates", message))
	})
})
