package supervisor

import (
	"net"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReservePort(t *testing.T) {
	p, err := reservePort()
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(loopback, strconv.Itoa(p.number))
	if listener, err := net.Listen("tcp", address); err == nil {
		t.Errorf("somebody else got the port")
		_ = listener.Close()
	}
	if connection, err := net.Dial("tcp", address); err == nil {
		t.Errorf("nobody listens, but the connection is accepted")
		_ = connection.Close()
	}
	// As a child does, twice: it can be restarted.
	for range 2 {
		listen(t, p)
	}
	if err := p.release(); err != nil {
		t.Error(err)
	}
}

func listen(t *testing.T, p *port) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(fd) }()
	for _, option := range []int{unix.SO_REUSEADDR, unix.SO_REUSEPORT} {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, 1); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: p.number, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Errorf("sharing the port: %v", err)
		return
	}
	if err := unix.Listen(fd, 1); err != nil {
		t.Errorf("listening on the shared port: %v", err)
	}
	connection, err := net.Dial("tcp", net.JoinHostPort(loopback, strconv.Itoa(p.number)))
	if err != nil {
		t.Errorf("connecting to the shared port: %v", err)
		return
	}
	_ = connection.Close()
}
