package aws

import (
	"cmp"
	"context"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
)

type lifecycleRule struct {
	ID                                 string       `json:"id"`
	Enabled                            *bool        `json:"enabled"`
	Prefix                             string       `json:"prefix"`
	ExpirationDays                     int32        `json:"expirationDays"`
	NoncurrentVersionExpirationDays    int32        `json:"noncurrentVersionExpirationDays"`
	AbortIncompleteMultipartUploadDays int32        `json:"abortIncompleteMultipartUploadDays"`
	Transitions                        []transition `json:"transitions"`
}

type transition struct {
	Days         int32  `json:"days"`
	StorageClass string `json:"storageClass"`
}

// toRule is the rule as S3 writes it.
func (l lifecycleRule) toRule() types.LifecycleRule {
	out := types.LifecycleRule{ID: aws.String(l.ID), Status: types.ExpirationStatusEnabled, Filter: &types.LifecycleRuleFilter{Prefix: aws.String(l.Prefix)}}
	if l.Enabled != nil && !*l.Enabled {
		out.Status = types.ExpirationStatusDisabled
	}
	if l.ExpirationDays > 0 {
		out.Expiration = &types.LifecycleExpiration{Days: aws.Int32(l.ExpirationDays)}
	}
	if l.NoncurrentVersionExpirationDays > 0 {
		out.NoncurrentVersionExpiration = &types.NoncurrentVersionExpiration{NoncurrentDays: aws.Int32(l.NoncurrentVersionExpirationDays)}
	}
	if l.AbortIncompleteMultipartUploadDays > 0 {
		out.AbortIncompleteMultipartUpload = &types.AbortIncompleteMultipartUpload{DaysAfterInitiation: aws.Int32(l.AbortIncompleteMultipartUploadDays)}
	}
	for _, t := range l.Transitions {
		out.Transitions = append(out.Transitions, types.Transition{Days: aws.Int32(t.Days), StorageClass: types.TransitionStorageClass(t.StorageClass)})
	}
	return out
}

// plain gives a rule in the one form in which rules are compared: services leave out what is a default, or write it.
func plain(rule types.LifecycleRule) types.LifecycleRule {
	if rule.Filter == nil {
		rule.Filter = &types.LifecycleRuleFilter{Prefix: aws.String(aws.ToString(rule.Prefix))} //nolint:staticcheck // Old rules have their prefix there.
		rule.Prefix = nil                                                                       //nolint:staticcheck // As above.
	} else if reflect.DeepEqual(*rule.Filter, types.LifecycleRuleFilter{}) {
		rule.Filter = &types.LifecycleRuleFilter{Prefix: aws.String("")}
	}
	if aws.ToString(rule.Prefix) == "" { //nolint:staticcheck // As above.
		rule.Prefix = nil //nolint:staticcheck // As above.
	}
	if rule.Expiration != nil && !aws.ToBool(rule.Expiration.ExpiredObjectDeleteMarker) {
		expiration := *rule.Expiration
		expiration.ExpiredObjectDeleteMarker = nil
		rule.Expiration = &expiration
	}
	rule.Transitions = slices.Clone(rule.Transitions)
	slices.SortFunc(rule.Transitions, func(a, b types.Transition) int {
		return cmp.Or(cmp.Compare(aws.ToInt32(a.Days), aws.ToInt32(b.Days)), cmp.Compare(a.StorageClass, b.StorageClass))
	})
	if len(rule.Transitions) == 0 {
		rule.Transitions = nil
	}
	if len(rule.NoncurrentVersionTransitions) == 0 {
		rule.NoncurrentVersionTransitions = nil
	}
	return rule
}

func sameRules(declared []lifecycleRule, current []types.LifecycleRule) bool {
	byID := map[string]types.LifecycleRule{}
	for _, rule := range current {
		byID[aws.ToString(rule.ID)] = rule
	}
	if len(declared) != len(current) || len(byID) != len(current) {
		return false
	}
	for _, l := range declared {
		is, found := byID[l.ID]
		if !found || !reflect.DeepEqual(plain(is), plain(l.toRule())) {
			return false
		}
	}
	return true
}

func (b settings) lifecycleDiffers(ctx context.Context) (bool, error) {
	out, err := b.client.GetBucketLifecycleConfiguration(ctx, &s3.GetBucketLifecycleConfigurationInput{Bucket: b.name()})
	if err = explain(ctx, b.r, err); code(err) == "NoSuchLifecycleConfiguration" {
		return len(b.spec.Lifecycle) > 0, nil
	}
	if err != nil {
		return false, err
	}
	return !sameRules(b.spec.Lifecycle, out.Rules), nil
}

func (b settings) writeLifecycle(ctx context.Context) error {
	if len(b.spec.Lifecycle) == 0 {
		_, err := b.client.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: b.name()})
		return err
	}
	var rules []types.LifecycleRule
	for _, l := range b.spec.Lifecycle {
		rules = append(rules, l.toRule())
	}
	_, err := b.client.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{Bucket: b.name(), LifecycleConfiguration: &types.BucketLifecycleConfiguration{Rules: rules}})
	return err
}
