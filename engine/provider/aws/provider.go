// Package aws makes S3 buckets, SQS queues and Route 53 records, with the AWS SDK for Go.
//
// Everything that it knows comes with a request: it reads no environment, no shared configuration and no instance metadata, so that what the
// manager's Pod may do is never lent to a box. All requests go through the request's HTTP client, and none is repeated here: pauses and
// retries are the caller's.
//
// # Who owns what
//
// The mark of an owner is the tag orkestra.orkspace.io/uid, or a TXT record beside a DNS record. Queues, records, and buckets of Amazon S3 are
// made and marked by one request: whatever lacks the mark is somebody else's. Stores that speak the protocol of S3 may not know tags in
// CreateBucket: there a bucket is marked by a second request. If the answer to the first one is lost, the bucket is found without a
// mark, and taken only if nothing was there when the token was drawn (Request.Absent) and the mark has not been seen yet. What is left:
// somebody else who makes a bucket of that name with the same account of such a store, in the moment between, and leaves it without tags.
package aws

import (
	"k8s.io/utils/clock"

	"github.com/orkspace/orkestra/engine/provider"
)

// Name is the one by which boxes declare these resources.
const Name = "aws"

// The keys of the Secret, named as the variables that all tools for AWS read, so that one Secret serves a box and envFrom of a Pod.
const (
	keyID        = "AWS_ACCESS_KEY_ID"
	keySecret    = "AWS_SECRET_ACCESS_KEY" // #nosec G101 -- the name of a key, not its value
	keySession   = "AWS_SESSION_TOKEN"     // #nosec G101 -- the name of a key, not its value
	globalRegion = "us-east-1"
	// audience is that for which STS takes tokens.
	audience = "sts.amazonaws.com"
)

// New gives the provider. Nothing is set up before it is asked for something.
func New() provider.Provider { return &services{sessions: newSessions(), clock: clock.RealClock{}} }

// services are those of AWS.
type services struct {
	sessions *sessions
	clock    clock.PassiveClock
}

// Kinds are s3bucket, sqsqueue and route53record.
func (s *services) Kinds() map[string]provider.Kind {
	kinds := map[string]provider.Kind{
		"s3bucket":      {Summary: "A bucket of Amazon S3, or of a store that speaks its protocol.", Schema: bucketSchema(), Identity: []string{fieldName, fieldRegion}, Outputs: bucketOutputs(), Driver: bucketDriver{s}},
		"sqsqueue":      {Summary: "A queue of Amazon SQS.", Schema: queueSchema(), Identity: []string{fieldName, fieldRegion}, Outputs: queueOutputs(), Driver: queueDriver{s}},
		"route53record": {Summary: "A DNS record in a hosted zone of Amazon Route 53.", Schema: recordSchema(), Identity: []string{"zoneId", fieldName, "type", "setIdentifier"}, Outputs: recordOutputs(), Driver: recordDriver{s}},
	}
	for name, kind := range kinds {
		kind.Credentials = []provider.Key{{Name: keyID}, {Name: keySecret}, {Name: keySession, Optional: true}}
		kind.WebIdentity, kind.Audience = true, audience
		kinds[name] = kind
	}
	return kinds
}
