package supervisor

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// loopback is the only address that anything listens on.
const loopback = "127.0.0.1"

// port is a free TCP port on loopback that is held for as long as the cluster lives: bound, but not listened on. A child
// that shares ports (SO_REUSEPORT) listens on it; while none does, connections are refused and nobody else gets the port.
type port struct {
	number int
	fd     int
}

func reservePort() (*port, error) {
	syscall.ForkLock.RLock() // no child may inherit the socket
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err == nil {
		unix.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, fmt.Errorf("reserving a port: %w", err)
	}
	number, err := bindFree(fd)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reserving a port: %w", err), unix.Close(fd))
	}
	return &port{number: number, fd: fd}, nil
}

func (p *port) release() error {
	return unix.Close(p.fd)
}

func bindFree(fd int) (int, error) {
	// Not SO_REUSEADDR: the kernel would give the port to any other process that sets it, and Go's listeners do.
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEPORT, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, fmt.Errorf("address of type %T", address)
	}
	return inet.Port, nil
}
