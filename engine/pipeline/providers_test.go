package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
	"github.com/orkspace/orkestra/engine/provider"
	"github.com/orkspace/orkestra/engine/provision"
	"github.com/orkspace/orkestra/engine/rollback"
)

// errKilled is what a call gives whose process has ended meanwhile.
var errKilled = errors.New("the process was killed")

// bucket is what the service of the tests has.
type bucket struct {
	owner, token string
	size         int64
}

// twin says that another declaration of the same resource has made it.
func (b *bucket) twin(r *provider.Request) bool {
	return b != nil && b.owner == r.Owner.UID && b.token != "" && r.Token != "" && b.token != r.Token
}

// cloud is a service that has buckets, and a driver for them. It has one of a name, whatever the region and the endpoint are by which it is asked.
type cloud struct {
	buckets map[string]*bucket
	calls   []string
	// before and after are asked around each call, and may fail it.
	before, after func(operation, name string) error
	waiting       string
	slow          bool     // a deletion takes more than one call
	keys          []string // of the credentials that were sent
	passwords     []provider.Secret
	notes         map[string]string // what Ensure notes
	ensured       *provider.Request // the last one
}

func newCloud() *cloud {
	none := func(string, string) error { return nil }
	return &cloud{buckets: map[string]*bucket{}, before: none, after: none}
}

// registry has the cloud as its only provider.
func (c *cloud) registry() *provider.Registry {
	r := provider.NewRegistry()
	if err := r.Add("cloud", c); err != nil {
		panic(err)
	}
	return r
}

// Kinds implements provider.Provider.
func (c *cloud) Kinds() map[string]provider.Kind {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	return map[string]provider.Kind{
		"bucket": {
			Summary: "A bucket.",
			Schema: apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"name": {Type: "string", MinLength: new(int64(1))}, "region": {Type: "string", Default: &apiextensionsv1.JSON{Raw: []byte(`"here"`)}}, "size": {Type: "integer", Maximum: new(100.0)}, "password": text,
			}},
			Identity: []string{"name", "region"},
			Outputs: apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{
				"address": text, "secret": text, "size": {Type: "integer"},
			}},
			SecretOutputs: []string{"secret"},
			Driver:        c,
		},
		"vault": {
			Summary:     "A vault, which needs credentials.",
			Schema:      apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": text}},
			Identity:    []string{"name"},
			Outputs:     apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"address": text}},
			Credentials: []provider.Key{{Name: "key"}, {Name: "hint", Optional: true}}, WebIdentity: true, Audience: "cloud.test",
			Driver: c,
		},
		"door": {
			Summary:     "A door, which may be open.",
			Schema:      apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": text}},
			Identity:    []string{"name"},
			Outputs:     apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"address": text}},
			Credentials: []provider.Key{{Name: "key", Optional: true}, {Name: "hint", Optional: true}},
			Driver:      c,
		},
		"account": {
			Summary: "An account with a password.",
			Schema: apiextensionsv1.JSONSchemaProps{Type: "object", Required: []string{"name"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": text,
				"passwordSecretRef": {Type: "object", Required: []string{"name", "key"}, Properties: map[string]apiextensionsv1.JSONSchemaProps{"name": text, "key": text}}}},
			Identity: []string{"name"},
			Outputs:  apiextensionsv1.JSONSchemaProps{Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"address": text}},
			Secrets:  []string{"passwordSecretRef"},
			Driver:   c,
		},
	}
}

func (c *cloud) enter(operation string, r *provider.Request) (name string, err error) {
	name, _ = r.Declared["name"].(string)
	c.calls = append(c.calls, operation+" "+name)
	if r.Credentials != nil {
		c.keys = append(c.keys, r.Credentials["key"])
	}
	if password, ok := r.Secrets["passwordSecretRef"]; ok {
		c.passwords = append(c.passwords, password)
	}
	return name, c.before(operation, name)
}

func (c *cloud) answer(operation, name string, size int64) (*provider.Observed, error) {
	b := c.buckets[name]
	if err := c.after(operation, name); err != nil {
		return nil, err
	}
	if b == nil {
		return nil, &provider.Error{Class: provider.NotFound, Operation: "GetBucket", Code: "NoSuchBucket"}
	}
	out := &provider.Observed{Outputs: map[string]any{"address": name + ".cloud.test", "secret": "hush-" + name, "size": int(b.size)}, Waiting: c.waiting}
	if b.size != size {
		out.Differs = []string{"size"}
	}
	return out, nil
}

// Ensure implements provider.Driver.
func (c *cloud) Ensure(_ context.Context, r *provider.Request) (*provider.Observed, error) {
	name, err := c.enter("ensure", r)
	if err != nil {
		return nil, err
	}
	c.ensured = r
	size, _ := r.Declared["size"].(int64)
	b, created, changed := c.buckets[name], false, false
	switch {
	case b == nil:
		c.buckets[name], created = &bucket{owner: r.Owner.UID, token: r.Token, size: size}, true
	case b.owner != r.Owner.UID && (b.owner != "" || !r.Adopt):
		return nil, &provider.Error{Class: provider.NotOwned, Operation: "CreateBucket", Code: "BucketAlreadyExists", Message: "somebody else has it"}
	case b.twin(r):
		return nil, provider.Twice("CreateBucket", name)
	default:
		changed = b.size != size
		b.owner, b.token, b.size = r.Owner.UID, r.Token, size
	}
	out, err := c.answer("ensure", name, size)
	if err == nil && changed {
		out.Differs = []string{"size"}
	}
	if err == nil {
		out.Created, out.Noted = created, c.notes
	}
	return out, err
}

// Observe implements provider.Driver.
func (c *cloud) Observe(_ context.Context, r *provider.Request) (*provider.Observed, error) {
	name, err := c.enter("observe", r)
	if err != nil {
		return nil, err
	}
	if b := c.buckets[name]; b != nil && b.owner != r.Owner.UID && (b.owner != "" || !r.Adopt) {
		return nil, &provider.Error{Class: provider.NotOwned, Operation: "GetBucket", Code: "BucketAlreadyExists", Message: "somebody else has it"}
	}
	if c.buckets[name].twin(r) {
		return nil, provider.Twice("GetBucket", name)
	}
	size, _ := r.Declared["size"].(int64)
	out, err := c.answer("observe", name, size)
	if err == nil {
		out.Token = c.buckets[name].token
	}
	return out, err
}

// Delete implements provider.Driver.
func (c *cloud) Delete(_ context.Context, r *provider.Request) (bool, error) {
	name, err := c.enter("delete", r)
	if err != nil {
		return false, err
	}
	if c.slow {
		return false, nil
	}
	if b := c.buckets[name]; b != nil && b.owner == r.Owner.UID && !b.twin(r) {
		delete(c.buckets, name)
	}
	return true, c.after("delete", name)
}

// taken gives the calls since it was last asked.
func (c *cloud) taken() []string {
	out := c.calls
	c.calls = nil
	return out
}

// made are the buckets of an owner.
func (c *cloud) made(owner string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(c.buckets)) {
		if c.buckets[name].owner == owner {
			out = append(out, name)
		}
	}
	return out
}

// tenant is a process that serves one resource with providers.
type tenant struct {
	*ports
	*cloud

	clock  *testingclock.FakeClock
	memory *provision.Memory
	client *provision.Client
	stored *unstructured.Unstructured
	marks  func(before bool) error // around each mark; may kill
	gone   bool
}

