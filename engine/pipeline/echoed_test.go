package pipeline

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// TestWhatAWebhookIsAskedByIsNotShown, whatever repeats it: in neither protocol, whatever the credentials are.
func TestWhatAWebhookIsAskedByIsNotShown(t *testing.T) {
	const token, password = "tok-SECRET123", `p&ss"word`
	for auth, echoes := range map[string][]string{
		`{secretRef: {name: hooks}}`:                                          {token, "Bearer " + token, base64.StdEncoding.EncodeToString([]byte(token))},
		`{type: Header, header: X-Key, secretRef: {name: hooks, key: token}}`: {token},
		`{type: Basic, secretRef: {name: hooks}}`:                             {password, "Basic " + base64.StdEncoding.EncodeToString([]byte("someone:"+password))},
		`{type: Basic, secretRef: {name: hooks, key: pair}}`:                  {password, base64.StdEncoding.EncodeToString([]byte("someone:" + password))},
	} {
		for _, echo := range echoes {
			for name, tc := range map[string]struct {
				composed bool
				answer   map[string]any
				reason   string // of the error; empty: there is none
			}{
				"a status":              {false, map[string]any{"children": []any{}, "status": map[string]any{"phase": "is " + echo}}, v1alpha1.ReasonWebhookFailed},
				"a message":             {false, map[string]any{"children": []any{}, "conditions": []any{map[string]any{"type": "Fits", "status": "True", "message": echo}}}, ""},
				"a wait":                {false, map[string]any{"wait": map[string]any{"message": echo}}, ""},
				"an event":              {false, map[string]any{"children": []any{}, "events": []any{map[string]any{"message": echo}}}, ""},
				"an unknown field":      {false, map[string]any{"children": []any{}, echo: 1}, v1alpha1.ReasonWebhookFailed},
				"a label":               {false, map[string]any{"children": []any{map[string]any{"id": "a", "object": labeled(echo)}}}, v1alpha1.ReasonInvalidChild},
				"a status, composed":    {true, map[string]any{"children": []any{}, "status": map[string]any{"phase": echo}}, v1alpha1.ReasonWebhookFailed},
				"a condition, composed": {true, map[string]any{"children": []any{}, "status": map[string]any{"conditions": []any{map[string]any{"type": "Fits", "status": "True", "message": echo}}}}, ""},
				"a label, composed":     {true, map[string]any{"children": []any{labeled(echo)}}, v1alpha1.ReasonInvalidChild},
			} {
				t.Run(name+" "+auth+" "+echo, func(t *testing.T) {
					g := gomega.NewWithT(t)
					a := asking(t, nil)
					a.answer = func(r *external.Request) (*external.Answer, error) {
						if tc.composed {
							return answerOf(t, tc.answer), nil
						}
						q, answer := &protocol.Request{}, maps.Clone(tc.answer)
						g.Expect(json.Unmarshal(r.Body, q)).To(gomega.Succeed())
						answer["apiVersion"], answer["kind"], answer["uid"] = protocol.Version, protocol.KindResponse, q.UID
						return answerOf(t, answer), nil
					}
					resource := website(t, `{image: v1}`)
					a.others = append(a.others, secret(resource.GetNamespace(), "hooks", map[string]string{
						"token": token + "\n", "username": "someone", "password": password, "pair": "someone:" + password,
					}))
					of := "Orkestra"
					if tc.composed {
						of = "Metacontroller"
					}
					r, err := a.at(webhooked(t, `url: "https://hooks.example.com", protocol: `+of+`, auth: `+auth, `workers: 1`), resource, 0)
					if tc.reason != "" {
						expectStep(g, err, "hook", Permanent, tc.reason)
					} else {
						g.Expect(err).NotTo(gomega.HaveOccurred())
					}
					res, _ := r.Result(t.Context(), err)
					shown := fmt.Sprintf("%v %+v %+v %+v %+v", err, res, r.Events, r.Waits, r.Shown)
					if tc.reason == "" {
						g.Expect(shown).To(gomega.ContainSubstring("[from a Secret]"))
					}
					for _, hidden := range append(echoes, token, password) {
						g.Expect(shown).NotTo(gomega.ContainSubstring(hidden))
					}
					g.Expect(a.children).To(gomega.BeEmpty())
				})
			}
		}
	}
}

