package expr

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// What people write who come from elsewhere, and what they are told.
func TestMessages(t *testing.T) {
	for text, want := range map[string]string{
		`{{ spec.image }}`:                               `column 4: spec is a field, not a function: write .spec.image, with a dot before it`,
		`x-{{ default 1 metadata.name }}`:                `column 16: metadata is a field, not a function: write .metadata.name, with a dot before it`,
		`{{ .Values.image }}`:                            `column 4: .Values: no such name in a template: that is Helm's; what a resource says is below .spec`,
		`{{ Values.image }}`:                             `column 4: .Values: no such name in a template: that is Helm's; what a resource says is below .spec`,
		`{{ .Release.Name }}`:                            `column 4: .Release: no such name in a template: that is Helm's; a resource's name and namespace are below .metadata`,
		`{{ .Chart.Name }}`:                              `column 4: .Chart: no such name in a template: that is Helm's; a template reads the resource alone`,
		`{{ self.spec.image }}`:                          `column 4: self is CEL's name for the resource: write .spec.image`,
		`{{ item }}`:                                     `column 4: .item: there is one only inside a forEach`,
		`{{ upper item.name }}`:                          `column 10: .item: there is one only inside a forEach`,
		`${spec.image}`:                                  `column 1: templates are written {{ }}: write {{ .spec.image }} for ${spec.image}; for the text itself, {{ "${spec.image}" }}`,
		"${spec.image " + strings.Repeat("x", 100) + "}": "column 1: templates are written {{ }}: write {{ .spec.image }} for ${spec.image " + strings.Repeat("x", 50) + "…; for the text itself, put it between {{ ` and ` }}",
		`a-${schema.spec.name}-b`:                        `column 3: templates are written {{ }}: write {{ .spec.name }} for ${schema.spec.name}; for the text itself, {{ "${schema.spec.name}" }}`,
		`{{ if .spec.image }}a`:                          `column 22: unexpected EOF`,
		`{{ .spec.image }} and {{ .spec.`:                `column 23: unexpected "." in operand`,
		`{{ .spec.image }} and {{ ) }}`:                  `column 23: unexpected right paren`,
		"a\n{{ .spec.image }}\n  {{ end }}":              `line 3, column 3: unexpected {{end}}`,
		`{{ .spec.image }}{{ "a }}`:                      `column 18: unterminated quoted string`,
		`x{{ .metadata.labels.app-name }}`:               `column 5: bad character U+002D '-': write get .metadata.labels "app-name"`,
		`{{ .spec.a }}{{ upper .spec.hosts[0] }}`:        `column 23: bad character U+005B '[': write index .spec.hosts 0`,
		`{{ .metadata.labels["app.example.com/name"] }}`: `column 4: bad character U+005B '[': write get .metadata.labels "app.example.com/name"`,
		`{{ .spec.replicas-1 }}`:                         `column 4: bad character U+002D '-': write sub .spec.replicas 1`,
		`{{ with .spec }}{{ $.spec.hosts[1] }}{{ end }}`: `column 20: bad character U+005B '[': write index $.spec.hosts 1`,
		`{{ a-b }} of .x.y-z`:                            `column 1: bad character U+002D '-'`,
		`é {{ .spec.image }} {{ if }}a{{ end }}`:         `column 21: missing value for if`,
	} {
		t.Run(text, func(t *testing.T) {
			_, err := NewScope(nil).Compile(text)
			NewWithT(t).Expect(err).To(MatchError(want))
		})
	}
	scope := NewScope(nil).WithChildren("deployment", "config")
	for text, want := range map[string]string{
		`${deployment.status.?availableReplicas}`:    `column 1: templates are written {{ }}: write {{ .children.deployment.status.availableReplicas }} for ${deployment.status.?availableReplicas}; for the text itself, {{ "${deployment.status.?availableReplicas}" }}`,
		`${HOME} ${children.config.data.x}`:          `column 9: templates are written {{ }}: write {{ .children.config.data.x }} for ${children.config.data.x}; for the text itself, {{ "${children.config.data.x}" }}`,
		`${other.status.x} ${config.metadata.name}!`: `column 19: templates are written {{ }}: write {{ .children.config.metadata.name }} for ${config.metadata.name}; for the text itself, {{ "${config.metadata.name}" }}`,
	} {
		_, err := scope.Compile(text)
		NewWithT(t).Expect(err).To(MatchError(want))
	}
	for _, fine := range []string{"${service.status.x}", "${deployment}", "${config.port}", "${data.x}", "${deployment:-x}"} {
		_, err := scope.Compile(fine)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), fine)
	}
	for _, fine := range []string{"echo ${HOME} ${X:-1}", "${item.name}", `{{ "${spec.image}" }}`, "$(spec.x)"} {
		_, err := NewScope(nil).Compile(fine)
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), fine)
	}
}
