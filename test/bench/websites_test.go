package bench_test

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// websiteBox is that of config/samples/website without its gates: nobody gives a Service an address here, so it would wait for ever.
const websiteBox = `apiVersion: orkestra.orkspace.io/v1alpha1
kind: OperatorBox
metadata: {name: website}
spec:
  crd: {name: websites.demo.example.com}
  onReconcile:
    deployments:
    - image: "{{ .spec.image }}"
      replicas: "{{ .spec.replicas }}"
      port: 8080
      resources: {requests: {cpu: 50m, memory: 64Mi}, limits: {memory: 128Mi}}
      volumes: [{name: tmp, emptyDir: {}}]
      volumeMounts: [{name: tmp, mountPath: /tmp}]
      securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, runAsNonRoot: true, capabilities: {drop: [ALL]}}
      podSecurityContext: {seccompProfile: {type: RuntimeDefault}}
      probes:
        readiness: {httpGet: {path: /, port: 8080}}
        liveness: {tcpSocket: {port: 8080}}
    services: [{port: 80}]
    ingresses: [{host: "{{ .spec.host }}"}]
    hpas:
    - minReplicas: "{{ .spec.replicas }}"
      maxReplicas: "{{ .spec.autoscaling.maxReplicas }}"
      cpu: "{{ .spec.autoscaling.cpu }}"
      when: [{field: spec.autoscaling, operator: exists}]
    pdbs: [{maxUnavailable: 1}]
  status:
    fields:
    - {path: replicas, value: "{{ readyReplicas .children.deployment }}"}
    - {path: url, value: "http://{{ .spec.host }}/"}
`

// measureWebsites has binaries serve Websites of four children, in turns.
func measureWebsites(b *testing.B, t *sheet) {
	b.Helper()
	p := newPlane(b)
	_, err := p.cluster.KubectlApply(b.Context(), websiteBox)
	must(b, err)
	p.takeTurns(b, t, inWebsites, p.contenders(b, t, "--websites"), []step{{"website", true, (*turn).websites}, {"image", true, (*turn).image}}, (*turn).websitesGone)
}

// sleeping is a Website without Pods, which would take processor time from those who are measured.
func sleeping(name string) *unstructured.Unstructured {
	obj := website(name)
	if err := unstructured.SetNestedField(obj.Object, int64(0), "spec", "replicas"); err != nil {
		panic(err) // it has a spec
	}
	return obj
}

// websites makes one Website after another.
func (u *turn) websites() error {
	if _, err := u.one(sleeping(u.name + "-warm")); err != nil {
		return err
	}
	took, cpu, counts, err := u.oneByOne(namesOf("web", u.name, u.t.samples), func(name string) (time.Duration, error) { return u.stays(sleeping(name)) })
	if err != nil {
		return err
	}
	u.add("website.p50", took.quantile(0.5))
	u.addRequests("website", counts, len(took))
	u.add("website.cpu", milliseconds(cpu, len(took)))
	u.t.Note("Requests each for a Website, %s: %s.", u.column, listed(counts, len(took)))
	return nil
}

// image changes the image of Deployments, one after another.
func (u *turn) image() error {
	took, _, counts, err := u.oneByOne(u.alive, u.repainted)
	if err != nil {
		return err
	}
	u.add("image.p50", took.quantile(0.5))
	u.addRequests("image", counts, len(took))
	return nil
}

// repainted changes the image of one Deployment, and gives the time until it is the old one again.
func (u *turn) repainted(name string) (time.Duration, error) {
	drifted := false
	return u.awaited(appsv1.SchemeGroupVersion.WithKind("Deployment"), name, "with its image again", func() error {
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
		patch := client.RawPatch("application/json-patch+json", []byte(`[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"drift:1"}]`))
		return u.kube.Patch(u.b.Context(), d, patch, client.FieldOwner("rival"))
	}, func(_ watch.Event, now *unstructured.Unstructured) bool {
		containers, _, _ := unstructured.NestedSlice(now.Object, "spec", "template", "spec", "containers")
		if len(containers) != 1 {
			return false
		}
		first, _ := containers[0].(map[string]any)
		drifted = drifted || first["image"] == "drift:1"
		return drifted && first["image"] != "drift:1"
	})
}

// websitesGone removes what the turn has made.
func (u *turn) websitesGone() error {
	if err := u.kube.DeleteAllOf(u.b.Context(), website(""), client.InNamespace("default")); err != nil {
		return err
	}
	eventually(u.b, func() error { return u.none(u.b.Context(), appsv1.SchemeGroupVersion.WithKind("DeploymentList")) })
	return nil
}
