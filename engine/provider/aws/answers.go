package aws

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/orkspace/orkestra/engine/provider"
)

// sniffed is how much of an answer is looked at.
const sniffed = 512

// answers is an HTTP client that takes no page of somebody in between (a proxy, a login) for an answer of the service. The SDK would read one
// with the status 200 as an answer in which nothing is said, and what carries no mark is somebody else's: it would never be deleted.
type answers struct{ next aws.HTTPClient }

// Do implements aws.HTTPClient.
func (a answers) Do(r *http.Request) (*http.Response, error) {
	response, err := a.next.Do(r)
	if err != nil || response.StatusCode/100 != 2 || r.Method == http.MethodHead {
		return response, err //nolint:wrapcheck // the SDK says what it did
	}
	body := bufio.NewReaderSize(response.Body, sniffed)
	begin, err := body.Peek(sniffed)
	if err == io.EOF { //nolint:errorlint // as bufio gives it
		err = nil // the answer is short
	}
	why := ""
	switch {
	case err != nil: // the SDK finds it as it reads on
	case isPage(begin):
		why = "is a page for people"
	case len(begin) == 0 && r.Method == http.MethodGet:
		why = "is empty"
	}
	if why != "" {
		_ = response.Body.Close() // nothing of it is used
		return nil, &provider.Error{Class: provider.Transient, Operation: "Answer",
			Message: fmt.Sprintf("the answer has the HTTP status %d and %s, and is none of this service: look for a proxy in between", response.StatusCode, why)}
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{body, response.Body}
	return response, nil
}

// isPage says whether an answer begins as HTML does.
func isPage(begin []byte) bool {
	begin = bytes.ToLower(bytes.TrimLeft(begin, "\xef\xbb\xbf \t\r\n"))
	return bytes.HasPrefix(begin, []byte("<html")) || bytes.HasPrefix(begin, []byte("<!doctype"))
}
