package aws

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/orkspace/orkestra/engine/provider"
)

type queueSpec struct {
	Name                          string            `json:"name"`
	Region                        string            `json:"region"`
	FIFO                          *bool             `json:"fifo"`
	ContentBasedDeduplication     *bool             `json:"contentBasedDeduplication"`
	VisibilityTimeoutSeconds      *int64            `json:"visibilityTimeoutSeconds"`
	MessageRetentionSeconds       *int64            `json:"messageRetentionSeconds"`
	DelaySeconds                  *int64            `json:"delaySeconds"`
	MaximumMessageSize            *int64            `json:"maximumMessageSize"`
	ReceiveMessageWaitTimeSeconds *int64            `json:"receiveMessageWaitTimeSeconds"`
	Tags                          map[string]string `json:"tags"`
	Policy                        map[string]any    `json:"policy"`
	RedrivePolicy                 *redrivePolicy    `json:"redrivePolicy"`
	Encryption                    *queueEncryption  `json:"encryption"`
}

type redrivePolicy struct {
	DeadLetterTargetARN string `json:"deadLetterTargetArn"`
	MaxReceiveCount     int64  `json:"maxReceiveCount"`
}

type queueEncryption struct {
	SQSManaged                   *bool   `json:"sqsManaged"`
	KMSKeyID                     *string `json:"kmsKeyId"`
	KMSDataKeyReusePeriodSeconds *int64  `json:"kmsDataKeyReusePeriodSeconds"`
}

const fifoEnding = ".fifo"

type queueDriver struct{ services *services }

// queue is one queue, for one call.
type queue struct {
	r      *provider.Request
	spec   queueSpec
	client *sqs.Client
	url    string
	tags   map[string]string
}

func (d queueDriver) open(ctx context.Context, r *provider.Request) (*queue, error) {
	q := &queue{r: r}
	if err := r.Decode(&q.spec); err != nil {
		return nil, err
	}
	if err := reserved(q.spec.Tags); err != nil {
		return nil, err
	}
	if named := strings.HasSuffix(q.spec.Name, fifoEnding); q.spec.FIFO != nil && *q.spec.FIFO != named {
		return nil, &provider.Error{Class: provider.Invalid, Operation: "Declared",
			Message: fmt.Sprintf("fifo is %t, but the name is %s: the names of FIFO queues end with .fifo, and no others do", *q.spec.FIFO, q.spec.Name)}
	}
	config, err := d.services.config(ctx, r, q.spec.Region)
	if err != nil {
		return nil, err
	}
	q.client = sqs.NewFromConfig(config)
	return q, nil
}

// find reads the URL, and by it the tags.
func (q *queue) find(ctx context.Context) (ownership, error) {
	out, err := q.client.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: aws.String(q.spec.Name)})
	if err == nil {
		q.url = aws.ToString(out.QueueUrl)
		return q.readTags(ctx)
	}
	if err = explain(ctx, q.r, err); provider.IsClass(err, provider.NotFound) {
		return absent, nil
	}
	return absent, err
}

func (q *queue) readTags(ctx context.Context) (ownership, error) {
	out, err := q.client.ListQueueTags(ctx, &sqs.ListQueueTagsInput{QueueUrl: aws.String(q.url)})
	if err == nil {
		q.tags = out.Tags
		return whose(q.tags, q.r), nil
	}
	if err = explain(ctx, q.r, err); provider.IsClass(err, provider.NotFound) {
		return absent, nil
	}
	return absent, err
}

func (q *queue) mayTouch(is ownership) bool { return is == ours || is == unmarked && q.r.Adopt }

func (q *queue) refusal(operation string) error {
	return refusal(q.r, operation, "the queue "+q.spec.Name, untag, q.tags)
}

// Ensure makes the queue with its mark, and corrects what differs.
func (d queueDriver) Ensure(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	q, err := d.open(ctx, r)
	if err != nil {
		return nil, err
	}
	is, err := q.find(ctx)
	if err != nil {
		return nil, err
	}
	made := is == absent
	if made {
		if is, err = q.create(ctx); err != nil {
			return nil, err
		}
	}
	if !q.mayTouch(is) {
		return nil, q.refusal("CreateQueue")
	}
	changed, arn, err := q.correct(ctx)
	if err != nil {
		return nil, err
	}
	return &provider.Observed{Outputs: q.outputs(arn), Differs: changed, Created: made, Noted: q.note()}, nil
}

// create makes the queue. SQS answers with the one that is there, if there is one with the same attributes, so the tags are read in any case.
func (q *queue) create(ctx context.Context) (ownership, error) {
	attributes := map[string]string{}
	for _, a := range q.attributes() {
		if a.value != "" {
			attributes[a.key] = a.value
		}
	}
	if strings.HasSuffix(q.spec.Name, fifoEnding) {
		attributes[string(types.QueueAttributeNameFifoQueue)] = "true"
	}
	out, err := q.client.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(q.spec.Name), Attributes: attributes, Tags: retag(nil, q.spec.Tags, q.r).all})
	if err != nil {
		return absent, explain(ctx, q.r, err)
	}
	q.url = aws.ToString(out.QueueUrl)
	is, err := q.readTags(ctx)
	if err == nil && is == absent {
		err = &provider.Error{Class: provider.Transient, Operation: "CreateQueue", Message: "the queue was made, and is not visible yet"}
	}
	return is, err
}

// Observe compares.
func (d queueDriver) Observe(ctx context.Context, r *provider.Request) (*provider.Observed, error) {
	q, err := d.open(ctx, r)
	if err != nil {
		return nil, err
	}
	is, err := q.find(ctx)
	switch {
	case err != nil:
		return nil, err
	case is == absent:
		return nil, &provider.Error{Class: provider.NotFound, Operation: "GetQueueUrl", Message: "there is no queue " + q.spec.Name}
	case !q.mayTouch(is):
		return nil, q.refusal("ListQueueTags")
	}
	wrong, arn, err := q.read(ctx)
	if err != nil {
		return nil, err
	}
	differs := fields(wrong)
	if retag(q.tags, q.spec.Tags, r).declared {
		differs = append(differs, "tags")
	}
	slices.Sort(differs)
	return &provider.Observed{Outputs: q.outputs(arn), Differs: slices.Compact(differs), Token: q.tags[markToken]}, nil
}

// Delete deletes the queue, with the messages that are in it.
func (d queueDriver) Delete(ctx context.Context, r *provider.Request) (gone bool, err error) {
	q, err := d.open(ctx, r)
	if err != nil {
		return false, err
	}
	is, err := q.find(ctx)
	if err != nil {
		return false, err
	}
	if is != ours {
		return true, nil
	}
	_, err = q.client.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: aws.String(q.url)})
	if err = explain(ctx, r, err); err != nil && !provider.IsClass(err, provider.NotFound) {
		return false, err
	}
	return true, nil
}

func (q *queue) note() map[string]string {
	if len(q.spec.Tags) == 0 {
		return nil
	}
	return map[string]string{notedTags: tagNote(q.spec.Tags)}
}

func (q *queue) outputs(arn string) map[string]any {
	return map[string]any{fieldName: q.spec.Name, "url": q.url, "arn": arn, fieldRegion: q.spec.Region}
}
