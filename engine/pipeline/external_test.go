package pipeline

import (
	"context"
	"encoding/base64"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/apply"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
)

// caller answers external calls, and keeps what it was asked.
type caller struct {
	*ports

	asked  []*external.Request
	answer func(q *external.Request) (*external.Answer, error)
}

// callable gives ports whose calls are answered by a function; nil: 200, with the body {"limit": 5}.
func callable(answer func(q *external.Request) (*external.Answer, error)) *caller {
	if answer == nil {
		answer = func(*external.Request) (*external.Answer, error) {
			return &external.Answer{Status: 200, Headers: map[string]any{"X-Left": "7"}, Body: map[string]any{"limit": int64(5), "status": "fine"}}, nil
		}
	}
	return &caller{ports: newPorts(), answer: answer}
}

func (c *caller) Call(_ context.Context, q *external.Request) (*external.Answer, error) {
	c.asked = append(c.asked, q)
	return c.answer(q)
}

func (c *caller) cycle(plan *Plan, stored *unstructured.Unstructured) (*Run, error) {
	ports := c.ports.ports()
	ports.Caller = c
	r := plan.NewRun(stored, now, ports)
	return r, plan.Execute(context.Background(), r)
}

// secret is a Secret whose values are given plainly.
func secret(namespace, name string, values map[string]string) *unstructured.Unstructured {
	data := map[string]any{}
	for k, v := range values {
		data[k] = base64.StdEncoding.EncodeToString([]byte(v))
	}
	return other(compile.SecretKind, namespace, name, map[string]any{"data": data})
}

func fails(text string, refused bool) func(*external.Request) (*external.Answer, error) {
	return func(*external.Request) (*external.Answer, error) {
		return nil, &external.Error{Text: text, Refused: refused, Status: 503}
	}
}

const readsQuota = `
external:
- name: quota
  url: "https://quota.example.com/v1/{{ .metadata.namespace }}"
`

func TestWhatTemplatesSeeOfACall(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, readsQuota+`
- name: second
  url: "https://second.example.com/{{ .external.quota.limit }}"
onReconcile:
  configmaps:
  - data:
      status: "{{ .external.quota.status }}"
      limit: "{{ .external.quota.limit }}"
      body: "{{ .external.quota.body.status }}"
      left: "{{ get .external.quota.headers \"X-Left\" }}"
      error: "{{ .external.quota.error }}"
      called: "{{ .external.quota.called }}"
`)
	c := callable(nil)
	_, err := c.cycle(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveLen(2))
	g.Expect(c.asked[1].URL).To(gomega.Equal("https://second.example.com/5"))
	g.Expect(c.children).To(gomega.HaveLen(1))
	g.Expect(c.children[0].Object["data"]).To(gomega.Equal(map[string]any{
		"status": "200", "limit": "5", "body": "fine", "left": "7", "error": "", "called": "true",
	}))
}

