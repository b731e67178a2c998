package external

import (
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	kjson "sigs.k8s.io/json"
)

// answer makes an Answer of the response. What would be a secret (cookies) is left out.
func (p *prepared) answer(resp *http.Response) (*Answer, error) {
	a := &Answer{Status: resp.StatusCode}
	if p.StatusOnly {
		return a, nil
	}
	a.Headers = map[string]any{}
	for name, values := range resp.Header {
		if name == "Set-Cookie" || name == "Set-Cookie2" {
			continue // a session is a credential
		}
		a.Headers[name] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if len(raw) == 0 {
		return a, nil
	}
	if !utf8.Valid(raw) {
		if isJSON(resp.Header) {
			return nil, refused("the answer is called JSON, but is not UTF-8")
		}
		return a, nil // status and headers are worth something without it
	}
	if !isJSON(resp.Header) {
		a.Body = string(raw)
		return a, nil
	}
	twice, err := kjson.UnmarshalStrict(raw, &a.Body)
	if err != nil {
		// The decoder's own error quotes the body, which may be secret.
		return nil, refused("the answer is called JSON, but is not")
	}
	if p.Webhook && len(twice) > 0 {
		return nil, refused("the answer says something twice: %s", clip(twice[0].Error())) // one of the two would delete what the other declares
	}
	return a, nil
}

// isJSON says whether a body is JSON by its content type.
func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && (kind == TypeJSON || strings.HasSuffix(kind, "+json"))
}
