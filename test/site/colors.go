package main

import (
	"fmt"
	"math"
	"time"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// languages are those that code blocks of pages may have.
var languages = []string{"bash", "console", "go", "json", "lua", "python", "text", "yaml"}

// patience is a state of a lexer that only holds the mutator.
const patience = "patience"

// lexersWithoutClock are the lexers of these languages. Those of the library give up a rule after a quarter of a second, and go on with another one: on a busy
// machine, one page would have other colors each time.
func lexersWithoutClock() (*chroma.LexerRegistry, error) {
	registry := chroma.NewLexerRegistry()
	for _, name := range languages {
		original, ok := lexers.Get(name).(*chroma.RegexLexer)
		if !ok {
			return nil, fmt.Errorf("the library has no rules for %q", name)
		}
		rules, err := original.Rules()
		if err != nil {
			return nil, fmt.Errorf("the rules for %q: %w", name, err)
		}
		rules = rules.Clone()
		if name == "go" {
			// The library looks for templates in raw strings, with a lexer of its own that has a clock.
			raw := chroma.Rule{Pattern: "`[^`]*`", Type: chroma.LiteralString}
			rules["root"] = append([]chroma.Rule{raw}, rules["root"]...)
		}
		rules[patience] = []chroma.Rule{{Mutator: clockless{}}}
		lexer, err := chroma.NewLexer(original.Config(), func() chroma.Rules { return rules })
		if err != nil {
			return nil, fmt.Errorf("a lexer for %q: %w", name, err)
		}
		registry.Register(lexer)
	}
	return registry, nil
}

// clockless takes the clock from all rules of a lexer, when they are compiled.
type clockless struct{}

// Mutate is of the interface, and never called: no state leads to this rule.
func (clockless) Mutate(*chroma.LexerState) error { return nil }

// MutateLexer is called once, after the rules were compiled.
func (clockless) MutateLexer(rules chroma.CompiledRules, state string, _ int) error {
	for _, all := range rules {
		for _, rule := range all {
			rule.Regexp.MatchTimeout = time.Duration(math.MaxInt64) // which the library of expressions takes as: no clock
		}
	}
	rules[state] = nil
	return nil
}
