package stage

// Blocker is one thing that stands between a cycle without error and a resource that is Ready with nothing left to do.
type Blocker struct {
	Wait

	// Weight says which blocker is named before which.
	Weight Weight
	// Gives is the name by which others need what this is about.
	Gives string
	// Needs are the names of what it waits for.
	Needs []string
}

// Weight says which blocker is named before which: the smaller first.
type Weight int

// The weights.
const (
	ChildFailed   Weight = iota // a child that goes no further by itself
	ChildTroubled               // a child that says what is wrong, and goes on when that is mended
	Waiting                     // a gate, or whatever else is waited for
	ChildOnItsWay               // a child that has not settled yet
	NotReadyYet                 // status.readyWhen
)