func newTenant(t *testing.T, spec string) *tenant {
	t.Helper()
	x := &tenant{ports: newPorts(), cloud: newCloud(), clock: testingclock.NewFakeClock(now), stored: website(t, spec), marks: func(bool) error { return nil }}
	x.stored.SetFinalizers([]string{v1alpha1.Finalizer})
	x.restart()
	x.ports.finish = func(_ context.Context, _ *unstructured.Unstructured, _ []string) error { x.gone = true; return nil }
	x.ports.mark = func(_ context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		if marks.On(resource) && !marks.Fewer {
			return resource, nil
		}
		if err := x.marks(true); err != nil {
			return nil, err
		}
		answer := resource.DeepCopy()
		all := answer.GetAnnotations()
		maps.DeleteFunc(all, func(key, _ string) bool { return stage.IsOurMark(key) }) // as a server-side apply does
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, marks.Annotations)
		answer.SetAnnotations(all)
		x.stored = answer
		return answer, x.marks(false)
	}
	return x
}

// restart forgets what the process knew.
func (x *tenant) restart() {
	x.memory, x.client = &provision.Memory{}, provision.NewClient(nil, x.clock)
}

// Call implements Providers.
func (x *tenant) Call(ctx context.Context, call *provision.Call) (provision.Answer, error) {
	answer, err := x.client.Call(ctx, call)
	if killed := new(provider.Error); errors.As(err, &killed) && strings.Contains(killed.Message, errKilled.Error()) {
		return provision.Answer{}, errKilled
	}
	return answer, err
}

// Memory implements Providers.
func (x *tenant) Memory() *provision.Memory { return x.memory }

func (x *tenant) plan(t *testing.T, spec string) *Plan {
	t.Helper()
	plan, errs := Compile(boxOf(t, spec), Env{CRD: websites(t), Providers: x.registry()})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return plan
}

// cycle runs one cycle.
func (x *tenant) cycle(plan *Plan) (*Run, error) {
	in := x.ports.ports()
	in.Providers = x
	in.Patcher = newPatcher()
	r := plan.NewRun(x.stored, x.clock.Now(), in)
	err := plan.Execute(context.Background(), r)
	if !errors.Is(err, errKilled) {
		x.stored = r.Stored
	}
	return r, err
}

const oneBucket = `
providers:
  cloud:
  - {id: assets, bucket: {name: "{{ .metadata.name }}-assets", size: "{{ .spec.replicas }}"}}
status:
  fields: [{path: replicas, value: "{{ .providers.assets.size }}"}]
`

func TestAResourceOfAProviderIsMadeOnceAndLookedAtOncePerResync(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{replicas: 3}`)
	plan := x.plan(t, oneBucket)
	notedFirst := false
	x.before = func(operation, _ string) error {
		notedFirst = operation == "ensure" && strings.Contains(x.stored.GetAnnotations()[v1alpha1.AnnotationProviders], `"name":"shop-assets"`)
		return nil
	}
	r, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(notedFirst).To(gomega.BeTrue(), "it is noted before it is made")
	g.Expect(x.taken()).To(gomega.Equal([]string{"observe shop-assets", "ensure shop-assets"}), "it looks before it draws a token")
	g.Expect(x.buckets["shop-assets"].size).To(gomega.Equal(int64(3)), "a text is a number where the kind wants one")
	g.Expect(x.stored.GetAnnotations()[v1alpha1.AnnotationProviders]).NotTo(gomega.ContainSubstring("hush"))
	res, err := r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(fmt.Sprint(res.Fields)).To(gomega.ContainSubstring("[replicas] 3"))
	g.Expect(r.Events).To(gomega.ContainElement(gomega.HaveField("Message", `assets: cloud/bucket (name shop-assets, region here) is made`)))

	r, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.BeEmpty(), "nothing has changed")
	g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally(">", x.clock.Now()), "it is looked at again by itself")

	x.clock.Step(plan.Runtime.Resync)
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.Equal([]string{"observe shop-assets"}))

	x.clock.Step(plan.Runtime.Resync)
	x.buckets["shop-assets"].size = 9
	r, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.Equal([]string{"observe shop-assets", "ensure shop-assets"}), "drift is put right")
	g.Expect(x.buckets["shop-assets"].size).To(gomega.Equal(int64(3)))
	g.Expect(r.Events).To(gomega.ContainElement(gomega.HaveField("Message", gomega.ContainSubstring("is changed: size"))))

	x.clock.Step(plan.Runtime.Resync)
	delete(x.buckets, "shop-assets")
	r, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.Equal([]string{"observe shop-assets", "ensure shop-assets"}), "what is gone is made again")
	g.Expect(r.Events).To(gomega.Equal([]stage.Event{lost}))

	x.restart()
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.Equal([]string{"observe shop-assets"}), "a new process looks once")
}

// lost is what people are told where something was gone that a resource had made.
var lost = stage.Event{Warning: true, Reason: v1alpha1.ReasonProviderLost,
	Message: "assets: cloud/bucket (name shop-assets, region here) was gone, and not by Orkestra: it is made again as it is declared, and what else it held is lost"}

// What is lost is told whichever process finds it, and what was never made is not called lost.
func TestWhatIsLostIsTold(t *testing.T) {
	made := []stage.Event{{Reason: v1alpha1.ReasonProviderMade, Message: "assets: cloud/bucket (name shop-assets, region here) is made"}}
	for name, tc := range map[string]struct {
		ends error // of the first call that was to make the bucket; nil: it was made
		want []stage.Event
	}{
		"by another process":        {nil, []stage.Event{lost}},
		"unless the process died":   {errKilled, made},
		"unless the service failed": {&provider.Error{Class: provider.Transient, Operation: "CreateBucket", Message: "m"}, made},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{replicas: 3}`)
			plan := x.plan(t, oneBucket)
			x.before = func(operation, _ string) error {
				if operation == "ensure" {
					return tc.ends
				}
				return nil
			}
			_, err := x.cycle(plan)
			g.Expect(err != nil).To(gomega.Equal(tc.ends != nil), "%v", err)
			g.Expect(x.stored.GetAnnotations()).To(gomega.HaveKey(v1alpha1.AnnotationProviders))
			x.before = func(string, string) error { return nil }
			x.restart()
			x.clock.Step(time.Hour)
			delete(x.buckets, "shop-assets")
			r, err := x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Events).To(gomega.Equal(tc.want))
			x.restart()
			r, err = x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Events).To(gomega.BeEmpty(), "it is told once")
		})
	}
}

