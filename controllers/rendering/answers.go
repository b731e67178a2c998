package rendering

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/orkspace/orkestra/engine/external"
	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// answers stand in for services and webhooks, which are not called.
type answers struct{ r *Rendering }

// Call implements pipeline.Caller with the answers that were given.
func (a answers) Call(_ context.Context, request *external.Request) (*external.Answer, error) {
	answer := a.r.Known.answers[request.Name]
	switch {
	case answer == nil:
		return nil, &external.Error{Refused: true, Text: fmt.Sprintf("nothing is called here: give the answer %s, as external: {%s: {status: 200, body: {}}}", a.r.Words.GiveRest, request.Name)}
	case len(request.Expected) > 0 && !slices.Contains(request.Expected, answer.Status):
		return nil, &external.Error{Refused: true, Status: answer.Status, Text: fmt.Sprintf("answered %d, wanted %v", answer.Status, request.Expected)}
	default:
		return answer, nil
	}
}

// Answer implements pipeline.StandIn with the answer that was given. What every answer repeats of its request is filled in.
func (a answers) Answer(request []byte) (any, error) {
	if a.r.Known.webhook == nil {
		return nil, fmt.Errorf("the webhook is not called here, so that what it makes is not known: give its answer %s, as webhook: {children: []}", a.r.Words.GiveRest)
	}
	var asked struct {
		APIVersion string `json:"apiVersion"`
		UID        string `json:"uid"`
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	if asked.APIVersion != protocol.Version {
		return a.r.Known.webhook, nil // the hooks of Metacontroller repeat nothing
	}
	answer := maps.Clone(a.r.Known.webhook)
	for name, text := range map[string]string{"apiVersion": protocol.Version, "kind": protocol.KindResponse} {
		if answer[name] == nil {
			answer[name] = text
		}
	}
	answer["uid"] = asked.UID // one that was recorded is about the resource as a cluster had it
	return answer, nil
}
