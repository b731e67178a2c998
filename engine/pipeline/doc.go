// Package pipeline turns a box into a plan, and runs the plan for one resource.
//
// Compile says everything that is wrong with a box. The Plan that it gives is immutable and safe for concurrent use. A Run
// is fresh for each reconcile. Stages run in the order of order.go; each is one file that holds both of its halves: what is
// compiled and what is run. All side effects go through the interfaces of ports.go, so that the same plan runs in the
// cluster, in a test and on the command line.
//
// The package may not know the engine, the watches, or how a box is scheduled.
package pipeline
