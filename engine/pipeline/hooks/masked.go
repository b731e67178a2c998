package hooks

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// shortest is the length from which on a secret is looked for. A shorter one would be found everywhere.
const shortest = 4

// masked are the values of Secrets that code has read, which must not be shown.
type masked []string

func mask(secrets []string) masked {
	var out masked
	for _, s := range secrets {
		if len(s) >= shortest {
			out = append(out, s, base64.StdEncoding.EncodeToString([]byte(s)))
		}
	}
	slices.SortFunc(out, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	return out
}

// text gives a text in which no secret stands.
func (m masked) text(text string) string {
	for _, s := range m {
		text = strings.ReplaceAll(text, s, "[from a Secret]")
	}
	return text
}

// in says whether a secret stands in a value.
func (m masked) in(v any) bool {
	if len(m) == 0 {
		return false
	}
	text, err := json.Marshal(v)
	return err != nil || m.text(string(text)) != string(text)
}

// err gives an error in whose words no secret stands, of the same class. One that has none stays as it is, with what it wraps.
func (m masked) err(err error) error {
	shown := m.text(err.Error())
	if shown == err.Error() {
		return err
	}
	if p, ok := errors.AsType[*stage.PanicError](err); ok {
		return &stage.PanicError{Value: m.text(fmt.Sprint(p.Value)), Place: p.Place, Stack: p.Stack}
	}
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		status := answer.Status()
		status.Message, status.Details = m.text(status.Message), nil
		return &apierrors.StatusError{ErrStatus: status}
	}
	return errors.New(shown)
}
