package aws

func recordSchema() schema {
	return object("", properties{
		"zoneId":        pattern("Id of the hosted zone, such as Z0123456789ABC.", `^(/hostedzone/)?[A-Z0-9]{1,32}$`),
		"name":          pattern("Full name, with or without the last dot.", `^[^\s]{1,255}$`),
		"type":          choice("Type of the record.", "A", "AAAA", "CAA", "CNAME", "DS", "HTTPS", "MX", "NAPTR", "NS", "PTR", "SPF", "SRV", "SSHFP", "SVCB", "TLSA", "TXT"),
		"ttl":           between("Seconds for which resolvers may keep it. 300 unless declared; an alias has none.", 0, 2147483647),
		"records":       list("Values, as in a zone file. Quotes around those of TXT and SPF may be left out.", schema{Type: "string"}, 400),
		"setIdentifier": pattern("Name of this record among those with the same name and type. Needed with weight, region or failover.", `^.{1,128}$`),
		"weight":        between("Share of answers that this record has.", 0, 255),
		"region":        pattern("Region for which this record is the answer: latency-based routing.", regionPattern),
		"failover":      choice("Role of this record in failover.", "PRIMARY", "SECONDARY"),
		"healthCheckId": text("Health check without which this record is no answer."),
		"alias": object("A resource of AWS that answers in place of records.", properties{
			"name":                 text("DNS name of the resource."),
			"zoneId":               text("Id of the hosted zone of the resource."),
			"evaluateTargetHealth": boolean("Whether the health of the resource counts. False unless declared."),
		}, "name", "zoneId"),
	}, "zoneId", "name", "type")
}

func recordOutputs() schema {
	return object("", properties{
		"fqdn": text("Full name, without the last dot."),
		"type": text("Type of the record."),
	})
}
