package aws

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// attribute is one attribute of a queue, with the declared field that it comes from. An empty value removes it.
type attribute struct {
	field, key, value string
	same              func(current string) bool
}

// attributes are those that are declared.
func (q *queue) attributes() []attribute {
	var out []attribute
	add := func(field string, key types.QueueAttributeName, value string) {
		out = append(out, attribute{field: field, key: string(key), value: value, same: func(current string) bool { return current == value }})
	}
	for _, number := range []struct {
		field string
		key   types.QueueAttributeName
		value *int64
	}{
		{"visibilityTimeoutSeconds", types.QueueAttributeNameVisibilityTimeout, q.spec.VisibilityTimeoutSeconds},
		{"messageRetentionSeconds", types.QueueAttributeNameMessageRetentionPeriod, q.spec.MessageRetentionSeconds},
		{"delaySeconds", types.QueueAttributeNameDelaySeconds, q.spec.DelaySeconds},
		{"maximumMessageSize", types.QueueAttributeNameMaximumMessageSize, q.spec.MaximumMessageSize},
		{"receiveMessageWaitTimeSeconds", types.QueueAttributeNameReceiveMessageWaitTimeSeconds, q.spec.ReceiveMessageWaitTimeSeconds},
	} {
		if number.value != nil {
			add(number.field, number.key, strconv.FormatInt(*number.value, 10))
		}
	}
	if value := q.spec.ContentBasedDeduplication; value != nil {
		add("contentBasedDeduplication", types.QueueAttributeNameContentBasedDeduplication, strconv.FormatBool(*value))
	}
	if e := q.spec.Encryption; e != nil {
		if e.SQSManaged != nil {
			add("encryption", types.QueueAttributeNameSqsManagedSseEnabled, strconv.FormatBool(*e.SQSManaged))
		}
		if e.KMSKeyID != nil {
			add("encryption", types.QueueAttributeNameKmsMasterKeyId, *e.KMSKeyID)
		}
		if e.KMSDataKeyReusePeriodSeconds != nil {
			add("encryption", types.QueueAttributeNameKmsDataKeyReusePeriodSeconds, strconv.FormatInt(*e.KMSDataKeyReusePeriodSeconds, 10))
		}
	}
	return append(out, q.documents()...)
}

// documents are the attributes that are JSON.
func (q *queue) documents() []attribute {
	var out []attribute
	if q.spec.Policy != nil {
		out = append(out, attribute{field: "policy", key: string(types.QueueAttributeNamePolicy), value: document(q.spec.Policy),
			same: func(current string) bool { return samePolicy(q.spec.Policy, current) }})
	}
	if q.spec.RedrivePolicy != nil {
		out = append(out, attribute{field: "redrivePolicy", key: string(types.QueueAttributeNameRedrivePolicy), value: document(q.spec.RedrivePolicy),
			same: func(current string) bool { return q.spec.RedrivePolicy.same(current) }})
	}
	return out
}

// document is the JSON of what was JSON before; that of an empty object is empty.
func document(value any) string {
	text, err := json.Marshal(value)
	if err != nil || string(text) == "{}" {
		return ""
	}
	return string(text)
}

// same compares with what SQS gives back, where the number may be a text.
func (p *redrivePolicy) same(current string) bool {
	var is struct {
		DeadLetterTargetARN string      `json:"deadLetterTargetArn"`
		MaxReceiveCount     json.Number `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(current), &is) != nil {
		return false
	}
	count, err := is.MaxReceiveCount.Int64()
	return err == nil && reflect.DeepEqual(*p, redrivePolicy{is.DeadLetterTargetARN, count})
}

// read gives the attributes that are not as declared.
func (q *queue) read(ctx context.Context) (wrong []attribute, arn string, err error) {
	out, err := q.client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: aws.String(q.url), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return nil, "", explain(ctx, q.r, err)
	}
	for _, a := range q.attributes() {
		if !a.same(out.Attributes[a.key]) {
			wrong = append(wrong, a)
		}
	}
	return wrong, out.Attributes[string(types.QueueAttributeNameQueueArn)], nil
}

func fields(wrong []attribute) []string {
	var out []string
	for _, a := range wrong {
		out = append(out, a.field)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// correct writes what differs: the tags, and the attributes that are wrong by one request.
func (q *queue) correct(ctx context.Context) (changed []string, arn string, err error) {
	tags := retag(q.tags, q.spec.Tags, q.r)
	if len(tags.removed) > 0 {
		if _, err := q.client.UntagQueue(ctx, &sqs.UntagQueueInput{QueueUrl: aws.String(q.url), TagKeys: tags.removed}); err != nil {
			return nil, "", explain(ctx, q.r, err)
		}
	}
	if tags.changed {
		if _, err := q.client.TagQueue(ctx, &sqs.TagQueueInput{QueueUrl: aws.String(q.url), Tags: tags.all}); err != nil {
			return nil, "", explain(ctx, q.r, err)
		}
	}
	wrong, arn, err := q.read(ctx)
	if err != nil {
		return nil, "", err
	}
	if len(wrong) > 0 {
		attributes := map[string]string{}
		for _, a := range wrong {
			attributes[a.key] = a.value
		}
		if _, err := q.client.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: aws.String(q.url), Attributes: attributes}); err != nil {
			return nil, "", explain(ctx, q.r, err)
		}
	}
	changed = fields(wrong)
	if tags.declared {
		changed = append(changed, "tags")
	}
	slices.Sort(changed)
	return changed, arn, nil
}
