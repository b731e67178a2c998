// Package providers holds the tests of the providers against servers.
//
// S3 is versitygw, and MongoDB is FerretDB with SQLite, each as a process that a test starts and ends, on a socket in a temporary folder. SQS,
// Route 53 and STS are doubles (package awsdouble), as are three fields of a bucket that versitygw does not know, and roles and
// validators of MongoDB, which FerretDB does not know. It is a module of its own, so that the servers' dependencies never touch the product's.
package providers
