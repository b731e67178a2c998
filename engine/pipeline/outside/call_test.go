package outside

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/pipeline/compile"
	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// Who writes a spec must not choose what the box's credential is used for.
func TestAValueStaysInItsPartOfAURL(t *testing.T) {
	for host, want := range map[string]string{
		"blue":             "https://quota.example.com/teams/blue/quota?of=blue",
		"x/../../admin?a=": "",
		"..":               "",
		"":                 "",
		"a/b&c":            "https://quota.example.com/teams/a%2Fb&c/quota?of=a%2Fb%26c",
	} {
		t.Run(host, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := callable(nil)
			_, err := c.cycle(planOf(t, `external: [{name: quota, url: "https://quota.example.com/teams/{{ .spec.host }}/quota?of={{ .spec.host }}"}]`),
				website(t, fmt.Sprintf("host: %q", host)))
			if want == "" {
				g.Expect(err).To(gomega.MatchError(gomega.ContainSubstring("may lead to another path")))
				g.Expect(c.asked).To(gomega.BeEmpty())
				return
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(c.asked[0].URL).To(gomega.Equal(want))
		})
	}
}

func TestExternalRequest(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `
external:
- name: quota
  method: PUT
  url: "https://quota.example.com/v1/{{ .metadata.namespace }}"
  query: {image: "{{ .spec.image }}", fixed: a, empty: ""}
  headers: {X-Team: "{{ .metadata.namespace }}"}
  body: {replicas: "{{ .spec.replicas }}", html: "<&>", list: ["{{ .spec.tags }}"]}
  auth: {secretRef: {name: "{{ .metadata.name }}-quota"}}
  caBundle: {name: ca, namespace: shared}
  timeout: 5s
  retries: 3
  expectedStatus: [200, 204]
`)
	c := callable(nil)
	c.others = append(c.others, secret("team-a", "shop-quota", map[string]string{"token": " t0ken\n"}), secret("shared", "ca", map[string]string{"ca.crt": "PEM"}))
	_, err := c.cycle(plan, website(t, `{image: "a b", replicas: 3, tags: [x]}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveExactElements(gomega.HaveValue(gomega.Equal(external.Request{
		Box: "website", Name: "quota", Method: "PUT", URL: "https://quota.example.com/v1/team-a",
		Query: map[string]string{"image": "a b", "fixed": "a", "empty": ""}, Headers: map[string]string{"X-Team": "team-a"},
		Body: []byte(`{"html":"<&>","list":[["x"]],"replicas":3}`), ContentType: "application/json",
		Credential: &external.Credential{Header: "Authorization", Value: "Bearer t0ken", Secrets: []string{"t0ken"}}, CABundle: []byte("PEM"),
		Key: "u1-1-quota", Timeout: 5 * time.Second, Retries: 3, Expected: []int{200, 204}, StatusOnly: true,
	}))))
}

func TestExternalDefaults(t *testing.T) {
	g := gomega.NewWithT(t)
	c := callable(nil)
	_, err := c.cycle(planOf(t, readsQuota), website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked).To(gomega.HaveExactElements(gomega.HaveValue(gomega.Equal(external.Request{
		Box: "website", Name: "quota", Method: "GET", URL: "https://quota.example.com/v1/team-a",
		Timeout: 10 * time.Second, Retries: 2, Expected: []int{200},
	}))))
}

func TestExternalBodies(t *testing.T) {
	for body, want := range map[string][2]string{
		`"plain {{ .metadata.name }}"`: {"plain shop", "text/plain; charset=utf-8"},
		`"{{ .spec.tags }}"`:           {`["x"]`, "application/json"},
		`"{{ toJson .spec.tags }}"`:    {`["x"]`, "text/plain; charset=utf-8"},
		`[1, a]`:                       {`[1,"a"]`, "application/json"},
		`7`:                            {`7`, "application/json"},
	} {
		t.Run(body, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := callable(nil)
			_, err := c.cycle(planOf(t, `external: [{name: a, method: POST, url: "https://example.com", body: `+body+`}]`), website(t, `{tags: [x]}`))
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(string(c.asked[0].Body)).To(gomega.Equal(want[0]))
			g.Expect(c.asked[0].ContentType).To(gomega.Equal(want[1]))
		})
	}
}

func TestExternalCredentials(t *testing.T) {
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, tc := range map[string]struct {
		auth   string
		header string
		want   string
		fail   string
	}{
		"bearer by default":      {`{secretRef: {name: s}}`, "Authorization", "Bearer t0ken", ""},
		"bearer of a key":        {`{type: Bearer, secretRef: {name: s, key: other}}`, "Authorization", "Bearer x", ""},
		"basic of two keys":      {`{type: Basic, secretRef: {name: s}}`, "Authorization", basic("ann:secret"), ""},
		"basic of one key":       {`{type: Basic, secretRef: {name: s, key: pair}}`, "Authorization", basic("bob:p:w"), ""},
		"basic without a colon":  {`{type: Basic, secretRef: {name: s, key: other}}`, "", "", `external: a: auth.secretRef: key "other" of the Secret holds no user:password`},
		"a header":               {`{type: Header, header: X-Api-Key, secretRef: {name: s, key: other}}`, "X-Api-Key", "x", ""},
		"a header that is ours":  {`{type: Header, header: Authorization, secretRef: {name: s, key: other}}`, "Authorization", "x", ""},
		"no such key":            {`{secretRef: {name: s, key: none}}`, "", "", `external: a: auth.secretRef: Secret "team-a/s" has nothing under the key "none"`},
		"a key without a value":  {`{secretRef: {name: s, key: blank}}`, "", "", `external: a: auth.secretRef: Secret "team-a/s" has nothing under the key "blank"`},
		"no such Secret":         {`{secretRef: {name: none}}`, "", "", `external: a: auth.secretRef: Secret "team-a/none" does not exist`},
		"no such Secret outside": {`{secretRef: {name: s, namespace: team-b}}`, "", "", `external: a: auth.secretRef: Secret "team-b/s" does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			plan := planOf(t, `external: [{name: a, url: "https://example.com", auth: `+tc.auth+`}]`)
			g.Expect(plan.ObservedKinds).To(gomega.ContainElement(compile.SecretKind))
			c := callable(nil)
			c.others = append(c.others, secret("team-a", "s", map[string]string{
				"token": "t0ken", "other": "x\n", "username": "ann", "password": "secret\n", "pair": "bob:p:w\n", "blank": "\n",
			}))
			stored := website(t, "")
			r, err := c.cycle(plan, stored)
			if tc.fail != "" {
				step := stage.AsStepError(err)
				g.Expect(step).To(gomega.MatchError(tc.fail))
				g.Expect(step.Class).To(gomega.Equal(stage.Permanent))
				g.Expect(step.Reason).To(gomega.Equal(v1alpha1.ReasonExternalFailed))
				g.Expect(c.asked).To(gomega.BeEmpty())
				return
			}
			g.Expect(err).NotTo(gomega.HaveOccurred())
			g.Expect(c.asked[0].Credential).To(gomega.HaveValue(gomega.And(gomega.HaveField("Header", tc.header), gomega.HaveField("Value", tc.want), gomega.HaveField("Secrets", gomega.Not(gomega.BeEmpty())))))
			// Rotation is seen.
			g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, c, now)).To(gomega.BeTrue())
			c.others[0].SetResourceVersion("rotated")
			g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, c, now)).To(gomega.BeFalse())
		})
	}
}

