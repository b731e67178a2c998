package kinds

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Constants that the API server would refuse when the first resource comes. wrong is refused with want, right is taken.
func TestConstantsThatTheAPIServerRefuses(t *testing.T) {
	const (
		ports        = "want a number from 1 to 65535"
		portsOrNone  = "want a number from 0 to 65535"
		notNegative  = "want a number that is not negative"
		oneAtLeast   = "want a number from 1"
		serviceTypes = "want ClusterIP, ExternalName, LoadBalancer or NodePort"
		pulls        = "want Always, IfNotPresent or Never"
		modes        = "want a number from 0 to 511, which is 0777"
		numberOrPart = "want a number that is not negative, or a percentage such as 25%"
	)
	for name, tc := range map[string]struct{ key, short, spec, path, wrong, right, want string }{
		"a container's port":     {key: "deployments", short: `{image: a, port: %s}`, path: "port", wrong: "70000", right: "65535", want: ports},
		"no port":                {key: "deployments", short: `{image: a, port: %s}`, path: "port", wrong: "0", right: "1", want: ports},
		"a port of ports":        {key: "deployments", short: `{image: a, ports: [{containerPort: %s}]}`, path: "ports[0].containerPort", wrong: "-1", right: "1", want: ports},
		"a probe's port":         {key: "deployments", short: `{image: a, probes: {liveness: {tcpSocket: {port: %s}}}}`, path: "probes.liveness.tcpSocket.port", wrong: "65536", right: "web", want: ports},
		"a probe's port by name": {key: "deployments", short: `{image: a, probes: {liveness: {httpGet: {port: %s}}}}`, path: "probes.liveness.httpGet.port", wrong: "my_web", right: "web", want: "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"},
		"a Service's node port":  {key: "services", short: `{ports: [{port: 1, nodePort: %s}]}`, path: "ports[0].nodePort", wrong: "70000", right: "30000", want: portsOrNone},
		"a backend's port":       {key: "ingresses", short: `{servicePort: %s}`, path: "servicePort", wrong: "0", right: "web", want: ports},
		"replicas":               {key: "deployments", short: `{image: a, replicas: %s}`, path: "replicas", wrong: "-1", right: "0", want: notNegative},
		"replicas as text":       {key: "deployments", short: `{image: a, replicas: %s}`, path: "replicas", wrong: `"-1"`, right: `"{{ x }}"`, want: notNegative},
		"replicas of an overlay": {key: "deployments", short: `{image: a}`, spec: `{revisionHistoryLimit: %s}`, path: "spec.revisionHistoryLimit", wrong: "-1", right: "0", want: notNegative},
		"replicas of a manifest": {key: "resources", short: `{manifest: {apiVersion: apps/v1, kind: Deployment, spec: {replicas: %s}}}`, path: "manifest.spec.replicas", wrong: "-1", right: "1", want: notNegative},
		"the most replicas":      {key: "hpas", short: `{maxReplicas: %s}`, path: "maxReplicas", wrong: "0", right: "1", want: oneAtLeast},
		"a budget's number":      {key: "pdbs", short: `{minAvailable: %s}`, path: "minAvailable", wrong: "-1", right: "0", want: numberOrPart},
		"a budget's percentage":  {key: "pdbs", short: `{minAvailable: %s}`, path: "minAvailable", wrong: "half", right: "50%", want: numberOrPart},
		"a file's mode": {
			key: "deployments", short: `{image: a, volumes: [{name: a, secret: {secretName: a, defaultMode: %s}}]}`, path: "volumes[0].secret.defaultMode",
			wrong: "644", right: "0644", want: modes,
		},
		"a Service's type":         {key: "services", short: `{type: %s}`, path: "type", wrong: "Loadbalancer", right: "LoadBalancer", want: serviceTypes + `, did you mean "LoadBalancer"?`},
		"a type in an overlay":     {key: "services", short: `{}`, spec: `{type: %s}`, path: "spec.type", wrong: "Internal", right: "NodePort", want: serviceTypes},
		"a session affinity":       {key: "services", short: `{}`, spec: `{sessionAffinity: %s}`, path: "spec.sessionAffinity", wrong: "Cookie", right: "ClientIP", want: "want ClientIP or None"},
		"a protocol":               {key: "services", short: `{protocol: %s}`, path: "protocol", wrong: "tcp", right: "UDP", want: `want SCTP, TCP or UDP, did you mean "TCP"?`},
		"a pull policy":            {key: "deployments", short: `{image: a, sidecars: [{name: b, image: c, imagePullPolicy: %s}]}`, path: "sidecars[0].imagePullPolicy", wrong: "Sometimes", right: "Never", want: pulls},
		"a pull policy, templated": {key: "deployments", short: `{image: a, sidecars: [{name: b, image: c, imagePullPolicy: %s}]}`, path: "sidecars[0].imagePullPolicy", wrong: "always", right: `"{{ x }}"`, want: pulls + `, did you mean "Always"?`},
		"a Deployment's restarts":  {key: "deployments", short: `{image: a}`, spec: `{template: {spec: {restartPolicy: %s}}}`, path: "spec.template.spec.restartPolicy", wrong: "Never", right: "Always", want: "want Always"},
		"a Job's restarts":         {key: "jobs", short: `{image: a}`, spec: `{template: {spec: {restartPolicy: %s}}}`, path: "spec.template.spec.restartPolicy", wrong: "Always", right: "OnFailure", want: "want Never or OnFailure"},
		"restarts of no kind":      {key: "jobs", short: `{image: a}`, spec: `{template: {spec: {restartPolicy: %s}}}`, path: "spec.template.spec.restartPolicy", wrong: "Sometimes", right: "", want: "want Always, Never or OnFailure"},
		"what runs beside":         {key: "cronjobs", short: `{image: a, schedule: "@daily", concurrencyPolicy: %s}`, path: "concurrencyPolicy", wrong: "forbid", right: "Forbid", want: `want Allow, Forbid or Replace, did you mean "Forbid"?`},
		"a schedule of an overlay": {key: "cronjobs", short: `{image: a}`, spec: `{schedule: "%s"}`, path: "spec.schedule", wrong: "61 * * * *", right: "1 * * * *", want: `the minute is "61": want *, or numbers from 0 to 59, as 5, 1-5, 1,5 or */5`},
		"an access mode":           {key: "pvcs", short: `{storage: 1Gi, accessModes: [%s]}`, path: "accessModes[0]", wrong: "ReadWriteonce", right: "ReadWriteOnce", want: `want ReadOnlyMany, ReadWriteMany, ReadWriteOnce or ReadWriteOncePod, did you mean "ReadWriteOnce"?`},
		"a volume's mode":          {key: "pvcs", short: `{storage: 1Gi, volumeMode: %s}`, path: "volumeMode", wrong: "Files", right: "Block", want: "want Block or Filesystem"},
		"a path's type":            {key: "ingresses", short: `{pathType: %s}`, path: "pathType", wrong: "prefix", right: "Prefix", want: `want Exact, ImplementationSpecific or Prefix, did you mean "Prefix"?`},
		"a path":                   {key: "ingresses", short: `{path: %s}`, path: "path", wrong: "api", right: "/api", want: "want an absolute path, which begins with /"},
		"a host":                   {key: "ingresses", short: `{host: "%s"}`, path: "host", wrong: "Shop.example.com", right: "*.example.com", want: "a lowercase RFC 1123 subdomain"},
		"a policy's direction":     {key: "networkpolicies", short: `{policyTypes: [%s]}`, path: "policyTypes[0]", wrong: "ingress", right: "Ingress", want: `want Egress or Ingress, did you mean "Ingress"?`},
		"a container's name":       {key: "deployments", short: `{image: a, sidecars: [{name: %s, image: b}]}`, path: "sidecars[0].name", wrong: "Log", right: "log", want: "a lowercase RFC 1123 label"},
		"a volume's name":          {key: "deployments", short: `{image: a, volumes: [{name: %s, emptyDir: {}}]}`, path: "volumes[0].name", wrong: "my_data", right: "my-data", want: "a lowercase RFC 1123 label"},
		"a port's name":            {key: "deployments", short: `{image: a, ports: [{containerPort: 1, name: %s}]}`, path: "ports[0].name", wrong: "metrics-and-health", right: "metrics", want: "must be no more than 15 characters"},
		"a Service port's name":    {key: "services", short: `{ports: [{port: 1, name: %s}]}`, path: "ports[0].name", wrong: "WEB", right: "web", want: "a lowercase RFC 1123 label"},
		"a service account's name": {key: "deployments", short: `{image: a, serviceAccountName: %s}`, path: "serviceAccountName", wrong: "Web", right: "web", want: "a lowercase RFC 1123 subdomain"},
		"a variable's name":        {key: "deployments", short: `{image: a, env: [{name: "%s", value: b}]}`, path: "env[0].name", wrong: "A=B", right: "A", want: `printable ASCII characters other than '='`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(checked(t, tc.key, tc.short, tc.spec, tc.wrong)).To(ConsistOf(And(
				HaveField("Field", "x."+tc.path), HaveField("Detail", ContainSubstring(tc.want)), HaveField("Type", field.ErrorTypeInvalid))))
			g.Expect(checked(t, tc.key, tc.short, tc.spec, tc.right)).To(BeEmpty())
		})
	}
}

// checked is what Check says of a declaration with a value in its only gap.
func checked(t *testing.T, key, short, spec, value string) field.ErrorList {
	t.Helper()
	fill := func(text string) map[string]any { return tree(t, strings.Replace(text, "%s", value, 1)) }
	return mustLookup(t, key).Check(fill(short), fill(spec), templated, field.NewPath("x"))
}

func TestRenderedValuesAreTheAPIServersToRefuse(t *testing.T) {
	g := NewWithT(t)
	obj, err := mustLookup(t, "services").Build(Declared{Name: "a", Short: map[string]any{"type": "Loadbalancer", "port": int64(70000), "selector": map[string]any{"a": "b"}}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(obj.Object[nameSpec]).To(HaveKeyWithValue("type", "Loadbalancer"))
}
