package pipeline

import (
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/identity"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

func TestWhatGrantsRightsNeedsTheFlag(t *testing.T) {
	const name = `metadata: {name: "{{ .metadata.namespace }}"}`
	for what, tc := range map[string]struct {
		box, want string // want is empty: it grants nothing
	}{
		"a certificate request":             {`resources: [{manifest: {apiVersion: certificates.k8s.io/v1, kind: CertificateSigningRequest, ` + name + `}}]`, "CertificateSigningRequest grants rights"},
		"a volume":                          {`resources: [{manifest: {apiVersion: v1, kind: PersistentVolume, ` + name + `}}]`, "PersistentVolume grants rights"},
		"a lease":                           {`resources: [{manifest: {apiVersion: coordination.k8s.io/v1, kind: Lease}}]`, "Lease grants rights"},
		"a token":                           {`secrets: [{type: kubernetes.io/service-account-token}]`, "a Secret of type kubernetes.io/service-account-token grants rights"},
		"a token by manifest":               {`resources: [{manifest: {apiVersion: v1, kind: Secret, type: bootstrap.kubernetes.io/token}}]`, "a Secret of type bootstrap.kubernetes.io/token grants rights"},
		"another Secret":                    {`secrets: [{type: kubernetes.io/tls, data: {tls.crt: a, tls.key: b}}]`, ""},
		"security of Pods":                  {`namespaces: [{name: "{{ .metadata.namespace }}", labels: {pod-security.kubernetes.io/enforce: privileged}}]`, "a Namespace whose label pod-security.kubernetes.io/enforce is not the strictest grants rights"},
		"security of Pods by manifest":      {`resources: [{manifest: {apiVersion: v1, kind: Namespace, metadata: {name: "{{ .metadata.namespace }}", labels: {pod-security.kubernetes.io/warn: privileged}}}}]`, "pod-security.kubernetes.io/warn is not the strictest grants rights"},
		"the strictest security of Pods":    {`namespaces: [{name: "{{ .metadata.namespace }}", labels: {pod-security.kubernetes.io/enforce: restricted, pod-security.kubernetes.io/enforce-version: latest}}]`, ""},
		"an old level":                      {`namespaces: [{name: "{{ .metadata.namespace }}", labels: {pod-security.kubernetes.io/enforce-version: v1.25}}]`, "enforce-version is not the strictest"},
		"a level from the resource":         {`namespaces: [{name: "{{ .metadata.namespace }}", labels: {pod-security.kubernetes.io/enforce: "{{ .spec.host }}"}}]`, "is not the strictest"},
		"devices of others":                 {`namespaces: [{name: "{{ .metadata.namespace }}", labels: {resource.kubernetes.io/admin-access: "true"}}]`, "a Namespace with the label resource.kubernetes.io/admin-access grants rights"},
		"a driver that gets tokens":         {`resources: [{manifest: {apiVersion: storage.k8s.io/v1, kind: CSIDriver, ` + name + `}}]`, "CSIDriver grants rights"},
		"a plain Namespace":                 {`namespaces: [{name: "{{ .metadata.namespace }}", labels: {team: a}}]`, ""},
		"these labels on something else":    {`configmaps: [{labels: {pod-security.kubernetes.io/enforce: privileged}}]`, ""},
		"a plain ControllerRevision":        {`resources: [{manifest: {apiVersion: apps/v1, kind: ControllerRevision, revision: 1}}]`, ""},
		"a cluster-scoped kind":             {`resources: [{manifest: {apiVersion: demo.example.com/v1, kind: Region, ` + name + `}}]`, "Region is a cluster-scoped kind that may grant rights"},
		"a cluster-scoped kind, well known": {`resources: [{manifest: {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, value: 1, ` + name + `}}]`, ""},
	} {
		t.Run(what, func(t *testing.T) {
			g := gomega.NewWithT(t)
			box := boxOf(t, "onReconcile: {"+tc.box+"}")
			_, errs := Compile(box, Env{CRD: websites(t), Mapper: stubMapper(), AllowGrantingKinds: true})
			g.Expect(errs).To(gomega.BeEmpty())
			_, errs = Compile(box, Env{CRD: websites(t), Mapper: stubMapper()})
			if tc.want == "" {
				g.Expect(errs).To(gomega.BeEmpty())
				return
			}
			g.Expect(messages(errs)).To(gomega.ConsistOf(gomega.And(gomega.ContainSubstring(tc.want), gomega.ContainSubstring("--allow-granting-kinds"))))
		})
	}
}

// What a template makes is known only when it is rendered.
func TestWhatIsRenderedGrantsNoRights(t *testing.T) {
	for what, tc := range map[string]struct{ box, want string }{
		"type of a Secret": {`{secrets: [{type: "{{ .spec.host }}"}]}`, "onReconcile: secrets: a Secret of type kubernetes.io/service-account-token grants rights; start the manager with --allow-granting-kinds"},
		"of a manifest":    {`{resources: [{manifest: {apiVersion: v1, kind: Secret, metadata: {name: a}, type: "{{ .spec.host }}"}}]}`, "a Secret of type kubernetes.io/service-account-token grants rights"},
	} {
		t.Run(what, func(t *testing.T) {
			g := gomega.NewWithT(t)
			box := boxOf(t, "onReconcile: "+tc.box)
			for _, allowed := range []bool{true, false} {
				plan, errs := Compile(box, Env{CRD: websites(t), AllowGrantingKinds: allowed})
				g.Expect(errs).To(gomega.BeEmpty())
				p := newPorts()
				_, err := p.run(plan, website(t, "host: kubernetes.io/service-account-token"))
				if allowed {
					g.Expect(err).NotTo(gomega.HaveOccurred())
					continue
				}
				expectStep(g, err, stage.StepOnReconcile, Permanent, v1alpha1.ReasonInvalidChild)
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(tc.want)))
				g.Expect(p.children).To(gomega.BeEmpty())
			}
		})
	}
}