func TestClosedGatesOfCalls(t *testing.T) {
	for name, gate := range map[string]string{
		"a choice": `{field: spec.tls, equals: true}`,
		"a wait":   `{field: children.configmap.data.a, equals: b}`,
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := callable(nil)
			r, err := c.cycle(planOf(t, readsQuota+`  when: [`+gate+`]
onReconcile:
  configmaps: [{data: {called: "{{ .external.quota.called }}", limit: "{{ .external.quota.limit | default 1 }}"}}]
`), website(t, `{tls: false}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(c.asked).To(gomega.BeEmpty())
			g.Expect(r.Waits).To(gomega.BeEmpty())
			g.Expect(c.children[0].Object["data"]).To(gomega.Equal(map[string]any{"called": "false", "limit": "1"}))
		})
	}
}

func TestFailedCalls(t *testing.T) {
	for name, tc := range map[string]struct {
		refused bool
		class   Class
		reason  string
	}{
		"may pass": {false, Transient, ""},
		"will not": {true, Refused, v1alpha1.ReasonExternalFailed},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := callable(fails("answered so", tc.refused))
			r, err := c.cycle(planOf(t, readsQuota+"onReconcile: {configmaps: [{}]}"), website(t, ""))
			step := AsStepError(err)
			g.Expect(step).To(gomega.MatchError("external: quota: GET https://quota.example.com: answered so"))
			g.Expect(step.Class).To(gomega.Equal(tc.class))
			g.Expect(step.Reason).To(gomega.Equal(tc.reason))
			g.Expect(c.children).To(gomega.BeEmpty(), "calls are made before any group")
			g.Expect(r.Inputs.Expires()).To(gomega.BeZero(), "the class says when it is tried again")
		})
	}
}

func TestFailedCallsThatHoldNothingUp(t *testing.T) {
	for name, tc := range map[string]struct {
		answer func(*external.Request) (*external.Answer, error)
		auth   string
		want   map[string]any
	}{
		"of the host": {fails("answered so", false), "", map[string]any{
			"error": "GET https://quota.example.com: answered so", "called": "false", "status": "503", "limit": "none"}},
		"of the Secret": {nil, "  auth: {secretRef: {name: none}}\n", map[string]any{
			"error": `auth.secretRef: Secret "team-a/none" does not exist`, "called": "false", "status": "0", "limit": "none"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := callable(tc.answer)
			r, err := c.cycle(planOf(t, readsQuota+tc.auth+`  onError: Continue
onReconcile:
  configmaps:
  - data:
      error: "{{ .external.quota.error }}"
      called: "{{ .external.quota.called }}"
      status: "{{ .external.quota.status | default 0 }}"
      limit: "{{ .external.quota.limit | default \"none\" }}"
`), website(t, ""))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(c.children[0].Object["data"]).To(gomega.Equal(tc.want))
			g.Expect(r.Inputs.Expires()).To(gomega.BeTemporally("~", now.Add(57*time.Second), 3*time.Second), "it is tried again")
		})
	}
}

func TestExternalInCEL(t *testing.T) {
	for body, made := range map[int64]int{3: 0, 4: 1} {
		g := gomega.NewWithT(t)
		c := callable(func(*external.Request) (*external.Answer, error) {
			return &external.Answer{Status: 200, Body: map[string]any{"limit": body}}, nil
		})
		_, err := c.cycle(planOf(t, readsQuota+`onReconcile: {configmaps: [{when: [{cel: "external.quota.called && external.quota.limit > 3"}]}]}`), website(t, ""))
		g.Expect(err).NotTo(gomega.HaveOccurred())
		g.Expect(c.children).To(gomega.HaveLen(made))
	}
	_, errs := Compile(boxOf(t, readsQuota+`when: [{cel: "external.qota.called"}]`), Env{CRD: websites(t)})
	gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ContainElement(gomega.ContainSubstring("qota")))
}

func TestNoCallsWhereNobodyMakesThem(t *testing.T) {
	_, err := newPorts().run(planOf(t, readsQuota), website(t, ""))
	gomega.NewWithT(t).Expect(err).To(gomega.MatchError("external: quota: GET https://quota.example.com: no calls are made here"))
}

const notifies = `
external:
- name: notify
  method: POST
  url: "https://example.com"
onReconcile: {configmaps: [{data: {called: "{{ .external.notify.called }}"}}]}
`

func TestCallsOncePerGeneration(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, notifies)
	c := callable(nil)
	var marked []string
	mark := c.mark
	c.mark = func(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		if m := marks.Annotations[v1alpha1.AnnotationCalled]; m != resource.GetAnnotations()[v1alpha1.AnnotationCalled] {
			marked = append(marked, m)
			g.Expect(c.children).To(gomega.BeEmpty(), "the mark is written before anything that depends on it")
		}
		return mark(ctx, resource, marks)
	}
	stored := website(t, "")
	r, err := c.cycle(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveLen(1))
	g.Expect(c.asked[0].Key).To(gomega.Equal("u1-1-notify"))
	g.Expect(marked).To(gomega.Equal([]string{`{"notify":1}`}))
	g.Expect(c.children[0].Object["data"]).To(gomega.Equal(map[string]any{"called": "true"}))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, r.Stored, c, now)).To(gomega.BeTrue(), "our own mark is no input")

	c.mark = func(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		g.Expect(marks.Annotations).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationCalled, `{"notify":1}`), "a mark that is not given is taken off")
		return mark(ctx, resource, marks)
	}
	again, err := c.cycle(plan, r.Stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveLen(1), "not again for this generation, by another process either")
	g.Expect(c.children[0].Object["data"]).To(gomega.Equal(map[string]any{"called": "true"}))

	c.mark = mark
	edited := again.Stored.DeepCopy()
	edited.SetGeneration(2)
	r, err = c.cycle(plan, edited)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveLen(2))
	g.Expect(c.asked[1].Key).To(gomega.Equal("u1-2-notify"))
	g.Expect(r.Stored.GetAnnotations()).To(gomega.HaveKeyWithValue(v1alpha1.AnnotationCalled, `{"notify":2}`))

	broken := r.Stored.DeepCopy()
	annotations := maps.Clone(broken.GetAnnotations())
	annotations[v1alpha1.AnnotationCalled] = "{"
	broken.SetAnnotations(annotations)
	_, err = c.cycle(plan, broken)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveLen(3), "a mark that someone broke is no mark")
}

func TestCallsThatAreNotMarked(t *testing.T) {
	g := gomega.NewWithT(t)
	c := callable(fails("answered so", false))
	r, err := c.cycle(planOf(t, notifies), website(t, ""))
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(r.Stored.GetAnnotations()).NotTo(gomega.HaveKey(v1alpha1.AnnotationCalled), "a failed call is made again")

	c = callable(nil)
	first := true
	mark := c.mark
	c.mark = func(ctx context.Context, resource *unstructured.Unstructured, marks apply.Marks) (*unstructured.Unstructured, error) {
		if first {
			first = false // the metadata stage
			return mark(ctx, resource, marks)
		}
		return nil, errors.New("no connection")
	}
	_, err = c.cycle(planOf(t, notifies), website(t, ""))
	g.Expect(err).To(gomega.MatchError("external: notify: marking that the call was made: no connection"))
	g.Expect(AsStepError(err).Class).To(gomega.Equal(Transient))
	g.Expect(c.children).To(gomega.BeEmpty())
}

func TestACallThatWasMadeStaysMade(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `external: [{name: notify, method: DELETE, url: "https://example.com", when: [{field: spec.tls, equals: true}]}]`)
	c := callable(nil)
	r, err := c.cycle(plan, website(t, "{tls: true}"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	stored := r.Stored.DeepCopy()
	stored.Object["spec"] = map[string]any{"tls": false}
	r, err = c.cycle(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Outside.External["notify"]).To(gomega.HaveKeyWithValue("called", true), "for the generation, whatever the gate says now")
}

func TestWhoMayReadTheAnswersToCalls(t *testing.T) {
	for name, tc := range map[string]struct{ box, want string }{
		"no such call": {readsQuota + `onReconcile: {configmaps: [{data: {a: "{{ .external.qota.body }}"}}]}`,
			`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .external.qota.body }}": column 4: external.qota: this box declares no such external call, did you mean "quota"?`},
		"the answer to a write": {`{external: [{name: a, method: POST, url: "https://example.com"}], onReconcile: {configmaps: [{data: {a: "{{ .external.a.body.id }}"}}]}}`,
			`spec.onReconcile.configmaps[0].data.a: Invalid value: "{{ .external.a.body.id }}": column 4: external.a.body: a call that is made once per generation leaves nothing but called; read the answer by a GET`},
		"in onDelete": {readsQuota + `onDelete: {configmaps: [{data: {a: "{{ .external.quota.body }}"}}]}`,
			`spec.onDelete.configmaps[0].data.a: Invalid value: "{{ .external.quota.body }}": column 4: external is not available here: this step runs before it is read`},
		"in validation": {readsQuota + `validation: {rules: [{field: external.quota.limit, exists: true}]}`,
			`spec.validation.rules[0].field: Invalid value: "external.quota.limit": external is not available here: this step runs before it is read`},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := Compile(boxOf(t, tc.box), Env{CRD: websites(t)})
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ConsistOf(tc.want))
		})
	}
}

