package mongodb

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/x/mongo/driver/topology"

	"github.com/orkspace/orkestra/engine/provider"
)

// The codes of the server that are told apart.
const (
	codeHostUnreachable      = 6
	codeHostNotFound         = 7
	codeUserNotFound         = 11
	codeUnauthorized         = 13
	codeAuthenticationFailed = 18
	codeNamespaceNotFound    = 26
	codeIndexNotFound        = 27
	codeNamespaceExists      = 48
	codeMaxTimeExpired       = 50
	codeNetworkTimeout       = 89
	codeShutdown             = 91
	codeSteppedDown          = 189
	codeExceededTimeLimit    = 262
	codeOverloaded           = 462
	codeNotPrimaryOld        = 10058
	codeNotPrimary           = 10107
	codeInterruptedShutdown  = 11600
	codeInterruptedReplState = 11602
	codeDuplicateKey         = 11000
	codeNotPrimaryNoFallback = 13435
	codeRecovering           = 13436
	codeRequestRateLarge     = 16500
	codeUserExists           = 51003
)

var classes = map[int]provider.Class{
	codeUnauthorized: provider.Denied, codeAuthenticationFailed: provider.Denied,
	codeUserNotFound: provider.NotFound, codeNamespaceNotFound: provider.NotFound, codeIndexNotFound: provider.NotFound,
	codeOverloaded: provider.Throttled, codeRequestRateLarge: provider.Throttled,
	codeHostUnreachable: provider.Transient, codeHostNotFound: provider.Transient, codeMaxTimeExpired: provider.Transient, codeNetworkTimeout: provider.Transient,
	codeShutdown: provider.Transient, codeSteppedDown: provider.Transient, codeExceededTimeLimit: provider.Transient, codeNotPrimaryOld: provider.Transient,
	codeNotPrimary: provider.Transient, codeInterruptedShutdown: provider.Transient, codeInterruptedReplState: provider.Transient, codeDuplicateKey: provider.Transient,
	codeNotPrimaryNoFallback: provider.Transient, codeRecovering: provider.Transient, codeNamespaceExists: provider.Transient, codeUserExists: provider.Transient,
}

// explain turns an error of the driver into one of the contract.
func explain(ctx context.Context, r *provider.Request, command string, err error) error {
	if err == nil {
		return nil
	}
	if ours, ok := errors.AsType[*provider.Error](err); ok {
		return ours
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	out := &provider.Error{Class: provider.Transient, Operation: command, Message: r.Line(err.Error())}
	number, name := codeOf(err)
	if number == 0 {
		out.Message = r.Line("the server can't be reached: " + unreached(err))
		return out
	}
	out.Code = name
	class, known := classes[number]
	if out.Class = class; !known {
		out.Class = provider.Invalid
	}
	if number == codeAuthenticationFailed {
		out.Message = "the server refuses the username and the password of the Secret of the credentials; a user of another database than that of the endpoint needs its name there, as authSource"
	}
	return out
}

// unreached says why no server could be asked. The driver tells of the wait first, and of each server only in what it knows of the whole cluster: what
// keeps a server from being reached is what helps.
func unreached(err error) string {
	selecting, ok := errors.AsType[topology.ServerSelectionError](err)
	if !ok {
		return err.Error()
	}
	var each []string
	for _, server := range selecting.Desc.Servers {
		if server.LastError != nil {
			each = append(each, fmt.Sprintf("%s: %v", server.Addr, innermost(server.LastError)))
		}
	}
	if len(each) == 0 {
		return err.Error()
	}
	return strings.Join(each, "; ")
}

// innermost is the error that others have wrapped.
func innermost(err error) error {
	for next := err; next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

// codeOf is the code of the server, with its name; 0: the server has not said anything.
func codeOf(err error) (number int, name string) {
	if command, ok := errors.AsType[mongo.CommandError](err); ok {
		return int(command.Code), command.Name
	}
	if write, ok := errors.AsType[mongo.WriteException](err); ok {
		for _, failed := range write.WriteErrors {
			return failed.Code, ""
		}
		if write.WriteConcernError != nil {
			return write.WriteConcernError.Code, write.WriteConcernError.Name
		}
	}
	return 0, ""
}

func hasCode(err error, number int) bool {
	is, _ := codeOf(err)
	return is == number
}
