package expr

import (
	"fmt"
	"strconv"
	"text/template/parse"

	"github.com/orkspace/orkestra/engine/expr/roots"
	"github.com/orkspace/orkestra/engine/value"
)

// looked is an argument of get.
type looked struct {
	text  string // as it is written; empty where it is what the expression before has given
	shown bool   // whether messages may show its value
}

// missed is a call of get that has found nothing. That is no error by itself: it is one where a value is needed.
type missed struct {
	site *site
	args []any
}

// lookup notes what messages say of the arguments of get.
func (s names) lookup(args []parse.Node, origins []origin) []looked {
	out := make([]looked, len(origins))
	for i, from := range origins {
		if i < len(args) {
			out[i].text = asWritten(args[i])
		}
		out[i].shown = from.known && MayShow(s.closure([]Path{from.inputs()}))
	}
	return out
}

// asWritten is an argument as it is written.
func asWritten(arg parse.Node) string {
	if _, inner := arg.(*parse.PipeNode); inner {
		return "(" + value.Shorten(arg.String()) + ")"
	}
	return value.Shorten(arg.String())
}

// error says which keys were looked up, and in what.
func (m *missed) error() *roots.AbsentError {
	if m.site.from.known {
		return &roots.AbsentError{Path: m.site.from.path}
	}
	object := 0
	if _, key := m.args[0].(string); key && len(m.args) == 2 { // the object comes last
		object = 1
	}
	what, between := "the key", " "
	for arg := range m.args {
		if arg != object {
			what += between + m.key(arg)
			between = ", "
		}
	}
	if of := m.site.looked[object].text; of != "" {
		what += " of " + of
	}
	return &roots.AbsentError{What: what}
}

// key is a key as it is written, with its value where that may be shown.
func (m *missed) key(arg int) string {
	key := m.site.looked[arg]
	text, isText := m.args[arg].(string)
	if !key.shown || !isText {
		return key.text
	}
	if key.text == "" {
		return strconv.Quote(value.Shorten(text))
	}
	return fmt.Sprintf("%q (%s)", value.Shorten(text), key.text)
}

// hasMissed says whether a call of get in an action, as it is written, has found nothing.
func (st *state) hasMissed(expr string) bool { return st.missed != nil && st.missed.site.expr == expr }

// null says why a value is null: because of a key that it has looked up in vain.
func (st *state) null() error {
	if !st.template.tells || st.missed == nil {
		return nil
	}
	absent := st.missed.error()
	absent.Reads = st.template.paths
	return absent
}
