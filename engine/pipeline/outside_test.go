package pipeline

import (
	"context"
	"strings"
	"testing"

	"github.com/onsi/gomega"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/status"
)

// readsOutside shows in its status what it reads from outside.
const readsOutside = `
validation: {rules: [{field: spec.host, equals: fine}]}
cross: [{name: db, box: database, selector: {name: main}}]
external:
- {name: quota, url: "https://quota.example.com"}
- {name: second, url: "https://second.example.com"}
status:
  fields:
  - {path: own, value: "{{ .metadata.name }}"}
  - {path: ofCross, value: "{{ .cross.db.status.host }}"}
  - {path: ofQuota, value: "{{ .external.quota.limit }}"}
  - {path: ofSecond, value: '{{ default "none" .external.second.limit }}'}
  - {path: ofAll, value: "{{ len .external }}"}
  - {path: byGate, value: up, when: [{field: external.second.limit, operator: exists}]}
  - {path: firstOfTwo, value: a, when: [{field: spec.tls, equals: true}]}
  - {path: firstOfTwo, value: b, when: [{field: external.second.limit, operator: exists}]}
  - {path: "conditions[Own]", value: true}
  - {path: "conditions[OfCross]", value: true, when: [{field: cross.db.status.host, operator: exists}]}
  - {path: "conditions[OfSecond]", value: {status: "{{ eq .external.second.limit 5 }}"}}
`

// written gives what a result writes, by the names of fields and conditions: nil takes away.
func written(res status.Result) map[string]any {
	out := map[string]any{}
	for _, f := range res.Fields {
		out[strings.Join(f.Path, ".")] = f.Value
		if f.Remove {
			out[strings.Join(f.Path, ".")] = nil
		}
	}
	for _, c := range res.Conditions {
		out[c.Condition.Type] = string(c.Condition.Status)
		if c.Remove {
			out[c.Condition.Type] = nil
		}
	}
	return out
}

func TestAnErrorLeavesWhatItWasTooEarlyToKnow(t *testing.T) {
	failing := func(name string) func(*external.Request) (*external.Answer, error) {
		return func(q *external.Request) (*external.Answer, error) {
			if q.Name == name {
				return nil, &external.Error{Text: "answered so"}
			}
			return &external.Answer{Status: 200, Body: map[string]any{"limit": int64(5)}}, nil
		}
	}
	found := withDatabase(database("team-a", "main", "db.local", nil))
	cases := map[string]struct {
		spec   string
		ports  *ports
		answer func(*external.Request) (*external.Answer, error)
		fails  bool
		want   map[string]any
	}{
		"no error": {`{host: fine}`, found, failing("none"), false, map[string]any{
			"own": "shop", "Own": "True", "ofCross": "db.local", "OfCross": "True", "ofQuota": int64(5), "ofSecond": int64(5), "ofAll": int64(2),
			"byGate": "up", "firstOfTwo": "b", "OfSecond": "True",
		}},
		"validation": {`{host: no}`, found, failing("none"), true, map[string]any{"own": "shop", "Own": "True"}},
		"an earlier candidate holds": {`{host: no, tls: true}`, found, failing("none"), true, map[string]any{
			"own": "shop", "Own": "True", "firstOfTwo": "a",
		}},
		"cross is absent, which is known": {`{host: fine}`, withDatabase(), failing("none"), false, map[string]any{
			"own": "shop", "Own": "True", "ofCross": nil, "OfCross": nil,
		}},
		"the first call": {`{host: fine}`, found, failing("quota"), true, map[string]any{
			"own": "shop", "Own": "True", "ofCross": "db.local", "OfCross": "True",
		}},
		"the second call": {`{host: fine}`, found, failing("second"), true, map[string]any{
			"own": "shop", "Own": "True", "ofCross": "db.local", "OfCross": "True", "ofQuota": int64(5),
		}},
	}
	crd := websites(t)
	crd.Schema = nil
	plan, errs := Compile(boxOf(t, readsOutside), Env{CRD: crd})
	gomega.NewWithT(t).Expect(messages(errs)).To(gomega.BeEmpty())
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g := gomega.NewWithT(t)
			c := &caller{ports: tc.ports, answer: tc.answer}
			r, err := c.cycle(plan, website(t, tc.spec))
			g.Expect(err != nil).To(gomega.Equal(tc.fails))
			res, shown := r.Result(context.Background(), err)
			if err != nil {
				g.Expect(shown).To(gomega.BeIdenticalTo(err))
			} else {
				g.Expect(shown).NotTo(gomega.HaveOccurred())
			}
			g.Expect(written(res)).To(gomega.Equal(tc.want))
		})
	}
}

func TestACallThatMayFailIsKnownWhenItDoes(t *testing.T) {
	g := gomega.NewWithT(t)
	plan := planOf(t, readsQuota+`  onError: Continue
status: {fields: [{path: phase, value: "{{ .external.quota.limit }}"}, {path: message, value: "{{ .external.quota.error }}"}]}
`)
	r, err := callable(fails("answered so", false)).cycle(plan, website(t, ""))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	res, err := r.Result(context.Background(), nil)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(written(res)).To(gomega.Equal(map[string]any{"phase": nil, "message": "GET https://quota.example.com: answered so"}))
}
