// Package awsdouble answers as SQS, Route 53 and STS do, as far as the drivers ask, in the process of a test. It is written from the published
// models of these APIs: names, forms of requests and answers, codes of errors. It is no server: what it proves is that the SDK and the
// drivers agree with the models, not that they agree with AWS.
package awsdouble

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
)

// Cloud has the services of one account. It is an HTTP client, so that nothing goes over a network.
type Cloud struct {
	mu sync.Mutex
	// Keys are the access keys that are known.
	Keys map[string]bool
	// Tokens are the web identity tokens that STS takes, with the access key that each gives.
	Tokens map[string]string
	// Trusts says of a token that is not among Tokens which access key it gives for a role; nil: none.
	Trusts func(token, role string) (key string, trusted bool)
	// Throttle is how many requests are refused because there are too many.
	Throttle int
	// Down says that there is no answer.
	Down bool
	// Seen has the requests: service, operation.
	Seen []string
	// Headers are those of the last request.
	Headers http.Header

	queues  map[string]*Queue
	zones   map[string]*Zone
	changes map[string]int
	number  int
}

// New gives an account with one access key.
func New(key string) *Cloud {
	return &Cloud{Keys: map[string]bool{key: true}, Tokens: map[string]string{}, queues: map[string]*Queue{}, zones: map[string]*Zone{}, changes: map[string]int{}}
}

var scope = regexp.MustCompile(`Credential=([^/]+)/[0-9]{8}/([^/]+)/([^/]+)/aws4_request`)

// Do answers a request.
func (c *Cloud) Do(req *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	if c.Down {
		return nil, fmt.Errorf("dial tcp: connection refused")
	}
	c.Headers = req.Header.Clone()
	recorder := httptest.NewRecorder()
	c.number++
	id := fmt.Sprintf("request-%d", c.number)
	recorder.Header().Set("X-Amzn-Requestid", id)
	service, region := strings.Split(req.URL.Host, ".")[0], ""
	if service != "sts" {
		match := scope.FindStringSubmatch(req.Header.Get("Authorization"))
		if match == nil || !c.Keys[match[1]] {
			c.refuse(recorder, service, http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid.")
			return recorder.Result(), nil
		}
		region = match[2]
	}
	if c.Throttle > 0 {
		c.Throttle--
		c.refuse(recorder, service, http.StatusBadRequest, "Throttling", "Rate exceeded")
		return recorder.Result(), nil
	}
	switch service {
	case "sqs":
		c.sqs(recorder, req, region)
	case "route53":
		c.route53(recorder, req)
	case "sts":
		c.sts(recorder, req)
	default:
		return nil, fmt.Errorf("no such host %s", req.URL.Host)
	}
	return recorder.Result(), nil
}

// refuse gives an error in the form of the service.
func (c *Cloud) refuse(w http.ResponseWriter, service string, status int, code, message string) {
	if service == "sqs" {
		refuseJSON(w, status, code, message)
		return
	}
	refuseXML(w, status, code, message)
}

// Count is how many requests of an operation there were.
func (c *Cloud) Count(operation string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, seen := range c.Seen {
		if seen == operation {
			n++
		}
	}
	return n
}