func TestTheArrivalOfASecretIsAnInput(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, `external: [{name: a, url: "https://example.com", auth: {secretRef: {name: s}}}]`)
	c := callable(nil)
	stored := website(t, "")
	r, err := c.cycle(plan, stored)
	g.Expect(err).To(gomega.HaveOccurred())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, c, now)).To(gomega.BeTrue())
	c.others = append(c.others, secret("team-a", "s", map[string]string{"token": "t"}))
	g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, c, now)).To(gomega.BeFalse())
}

func TestErrorsThatNoOnErrorCovers(t *testing.T) {
	g := gomega.NewWithT(t)
	c := callable(nil)
	_, err := c.cycle(planOf(t, `external: [{name: a, url: "https://example.com/{{ .spec.host }}", onError: Continue}]`), website(t, ""))
	g.Expect(stage.AsStepError(err).Reason).To(gomega.Equal(v1alpha1.ReasonTemplateError))
	c = callable(func(*external.Request) (*external.Answer, error) { return nil, context.Canceled })
	_, err = c.cycle(planOf(t, readsQuota+"  onError: Continue"), website(t, ""))
	g.Expect(err).To(gomega.MatchError(context.Canceled))
}

func TestWhenCallsAreMadeAgain(t *testing.T) {
	g := gomega.NewWithT(t)
	stored := website(t, "")
	plan := planOf(t, readsQuota)
	plan.Runtime.Resync = 100 * time.Second
	c := callable(nil)
	r, err := c.cycle(plan, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	at := r.Inputs.Expires()
	g.Expect(at).To(gomega.And(gomega.BeTemporally(">=", now.Add(90*time.Second)), gomega.BeTemporally("<", now.Add(100*time.Second))), "once per resync")
	g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, c, at.Add(-1))).To(gomega.BeTrue())
	g.Expect(r.Inputs.Unchanged(&plan.Plan, stored, c, at)).To(gomega.BeFalse())

	kept := planOf(t, readsQuota+"  cacheFor: 30s\n")
	c = callable(func(q *external.Request) (*external.Answer, error) {
		g.Expect(q.CacheFor).To(gomega.Equal(30 * time.Second))
		return &external.Answer{Status: 200, Until: now.Add(12 * time.Second)}, nil
	})
	r, err = c.cycle(kept, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Expires()).To(gomega.Equal(now.Add(12*time.Second)), "when the answer is too old")

	written := planOf(t, `external: [{name: a, method: POST, url: "https://example.com"}]`)
	r, err = callable(nil).cycle(written, stored)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(r.Inputs.Expires()).To(gomega.BeZero(), "once per generation")
}

