package autoscale

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/orkspace/orkestra/api/v1alpha1"
	"github.com/orkspace/orkestra/engine/when"
)

// A rule whose conditions have held once is none that never holds, whatever it is made of: fields, operators, CEL and templates by chance.
func TestWhatHoldsIsNoContradiction(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	refused, open := 0, 0
	for range 1500 {
		text := fmt.Sprintf("{conditions: {when: [%s], anyOf: [%s]}, do: {resync: 10s}}", randomConditions(random), randomConditions(random))
		var spec v1alpha1.AutoscaleSpec
		NewWithT(t).Expect(yaml.UnmarshalStrict([]byte(text), &spec)).To(Succeed())
		gate, errs := when.CompileGate(spec.Conditions, scope(), field.NewPath("conditions"))
		NewWithT(t).Expect(errs).To(BeEmpty(), text)
		rule := &Rule{spec: spec, gate: gate}
		never := false
		for _, e := range contradictions(rule, Limits{Workers: 3}, field.NewPath("conditions")) {
			// One of anyOf that never holds is a mistake, too, but the others may hold.
			never = never || strings.Contains(e.Detail, "the conditions never hold") || strings.Contains(e.Detail, "it never holds") && strings.Contains(e.Field, "when[")
		}
		holds := false
		for range 400 {
			m := Measured{
				QueueDepth: random.IntN(14), Workers: 1 + random.IntN(64), BusyPercent: random.IntN(101), ErrorPercent: random.IntN(14), Resources: random.IntN(14),
				P95: time.Duration(random.IntN(14)) * time.Millisecond,
			}
			now := time.Date(2026, 1, 1+random.IntN(7), random.IntN(24), random.IntN(60), 0, 0, time.UTC)
			holds = holds || rule.Decide(t.Context(), State{}, m, now).Active
		}
		NewWithT(t).Expect(holds && never).To(BeFalse(), "it holds, and is refused: %s", text)
		if never {
			refused++
		}
		if holds {
			open++
		}
	}
	NewWithT(t).Expect(min(refused, open)).To(BeNumerically(">", 100), "both are met: %d refused, %d held", refused, open)
}

// randomConditions are one or two of them.
func randomConditions(random *rand.Rand) string {
	fields := []string{"status.queueDepth", "metrics.queueDepth", "metrics.workers", "time.hour", "time.minute", "status.errorPercent", "status.resources"}
	var all []string
	for range 1 + random.IntN(2) {
		f, a, b := fields[random.IntN(len(fields))], random.IntN(12), random.IntN(12)
		cel := strings.Replace(f, "status.", "self.status.", 1)
		other := strings.Replace(fields[random.IntN(len(fields))], "status.", "self.status.", 1)
		all = append(all, []string{
			fmt.Sprintf("{field: %s, equals: %d}", f, a), fmt.Sprintf("{field: %s, notEquals: %d}", f, a), fmt.Sprintf("{field: %s, greaterThan: %d}", f, a),
			fmt.Sprintf("{field: %s, lessThan: %d}", f, a), fmt.Sprintf("{field: %s, between: [%d, %d]}", f, min(a, b), max(a, b)), fmt.Sprintf("{field: %s, notBetween: [%d, %d]}", f, min(a, b), max(a, b)),
			fmt.Sprintf("{field: %s, in: [%d, %d]}", f, a, b), fmt.Sprintf("{field: %s, in: [%d, %d], negate: true}", f, a, b), fmt.Sprintf("{field: %s, exists: true}", f),
			fmt.Sprintf("{cel: %q}", fmt.Sprintf("%s > %d && %s < %d", cel, a, cel, b)), fmt.Sprintf("{cel: %q}", fmt.Sprintf("%s > %s", cel, other)),
			fmt.Sprintf("{field: %s, lessThan: \"{{ add %d 1 }}\"}", f, a), "{field: time.dayOfWeek, in: [Sunday, Monday]}", "{field: time.dayOfWeek, notEquals: Monday}",
		}[random.IntN(14)])
	}
	return strings.Join(all, ", ")
}
