// Package engine runs plans: for each box one informer, one queue and one pool of workers, started, swapped and stopped at
// run time. Boxes share nothing that could let one of them hold up another, but for the child informers, which nobody
// writes to.
//
// The engine schedules reconciles, wraps each of them so that nothing it does can harm another, and passes results on:
// to the resource's status, to the health tracker, to metrics and events. It knows nothing of OperatorBox objects, and
// nothing of what the stages of a plan do.
package engine
