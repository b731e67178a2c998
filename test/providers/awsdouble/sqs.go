package awsdouble

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
)

// Queue is a queue of SQS.
type Queue struct {
	Name       string
	Attributes map[string]string
	Tags       map[string]string
}

type sqsRequest struct {
	QueueName  string            `json:"QueueName"`
	QueueURL   string            `json:"QueueUrl"`
	Attributes map[string]string `json:"Attributes"`
	CreateTags map[string]string `json:"tags"`
	Tags       map[string]string `json:"Tags"`
	TagKeys    []string          `json:"TagKeys"`
}

// Queues gives all queues, by region and name, as region/name.
func (c *Cloud) Queues() map[string]*Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.queues)
}

// PutQueue makes a queue, as somebody else would.
func (c *Cloud) PutQueue(region, name string, tags map[string]string) *Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	q := newQueue(region, name, nil, tags)
	c.queues[region+"/"+name] = q
	return q
}

// DropQueue deletes a queue behind everybody's back.
func (c *Cloud) DropQueue(region, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.queues, region+"/"+name)
}

func newQueue(region, name string, attributes, tags map[string]string) *Queue {
	q := &Queue{Name: name, Attributes: map[string]string{
		"VisibilityTimeout": "30", "MessageRetentionPeriod": "345600", "DelaySeconds": "0", "MaximumMessageSize": "262144", "ReceiveMessageWaitTimeSeconds": "0",
		"SqsManagedSseEnabled": "true", "QueueArn": "arn:aws:sqs:" + region + ":123456789012:" + name,
	}, Tags: map[string]string{}}
	maps.Copy(q.Attributes, attributes)
	maps.Copy(q.Tags, tags)
	return q
}

func refuseJSON(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	shape := code
	if code == "AWS.SimpleQueueService.NonExistentQueue" {
		shape = "QueueDoesNotExist"
	}
	if code == "QueueAlreadyExists" {
		shape = "QueueNameExists"
	}
	w.Header().Set("X-Amzn-Query-Error", code+";Sender")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.sqs#" + shape, "message": message}) //nolint:errchkjson // Nobody is left to be told.
}

func answerJSON(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // Nobody is left to be told.
}

func (c *Cloud) sqs(w http.ResponseWriter, req *http.Request, region string) {
	operation := strings.TrimPrefix(req.Header.Get("X-Amz-Target"), "AmazonSQS.")
	c.Seen = append(c.Seen, operation)
	var in sqsRequest
	if err := json.NewDecoder(req.Body).Decode(&in); err != nil {
		refuseJSON(w, http.StatusBadRequest, "SerializationException", err.Error())
		return
	}
	name := in.QueueName
	if in.QueueURL != "" {
		name = in.QueueURL[strings.LastIndex(in.QueueURL, "/")+1:]
	}
	key := region + "/" + name
	q, found := c.queues[key]
	url := fmt.Sprintf("https://sqs.%s.amazonaws.com/123456789012/%s", region, name)
	if operation == "CreateQueue" {
		c.createQueue(w, in, q, key, url)
		return
	}
	if !found {
		refuseJSON(w, http.StatusBadRequest, "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
		return
	}
	switch operation {
	case "GetQueueUrl":
		answerJSON(w, map[string]any{"QueueUrl": url})
	case "ListQueueTags":
		answerJSON(w, map[string]any{"Tags": q.Tags})
	case "GetQueueAttributes":
		answerJSON(w, map[string]any{"Attributes": q.Attributes})
	case "SetQueueAttributes":
		for key, value := range in.Attributes {
			if q.Attributes[key] = value; value == "" {
				delete(q.Attributes, key)
			}
		}
		answerJSON(w, map[string]any{})
	case "TagQueue":
		maps.Copy(q.Tags, in.Tags)
		answerJSON(w, map[string]any{})
	case "UntagQueue":
		for _, key := range in.TagKeys {
			delete(q.Tags, key)
		}
		answerJSON(w, map[string]any{})
	case "DeleteQueue":
		delete(c.queues, key)
		answerJSON(w, map[string]any{})
	default:
		refuseJSON(w, http.StatusBadRequest, "InvalidAction", operation)
	}
}

// createQueue answers with the queue that is there, where its attributes are the same: tags are not looked at.
func (c *Cloud) createQueue(w http.ResponseWriter, in sqsRequest, q *Queue, key, url string) {
	region, _, _ := strings.Cut(key, "/")
	if fifo := strings.HasSuffix(in.QueueName, ".fifo"); fifo != (in.Attributes["FifoQueue"] == "true") {
		refuseJSON(w, http.StatusBadRequest, "InvalidParameterValue", "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, must end with .fifo suffix.")
		return
	}
	if q == nil {
		tags := in.CreateTags
		if tags == nil {
			tags = in.Tags
		}
		c.queues[key] = newQueue(region, in.QueueName, in.Attributes, tags)
	} else {
		for name, value := range in.Attributes {
			if q.Attributes[name] != value {
				refuseJSON(w, http.StatusBadRequest, "QueueAlreadyExists", "A queue already exists with the same name and a different value for attribute "+name)
				return
			}
		}
	}
	answerJSON(w, map[string]any{"QueueUrl": url})
}
