package aws

import (
	"context"
	"crypto/sha256"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/middleware"

	"github.com/orkspace/orkestra/engine/provider"
)

const (
	// maxSessions bounds the credentials that are kept: one for each role and token.
	maxSessions = 256
	// spare is how long before its end a session is not used any more.
	spare = 5 * time.Minute
	// maxSessionName is what STS accepts.
	maxSessionName = 64
)

// sessions keeps the credentials that STS gave, until they end.
type sessions struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]aws.Credentials
}

func newSessions() *sessions { return &sessions{kept: map[[sha256.Size]byte]aws.Credentials{}} }

// config is the SDK's, made of nothing but the request.
func (s *services) config(ctx context.Context, r *provider.Request, region string) (aws.Config, error) {
	if r.HTTP == nil {
		return aws.Config{}, &provider.Error{Class: provider.Invalid, Operation: "Connect", Message: "the request has no HTTP client"}
	}
	config := aws.Config{
		Region: region, HTTPClient: answers{r.HTTP}, Retryer: func() aws.Retryer { return aws.NopRetryer{} },
		APIOptions:                 []func(*middleware.Stack) error{forgetEnvironment},
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired, ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if r.Endpoint != "" {
		config.BaseEndpoint = aws.String(strings.TrimSuffix(r.Endpoint, "/"))
	}
	credentials, err := s.credentials(ctx, r, config)
	if err != nil {
		return aws.Config{}, err
	}
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return credentials, nil })
	return config, nil
}

// forgetEnvironment takes out what reads variables of the manager's Pod: the name of its platform, and a trace of AWS Lambda.
func forgetEnvironment(stack *middleware.Stack) error {
	for _, id := range []string{"UserAgent", "RecursionDetection"} {
		if _, found := stack.Build.Get(id); found {
			if _, err := stack.Build.Remove(id); err != nil {
				return err
			}
		}
	}
	return nil
}

// credentials are those of the Secret, or what STS gives for a token.
func (s *services) credentials(ctx context.Context, r *provider.Request, config aws.Config) (aws.Credentials, error) {
	if r.WebIdentity != nil {
		return s.assume(ctx, r, config)
	}
	for _, key := range []string{keyID, keySecret} {
		if r.Credentials[key] == "" {
			return aws.Credentials{}, &provider.Error{Class: provider.Denied, Operation: "Credentials", Message: "the Secret of the credentials has no " + key}
		}
	}
	return aws.Credentials{AccessKeyID: r.Credentials[keyID], SecretAccessKey: r.Credentials[keySecret], SessionToken: r.Credentials[keySession]}, nil
}

// assume asks STS for credentials of the role. A store with an endpoint of its own is asked there.
func (s *services) assume(ctx context.Context, r *provider.Request, config aws.Config) (aws.Credentials, error) {
	key := sha256.Sum256([]byte(strings.Join([]string{r.Endpoint, config.Region, r.WebIdentity.RoleARN, r.WebIdentity.Token}, "\x00")))
	if kept, ok := s.sessions.get(key, s.clock.Now()); ok {
		return kept, nil
	}
	name := "orkestra-" + r.Owner.UID
	out, err := sts.NewFromConfig(config).AssumeRoleWithWebIdentity(ctx, &sts.AssumeRoleWithWebIdentityInput{
		RoleArn: aws.String(r.WebIdentity.RoleARN), RoleSessionName: aws.String(name[:min(len(name), maxSessionName)]), WebIdentityToken: aws.String(r.WebIdentity.Token),
	})
	if err != nil {
		return aws.Credentials{}, explain(ctx, r, err)
	}
	if out.Credentials == nil {
		return aws.Credentials{}, &provider.Error{Class: provider.Transient, Operation: "AssumeRoleWithWebIdentity", Message: "the answer has no credentials"}
	}
	given := aws.Credentials{
		AccessKeyID: aws.ToString(out.Credentials.AccessKeyId), SecretAccessKey: aws.ToString(out.Credentials.SecretAccessKey),
		SessionToken: aws.ToString(out.Credentials.SessionToken), CanExpire: true, Expires: aws.ToTime(out.Credentials.Expiration),
	}
	s.sessions.put(key, given, s.clock.Now())
	return given, nil
}

func (s *sessions) get(key [sha256.Size]byte, now time.Time) (aws.Credentials, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept, ok := s.kept[key]
	return kept, ok && now.Add(spare).Before(kept.Expires)
}

// put makes room by what has ended, and by any other where that is not enough: it is asked for again.
func (s *sessions) put(key [sha256.Size]byte, given aws.Credentials, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for other, kept := range s.kept {
		if len(s.kept) >= maxSessions || !now.Add(spare).Before(kept.Expires) {
			delete(s.kept, other)
		}
	}
	s.kept[key] = given
}
