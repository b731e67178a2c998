package pipeline

import "github.com/orkspace/orkestra/engine/pipeline/stage"

type (
	blocker = stage.Blocker
	weight  = stage.Weight
)

const (
	childFailed   = stage.ChildFailed
	childTroubled = stage.ChildTroubled
	waiting       = stage.Waiting
	childOnItsWay = stage.ChildOnItsWay
)
