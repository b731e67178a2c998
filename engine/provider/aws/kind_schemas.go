package aws

// Fields and outputs that all kinds have.
const (
	fieldName   = "name"
	fieldRegion = "region"
)

func bucketSchema() schema {
	return object("", properties{
		fieldName:           pattern("Name of the bucket, which is unique in all of Amazon S3.", `^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`),
		fieldRegion:         pattern("Region in which the bucket is, such as eu-west-1. Stores of others mostly take us-east-1.", regionPattern),
		"versioning":        boolean("Whether former versions of objects are kept."),
		"tags":              tagsSchema(),
		"policy":            policySchema(),
		"publicAccessBlock": boolean("Whether access by the public is blocked, whatever policies and ACLs say: all four settings of S3."),
		"forceDestroy":      boolean("Whether deletion deletes the objects, all their versions, and unfinished uploads. Without it, a bucket that is not empty is not deleted."),
		"encryption": object("How objects are encrypted where a request does not say it.", properties{
			"algorithm":        choice("The algorithm.", "AES256", "aws:kms", "aws:kms:dsse"),
			"kmsKeyId":         text("Key of KMS, as ARN, id or alias."),
			"bucketKeyEnabled": boolean("Whether S3 keeps a key for the bucket, which saves requests to KMS."),
		}, "algorithm"),
		"lifecycle": list("Rules by which objects go, or move. They are all the rules of the bucket; [] removes them.", object("", properties{
			"id":                                 text("Name of the rule."),
			"enabled":                            boolean("Whether the rule is followed. True unless declared."),
			"prefix":                             text("Objects whose names begin with it. Empty: all."),
			"expirationDays":                     between("Days after which objects are deleted.", 1, 1<<31-1),
			"noncurrentVersionExpirationDays":    between("Days after which former versions are deleted.", 1, 1<<31-1),
			"abortIncompleteMultipartUploadDays": between("Days after which unfinished uploads are deleted.", 1, 1<<31-1),
			"transitions": list("When objects move to another storage class.", object("", properties{
				"days":         between("Days after which they move.", 0, 1<<31-1),
				"storageClass": text("Where they move to, such as GLACIER or STANDARD_IA."),
			}, "days", "storageClass"), 20),
		}, "id"), 1000),
	}, fieldName, fieldRegion)
}

func bucketOutputs() schema {
	return object("", properties{
		fieldName:   text("Name of the bucket."),
		"arn":       text("ARN of the bucket."),
		fieldRegion: text("Region in which the bucket is."),
		"endpoint":  text("Base URL of the service, as clients of S3 are given it."),
		"url":       text("URL of the bucket."),
	})
}

func queueSchema() schema {
	return object("", properties{
		fieldName:                       pattern("Name of the queue. That of a FIFO queue ends with .fifo.", `^[A-Za-z0-9_-]{1,75}([.]fifo|[A-Za-z0-9_-]{0,5})$`),
		fieldRegion:                     pattern("Region in which the queue is, such as eu-west-1.", regionPattern),
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
	}, fieldName, fieldRegion)
}

func queueOutputs() schema {
	return object("", properties{
		fieldName:   text("Name of the queue."),
		"url":       text("URL of the queue, as clients of SQS are given it."),
		"arn":       text("ARN of the queue."),
		fieldRegion: text("Region in which the queue is."),
	})
}

func recordSchema() schema {
	return object("", properties{
		"zoneId":        pattern("Id of the hosted zone, such as Z0123456789ABC.", `^(/hostedzone/)?[A-Z0-9]{1,32}$`),
		fieldName:       pattern("Full name, with or without the last dot.", `^[^\s]{1,255}$`),
		"type":          choice("Type of the record.", "A", "AAAA", "CAA", "CNAME", "DS", "HTTPS", "MX", "NAPTR", "NS", "PTR", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT"),
		"ttl":           between("Seconds for which resolvers may keep it. 300 unless declared; an alias has none.", 0, 2147483647),
		"records":       list("Values, as in a zone file. Quotes around those of TXT and SPF may be left out.", schema{Type: "string"}, 400),
		"setIdentifier": pattern("Name of this record among those with the same name and type. Needed with weight, region or failover.", `^.{1,128}$`),
		"weight":        between("Share of answers that this record has.", 0, 255),
		fieldRegion:     pattern("Region for which this record is the answer: latency-based routing.", regionPattern),
		"failover":      choice("Role of this record in failover.", "PRIMARY", "SECONDARY"),
		"healthCheckId": text("Health check without which this record is no answer."),
		"alias": object("A resource of AWS that answers in place of records.", properties{
			fieldName:              text("DNS name of the resource."),
			"zoneId":               text("Id of the hosted zone of the resource."),
			"evaluateTargetHealth": boolean("Whether the health of the resource counts. False unless declared."),
		}, "name", "zoneId"),
	}, "zoneId", fieldName, "type")
}

func recordOutputs() schema {
	return object("", properties{
		"fqdn": text("Full name, without the last dot."),
		"type": text("Type of the record."),
	})
}