func TestSecretsOfCallsAreRights(t *testing.T) {
	g := gomega.NewWithT(t)
	secretRules := func(spec string) (verbs []string) {
		for _, rule := range planOf(t, spec).Required() {
			if rule.Resources[0] == "secrets" {
				verbs = append(verbs, rule.Verbs...)
			}
		}
		return verbs
	}
	g.Expect(secretRules(readsQuota)).To(gomega.BeEmpty())
	g.Expect(secretRules(readsQuota + "  auth: {secretRef: {name: s}}")).To(gomega.ConsistOf("get", "list", "watch"))
	g.Expect(secretRules(readsQuota + "  caBundle: {name: s}")).To(gomega.ConsistOf("get", "list", "watch"))
}

// A name may come from somebody else's object, whose values are not shown.
func TestASecretWhoseNameIsNotTheResourcesIsNotNamed(t *testing.T) {
	for name, tc := range map[string]struct{ secret, want string }{
		"the resource's own": {"{{ .spec.host }}", `quota: auth.secretRef: Secret "team-a/hunter2" does not exist`},
		"somebody else's":    {"{{ .cross.c.data.name }}", "quota: auth.secretRef: the Secret that its name yields does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := callable(nil)
			c.others = append(c.others, other(configMapKind, "team-a", "theirs", map[string]any{"data": map[string]any{"name": "hunter2"}}))
			_, err := c.cycle(planOf(t, readsTheirs+readsQuota+`  auth: {secretRef: {name: "`+tc.secret+`"}}`), website(t, "{host: hunter2}"))
			g.Expect(err).To(gomega.MatchError(gomega.HaveSuffix(tc.want)))
		})
	}
}
