package aws

func bucketSchema() schema {
	return object("", properties{
		"name":              pattern("Name of the bucket, which is unique in all of Amazon S3.", `^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`),
		"region":            pattern("Region in which the bucket is, such as eu-west-1. Stores of others mostly take us-east-1.", regionPattern),
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
	}, "name", "region")
}

func bucketOutputs() schema {
	return object("", properties{
		"name":     text("Name of the bucket."),
		"arn":      text("ARN of the bucket."),
		"region":   text("Region in which the bucket is."),
		"endpoint": text("Base URL of the service, as clients of S3 are given it."),
		"url":      text("URL of the bucket."),
	})
}