// A resource without which nothing can be made, or that is not there yet, is not Ready. One that is there is, although its service asks to wait.
func TestWhatIsNotThereIsNotReady(t *testing.T) {
	g := gomega.NewWithT(t)
	shows := func(x *tenant, plan *Plan, ready metav1.ConditionStatus, message string) {
		t.Helper()
		r, err := x.cycle(plan)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		res, err := r.Result(context.Background(), nil)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		if ready == metav1.ConditionFalse {
			g.Expect(res.Ready).To(gomega.Equal(conditionIs("Ready", "False", v1alpha1.ReasonWaitingForProvider, message)))
		}
		g.Expect(res.Ready.Status).To(gomega.Equal(ready), res.Ready.Message)
		if message != "" {
			g.Expect(res.Reconciling).To(gomega.Equal(conditionIs("Reconciling", "True", v1alpha1.ReasonWaitingForProvider, message)))
		}
		g.Expect(res.Stalled.Status).To(gomega.Equal(metav1.ConditionFalse))
	}
	x := newTenant(t, `{}`)
	plan := x.plan(t, oneVault)
	const missing = `v: credentials.secretRef: Secret "team-a/cloud" does not exist`
	shows(x, plan, metav1.ConditionFalse, missing)
	x.others = []*unstructured.Unstructured{credentials("c2VjcmV0LWtleQo=")}
	shows(x, plan, metav1.ConditionTrue, "")
	x.others = nil
	shows(x, plan, metav1.ConditionFalse, missing)

	x = newTenant(t, `{replicas: 3}`)
	plan = x.plan(t, oneBucket)
	x.waiting = "it is being created"
	shows(x, plan, metav1.ConditionFalse, "assets: it is being created")
	x.waiting = ""
	x.clock.Step(time.Hour)
	shows(x, plan, metav1.ConditionTrue, "")
	slow := &provider.Error{Class: provider.Throttled, Operation: "GetBucket", Message: "slow down"}
	x.before = func(string, string) error { return slow }
	x.clock.Step(time.Hour)
	shows(x, plan, metav1.ConditionTrue, "assets (name shop-assets, region here): GetBucket: slow down")

	x = newTenant(t, `{replicas: 3}`)
	x.before = func(string, string) error { return slow }
	shows(x, x.plan(t, oneBucket), metav1.ConditionFalse, "assets (name shop-assets, region here): GetBucket: slow down")
}

// What was made before the outputs were there, or have changed, has not read them: the resource is Ready when it has.
func TestReadyIsSaidWhenOutputsAreRead(t *testing.T) {
	const buckets = "providers: {cloud: [{id: assets, bucket: {name: assets, size: \"{{ .spec.replicas }}\"}}]}\nstatus: {fields: [{path: phase, value: %q}]}\n"
	direct, ofChild := fmt.Sprintf(buckets, "{{ .providers.assets.size }}"), fmt.Sprintf(buckets, "{{ .children.c.data.s }}")
	for name, tc := range map[string]struct {
		box  string
		next bool // it is Ready one cycle later
	}{
		"nobody but the status": {direct, false},
		"a child":               {ofChild + `onReconcile: {configmaps: [{id: c, data: {s: "{{ .providers.assets.size }}"}}]}`, true},
		"a child that need not": {ofChild + `onReconcile: {configmaps: [{id: c, data: {s: "{{ .providers.assets.size | default 0 }}"}}]}`, true},
		"the gate of a child":   {direct + `onReconcile: {configmaps: [{id: c, when: [{field: providers.assets.size, greaterThan: 0}]}]}`, true},
		"a value":               {ofChild + "values: [{name: size, value: \"{{ .providers.assets.size }}\"}]\n" + `onReconcile: {configmaps: [{id: c, data: {s: "{{ .values.size }}"}}]}`, true},
		"what nobody waits for": {direct + `onReconcile: {configmaps: [{id: c, optional: true, data: {s: "{{ .providers.assets.size }}"}}]}`, false},
		"somebody, another one": {"providers: {cloud: [{id: assets, bucket: {name: assets, size: \"{{ .spec.replicas }}\"}}, {id: more, bucket: {name: more}}]}\nstatus: {fields: [{path: phase, value: \"{{ .providers.assets.size }}\"}]}\n" +
			`onReconcile: {configmaps: [{id: c, data: {s: "{{ .providers.more.address }}"}}]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{replicas: 3}`)
			plan := x.plan(t, tc.box)
			shows := func(size string) {
				t.Helper()
				r, err := x.cycle(plan)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				res, err := r.Result(context.Background(), nil)
				g.Expect(err).NotTo(gomega.HaveOccurred())
				if size == "" {
					g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionFalse))
					g.Expect(res.Ready.Reason).To(gomega.Equal(v1alpha1.ReasonWaitingForProvider))
					g.Expect(res.Ready.Message).To(gomega.HaveSuffix(": its outputs have just changed; what reads them is made next"))
					g.Expect(r.Inputs.Expires()).To(gomega.Equal(x.clock.Now()), "the next cycle follows at once")
					return
				}
				g.Expect(res.Ready.Status).To(gomega.Equal(metav1.ConditionTrue), res.Ready.Message)
				g.Expect(fmt.Sprint(res.Fields)).To(gomega.ContainSubstring("[phase] " + size))
			}
			if tc.next {
				shows("")
			}
			shows("3")
			x.restart()
			shows("3")
			g.Expect(unstructured.SetNestedField(x.stored.Object, int64(4), "spec", "replicas")).To(gomega.Succeed())
			x.stored.SetGeneration(2)
			if tc.next && name != "somebody, another one" {
				shows("")
			}
			shows("4")
		})
	}
}

