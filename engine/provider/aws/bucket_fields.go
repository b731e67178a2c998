package aws

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

// aspect is one field of a bucket that S3 keeps under an address of its own.
type aspect struct {
	field string
	// differs reads what is there and compares it with what is declared.
	differs func(ctx context.Context) (bool, error)
	write   func(ctx context.Context) error
}

// settings reads and writes the aspects of a bucket.
type settings struct{ *bucket }

// aspects are those that are declared, in the order in which they are written: what restricts access comes before what gives it.
func (b settings) aspects() []aspect {
	var out []aspect
	if b.spec.PublicAccessBlock != nil {
		out = append(out, aspect{"publicAccessBlock", b.publicAccessDiffers, b.writePublicAccess})
	}
	if b.spec.Encryption != nil {
		out = append(out, aspect{"encryption", b.encryptionDiffers, b.writeEncryption})
	}
	if b.spec.Versioning != nil {
		out = append(out, aspect{"versioning", b.versioningDiffers, b.writeVersioning})
	}
	if b.spec.Policy != nil {
		out = append(out, aspect{"policy", b.policyDiffers, b.writePolicy})
	}
	if b.spec.Lifecycle != nil {
		out = append(out, aspect{"lifecycle", b.lifecycleDiffers, b.writeLifecycle})
	}
	return out
}

// differs names the declared fields that are not as declared, sorted.
func (b *bucket) differs(ctx context.Context) ([]string, error) {
	var out []string
	if retag(b.tags, b.spec.Tags, b.r).declared {
		out = append(out, "tags")
	}
	for _, a := range (settings{b}).aspects() {
		differs, err := a.differs(ctx)
		if err != nil {
			return nil, explain(ctx, b.r, err)
		}
		if differs {
			out = append(out, a.field)
		}
	}
	slices.Sort(out)
	return out, nil
}

// correct writes the mark first, then what differs.
func (b *bucket) correct(ctx context.Context) ([]string, error) {
	var changed []string
	if tags := retag(b.tags, b.spec.Tags, b.r); tags.changed {
		_, err := b.client.PutBucketTagging(ctx, &s3.PutBucketTaggingInput{Bucket: b.name(), Tagging: &types.Tagging{TagSet: tagSet(tags.all)}})
		if err != nil {
			return nil, explain(ctx, b.r, err)
		}
		if tags.declared {
			changed = append(changed, "tags")
		}
	}
	for _, a := range (settings{b}).aspects() {
		differs, err := a.differs(ctx)
		if err == nil && differs {
			changed = append(changed, a.field)
			err = a.write(ctx)
		}
		if err != nil {
			return nil, explain(ctx, b.r, err)
		}
	}
	slices.Sort(changed)
	return changed, nil
}

func (b settings) publicAccessDiffers(ctx context.Context) (bool, error) {
	out, err := b.client.GetPublicAccessBlock(ctx, &s3.GetPublicAccessBlockInput{Bucket: b.name()})
	if err = explain(ctx, b.r, err); code(err) == "NoSuchPublicAccessBlockConfiguration" {
		return *b.spec.PublicAccessBlock, nil
	}
	if err != nil {
		return false, err
	}
	want, is := *b.spec.PublicAccessBlock, out.PublicAccessBlockConfiguration
	if is == nil {
		return want, nil
	}
	for _, setting := range []*bool{is.BlockPublicAcls, is.BlockPublicPolicy, is.IgnorePublicAcls, is.RestrictPublicBuckets} {
		if aws.ToBool(setting) != want {
			return true, nil
		}
	}
	return false, nil
}

func (b settings) writePublicAccess(ctx context.Context) error {
	all := b.spec.PublicAccessBlock
	_, err := b.client.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{Bucket: b.name(), PublicAccessBlockConfiguration: &types.PublicAccessBlockConfiguration{
		BlockPublicAcls: all, BlockPublicPolicy: all, IgnorePublicAcls: all, RestrictPublicBuckets: all,
	}})
	return err
}

func (b settings) versioningDiffers(ctx context.Context) (bool, error) {
	out, err := b.client.GetBucketVersioning(ctx, &s3.GetBucketVersioningInput{Bucket: b.name()})
	if err != nil {
		return false, err
	}
	return (out.Status == types.BucketVersioningStatusEnabled) != *b.spec.Versioning, nil
}

func (b settings) writeVersioning(ctx context.Context) error {
	status := types.BucketVersioningStatusSuspended
	if *b.spec.Versioning {
		status = types.BucketVersioningStatusEnabled
	}
	_, err := b.client.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{Bucket: b.name(), VersioningConfiguration: &types.VersioningConfiguration{Status: status}})
	return err
}

func (b settings) policyDiffers(ctx context.Context) (bool, error) {
	out, err := b.client.GetBucketPolicy(ctx, &s3.GetBucketPolicyInput{Bucket: b.name()})
	if err = explain(ctx, b.r, err); code(err) == "NoSuchBucketPolicy" {
		return len(b.spec.Policy) > 0, nil
	}
	if err != nil {
		return false, err
	}
	return !samePolicy(b.spec.Policy, aws.ToString(out.Policy)), nil
}

func (b settings) writePolicy(ctx context.Context) error {
	if len(b.spec.Policy) == 0 {
		_, err := b.client.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: b.name()})
		return err
	}
	text, err := json.Marshal(b.spec.Policy)
	if err != nil {
		return err
	}
	_, err = b.client.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: b.name(), Policy: aws.String(string(text))})
	return err
}

type encryption struct {
	Algorithm        string  `json:"algorithm"`
	KMSKeyID         *string `json:"kmsKeyId"`
	BucketKeyEnabled *bool   `json:"bucketKeyEnabled"`
}

func (b settings) encryptionDiffers(ctx context.Context) (bool, error) {
	out, err := b.client.GetBucketEncryption(ctx, &s3.GetBucketEncryptionInput{Bucket: b.name()})
	if err = explain(ctx, b.r, err); code(err) == "ServerSideEncryptionConfigurationNotFoundError" {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	want := b.spec.Encryption
	if out.ServerSideEncryptionConfiguration == nil || len(out.ServerSideEncryptionConfiguration.Rules) != 1 {
		return true, nil
	}
	rule := out.ServerSideEncryptionConfiguration.Rules[0]
	is := rule.ApplyServerSideEncryptionByDefault
	return is == nil || string(is.SSEAlgorithm) != want.Algorithm ||
		want.KMSKeyID != nil && aws.ToString(is.KMSMasterKeyID) != *want.KMSKeyID ||
		want.BucketKeyEnabled != nil && aws.ToBool(rule.BucketKeyEnabled) != *want.BucketKeyEnabled, nil
}

func (b settings) writeEncryption(ctx context.Context) error {
	want := b.spec.Encryption
	_, err := b.client.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{Bucket: b.name(), ServerSideEncryptionConfiguration: &types.ServerSideEncryptionConfiguration{
		Rules: []types.ServerSideEncryptionRule{{
			ApplyServerSideEncryptionByDefault: &types.ServerSideEncryptionByDefault{SSEAlgorithm: types.ServerSideEncryption(want.Algorithm), KMSMasterKeyID: want.KMSKeyID},
			BucketKeyEnabled:                   want.BucketKeyEnabled,
		}},
	}})
	return err
}
