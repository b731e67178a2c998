package explain

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/orkspace/orkestra/cmd/orkestra/exit"
	"github.com/orkspace/orkestra/config/crd"
	"github.com/orkspace/orkestra/engine/boxschema"
	"github.com/orkspace/orkestra/engine/expr/functions"
	"github.com/orkspace/orkestra/engine/kinds"
	"github.com/orkspace/orkestra/engine/when"
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
			"\nFIELDS OF A BOX:\n    crd, suspend, ", "reconciler",
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
		"a key that is no kind": {[]string{"patches"}, []string{
			"KEY:    patches\n", "\n  target <PatchTarget> -required-\n", "\nFIELDS OF ALL DECLARATIONS:\n  id <string>\n    Names the declaration; it does not depend on its position.\n    Default: the key and the name template.\n\n  when <list of Condition>\n",
		}},
		"a field of ours": {[]string{"deployments.probes"}, []string{
			"KIND:   Deployment (apps/v1)\n\nFIELD:  probes <Probes>\n\nDESCRIPTION:\n    Whether the container lives, is ready, has started.\n    Example: ",
			"\nFIELDS:\n  liveness <Probe>\n    The container is started again when it fails.\n",
		}},
		"a field of Kubernetes":        {[]string{"deployments.probes.readiness.httpGet.port"}, []string{"FIELD:  port <integer or string>\n\nDESCRIPTION:\n    Name or number of the port"}},
		"a field inside of list items": {[]string{"cronjobs.env.valueFrom"}, []string{"FIELD:  valueFrom <EnvVarSource>\n", "\n  secretKeyRef <SecretKeySelector>\n    Selects a key of a secret"}},
		"a common field":               {[]string{"jobs.when"}, []string{"FIELD:  when <list of Condition>\n", "\n  field <string>\n", "\n  value <any JSON value>\n"}},
		"the object's spec":            {[]string{"pvcs.spec.resources"}, []string{"FIELD:  resources <VolumeResourceRequirements>\n", "\n  requests <map of quantities>\n"}},
		"a field of a box":             {[]string{"reconciler"}, []string{"FIELD:  operatorbox.spec.reconciler <ReconcilerSpec>\n\nDESCRIPTION:\n", "\nFIELDS:\n", "  hooks <HookSpec>\n", "  constructor <GoFunction>\n"}},
		"one below it":                 {[]string{"spec.reconciler.hooks.webhook.resyncAfter"}, []string{"FIELD:  operatorbox.spec.reconciler.hooks.webhook.resyncAfter <duration>\n\nDESCRIPTION:\n    "}},
		"a field that is a key, too":   {[]string{"namespaces"}, []string{"KEY:    namespaces\n", "\nA box has a field of this name, too: orkestra explain spec.namespaces\n"}},
		"below such a field":           {[]string{"namespaces.include"}, []string{"FIELD:  operatorbox.spec.namespaces.include <list of strings>\n"}},
		"a status":                     {[]string{"OperatorBox.status.requiredRules.verbs"}, []string{"FIELD:  operatorbox.status.requiredRules.verbs <list of strings>\n"}},
		"another kind":                 {[]string{"crdhealth.status.failing"}, []string{"FIELD:  crdhealth.status.failing <list of FailingResource>\n", "  consecutiveFailures <integer>"}},
		"a group":                      {[]string{"onReconcile"}, []string{"FIELD:  operatorbox.spec.onReconcile <map of lists of Declaration>\n", "\nKEYS:\n    clusterrolebindings, "}},
		"a key of a group":             {[]string{"spec.onReconcile.deployments.image"}, []string{"KEY:    deployments\n", "FIELD:  image <string>\n"}},
		"providers":                    {[]string{"providers"}, []string{"FIELD:  operatorbox.spec.providers <map of lists of ProviderResource>\n", "  credentials <ProviderCredentials>\n", "\nPROVIDER\nnone: this orkestra has no providers"}},
		"a field of theirs":            {[]string{"providers.credentials.webIdentity.roleARN"}, []string{"FIELD:  operatorbox.spec.providers.credentials.webIdentity.roleARN <string>\n"}},
		"what autoscale reads": {[]string{"autoscale"}, []string{
			"FIELD:  operatorbox.spec.autoscale <", "  conditions <Gate>\n", "\nstatus.queueDepth, metrics.queueDepth ", "\ntime.hour ",
		}},
		"below autoscale":      {[]string{"autoscale.do"}, []string{"FIELD:  operatorbox.spec.autoscale.do <"}},
		"values of a box":      {[]string{"deployments.whenFalse"}, []string{"\n    Values: Keep, Delete.\n"}},
		"values of Kubernetes": {[]string{"deployments.strategy.type"}, []string{"\n    Values: Recreate, RollingUpdate.\n"}},
		"the operators":        {[]string{"operators"}, []string{"equals, as a key equals\n    The field equals this value", "\ngt, as a key greaterThan\n"}},
		"an operator": {[]string{"operators.gt"}, []string{
			"OPERATOR:  gt\nKEY:       greaterThan\n\nDESCRIPTION:\n    The field is above this number, quantity, duration or time.\n    Of an absent field it is false.\n",
			"\n    Example: {field: spec.replicas, greaterThan: 1}\n    The same: {field: spec.replicas, operator: gt, value: 1}\n",
		}},
		"an operator by its key":   {[]string{"greaterThan"}, []string{"OPERATOR:  gt\n"}},
		"one that reads the clock": {[]string{"olderThan"}, []string{"Its answer changes with the time"}},
		"the functions":            {[]string{"functions"}, []string{"KUBERNETES OBJECTS:\n  readyReplicas OBJECT\n    The number of ready pods", "\nTEXT:\n"}},
		"a function":               {[]string{"functions.ternary"}, []string{"FUNCTION:  ternary A B CONDITION\n\nDESCRIPTION:\n    A where CONDITION is true, otherwise B.\n    Example: {{ ternary ", "\n    gives https\n"}},
		"a function by its name":   {[]string{"upper"}, []string{"FUNCTION:  upper TEXT\n"}},
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
		"what nothing is like":           {[]string{"wombats"}, `error: unknown key "wombats"; the keys and the fields of a box are clusterrolebindings, clusterroles, `},
		"an unknown field":               {[]string{"deployments.imag"}, `error: deployments has no field "imag", did you mean "image"?` + "\n"},
		"a deeper one":                   {[]string{"deployments.probes.redyness"}, `error: deployments.probes has no field "redyness", did you mean "readiness"?` + "\n"},
		"below a text":                   {[]string{"deployments.image.tag"}, "error: deployments.image has no fields\n"},
		"nothing after a dot":            {[]string{"deployments."}, "error: deployments. has no field after its last dot\n"},
		"two keys":                       {[]string{"deployments", "services"}, "error: wanted at most one argument KEY[.FIELD]..., such as deployments.port, got 2: \"deployments\", \"services\"\n"},
		"a field of a box":               {[]string{"reconciller"}, `error: unknown key "reconciller", did you mean "reconciler"?` + "\n"},
		"a field below one":              {[]string{"reconciler.hook"}, `error: operatorbox.spec.reconciler has no field "hook", did you mean "hooks"?` + "\n"},
		"a key below a group":            {[]string{"spec.onReconcile.deploymets.image"}, `error: unknown key "deploymets", did you mean "deployments"?` + "\n"},
		"a field of a kind":              {[]string{"crdhealth.spek"}, `error: crdhealth has no field "spek", did you mean "spec"?` + "\n"},
		"a kind of a provider":           {[]string{"providers.aws"}, "error: this orkestra has no providers; "},
		"an unknown operator":            {[]string{"operators.greater"}, `error: conditions have no operator "greater"`},
		"a slip in an operator":          {[]string{"graterThan"}, `error: unknown key "graterThan", did you mean "greaterThan"?` + "\n"},
		"a slip in a function":           {[]string{"functions.uper"}, `error: templates have no function "uper", did you mean "upper"?` + "\n"},
		"a function of others":           {[]string{"functions.now"}, `error: templates have no function "now": it depends on the clock or the time zone`},
		"below autoscale":                {[]string{"autoscale.dos"}, `error: operatorbox.spec.autoscale has no field "dos", did you mean "do"?` + "\n"},
		"what a patch does not take":     {[]string{"patches.adopt"}, `error: patches has no field "adopt"`},
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

