// Package gitops holds no code: its tests run what other tools decide by over recorded objects of every state.
package gitops