// What the account may do is for the API server to say, at each write.
func TestABoxWithAnAccountNeedsNoLeave(t *testing.T) {
	const role = `onReconcile: {resources: [{manifest: {apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: []}}]}`
	g := gomega.NewWithT(t)
	plan, errs := Compile(boxOf(t, "serviceAccountRef: {name: a, namespace: b}\n"+role), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.BeEmpty())
	p := newPorts()
	_, err := p.run(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(p.children).To(gomega.HaveLen(1))

	// A former revision named an account, and the box acts as the manager today.
	p = newPorts()
	_, err = p.run(plan.As(identity.Account{}), website(t, ""))
	expectStep(g, err, stage.StepOnReconcile, Permanent, v1alpha1.ReasonInvalidChild)
	g.Expect(p.children).To(gomega.BeEmpty())
}

func TestNoBoxWritesMarks(t *testing.T) {
	for what, box := range map[string]string{
		"a door":               `namespaces: [{name: "{{ .metadata.namespace }}", annotations: {orkestra.orkspace.io/allow-from: "*"}}]`,
		"a snapshot":           `resources: [{manifest: {apiVersion: apps/v1, kind: ControllerRevision, metadata: {name: a, labels: {orkestra.orkspace.io/snapshot: "true"}}, revision: 1}}]`,
		"a child of another":   `deployments: [{image: a, podLabels: {orkestra.orkspace.io/owner-uid: "{{ .spec.host }}"}}]`,
		"the same in a spec":   `deployments: [{image: a, spec: {template: {metadata: {annotations: {orkestra.orkspace.io/declaration: x}}}}}]`,
		"the same in manifest": `resources: [{manifest: {apiVersion: v1, kind: ReplicationController, metadata: {name: a}, spec: {template: {metadata: {labels: {orkestra.orkspace.io/box: x}}}}}}]`,
	} {
		t.Run(what, func(t *testing.T) {
			_, errs := Compile(boxOf(t, "serviceAccountRef: {name: a, namespace: b}\nonReconcile: {"+box+"}"), Env{CRD: websites(t), Mapper: stubMapper(), AllowGrantingKinds: true})
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ConsistOf(gomega.And(gomega.ContainSubstring("Forbidden"), gomega.ContainSubstring("remove it"))))
		})
	}
}
