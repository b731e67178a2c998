package outside

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/orkspace/orkestra/engine/pipeline/stage"
)

// shortest is the length from which on a secret is looked for. A shorter one would be found everywhere.
const shortest = 4

// inPlace stands where a secret stood.
const inPlace = "[from a Secret]"

// Masked are values of Secrets that must not be shown: what code has read, and what calls are authenticated by. The zero value has none.
type Masked struct{ any *regexp.Regexp }

// Mask gives what finds secrets, as they are and in base64. White space around them is no part of them, as in a header. Capital letters are as small
// ones, since the names of objects have none.
func Mask(secrets ...string) Masked {
	var all []string
	for _, s := range secrets {
		trimmed := strings.TrimSpace(s)
		if len(trimmed) < shortest {
			continue
		}
		for _, one := range []string{s, trimmed} {
			all = append(all, one, base64.StdEncoding.EncodeToString([]byte(one)), base64.RawStdEncoding.EncodeToString([]byte(one)), base64.RawURLEncoding.EncodeToString([]byte(one)))
		}
	}
	if len(all) == 0 {
		return Masked{}
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) }) // one may be a part of another
	all = slices.Compact(all)
	for i, s := range all {
		all[i] = regexp.QuoteMeta(s)
	}
	return Masked{regexp.MustCompile("(?i:" + strings.Join(all, "|") + ")")}
}

// Text gives a text in which no secret stands.
func (m Masked) Text(text string) string {
	if m.any == nil {
		return text
	}
	return m.any.ReplaceAllLiteralString(text, inPlace)
}

// In says whether a secret stands in a value of JSON, be it in a key.
func (m Masked) In(v any) bool {
	if m.any == nil {
		return false
	}
	switch v := v.(type) {
	case string:
		return m.any.MatchString(v)
	case map[string]any:
		for key, one := range v {
			if m.any.MatchString(key) || m.In(one) {
				return true
			}
		}
		return false
	case []any:
		return slices.ContainsFunc(v, m.In)
	default:
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		return encoder.Encode(v) != nil || m.any.Match(text.Bytes())
	}
}

// Value gives a value of JSON in which no secret stands: the same one where none does.
func (m Masked) Value(v any) any {
	if !m.In(v) {
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, one := range v {
			out[m.Text(key)] = m.Value(one)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, one := range v {
			out = append(out, m.Value(one))
		}
		return out
	case string:
		return m.Text(v)
	default:
		return inPlace
	}
}

// Err gives an error in whose words no secret stands, of the same class. One that has none stays as it is, with what it wraps.
func (m Masked) Err(err error) error {
	shown := m.Text(err.Error())
	if shown == err.Error() {
		return err
	}
	if p, ok := errors.AsType[*stage.PanicError](err); ok {
		return &stage.PanicError{Value: m.Text(fmt.Sprint(p.Value)), Place: p.Place, Stack: p.Stack}
	}
	var answer apierrors.APIStatus
	if errors.As(err, &answer) {
		status := answer.Status()
		status.Message, status.Details = m.Text(status.Message), nil
		return &apierrors.StatusError{ErrStatus: status}
	}
	return errors.New(shown)
}
