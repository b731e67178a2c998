// Package gitops holds no code: its tests hand recorded objects of every state to the rules by which other tools judge them.
package gitops
