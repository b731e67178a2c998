// Package upgrade goes from the first release to this one and back, step by step and with processes that die on the way, on a real control plane that has
// the CRDs of each step, while resources are made, changed and deleted.
package upgrade
