package supervisor

import "syscall"

// childAttributes gives a child a process group of its own, so that Ctrl-C reaches the supervisor alone, and ties its life
// to the thread that starts it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
