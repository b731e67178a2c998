package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/orkspace/orkestra/engine/hook/protocol"
)

// errNotCalled is why nothing is known of what a webhook makes.
var errNotCalled = errors.New("the webhook is not called here, so that what it makes is not known: give its answer by --with, as webhook: {children: []}")

// Answer implements pipeline.StandIn with the answer that was given. What every answer repeats of its request is filled in.
func (s *state) Answer(request []byte) (any, error) {
	if s.webhook == nil {
		return nil, errNotCalled
	}
	var asked struct {
		APIVersion string `json:"apiVersion"`
		UID        string `json:"uid"`
	}
	if err := json.Unmarshal(request, &asked); err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	if asked.APIVersion != protocol.Version {
		return s.webhook, nil // the hooks of Metacontroller repeat nothing
	}
	answer := maps.Clone(s.webhook)
	for name, text := range map[string]string{"apiVersion": protocol.Version, "kind": protocol.KindResponse} {
		if answer[name] == nil {
			answer[name] = text
		}
	}
	answer["uid"] = asked.UID // one that was recorded is about the resource as a cluster had it
	return answer, nil
}
