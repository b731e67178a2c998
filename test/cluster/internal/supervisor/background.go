package supervisor

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/orkspace/orkestra/test/cluster/internal/folder"
)

// downTimeout is how long a supervisor may take to end before it is killed.
const downTimeout = 15 * time.Second

// ErrDown says that no cluster runs in the folder.
var ErrDown = errors.New("no cluster is running")

// Up returns the cluster in the folder, and starts it in the background first if it does not run. The command runs this
// program as the supervisor, by calling Supervise.
func Up(ctx context.Context, dir string, command *exec.Cmd) (Ready, error) {
	if _, ok, err := folder.Owner(dir); err != nil {
		return Ready{}, err
	} else if ok {
		return waitAnnounced(ctx, dir)
	}
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // the terminal may close
	out, err := command.StdoutPipe()
	if err != nil {
		return Ready{}, fmt.Errorf("starting the supervisor: %w", err)
	}
	if err := command.Start(); err != nil {
		return Ready{}, fmt.Errorf("starting the supervisor: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = command.Process.Signal(syscall.SIGTERM) }) // it fails only if the process has ended
	defer stop()
	var line struct {
		Ready
		Answer
	}
	err = json.NewDecoder(bufio.NewReader(out)).Decode(&line)
	if err == nil && line.Error == "" {
		return line.Ready, command.Process.Release()
	}
	if line.Error != "" {
		err = errors.New(line.Error)
	}
	if reapErr := reap(command); reapErr != nil {
		return Ready{}, reapErr
	}
	if _, ok, ownerErr := folder.Owner(dir); ownerErr == nil && ok {
		return waitAnnounced(ctx, dir) // another call was faster
	}
	return Ready{}, fmt.Errorf("starting the cluster: %w", err)
}

// reap waits for a supervisor that failed; that it did is known already.
func reap(command *exec.Cmd) error {
	var exit *exec.ExitError
	if err := command.Wait(); err != nil && !errors.As(err, &exit) {
		return fmt.Errorf("waiting for the supervisor: %w", err)
	}
	return nil
}

// Running returns the cluster in the folder; ErrDown if there is none, or it is not ready yet.
func Running(dir string) (Ready, error) {
	_, ok, err := folder.Owner(dir)
	if err != nil {
		return Ready{}, err
	}
	if !ok {
		return Ready{}, fmt.Errorf("looking into %q: %w", dir, ErrDown)
	}
	data, err := os.ReadFile(filepath.Join(dir, readyFile))
	if errors.Is(err, os.ErrNotExist) {
		return Ready{}, fmt.Errorf("looking into %q: %w (one is starting)", dir, ErrDown)
	}
	if err != nil {
		return Ready{}, fmt.Errorf("looking into %q: %w", dir, err)
	}
	var ready Ready
	if err := json.Unmarshal(data, &ready); err != nil {
		return Ready{}, fmt.Errorf("reading %s: %w", readyFile, err)
	}
	return ready, nil
}

// Down ends the cluster in the folder and removes the folder. It does nothing if there is none.
func Down(dir string) error {
	if err := end(dir, syscall.SIGTERM, downTimeout); err != nil {
		return err
	}
	if err := end(dir, syscall.SIGKILL, downTimeout); err != nil {
		return err
	}
	return folder.RemoveStale(dir)
}

// end signals the owner of the folder until it has none, or time is up.
func end(dir string, signal syscall.Signal, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	signalled := 0
	for time.Now().Before(deadline) {
		pid, ok, err := folder.Owner(dir)
		if err != nil || !ok {
			return err
		}
		if pid != 0 && pid != signalled {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("stopping the supervisor: %w", err)
			}
			signalled = pid
		}
		time.Sleep(pollInterval)
	}
	return nil
}

// waitAnnounced waits until the cluster that another call is starting in the folder is ready.
func waitAnnounced(ctx context.Context, dir string) (Ready, error) {
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		ready, err := Running(dir)
		if err == nil {
			return ready, nil
		}
		if _, ok, ownerErr := folder.Owner(dir); ownerErr != nil || !ok {
			return Ready{}, errors.Join(err, ownerErr)
		}
		select {
		case <-ctx.Done():
			return Ready{}, fmt.Errorf("waiting for the cluster: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
