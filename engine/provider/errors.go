package provider

import (
	"errors"
	"fmt"
	"strings"
)

// Class says what there is to do about an error.
type Class string

// The classes of errors.
const (
	// Transient errors may pass: the service does not answer, or answers 5xx. The call is made again with growing pauses.
	Transient Class = "Transient"
	// Throttled says that the service asks for fewer calls. It is waited for, and is no failure.
	Throttled Class = "Throttled"
	// Denied says that the credentials are wrong, missing, or lack a right.
	Denied Class = "Denied"
	// Invalid says that the service refuses what is declared. Only a change of it helps.
	Invalid Class = "Invalid"
	// NotOwned says that the resource is somebody else's.
	NotOwned Class = "NotOwned"
	// Duplicate says that another declaration of the same custom resource has made it, which found it by another address.
	Duplicate Class = "Duplicate"
	// NotFound says that the resource is not there, or what it is part of, such as a hosted zone: the message says which.
	NotFound Class = "NotFound"
	// InUse says that the resource can't be deleted now, such as a bucket that is not empty.
	InUse Class = "InUse"
)

// Error is the answer of a service that is no success. It holds no credential, no header and no body.
type Error struct {
	// Class says what there is to do.
	Class Class
	// Operation is the service's name of what was asked, such as CreateBucket.
	Operation string
	// Code is the service's code of the error, such as BucketAlreadyExists; empty: there is none.
	Code string
	// RequestID is the service's name of the request, which its operators ask for; empty: there is none.
	RequestID string
	// Message is one line for people: what was wrong, and what to do.
	Message string
}

// Error gives one line.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Operation)
	if e.Code != "" {
		fmt.Fprintf(&b, ": %s", e.Code)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// IsClass says whether an error is, or wraps, one of a class.
func IsClass(err error, class Class) bool {
	failure, ok := errors.AsType[*Error](err)
	return ok && failure.Class == class
}
