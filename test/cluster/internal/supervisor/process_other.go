//go:build !linux

package supervisor

import "syscall"

// childAttributes gives a child a process group of its own, so that Ctrl-C reaches the supervisor alone. Nothing here can
// tie its life to the supervisor: one that is killed with force leaves its children behind.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