// TestEveryFieldIsExplained: each field of the API has a path, and says what it is for.
func TestEveryFieldIsExplained(t *testing.T) {
	seen := 0
	var walk func(at string, fields []kinds.FieldDoc, above []string)
	walk = func(at string, fields []kinds.FieldDoc, above []string) {
		for _, f := range fields {
			path := at + "." + f.Name
			seen++
			if text, err := explain(nil, path, false); err != nil || !strings.Contains(text, "FIELD:  "+path+" <"+f.Type+">\n") {
				t.Errorf("%s: got %v\n%s", path, err, text)
			}
			if f.Text == "" && !strings.Contains(path+".", ".metadata.") {
				t.Errorf("%s says nothing", path)
			}
			if len(f.Type) == 0 {
				t.Errorf("%s has no type", path)
			}
			if f.IsKubernetes() || slices.Contains(above, f.Type) {
				continue // its fields are explained by the same code, and their comments are those of Kubernetes
			}
			walk(path, f.Fields(), append(slices.Clone(above), f.Type))
		}
	}
	for _, kind := range kinds.APIKinds() {
		walk(kind.Name, kind.Fields(), nil)
	}
	if seen < 300 {
		t.Errorf("the API has more than %d fields", seen)
	}
	spec, err := findAPI([]string{nameSpec})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range spec.Fields() {
		text, err := explain(nil, f.Name, true)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if _, shadowed := kinds.Lookup(f.Name); shadowed && !strings.Contains(text, "orkestra explain spec."+f.Name+"\n") {
			t.Errorf("%s is a field of a box and a key, and its text tells of the key alone:\n%s", f.Name, text)
		}
	}
}