func TestHostsFromResourcesWhereTheOperatorNamesThem(t *testing.T) {
	g := gomega.NewWithT(t)
	plan, errs := compiled(t, `external: [{name: a, url: "https://{{ .spec.host }}/x"}]`, compile.Env{CRD: websites(t), ExternalOnly: true})
	g.Expect(errs).To(gomega.BeEmpty())
	c := callable(nil)
	_, err := c.cycle(plan, website(t, `{host: a.example.com}`))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(c.asked[0].URL).To(gomega.Equal("https://a.example.com/x"))
}

func TestSecretsOfClusterScopedResources(t *testing.T) {
	g := gomega.NewWithT(t)
	crd := websites(t)
	crd.Namespaced = false
	_, errs := compiled(t, `external: [{name: a, url: "https://example.com", auth: {secretRef: {name: s}}}]`, compile.Env{CRD: crd})
	g.Expect(messages(errs)).To(gomega.ConsistOf(
		`spec.external[0].auth.secretRef.namespace: Required value: the resources are cluster-scoped: say in which namespace the Secret is`))
}

func TestExternalMistakes(t *testing.T) {
	at := "spec.external[0]"
	call := func(fields string) string {
		return `external: [{name: a, url: "https://example.com/x", ` + fields + `}]`
	}
	for name, tc := range map[string]struct{ box, want string }{
		"two of one name": {`external: [{name: a, url: "https://example.com"}, {name: a, url: "https://example.com"}]`,
			`spec.external[1].name: Duplicate value: "a"`},
		"method":  {call(`method: get`), at + `.method: Invalid value: "get": wanted one of GET, HEAD, POST, PUT, PATCH, DELETE, did you mean "GET"?`},
		"onError": {call(`onError: Ignore`), at + `.onError: Invalid value: "Ignore": wanted one of Fail, Continue`},
		"scheme":  {`external: [{name: a, url: "ftp://example.com"}]`, at + `.url: Invalid value: "ftp://example.com": the scheme of the URL is "ftp"; only http and https may be called`},
		"no URL":  {`external: [{name: a, url: ""}]`, at + `.url: Required value: say what is called`},
		"user": {`external: [{name: a, url: "https://u:p@example.com/{{ .spec.host }}"}]`,
			at + `.url: Invalid value: "https://u:p@example.com/{{ .spec.host }}": the URL holds a user name; give credentials by auth`},
		"host from a resource": {`external: [{name: a, url: "https://{{ .spec.host }}/x"}]`,
			at + `.url: Invalid value: "https://{{ .spec.host }}/x": the host of a URL may come from a template only where the manager runs with --external-only: write scheme and host, and a slash, before the first template`},
		"a host that a template may go on with": {`external: [{name: a, url: "https://example.com{{ .spec.host }}"}]`,
			at + `.url: Invalid value: "https://example.com{{ .spec.host }}": the host of a URL may come from a template only where the manager runs with --external-only: write scheme and host, and a slash, before the first template`},
		"credentials to a host from a resource": {`external: [{name: a, url: "{{ .spec.host }}", auth: {secretRef: {name: s}}}]`,
			at + `.url: Invalid value: "{{ .spec.host }}": credentials go only to a host that is written literally: write scheme and host, and a slash, before the first template`},
		"a path that is not there": {`external: [{name: a, url: "https://example.com/{{ .spec.hots }}"}]`,
			at + `.url: Invalid value: "https://example.com/{{ .spec.hots }}": column 24: spec.hots: no such field in the CRD's schema, did you mean "host"?`},
		"a later call": {`external: [{name: a, url: "https://example.com/{{ .external.b.body }}"}, {name: b, url: "https://example.com"}]`,
			at + `.url: Invalid value: "https://example.com/{{ .external.b.body }}": column 24: external.b: calls are made in their order, and this one is not made yet`},
		"itself": {call(`query: {a: "{{ .external.a.body }}"}`),
			at + `.query.a: Invalid value: "{{ .external.a.body }}": column 4: external.a: calls are made in their order, and this one is not made yet`},
		"a header of ours":         {call(`headers: {Authorization: x}`), at + `.headers.Authorization: Invalid value: "Authorization": this header can't be set: give credentials by auth, so that they come from a Secret and go to one host only`},
		"a header twice":           {call(`headers: {X-A: x, x-a: z}`), at + `.headers.x-a: Invalid value: "x-a": "X-A" sets the same header`},
		"a header of auth":         {call(`headers: {X-A: x}, auth: {type: Header, header: x-a, secretRef: {name: s, key: k}}`), at + `.headers.X-A: Invalid value: "X-A": auth sets the same header`},
		"a body of a GET":          {call(`body: {a: b}`), at + `.body: Forbidden: GET has no body; use query, or another method`},
		"auth type":                {call(`auth: {type: Digest, secretRef: {name: s}}`), at + `.auth.type: Invalid value: "Digest": wanted one of Bearer, Basic, Header`},
		"Header without header":    {call(`auth: {type: Header, secretRef: {name: s, key: k}}`), at + `.auth.header: Required value: say which header holds the credentials`},
		"Header without key":       {call(`auth: {type: Header, header: X-A, secretRef: {name: s}}`), at + `.auth.secretRef.key: Required value: say which key holds the header's value`},
		"header without Header":    {call(`auth: {header: X-A, secretRef: {name: s}}`), at + `.auth.header: Forbidden: belongs to type Header; Bearer is sent as Authorization`},
		"a header that may not be": {call(`auth: {type: Header, header: Host, secretRef: {name: s, key: k}}`), at + `.auth.header: Invalid value: "Host": this header can't be set: it is taken from the URL`},
		"no Secret":                {call(`auth: {secretRef: {name: ""}}`), at + `.auth.secretRef.name: Required value: say which Secret`},
		"a namespace by template":  {call(`auth: {secretRef: {name: s, namespace: "{{ .spec.host }}"}}`), at + `.auth.secretRef.namespace: Invalid value: "{{ .spec.host }}": must be literal: a template would lead resources to the Secrets of others`},
		"a namespace that is none": {call(`caBundle: {name: s, namespace: A_B}`), at + `.caBundle.namespace: Invalid value: "A_B": not the name of a namespace`},
		"timeout":                  {call(`timeout: 0s`), at + `.timeout: Invalid value: "0s": wanted a duration above zero, such as 10s`},
		"retries":                  {call(`retries: 11`), at + `.retries: Invalid value: 11: wanted 0 to 10`},
		"too long":                 {call(`timeout: 31s`), at + `.timeout: Invalid value: "31s": 3 attempts of 31s may take longer than 1m30s, for which a worker may not wait: lower timeout or retries`},
		"status":                   {call(`expectedStatus: [200, 100]`), at + `.expectedStatus[1]: Invalid value: 100: wanted a status from 200 to 599`},
		"cacheFor":                 {call(`cacheFor: 10ms`), at + `.cacheFor: Invalid value: "10ms": wanted at least 1s`},
		"cacheFor of a write":      {call(`method: POST, cacheFor: 10s`), at + `.cacheFor: Forbidden: POST is sent once per generation; there is nothing to use again`},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := compiled(t, tc.box, compile.Env{CRD: websites(t)})
			gomega.NewWithT(t).Expect(messages(errs)).To(gomega.ConsistOf(tc.want))
		})
	}
}