func TestChildrenWaitForOutputs(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{replicas: 3}`)
	plan := x.plan(t, oneBucket+`
onReconcile:
  configmaps: [{id: conf, data: {url: "{{ .providers.assets.address }}"}}, {id: free, name: free, data: {a: b}}]
  secrets: [{id: key, name: key, data: {key: "{{ .providers.assets.secret }}"}}]
`)
	r, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.ContainElement(gomega.And(gomega.HaveField("Reason", v1alpha1.ReasonWaitingForProvider), gomega.HaveField("Message", gomega.ContainSubstring("conf: providers.assets")))))
	g.Expect(r.Inputs.Expires()).To(gomega.Equal(x.clock.Now()), "the next cycle follows at once")
	g.Expect(fmt.Sprint(x.done())).NotTo(gomega.ContainSubstring("apply ConfigMap shop"))

	r, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally(">", x.clock.Now()))
	x.restart()
	x.taken()
	r, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty(), "a new process asks before templates read")
	g.Expect(x.taken()).To(gomega.Equal([]string{"observe shop-assets"}))
}

func TestWhatProvidersHaveMadeGoes(t *testing.T) {
	const loop = `{providers: {cloud: [{id: all, forEach: {field: spec.tags}, bucket: {name: "b-{{ .item }}"}}]}}`
	const gated = `{providers: {cloud: [{id: one, when: [{field: spec.host, equals: "yes"}], bucket: {name: "b-{{ .spec.image }}"}POLICY}]}}`
	for name, tc := range map[string]struct {
		box, before, after string
		next               string // another spec of the box
		left               []string
	}{
		"an item left":                 {box: loop, before: `{tags: [a, b, c]}`, after: `{tags: [c, a]}`, left: []string{"b-a", "b-c"}},
		"the declaration went":         {box: loop, before: `{tags: [a, b]}`, after: `{tags: [a, b]}`, next: `{}`},
		"the gate is closed":           {box: gated, before: `{host: "yes", image: x}`, after: `{host: "no", image: x}`},
		"its identity has changed":     {box: gated, before: `{host: "yes", image: x}`, after: `{host: "yes", image: z}`, left: []string{"b-z"}},
		"it may stay while it is shut": {box: strings.Replace(gated, "POLICY", ", whenFalse: Keep", 1), before: `{host: "yes", image: x}`, after: `{host: "no", image: x}`, left: []string{"b-x"}},
		"it is orphaned":               {box: strings.Replace(gated, "POLICY", ", deletionPolicy: Orphan", 1), before: `{host: "yes", image: x}`, after: `{host: "no", image: x}`, left: []string{"b-x"}},
		"it can't be told what it is":  {box: gated, before: `{host: "yes", image: x}`, after: `{host: "yes"}`, left: []string{"b-x"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, tc.before)
			plan := x.plan(t, strings.Replace(tc.box, "POLICY", "", 1))
			_, err := x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(x.buckets).NotTo(gomega.BeEmpty())
			x.stored.Object["spec"] = website(t, tc.after).Object["spec"]
			x.stored.SetGeneration(2)
			if tc.next != "" {
				plan = x.plan(t, tc.next)
				g.Expect(plan).NotTo(gomega.BeNil())
			}
			_, _ = x.cycle(plan) // one case fails
			g.Expect(x.made("u1")).To(gomega.Equal(tc.left))
			x.taken()
			_, _ = x.cycle(plan)
			g.Expect(x.taken()).NotTo(gomega.ContainElement(gomega.HavePrefix("delete ")), "what is gone is noted no more")
		})
	}
}

// What a service is to know of former calls goes along with each: what the driver has noted, and that nothing was there when the token was drawn.
func TestWhatIsNotedGoesAlong(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	box := `{providers: {cloud: [{id: one, bucket: {name: b, region: here, size: 1}}]}}`
	x.after = func(operation, _ string) error {
		if operation == "ensure" {
			return &provider.Error{Class: provider.Transient, Operation: operation, Message: "the answer is lost"}
		}
		return nil
	}
	_, err := x.cycle(x.plan(t, box))
	g.Expect(err).To(gomega.HaveOccurred())
	token := x.buckets["b"].token
	x.after, x.notes = func(string, string) error { return nil }, map[string]string{"marked": "true"}
	x.clock.Step(time.Hour)
	_, err = x.cycle(x.plan(t, box))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect([]any{x.ensured.Token, x.ensured.Absent, x.ensured.Noted}).To(gomega.Equal([]any{token, true, map[string]string(nil)}))
	for _, change := range []*strings.Replacer{strings.NewReplacer("size: 1", "size: 2"), strings.NewReplacer("here", "there")} {
		x.clock.Step(time.Hour)
		box = change.Replace(box)
		_, err = x.cycle(x.plan(t, box))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect([]any{x.ensured.Token, x.ensured.Noted}).To(gomega.Equal([]any{token, x.notes}), box)
	}
}

func TestTheFormerOneStaysUntilTheNewOneIsThere(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{image: x}`)
	plan := x.plan(t, `{providers: {cloud: [{id: one, bucket: {name: "{{ .spec.image }}"}}]}}`)
	_, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	x.buckets["y"] = &bucket{owner: "somebody"}
	x.stored.Object["spec"] = map[string]any{"image": "y"}
	_, err = x.cycle(plan)
	expectStep(g, err, "providers", Refused, v1alpha1.ReasonNotOwned)
	g.Expect(err).To(gomega.MatchError("providers: one (name y, region here): GetBucket: BucketAlreadyExists: somebody else has it"))
	g.Expect(x.made("u1")).To(gomega.Equal([]string{"x"}))
	x.taken()
	_, err = x.cycle(plan)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("somebody else has it")))
	g.Expect(x.taken()).To(gomega.BeEmpty(), "nothing has changed")
	delete(x.buckets, "y")
	x.clock.Step(plan.Runtime.Resync)
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.made("u1")).To(gomega.Equal([]string{"y"}))
}