// TestEveryWordIsExplained: each operator by both of its names, each function by all of its names.
func TestEveryWordIsExplained(t *testing.T) {
	for _, o := range when.Descriptions() {
		for _, name := range []string{string(o.Name), o.Short} {
			text, err := explain(nil, keyOperators+"."+name, false)
			if err != nil || !strings.HasPrefix(text, "OPERATOR:  "+string(o.Name)+"\n") || !strings.Contains(text, "Example: {field: "+o.Field) || textOf(o) == "" {
				t.Errorf("%s: got %v\n%s", name, err, text)
			}
		}
	}
	for _, f := range functions.All() {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			text, err := explain(nil, keyFunctions+"."+name, false)
			if err != nil || !strings.HasPrefix(text, "FUNCTION:  "+f.Usage+"\n") || !strings.Contains(text, "Example: "+f.Example+"\n    gives ") {
				t.Errorf("%s: got %v\n%s", name, err, text)
			}
		}
	}
}

// TestSchemaIsExplained: each field of the schema that editors read has a path, and says the same there. Each definition is gone into once.
func TestSchemaIsExplained(t *testing.T) {
	printed, err := boxschema.Box(crd.BoxDefinition())
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]any
	if err := json.Unmarshal(printed, &all); err != nil {
		t.Fatal(err)
	}
	definitions, _ := all["definitions"].(map[string]any)
	seen, fields := map[string]bool{}, 0
	var walk func(path string, schema map[string]any)
	walk = func(path string, schema map[string]any) {
		if ref, ok := schema["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/definitions/")
			definition, known := definitions[name].(map[string]any)
			if !known {
				t.Errorf("%s: there is no definition %s", path, name)
			}
			if !seen[name] {
				seen[name] = true
				walk(path, definition)
			}
		}
		for _, inside := range []string{"items", "additionalProperties"} {
			if below, ok := schema[inside].(map[string]any); ok {
				walk(path, below)
			}
		}
		if both, ok := schema["allOf"].([]any); ok {
			walk(path, both[0].(map[string]any))
		}
		properties, _ := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			fields++
			at, below := path+"."+name, properties[name].(map[string]any)
			text, err := explain(nil, at, false)
			if err != nil || !strings.Contains(text, "DESCRIPTION:\n") {
				t.Errorf("%s: got %v\n%s", at, err, text)
			}
			described, _ := below["description"].(string)
			first, _, _ := strings.Cut(described, "\n")
			if !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(first), " ")) {
				t.Errorf("%s: the schema says %q, and explain:\n%s", at, first, text)
			}
			walk(at, below)
		}
	}
	spec := all["properties"].(map[string]any)["spec"].(map[string]any)
	walk("spec", spec)
	if fields < 1500 {
		t.Errorf("the schema has only %d fields", fields)
	}
}

func TestComplete(t *testing.T) {
	for beginning, want := range map[string][]string{
		"deploy":                              {"deployments"},
		"deployments.pro":                     {"deployments.probes"},
		"deployments.probes.readiness.httpGe": {"deployments.probes.readiness.httpGet"},
		"configMaps.da":                       {"configMaps.data"},
		"spec.onRec":                          {"spec.onReconcile"},
		"spec.onReconcile.configm":            {"spec.onReconcile.configmaps"},
		"spec.onReconcile.configmaps.bin":     {"spec.onReconcile.configmaps.binaryData"},
		"namespaces.inc":                      {"namespaces.include"},
		"crdhealth.status.failin":             {"crdhealth.status.failing"},
		"func":                                {"functions"},
		"functions.tern":                      {"functions.ternary"},
		"operators.greaterThanO":              {"operators.greaterThanOrEqual"},
		"autoscale.con":                       {"autoscale.conditions"},
		"none.":                               nil,
		"deployments.image.":                  nil,
		"deployments.imag.":                   nil,
	} {
		t.Run(beginning, func(t *testing.T) {
			g := NewWithT(t)
			stdout, _, code := shared.Run(t, NewCommand(nil), "", "__complete", "explain", beginning)
			g.Expect(code).To(BeZero())
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			g.Expect(lines[:len(lines)-1]).To(HaveExactElements(want))
			g.Expect(lines[len(lines)-1]).To(Equal(":6"), "no space, and no file")
		})
	}
}
