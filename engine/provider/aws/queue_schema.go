package aws

func queueSchema() schema {
	return object("", properties{
		"name":                          pattern("Name of the queue. That of a FIFO queue ends with .fifo.", `^[A-Za-z0-9_-]{1,75}([.]fifo|[A-Za-z0-9_-]{0,5})$`),
		"region":                        pattern("Region in which the queue is, such as eu-west-1.", regionPattern),
		"fifo":                          boolean("Whether it is a FIFO queue. Its name says the same, by the ending .fifo; it can't be changed."),
		"contentBasedDeduplication":     boolean("Whether messages of a FIFO queue with the same body are one message."),
		"visibilityTimeoutSeconds":      between("Seconds for which a message that was received is not given to others.", 0, 43200),
		"messageRetentionSeconds":       between("Seconds after which a message is dropped.", 60, 1209600),
		"delaySeconds":                  between("Seconds after which a message can be received first.", 0, 900),
		"maximumMessageSize":            between("Bytes that a message may have.", 1024, 1048576),
		"receiveMessageWaitTimeSeconds": between("Seconds for which a request to receive waits for messages.", 0, 20),
		"tags":                          tagsSchema(),
		"policy":                        policySchema(),
		"redrivePolicy": object("Where messages go that were received too often.", properties{
			"deadLetterTargetArn": text("ARN of the dead-letter queue."),
			"maxReceiveCount":     between("How often a message is received before.", 1, 1000),
		}, "deadLetterTargetArn", "maxReceiveCount"),
		"encryption": object("How messages are encrypted: by keys of SQS, or of KMS.", properties{
			"sqsManaged":                   boolean("Whether keys of SQS are used."),
			"kmsKeyId":                     text("Key of KMS, as ARN, id or alias."),
			"kmsDataKeyReusePeriodSeconds": between("Seconds for which a data key is used before KMS is asked again.", 60, 86400),
		}),
	}, "name", "region")
}

func queueOutputs() schema {
	return object("", properties{
		"name":   text("Name of the queue."),
		"url":    text("URL of the queue, as clients of SQS are given it."),
		"arn":    text("ARN of the queue."),
		"region": text("Region in which the queue is."),
	})
}
