package explain

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/engine/kinds"
	shared "github.com/orkspace/orkestra/test/fixtures"
)

func TestExplain(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want []string // parts, in this order
	}{
		"the keys": {nil, []string{
			"KEY                   KIND                      APIVERSION                     NAMESPACED\n",
			"\nclusterroles          ClusterRole               rbac.authorization.k8s.io/v1   false\n",
			"\ndeployments           Deployment                apps/v1                        true\n",
			"\nresources             any                       of its manifest                of its kind\n",
		}},
		"a key": {[]string{"deployments"}, []string{
			"KEY:    deployments\nKIND:   Deployment (apps/v1)\n\nDESCRIPTION:\n    Makes `apps/v1` Deployments. The container",
			"\nFIELDS:\n  image <string>\n    Image of the container.\n    Default: required, unless `spec` brings the containers.\n    Example: image: \"{{ .spec.image }}\"\n\n  containerName <string>\n",
			"\n  resources <ResourceRequirements>\n    Requests and limits.\n    Example: ",
			"\nFIELDS OF ALL DECLARATIONS:\n  id <string>\n    Names the declaration",
			"\n  spec <DeploymentSpec>\n    Merged over",
		}},
		"a key in another spelling": {[]string{"configMaps"}, []string{"KEY:    configmaps\n"}},
		"a required field":          {[]string{"rolebindings"}, []string{"\n  roleRef <RoleRef> -required-\n    The role: "}},
		"the key of any kind":       {[]string{"resources"}, []string{"KEY:    resources\n\nDESCRIPTION:\n", "\n  manifest <object> -required-\n", "\n  spec <object>\n"}},
		"a field of ours": {[]string{"deployments.probes"}, []string{
			"KIND:   Deployment (apps/v1)\n\nFIELD:  probes <Probes>\n\nDESCRIPTION:\n    Whether the container lives, is ready, has started.\n    Example: ",
			"\nFIELDS:\n  liveness <Probe>\n    The container is started again when it fails.\n",
		}},
		"a field of Kubernetes":        {[]string{"deployments.probes.readiness.httpGet.port"}, []string{"FIELD:  port <integer or string>\n\nDESCRIPTION:\n    Name or number of the port"}},
		"a field inside of list items": {[]string{"cronjobs.env.valueFrom"}, []string{"FIELD:  valueFrom <EnvVarSource>\n", "\n  secretKeyRef <SecretKeySelector>\n    Selects a key of a secret"}},
		"a common field":               {[]string{"jobs.when"}, []string{"FIELD:  when <list of Condition>\n", "\n  field <string>\n", "\n  value <any JSON value>\n"}},
		"the object's spec":            {[]string{"pvcs.spec.resources"}, []string{"FIELD:  resources <VolumeResourceRequirements>\n", "\n  requests <map of quantities>\n"}},
		"what autoscale reads": {[]string{"autoscale"}, []string{
			"KEY:    autoscale\n\nDESCRIPTION:\n    Replaces workers", "\nstatus.queueDepth, metrics.queueDepth ", "\ntime.hour ",
		}},
		"everything below a key": {[]string{"services", "--recursive"}, []string{
			"\nFIELDS:\n  type <string>\n  port <integer>\n  targetPort <integer or string>\n  ports <list of ServicePort>\n    name <string>\n", "\n  selector <map of strings>\n",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := shared.Run(t, NewCommand(nil), "", append([]string{"explain"}, tc.args...)...)
			g.Expect(code).To(BeZero())
			g.Expect(stderr).To(BeEmpty())
			for _, part := range tc.want {
				_, rest, found := strings.Cut(stdout, part)
				g.Expect(found).To(BeTrue(), "%s lacks, or has too early:\n%s", stdout, part)
				stdout = "\n" + rest
			}
		})
	}
}

func TestExplainRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a slip":                         {[]string{"deploymets"}, `error: unknown key "deploymets", did you mean "deployments"?` + "\n"},
		"a singular":                     {[]string{"deployment"}, `error: unknown key "deployment", did you mean "deployments"?` + "\n"},
		"what nothing is like":           {[]string{"wombats"}, `error: unknown key "wombats"; the keys are clusterrolebindings, clusterroles, `},
		"an unknown field":               {[]string{"deployments.imag"}, `error: deployments has no field "imag", did you mean "image"?` + "\n"},
		"a deeper one":                   {[]string{"deployments.probes.redyness"}, `error: deployments.probes has no field "redyness", did you mean "readiness"?` + "\n"},
		"below a text":                   {[]string{"deployments.image.tag"}, "error: deployments.image has no fields\n"},
		"nothing after a dot":            {[]string{"deployments."}, "error: deployments. has no field after its last dot\n"},
		"two keys":                       {[]string{"deployments", "services"}, "error: accepts at most 1 arg(s), received 2\n"},
		"a spec of a kind that has none": {[]string{"secrets.spec"}, `error: secrets has no field "spec"`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			stdout, stderr, code := shared.Run(t, NewCommand(nil), "", append([]string{"explain"}, tc.args...)...)
			g.Expect(code).To(Equal(exit.Usage))
			g.Expect(stdout).To(BeEmpty())
			g.Expect(stderr).To(HavePrefix(tc.want))
		})
	}
}

// TestExplainEverything goes into every field of every key: none makes it panic or run for ever.
func TestExplainEverything(t *testing.T) {
	for _, key := range kinds.Keys() {
		t.Run(key, func(t *testing.T) {
			text, err := explain(nil, key, true)
			g := NewWithT(t)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Count(text, "\n")).To(BeNumerically(">", 20))
			for line := range strings.SplitSeq(text, "\n") {
				g.Expect(line).NotTo(HaveSuffix("<>"))
			}
		})
	}
}