// A store may ignore regions, and have more than one name: with another address it is the same bucket still.
func TestAnotherAddressOfTheSameIsNoOtherOne(t *testing.T) {
	const box = `{providers: {cloud: [{id: one, bucket: {name: b, region: here}}]}}`
	for name, next := range map[string]string{
		"another region":        strings.Replace(box, "here", "there", 1),
		"another endpoint":      strings.Replace(box, "bucket:", `endpoint: "https://other.cloud.test", bucket:`, 1),
		"another id and region": strings.NewReplacer("one", "two", "here", "there").Replace(box),
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{}`)
			_, err := x.cycle(x.plan(t, box))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			was := x.buckets["b"]
			token := was.token
			plan := x.plan(t, next)
			for _, why := range []string{"no", errKilled.Error()} { // by an error of the service, after which it is not left alone, and by another one
				x.before = func(operation, _ string) error {
					if operation == "observe" {
						return &provider.Error{Class: provider.Denied, Operation: operation, Message: why}
					}
					return nil
				}
				x.clock.Step(time.Hour)
				_, err = x.cycle(plan)
				g.Expect(err).To(gomega.HaveOccurred())
				g.Expect(x.taken()).NotTo(gomega.ContainElement("delete b"), "it may be what can't be looked at")
			}
			x.before = func(string, string) error { return nil }

			x.clock.Step(time.Hour)
			r, err := x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(x.taken()).To(gomega.Equal([]string{"observe b", "ensure b"}))
			g.Expect(x.buckets["b"]).To(gomega.BeIdenticalTo(was))
			g.Expect(r.Events).To(gomega.ConsistOf(gomega.And(gomega.HaveField("Reason", v1alpha1.ReasonProviderMoved),
				gomega.HaveField("Message", gomega.ContainSubstring("is the one that was declared as name b, region here: it stays, and nothing is deleted")))))
			note := x.stored.GetAnnotations()[v1alpha1.AnnotationProviders]
			g.Expect(strings.Count(note, `"token"`)).To(gomega.Equal(1), note)
			g.Expect(note).To(gomega.And(gomega.ContainSubstring(token), gomega.ContainSubstring(`"made":true`)))

			x.restart()
			r, err = x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(r.Events).To(gomega.BeEmpty(), "it is told once")
			g.Expect(x.buckets["b"]).To(gomega.BeIdenticalTo(was))
			x.delete(nil)
			_, err = x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(x.buckets).To(gomega.BeEmpty())
		})
	}
}

// What somebody else has is not the former one, which goes.
func TestTheFormerOneGoesWhereTheNewOneIsSomebodyElses(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	_, err := x.cycle(x.plan(t, `{providers: {cloud: [{id: one, bucket: {name: x}}]}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	x.buckets["z"] = &bucket{owner: "somebody"}
	_, err = x.cycle(x.plan(t, `{providers: {cloud: [{id: two, bucket: {name: z}}]}}`))
	expectStep(g, err, "providers", Refused, v1alpha1.ReasonNotOwned)
	g.Expect(x.made("u1")).To(gomega.BeEmpty())
}

// Of two new ones that turn out to be the same, the second has made nothing. When the first goes, it stands for what is there.
func TestTheSecondOfTwoNewAddressesMayStandForWhatIsThere(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{tags: [here, there]}`)
	plan := x.plan(t, `{providers: {cloud: [{id: all, forEach: {field: spec.tags}, bucket: {name: b, region: "{{ .item }}"}}]}}`)
	_, err := x.cycle(plan)
	expectStep(g, err, "providers", Refused, v1alpha1.ReasonDuplicateChild)
	was := x.buckets["b"]
	x.stored.Object["spec"] = website(t, `{tags: [there]}`).Object["spec"]
	x.clock.Step(time.Hour)
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.buckets["b"]).To(gomega.BeIdenticalTo(was))
}

// A mark that somebody gives another token is no reason to forget what was made.
func TestWhatHasAnotherTokenStaysNoted(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	plan := x.plan(t, `{providers: {cloud: [{id: one, bucket: {name: b}}]}}`)
	_, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	note := x.stored.GetAnnotations()[v1alpha1.AnnotationProviders]
	x.buckets["b"].token = "other"
	x.clock.Step(time.Hour)
	_, err = x.cycle(plan)
	expectStep(g, err, "providers", Refused, v1alpha1.ReasonDuplicateChild)
	g.Expect(x.stored.GetAnnotations()[v1alpha1.AnnotationProviders]).To(gomega.Equal(note))
}

// Of two declarations of the same under two addresses one stands, and the other says so. Whichever goes, the bucket stays.
func TestTwoAddressesOfTheSameAreADuplicate(t *testing.T) {
	const here, there = `{id: one, bucket: {name: b, region: here}}`, `{id: two, bucket: {name: b, region: there}}`
	box := func(all ...string) string { return "{providers: {cloud: [" + strings.Join(all, ", ") + "]}}" }
	for name, first := range map[string]string{
		"one is added": box(here), "one is added before it": box(there), "both are new": box(here, there),
	} {
		for _, left := range []string{here, there} {
			t.Run(name+", left is "+left, func(t *testing.T) {
				g := gomega.NewWithT(t)
				x := newTenant(t, `{}`)
				_, err := x.cycle(x.plan(t, first))
				g.Expect(err != nil).To(gomega.Equal(strings.Contains(first, "two") && strings.Contains(first, "one")))
				was := x.buckets["b"]
				both := x.plan(t, box(here, there))
				for n := range 3 {
					x.clock.Step(time.Hour)
					r, err := x.cycle(both)
					if n > 0 { // the one that is declared first stands
						g.Expect(r.Events).NotTo(gomega.ContainElement(gomega.HaveField("Reason", v1alpha1.ReasonProviderMoved)))
					}
					expectStep(g, err, "providers", Refused, v1alpha1.ReasonDuplicateChild)
					g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("two: Observe: cloud/bucket (name b, region there) is what another declaration of this resource has made")))
				}
				x.clock.Step(time.Hour)
				_, err = x.cycle(x.plan(t, box(left)))
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(x.buckets["b"]).To(gomega.BeIdenticalTo(was))
				g.Expect(x.taken()).NotTo(gomega.ContainElement("delete b"))
			})
		}
	}
}

// A mark of a former version has no token. Who stands for it writes one, and the former note does not count then.
func TestAnotherAddressOfWhatHasNoTokenInItsMark(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	_, err := x.cycle(x.plan(t, `{providers: {cloud: [{id: one, bucket: {name: b, region: here}}]}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	was := x.buckets["b"]
	was.token = ""
	_, err = x.cycle(x.plan(t, `{providers: {cloud: [{id: one, bucket: {name: b, region: there}}]}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.buckets["b"]).To(gomega.BeIdenticalTo(was))
	g.Expect(was.token).NotTo(gomega.BeEmpty())
	g.Expect(x.stored.GetAnnotations()[v1alpha1.AnnotationProviders]).To(gomega.ContainSubstring(was.token))
}

// Going back makes what the former spec declares, and deletes nothing.
func TestGoingBackDeletesNothing(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{tags: [a, b]}`)
	plan := x.plan(t, `{rollBackOnError: true, providers: {cloud: [{id: all, forEach: {field: spec.tags}, bucket: {name: "b-{{ .item }}"}}]}}`)
	_, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	in := x.ports.ports()
	in.Providers, in.Patcher = x, newPatcher()
	delete(x.buckets, "b-a")
	x.clock.Step(plan.Runtime.Resync)
	former := website(t, `{tags: [a, c]}`)
	spec, _ := former.Object["spec"].(map[string]any)
	back := plan.NewRunTo(rollback.Snapshot{Spec: spec, Metadata: map[string]any{"name": "shop", "namespace": "team-a"}}, x.stored, x.clock.Now(), in)
	g.Expect(plan.GoBack(context.Background(), back)).To(gomega.Succeed())
	g.Expect(x.made("u1")).To(gomega.Equal([]string{"b-a", "b-b", "b-c"}))
	g.Expect(x.stored.GetAnnotations()[v1alpha1.AnnotationProviders]).To(gomega.ContainSubstring("b-b"), "it is not forgotten")
}

func TestErrorsOfProviders(t *testing.T) {
	for class, tc := range map[provider.Class]struct {
		class  Class
		reason string
	}{
		provider.Transient: {Transient, ""}, provider.Throttled: {"", ""}, provider.Denied: {Permission, v1alpha1.ReasonProviderDenied},
		provider.Invalid: {Refused, v1alpha1.ReasonProviderRefused}, provider.Duplicate: {Refused, v1alpha1.ReasonDuplicateChild}, provider.InUse: {Refused, v1alpha1.ReasonProviderRefused},
	} {
		t.Run(string(class), func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{replicas: 3}`)
			plan := x.plan(t, oneBucket)
			x.before = func(string, string) error {
				return &provider.Error{Class: class, Operation: "CreateBucket", Code: "C", Message: "m", RequestID: "7"}
			}
			r, err := x.cycle(plan)
			if tc.class == "" {
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(r.Waits).To(gomega.ContainElement(gomega.HaveField("Message", "assets (name shop-assets, region here): CreateBucket: C: m (request 7)")))
			} else {
				expectStep(g, err, "providers", tc.class, tc.reason)
			}
			x.taken()
			_, _ = x.cycle(plan)
			g.Expect(x.taken()).To(gomega.BeEmpty(), "it is left alone for a while")
			x.before = func(string, string) error { return nil }
			x.clock.Step(time.Hour)
			_, err = x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(x.made("u1")).To(gomega.Equal([]string{"shop-assets"}))
		})
	}
}

func (x *tenant) delete(annotations map[string]string) {
	at := metav1.NewTime(now)
	x.stored = x.stored.DeepCopy()
	x.stored.SetDeletionTimestamp(&at)
	all := x.stored.GetAnnotations()
	maps.Copy(all, annotations)
	x.stored.SetAnnotations(all)
}

func TestADeletedResourceDeletesWhatProvidersHaveMade(t *testing.T) {
	const three = `{providers: {cloud: [{id: a, bucket: {name: a}}, {id: b, bucket: {name: b}}, {id: c, deletionPolicy: Orphan, bucket: {name: c}}, {id: d, bucket: {name: d}}]}}`
	down := &provider.Error{Class: provider.InUse, Operation: "DeleteBucket", Message: "it is not empty"}
	for name, tc := range map[string]struct {
		fails       string
		annotations map[string]string
		gone        bool
		left        []string
		calls       []string
		says        string
	}{
		"in reverse":              {gone: true, left: []string{"c"}, calls: []string{"delete d", "delete b", "delete a"}},
		"and waits for one":       {fails: "b", left: []string{"a", "b", "c"}, calls: []string{"delete d", "delete b"}, says: "b: cloud/bucket (name b, region here): DeleteBucket: it is not empty"},
		"unless people let it go": {fails: "b", annotations: map[string]string{v1alpha1.AnnotationSkipCleanup: "true"}, gone: true, left: []string{"b", "c"}, calls: []string{"delete d", "delete b", "delete a"}, says: "b: cloud/bucket (name b, region here) is left where it is"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{}`)
			plan := x.plan(t, three)
			_, err := x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			x.taken()
			x.before = func(_, name string) error {
				if name == tc.fails {
					return down
				}
				return nil
			}
			x.delete(tc.annotations)
			r, err := x.cycle(plan.ForCleanup())
			g.Expect(x.gone).To(gomega.Equal(tc.gone), "%v", err)
			g.Expect(x.made("u1")).To(gomega.Equal(tc.left))
			g.Expect(x.taken()).To(gomega.Equal(tc.calls))
			g.Expect(fmt.Sprint(err, r.Events)).To(gomega.ContainSubstring(tc.says))
			if !tc.gone {
				x.before = func(string, string) error { return nil }
				x.clock.Step(time.Hour)
				_, err = x.cycle(plan.ForCleanup())
				g.Expect(err).NotTo(gomega.HaveOccurred())
				g.Expect(x.gone).To(gomega.BeTrue())
				g.Expect(x.taken()).To(gomega.Equal([]string{"delete b", "delete a"}), "what is gone is not asked for again")
			}
		})
	}
}

func credentials(key string) *unstructured.Unstructured {
	return other(compile.SecretKind, "team-a", "cloud", map[string]any{"data": map[string]any{"key": key}})
}

// c2VjcmV0LWtleQ== is secret-key.
const oneVault = `{providers: {cloud: [{id: v, vault: {name: v}, credentials: {secretRef: {name: cloud}}}]}}`

// TestOptionalCredentialsThatAreNamedMustBeThere: a service that lets in anybody would be asked by nobody, though somebody is declared.
func TestOptionalCredentialsThatAreNamedMustBeThere(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	plan := x.plan(t, `{providers: {cloud: [{id: v, door: {name: v}, credentials: {secretRef: {name: cloud}}}]}}`)
	waits := func(message string) {
		r, err := x.cycle(plan)
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(r.Waits).To(gomega.ContainElement(gomega.HaveField("Message", message)))
		g.Expect(x.taken()).To(gomega.BeEmpty())
	}
	waits(`v: credentials.secretRef: Secret "team-a/cloud" does not exist`)
	x.others = []*unstructured.Unstructured{other(compile.SecretKind, "team-a", "cloud", map[string]any{"data": map[string]any{"password": "eA=="}})}
	waits(`v: credentials.secretRef: Secret "team-a/cloud" has nothing under the key "key"`)
	x.others = []*unstructured.Unstructured{credentials("c2VjcmV0LWtleQo=")}
	r, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty())
	g.Expect(x.keys).To(gomega.ContainElement("secret-key"))

	x = newTenant(t, `{}`)
	r, err = x.cycle(x.plan(t, `{providers: {cloud: [{id: v, door: {name: v}}]}}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.BeEmpty(), "nobody is declared")
}

func TestCredentials(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	plan := x.plan(t, oneVault)
	r, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.ContainElement(gomega.HaveField("Message", `v: credentials.secretRef: Secret "team-a/cloud" does not exist`)))
	g.Expect(x.taken()).To(gomega.BeEmpty())

	x.others = []*unstructured.Unstructured{credentials("c2VjcmV0LWtleQo=")}
	x.after = func(string, string) error {
		return &provider.Error{Class: provider.Denied, Operation: "Login", Message: "the key secret-key is wrong"}
	}
	_, err = x.cycle(plan)
	g.Expect(err).To(gomega.MatchError("providers: v (name v): Login: the key [hidden] is wrong"))
	g.Expect(x.keys).To(gomega.Equal([]string{"secret-key"}), "without the line break of a file")

	x.after = func(string, string) error { return nil }
	x.others = []*unstructured.Unstructured{credentials("b3RoZXIta2V5")}
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred(), "other credentials are tried at once")
	g.Expect(fmt.Sprint(x.stored.Object)).NotTo(gomega.ContainSubstring("-key"))

	x.others = nil
	x.delete(nil)
	_, err = x.cycle(plan)
	g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring(
		`v: cloud/vault (name v): it can't be deleted: credentials.secretRef: Secret "team-a/cloud" does not exist; when the resource is deleted, the annotation orkestra.orkspace.io/skip-cleanup: "true" leaves it where it is`)))
	g.Expect(x.gone).To(gomega.BeFalse())
	x.others = []*unstructured.Unstructured{credentials("b3RoZXIta2V5")}
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.gone).To(gomega.BeTrue())
	g.Expect(x.buckets).To(gomega.BeEmpty())
}

// However a resource comes to its service, what was answered is held against the same credentials alone, and until people ask for another answer.
func TestARefusalIsHeldAgainstTheSameCredentialsAlone(t *testing.T) {
	const right, wrong, worse = "c2VjcmV0LWtleQ==", "b25lLWtleQ==", "b3RoZXIta2V5"
	const another = `{providers: {cloud: [{id: v, vault: {name: w}, credentials: {secretRef: {name: cloud}}}]}}`
	for name, tc := range map[string]struct {
		box  string // from when the credentials are wrong
		goes bool   // the resource is deleted then
		call string
		left []string
	}{
		"as it is looked after":      {box: oneVault, call: "ensure v", left: []string{"v"}},
		"as the resource goes":       {box: oneVault, goes: true, call: "delete v"},
		"as another takes its place": {box: another, call: "delete v", left: []string{"w"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{}`)
			x.others = []*unstructured.Unstructured{credentials(right)}
			_, err := x.cycle(x.plan(t, oneVault))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			x.before = func(_, name string) error {
				if key := x.keys[len(x.keys)-1]; name == "v" && key != "secret-key" {
					return &provider.Error{Class: provider.Denied, Operation: "Login", Message: "wrong"}
				}
				return nil
			}
			plan := x.plan(t, tc.box)
			taken := func() []string {
				return slices.DeleteFunc(x.taken(), func(call string) bool { return !strings.HasSuffix(call, " v") })
			}
			asked := func(why string, calls ...string) {
				t.Helper()
				_, err := x.cycle(plan)
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("Login: wrong")))
				g.Expect(taken()).To(gomega.Equal(calls), why)
			}
			if tc.goes {
				x.delete(nil)
			}
			x.taken()
			x.others = []*unstructured.Unstructured{credentials(wrong)}
			asked("they are others", tc.call)
			asked("they are the same")
			x.others = []*unstructured.Unstructured{credentials(worse)}
			asked("they are others again", tc.call)
			asked("they are the same again")
			all := x.stored.GetAnnotations()
			all[v1alpha1.AnnotationReconcileAt] = "now"
			x.stored.SetAnnotations(all)
			asked("people ask", tc.call)
			asked("people have asked once")
			x.others = []*unstructured.Unstructured{credentials(right)}
			_, err = x.cycle(plan)
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(taken()).To(gomega.Equal([]string{tc.call}), "they are right")
			g.Expect(x.made("u1")).To(gomega.Equal(tc.left))
			g.Expect(x.gone).To(gomega.Equal(tc.goes))
		})
	}
}

// A box that declares it no more holds the object until it is gone, and no longer.
func TestAnObjectOfOthersIsHeldUntilWhatProvidersHaveMadeIsGone(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	plan, errs := othersBoxWith(t, Env{Providers: x.registry()}, ofDeployments, exposed+", onReconcile: {configmaps: [{}]}")
	g.Expect(errs).To(gomega.BeEmpty())
	x.stored = servedBy(plan.Box)
	x.stored.SetAnnotations(map[string]string{v1alpha1.AnnotationProviders: `[{"id":"a","provider":"cloud","kind":"bucket","identity":{"name":"a","region":"here"},"token":"t","deletionPolicy":"Delete"}]`})
	x.buckets["a"] = &bucket{owner: string(x.stored.GetUID()), token: "t"}
	x.slow = true
	r, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).NotTo(gomega.BeEmpty())
	g.Expect(x.taken()).To(gomega.Equal([]string{"delete a"}))
	g.Expect(x.gone).To(gomega.BeFalse(), "our finalizer stays")

	x.slow = false
	x.clock.Step(time.Hour)
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.buckets).To(gomega.BeEmpty())
	g.Expect(x.gone).To(gomega.BeTrue(), "our finalizer is taken off")
}

// A field that names a key of a Secret: the driver gets the value, with a version by which it knows another one.
func TestSecretsThatFieldsName(t *testing.T) {
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	plan := x.plan(t, `{providers: {cloud: [{id: a, account: {name: a, passwordSecretRef: {name: cloud, key: key}}}]}}`)
	g.Expect(fmt.Sprint(plan.Required())).To(gomega.ContainSubstring("[get list watch] [] [secrets]"))
	r, err := x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Waits).To(gomega.ContainElement(gomega.HaveField("Message", `a: passwordSecretRef: Secret "team-a/cloud" does not exist`)))
	g.Expect(x.taken()).To(gomega.BeEmpty())

	versioned := func(version string) []*unstructured.Unstructured {
		secret := credentials("c2VjcmV0LWtleQo=")
		secret.SetUID("s1")
		secret.SetResourceVersion(version)
		return []*unstructured.Unstructured{secret}
	}
	x.others = versioned("1")
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.passwords).NotTo(gomega.BeEmpty())
	g.Expect(x.passwords).To(gomega.HaveEach(provider.Secret{Value: "secret-key", Version: "s1/1"}), "without the line break of a file")
	x.taken()
	x.others = versioned("2")
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.Equal([]string{"ensure a"}), "it may hold another password")
	g.Expect(x.passwords[len(x.passwords)-1].Version).To(gomega.Equal("s1/2"))
	g.Expect(fmt.Sprint(x.stored.Object)).NotTo(gomega.ContainSubstring("secret-key"))

	x.others = nil
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.buckets).To(gomega.HaveLen(1), "what is there stays")
	x.delete(nil)
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.gone).To(gomega.BeTrue(), "a deletion needs no password")
	g.Expect(x.buckets).To(gomega.BeEmpty())
}

// Who writes resources may write the mark, too.
func TestAForgedNoteSendsNoCredentials(t *testing.T) {
	for name, note := range map[string]string{
		"elsewhere":              `{"id":"x","provider":"cloud","kind":"vault","identity":{"name":"x"},"token":"t","secret":"cloud","endpoint":"https://thief.example.com"}`,
		"of another namespace":   `{"id":"x","provider":"cloud","kind":"vault","identity":{"name":"x"},"token":"t","secret":"cloud","secretNamespace":"kube-system"}`,
		"of another Secret":      `{"id":"x","provider":"cloud","kind":"vault","identity":{"name":"x"},"token":"t","secret":"other"}`,
		"of a ServiceAccount":    `{"id":"x","provider":"cloud","kind":"vault","identity":{"name":"x"},"token":"t","serviceAccount":"admin","roleARN":"r"}`,
		"of an unknown provider": `{"id":"x","provider":"clod","kind":"vault","identity":{"name":"x"},"token":"t","secret":"cloud"}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			x := newTenant(t, `{}`)
			x.others = []*unstructured.Unstructured{credentials("c2VjcmV0LWtleQ==")}
			x.buckets["x"] = &bucket{owner: "somebody"}
			x.stored.SetAnnotations(map[string]string{v1alpha1.AnnotationProviders: "[" + note + "]"})
			_, err := x.cycle(x.plan(t, oneVault))
			g.Expect(err).To(gomega.HaveOccurred())
			g.Expect(x.taken()).To(gomega.Equal([]string{"observe v", "ensure v"}))
		})
	}
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	x.others = []*unstructured.Unstructured{credentials("c2VjcmV0LWtleQ==")}
	x.buckets["x"] = &bucket{owner: "somebody"}
	x.stored.SetAnnotations(map[string]string{v1alpha1.AnnotationProviders: `[{"id":"x","provider":"cloud","kind":"vault","identity":{"name":"x"},"token":"t","secret":"cloud"}]`})
	_, err := x.cycle(x.plan(t, oneVault))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(x.taken()).To(gomega.ContainElement("delete x"))
	g.Expect(x.buckets).To(gomega.HaveKey("x"), "the service knows whose it is")
}

func TestMistakesOfProviders(t *testing.T) {
	for resource, want := range map[string]string{
		`{id: a, bucket: {name: a}, vault: {name: a}}`: "wanted exactly one field that names the kind, and holds what is declared of it; there are bucket, vault",
		`{id: a}`:                                               "there is none",
		`{id: a, buket: {name: a}}`:                             `provider "cloud" has no such kind, and this is no field of a resource; it has account, bucket, door, vault, did you mean "bucket"?`,
		`{id: a, bucket: {}}`:                                   "spec.providers.cloud[0].bucket.name: Required value",
		`{id: a, bucket: {name: a, sise: 3}}`:                   `bucket.sise: Invalid value: "sise": unknown field, did you mean "size"?`,
		`{id: a, bucket: {name: a, size: big}}`:                 "bucket.size: Invalid value: \"big\": wanted integer",
		`{id: a, bucket: {name: a, size: 101}}`:                 "should be less than or equal to 100",
		`{id: a, bucket: {name: a, size: "{{ .spec.nope }}"}}`:  "spec.nope: ",
		`{id: a, bucket: {name: "{{ .providers.a.address }}"}}`: "a resource can't be made of its own outputs",
		`{id: a, bucket: {name: "{{ .providers.b.nope }}"}}, {id: b, bucket: {name: b}}`:   "providers.b.nope: there is no such field",
		`{id: a, bucket: {name: "{{ .providers.b.secret }}"}}, {id: b, bucket: {name: b}}`: "bucket.name: Forbidden: it reads a secret",
		`{id: a, bucket: {name: a}}, {id: a, bucket: {name: b}}`:                           "has the same id",
		`{id: a, vault: {name: a}}`:                                                                              "needs credentials: name a Secret with key, hint (optional)",
		`{id: a, bucket: {name: a}, credentials: {secretRef: {name: s}}}`:                                        "bucket takes no credentials",
		`{id: a, vault: {name: a}, credentials: {secretRef: {name: s, namespace: "{{ .metadata.name }}"}}}`:      "must be literal: a template would lead resources to the Secrets of others",
		`{id: a, vault: {name: a}, credentials: {webIdentity: {serviceAccountName: s, roleARN: r}}}`:             "a token of a ServiceAccount grants its rights",
		`{id: a, bucket: {name: a}, endpoint: "https://{{ .spec.host }}"}`:                                       "endpoint: Invalid value: \"https://{{ .spec.host }}\": must be literal",
		`{id: a, bucket: {name: a}, endpoint: "https://me:pass@host"}`:                                           "endpoint: Forbidden: credentials stand in a Secret",
		`{id: a, bucket: {name: a}, endpoint: "nowhere"}`:                                                        "wanted a URL",
		`{id: a, bucket: {name: a}, forEach: {field: spec.tags, rollout: {}}}`:                                   "forEach.rollout: Forbidden",
		`{id: a, bucket: {name: a}, whenFalse: Keep}`:                                                            "there is no gate that could be false",
		`{id: a, bucket: {name: a}, when: [{field: providers.b.secret, equals: x}]}, {id: b, bucket: {name: b}}`: "can be read only by the templates of a child's content",
	} {
		t.Run(resource, func(t *testing.T) {
			_, errs := Compile(boxOf(t, `{providers: {cloud: [`+resource+`]}}`), Env{CRD: websites(t), Providers: newCloud().registry()})
			gomega.NewWithT(t).Expect(fmt.Sprint(errs)).To(gomega.ContainSubstring(want))
		})
	}
}

func TestAProviderThatTheManagerDoesNotHave(t *testing.T) {
	g := gomega.NewWithT(t)
	const box = `{providers: {clud: [{id: a, anything: {name: a}}]}}`
	_, errs := Compile(boxOf(t, box), Env{CRD: websites(t), Providers: newCloud().registry()})
	g.Expect(errs).To(gomega.HaveLen(1))
	g.Expect(errs[0].Error()).To(gomega.Equal(`spec.providers.clud: Invalid value: "clud": this manager has no provider "clud" (it has cloud), did you mean "cloud"?; use the image orkestra-providers, or register it: docs/how-to/providers.md`))
	_, errs = Compile(boxOf(t, box), Env{CRD: websites(t), Providers: provider.NewRegistry()})
	g.Expect(fmt.Sprint(errs)).To(gomega.ContainSubstring(`this manager has no provider "clud" (it has none); use the image`))
	plan, errs := Compile(boxOf(t, box), Env{CRD: websites(t)})
	g.Expect(errs).To(gomega.BeEmpty(), "it is not known which there are")
	g.Expect(plan.Notes).To(gomega.ContainElement(gomega.ContainSubstring("which providers the manager has is not known here")))
}

func TestRightsForProviders(t *testing.T) {
	g := gomega.NewWithT(t)
	box := boxOf(t, `{providers: {cloud: [{id: a, vault: {name: a}, credentials: {secretRef: {name: s}}}, {id: b, vault: {name: b}, credentials: {webIdentity: {serviceAccountName: sa, roleARN: r}}}]}}`)
	plan, errs := Compile(box, Env{CRD: websites(t), Providers: newCloud().registry(), AllowGrantingKinds: true})
	g.Expect(errs).To(gomega.BeEmpty())
	rules := fmt.Sprint(plan.Required())
	g.Expect(rules).To(gomega.ContainSubstring("[get list watch] [] [secrets]"))
	g.Expect(rules).To(gomega.ContainSubstring("[create] [] [serviceaccounts/token] [sa]"))
}

// Whatever fails and whenever the process is killed, there is one bucket for each that is declared and none besides, nothing of others is
// touched, and a deletion leaves nothing.
func TestNothingIsMadeTwiceOrLost(t *testing.T) {
	const box = `
providers:
  cloud:
  - {id: all, forEach: {field: spec.tags}, bucket: {name: "b-{{ .item }}", size: "{{ .spec.replicas }}"}}
  - {id: one, when: [{field: spec.host, equals: "yes"}], bucket: {name: "one-{{ .spec.image }}"}}
`
	for seed := range int64(120) {
		draw := rand.New(rand.NewSource(seed)) // the same histories each time
		x := newTenant(t, `{tags: [a], host: "yes", image: x, replicas: 1}`)
		for _, name := range []string{"b-theirs", "one-theirs"} {
			x.buckets[name] = &bucket{owner: "somebody", size: 5}
		}
		storm := true
		trouble := func() error {
			if !storm {
				return nil
			}
			switch draw.Intn(8) {
			case 0:
				return errKilled
			case 1:
				return &provider.Error{Class: provider.Transient, Operation: "any", Message: "away"}
			case 2:
				return &provider.Error{Class: provider.Throttled, Operation: "any"}
			default:
				return nil
			}
		}
		x.before = func(string, string) error { return trouble() }
		x.after = x.before
		x.marks = func(bool) error {
			if storm && draw.Intn(6) == 0 {
				return errKilled
			}
			return nil
		}
		plans := []*Plan{x.plan(t, box), x.plan(t, box+"  - {id: more, bucket: {name: more}}\n")}
		plan := plans[0]
		cycle := func() error {
			x.clock.Step(time.Duration(draw.Intn(120)) * time.Second)
			_, err := x.cycle(plan)
			if errors.Is(err, errKilled) {
				x.restart()
			}
			return err
		}
		var tags []any
		var image string
		host := "yes"
		for range 25 {
			switch draw.Intn(5) {
			case 0:
				tags = nil
				for _, tag := range []string{"a", "b", "c", "theirs"} {
					if draw.Intn(2) == 0 {
						tags = append(tags, tag)
					}
				}
				draw.Shuffle(len(tags), func(i, j int) { tags[i], tags[j] = tags[j], tags[i] })
			case 1:
				image = []string{"x", "y", "theirs"}[draw.Intn(3)]
			case 2:
				host = []string{"yes", "no"}[draw.Intn(2)]
			case 3:
				plan = plans[draw.Intn(2)]
			default:
			}
			x.stored = x.stored.DeepCopy()
			x.stored.Object["spec"] = map[string]any{"tags": tags, "host": host, "image": image, "replicas": int64(draw.Intn(4))}
			_ = cycle() // the storm is on
		}
		deleted := draw.Intn(3) == 0
		if deleted {
			x.delete(nil)
			for range 10 {
				if !x.gone {
					_ = cycle()
				}
			}
		}
		storm = false
		for range 6 {
			x.clock.Step(time.Hour)
			if !x.gone {
				_ = cycle() // what is somebody else's stays an error
			}
		}
		var want []string
		if !deleted {
			for _, tag := range tags {
				if tag != "theirs" {
					want = append(want, fmt.Sprint("b-", tag))
				}
			}
			if host == "yes" && image != "theirs" {
				want = append(want, "one-"+image)
			}
			if plan == plans[1] {
				want = append(want, "more")
			}
			slices.Sort(want)
		}
		got := x.made("u1")
		if slices.Contains(tags, any("theirs")) && !deleted || image == "theirs" && host == "yes" && !deleted {
			// What a declaration has made before stays while one of its new ones can't be made: nothing is lost.
			got = slices.DeleteFunc(got, func(name string) bool { return !slices.Contains(want, name) })
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: made %v, wanted %v (deleted: %v; note %s)", seed, got, want, deleted, x.stored.GetAnnotations()[v1alpha1.AnnotationProviders])
		}
		if deleted && !x.gone {
			t.Fatalf("seed %d: the resource is not let go", seed)
		}
		for _, name := range []string{"b-theirs", "one-theirs"} {
			if b := x.buckets[name]; b == nil || b.owner != "somebody" || b.size != 5 {
				t.Fatalf("seed %d: %s is touched: %v", seed, name, b)
			}
		}
	}
}

// What a service says is said with what it was asked about, and where.
func TestErrorsSayWhoWasAsked(t *testing.T) {
	const where = "name b, region there at https://other.cloud.test"
	g := gomega.NewWithT(t)
	x := newTenant(t, `{}`)
	plan := x.plan(t, `{providers: {cloud: [{id: one, endpoint: "https://other.cloud.test", bucket: {name: b, region: there}}]}}`)
	refuse := func(refused string) {
		x.clock.Step(time.Hour)
		x.before = func(operation, _ string) error {
			if operation == refused {
				return &provider.Error{Class: provider.Denied, Operation: operation, Message: "no"}
			}
			return nil
		}
	}
	refuse("observe")
	_, err := x.cycle(plan)
	g.Expect(err).To(gomega.MatchError("providers: one (" + where + "): observe: no"))
	refuse("delete")
	_, err = x.cycle(plan)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, err = x.cycle(x.plan(t, `{providers: {cloud: [{id: two, endpoint: "https://other.cloud.test", bucket: {name: c}}]}}`))
	g.Expect(err).To(gomega.MatchError("providers: one: cloud/bucket (" + where + "): delete: no"))
	refuse("delete")
	x.delete(nil)
	_, err = x.cycle(plan)
	g.Expect(err).To(gomega.MatchError(gomega.And(gomega.HavePrefix("deletion: "), gomega.ContainSubstring("two: cloud/bucket (name c, region here at https://other.cloud.test): delete: no"))))
}