// TestATokenThatIsAWordIsNoReason: one that reads like a reason, or like the type of a condition, is shown as none.
func TestATokenThatIsAWordIsNoReason(t *testing.T) {
	const token = "TokSecret123"
	for name, tc := range map[string]struct {
		answer  *protocol.Response
		instead string // what is shown
		reason  string // of the error; empty: there is none
	}{
		"of an event":         {&protocol.Response{Children: []protocol.Child{}, Events: []protocol.Event{{Reason: token, Message: "done"}}}, v1alpha1.ReasonHookEvent, ""},
		"of a wait":           {&protocol.Response{Wait: &protocol.Wait{Reason: token, Message: "not yet"}}, v1alpha1.ReasonWaitingForHook, ""},
		"of a condition":      {&protocol.Response{Children: []protocol.Child{}, Conditions: []protocol.Condition{{Type: "Fits", Status: "True", Reason: token}}}, "the type or the reason of Fits holds what a Secret holds", v1alpha1.ReasonWebhookFailed},
		"type of a condition": {&protocol.Response{Children: []protocol.Child{}, Conditions: []protocol.Condition{{Type: token, Status: "True", Reason: "Known"}}}, "the type or the reason of [from a Secret] holds what a Secret holds", v1alpha1.ReasonWebhookFailed},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			a := asking(t, func(*protocol.Request) *protocol.Response { return tc.answer })
			resource := website(t, `{image: v1}`)
			a.others = append(a.others, secret(resource.GetNamespace(), "hooks", map[string]string{"token": token}))
			r, err := a.at(webhooked(t, `url: "https://hooks.example.com", auth: {secretRef: {name: hooks}}`, `workers: 1`), resource, 0)
			if tc.reason != "" {
				expectStep(g, err, "hook", Permanent, tc.reason)
			} else {
				g.Expect(err).NotTo(gomega.HaveOccurred())
			}
			res, _ := r.Result(t.Context(), err)
			shown := fmt.Sprintf("%v %+v %+v %+v %+v", err, res, r.Events, r.Waits, r.Shown)
			g.Expect(shown).To(gomega.And(gomega.ContainSubstring(tc.instead), gomega.Not(gomega.ContainSubstring(token))))
		})
	}
}

func labeled(with string) map[string]any {
	object := mapChild("a", "a").Object
	object["metadata"] = map[string]any{"name": "a", "annotations": map[string]any{"example.com/said": with}}
	return object
}

// TestANameIsNoSecretInSmallLetters: names of objects have no capital ones.
func TestANameIsNoSecretInSmallLetters(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, func(*protocol.Request) *protocol.Response {
		return &protocol.Response{Children: []protocol.Child{mapChild("a", "tok-secret123")}}
	})
	resource := website(t, `{image: v1}`)
	a.others = append(a.others, secret(resource.GetNamespace(), "hooks", map[string]string{"token": "tok-SECRET123"}))
	_, err := a.at(webhooked(t, `url: "https://hooks.example.com", auth: {secretRef: {name: hooks}}`, `workers: 1`), resource, 0)
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonInvalidChild)
	g.Expect(strings.ToLower(err.Error())).NotTo(gomega.ContainSubstring("tok-secret123"))
	g.Expect(a.children).To(gomega.BeEmpty())
}

// TestTheHostOfAWebhookIsNotQuotedWithASecret, where the client says what is wrong with an answer.
func TestTheHostOfAWebhookIsNotQuotedWithASecret(t *testing.T) {
	g := gomega.NewWithT(t)
	a := asking(t, nil)
	a.answer = fails("the answer says something twice: tok-SECRET123", true)
	resource := website(t, `{image: v1}`)
	a.others = append(a.others, secret(resource.GetNamespace(), "hooks", map[string]string{"token": "tok-SECRET123"}))
	_, err := a.at(webhooked(t, `url: "https://hooks.example.com", retries: 0, auth: {secretRef: {name: hooks}}`, `workers: 1`), resource, 0)
	expectStep(g, err, "hook", Permanent, v1alpha1.ReasonWebhookFailed)
	g.Expect(err.Error()).To(gomega.HaveSuffix("the answer says something twice: [from a Secret]"))
}

// TestWhatACallIsAuthenticatedByIsNotShown where an answer repeats it. A child is given the answer as it is.
func TestWhatACallIsAuthenticatedByIsNotShown(t *testing.T) {
	g := gomega.NewWithT(t)
	c := callable(func(q *external.Request) (*external.Answer, error) {
		return &external.Answer{Status: 200, Headers: map[string]any{"X-Said": q.Credential.Value}, Body: map[string]any{"said": []any{q.Credential.Value}, "limit": int64(5)}}, nil
	})
	resource := website(t, `{image: v1}`)
	c.others = append(c.others, secret(resource.GetNamespace(), "quota", map[string]string{"token": "tok-SECRET123"}))
	plan := planOf(t, `
external:
- {name: quota, url: "https://quota.example.com", auth: {secretRef: {name: quota}}}
onReconcile:
  configmaps:
  - data: {said: "{{ index .external.quota.said 0 }}"}
status:
  fields:
  - {path: message, value: "{{ index .external.quota.body.said 0 }}, {{ index .external.quota.headers \"X-Said\" }}, {{ .external.quota.limit }}"}
`)
	r, err := c.cycle(plan, resource)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	res, err := r.Result(t.Context(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(res.Fields).To(gomega.ContainElement(gomega.HaveField("Value", "Bearer [from a Secret], Bearer [from a Secret], 5")))
	g.Expect(c.children).To(gomega.HaveExactElements(gomega.HaveField("Object", gomega.HaveKeyWithValue("data", map[string]any{"said": "Bearer tok-SECRET123"}))))
}
