package aws

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/orkspace/orkestra/engine/provider"
)

// classes are those of codes whose HTTP status says something else, or too little.
var classes = map[string]provider.Class{
	"Throttling": provider.Throttled, "ThrottlingException": provider.Throttled, "RequestThrottled": provider.Throttled, "RequestThrottledException": provider.Throttled,
	"TooManyRequestsException": provider.Throttled, "SlowDown": provider.Throttled, "RequestLimitExceeded": provider.Throttled, "PriorRequestNotComplete": provider.Throttled,
	"KmsThrottled": provider.Throttled, "LimitExceeded": provider.Throttled,

	"OperationAborted": provider.Transient, "RequestTimeout": provider.Transient, "QueueDeletedRecently": provider.Transient, "AWS.SimpleQueueService.QueueDeletedRecently": provider.Transient,
	"ConcurrentModification": provider.Transient, "ServiceUnavailable": provider.Transient, "InternalError": provider.Transient, "IDPCommunicationError": provider.Transient,

	"AccessDenied": provider.Denied, "AccessDeniedException": provider.Denied, "InvalidAccessKeyId": provider.Denied, "SignatureDoesNotMatch": provider.Denied,
	"ExpiredToken": provider.Denied, "ExpiredTokenException": provider.Denied, "InvalidToken": provider.Denied, "InvalidClientTokenId": provider.Denied, "UnrecognizedClientException": provider.Denied,
	"InvalidIdentityToken": provider.Denied, "IDPRejectedClaim": provider.Denied, "RequestExpired": provider.Denied, "InvalidSecurity": provider.Denied,
	"XAdminUserNotFound": provider.Denied, // versitygw

	"BucketAlreadyExists": provider.NotOwned, "BucketNotEmpty": provider.InUse,
	"QueueDoesNotExist": provider.NotFound, "AWS.SimpleQueueService.NonExistentQueue": provider.NotFound, "QueueNameExists": provider.Transient,
	"PermanentRedirect": provider.Invalid, "MovedPermanently": provider.Invalid, "AuthorizationHeaderMalformed": provider.Invalid,
}

// explain turns an error of the SDK into one of the contract. What is kept of it is the code, the operation, the name of the request and one
// line, without an address or a credential.
func explain(ctx context.Context, r *provider.Request, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if ours, ok := errors.AsType[*provider.Error](err); ok {
		return ours
	}
	out := &provider.Error{Class: provider.Transient}
	if operation, ok := errors.AsType[*smithy.OperationError](err); ok {
		out.Operation = operation.Operation()
	}
	status := 0
	response, answered := errors.AsType[*awshttp.ResponseError](err)
	if answered {
		status, out.RequestID = response.HTTPStatusCode(), r.Line(response.ServiceRequestID())
	}
	var answer smithy.APIError
	if !errors.As(err, &answer) {
		out.Class, out.Message = unanswered(r, status, err)
		return out
	}
	out.Code, out.Message = answer.ErrorCode(), r.Line(answer.ErrorMessage())
	out.Class = classify(status, out.Code)
	if why := elsewhere(r, response); why != "" {
		out.Message = r.Line(why)
	}
	return out
}

func classify(status int, code string) provider.Class {
	if class, known := classes[code]; known {
		return class
	}
	switch {
	case status == http.StatusTooManyRequests:
		return provider.Throttled
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return provider.Denied
	case strings.HasPrefix(code, "NoSuch"):
		return provider.NotFound
	// A 404 with another code, or none, says nothing of the resource: a proxy answers so, or a store that does not know the access key.
	case status == 0, status == http.StatusNotFound, status >= http.StatusInternalServerError && status != http.StatusNotImplemented:
		return provider.Transient
	default:
		return provider.Invalid
	}
}

// unanswered says what is known where the service did not answer in its protocol. The error of the client has the address of the request
// in it, which is left out.
func unanswered(r *provider.Request, status int, err error) (provider.Class, string) {
	if status != 0 {
		return classify(status, ""), fmt.Sprintf("the answer has the HTTP status %d, and is none of this service", status)
	}
	if invalid, ok := errors.AsType[*smithy.InvalidParamsError](err); ok {
		return provider.Invalid, r.Line(invalid.Error())
	}
	if sent, ok := errors.AsType[*url.Error](err); ok {
		return provider.Transient, r.Line("the service can't be reached: " + sent.Err.Error())
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(inner) {
		err = inner
	}
	return provider.Transient, r.Line("the service can't be reached: " + err.Error())
}

// elsewhere says that a bucket is in another region than it was asked for in; empty: the answer does not say so. Amazon S3 tells the region of a
// bucket with other mistakes, too.
func elsewhere(r *provider.Request, response *awshttp.ResponseError) string {
	if response == nil || response.Response == nil || response.HTTPStatusCode() != http.StatusMovedPermanently && response.HTTPStatusCode() != http.StatusBadRequest {
		return ""
	}
	region := response.Response.Header.Get("X-Amz-Bucket-Region")
	if region == "" || region == r.Declared[fieldRegion] {
		return ""
	}
	return fmt.Sprintf("the bucket %v is in the region %s, and was asked for in %v: declare the region %s, or give the bucket another name", r.Declared[fieldName], region, r.Declared[fieldRegion], region)
}

// code is that of an error of the contract; empty: it is another error.
func code(err error) string {
	if ours, ok := errors.AsType[*provider.Error](err); ok {
		return ours.Code
	}
	return ""
}
