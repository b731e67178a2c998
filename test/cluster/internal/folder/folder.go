// Package folder owns the folder of one cluster. A lock held on a file inside says that the cluster is alive: the kernel
// lets go of it when the owner dies, however it dies. Nothing here removes a folder without holding its lock.
package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	lockName   = "lock"
	tempPrefix = "orkestra-cluster-"
	// A probe by Owner holds the lock for an instant; taking it is tried again for about this long.
	attempts = 10
	pause    = 20 * time.Millisecond
	// A temporary folder gets its lock right after it is made; without one it is only swept when older than this.
	lockless = time.Minute
)

// ErrLocked says that a live process owns the folder.
var ErrLocked = errors.New("a running cluster owns the folder")

// ErrForeign says that the folder holds something that is not a cluster.
var ErrForeign = errors.New("the folder is not empty and not a cluster's")

// Folder is a folder whose lock this process holds.
type Folder struct {
	path string
	lock *os.File
}

// Take makes the folder, or takes it over from a dead owner and empties it. It returns ErrLocked or ErrForeign when
// it must not.
func Take(path string) (*Folder, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("finding folder %q: %w", path, err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("making folder %q: %w", path, err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("reading folder %q: %w", path, err)
	}
	if _, err := os.Stat(filepath.Join(path, lockName)); err != nil && len(entries) > 0 {
		return nil, fmt.Errorf("taking folder %q: %w", path, ErrForeign)
	}
	f := &Folder{path: path}
	if f.lock, err = grab(path, os.O_RDWR|os.O_CREATE, attempts); err != nil {
		return nil, fmt.Errorf("taking folder %q: %w", path, err)
	}
	if err := f.initialize(); err != nil {
		return nil, errors.Join(err, f.lock.Close())
	}
	return f, nil
}

// TakeTemp makes a new folder of its own below parent.
func TakeTemp(parent string) (*Folder, error) {
	for {
		path, err := os.MkdirTemp(parent, tempPrefix)
		if err != nil {
			return nil, fmt.Errorf("making a temporary folder: %w", err)
		}
		f, err := Take(path)
		if errors.Is(err, ErrLocked) || errors.Is(err, fs.ErrNotExist) {
			continue // swept away in the instant before it was locked
		}
		return f, err
	}
}

// Path returns the absolute path of the folder.
func (f *Folder) Path() string {
	return f.path
}

// File returns the path of a file inside.
func (f *Folder) File(name string) string {
	return filepath.Join(f.path, name)
}

// Remove removes the folder with all it holds, and releases the lock. The lock file goes last, so that a folder that is left half empty still
// counts as a cluster's.
func (f *Folder) Remove() error {
	return errors.Join(f.empty(), os.RemoveAll(f.path), f.lock.Close())
}

// Leave removes what the folder holds but for the files of one ending, and releases the lock. The folder is that of a dead owner then, for the next one to take.
func (f *Folder) Leave(ending string) error {
	return errors.Join(f.emptyBut(func(name string) bool { return strings.HasSuffix(name, ending) }), f.lock.Close())
}

// Owner returns the process id of the live owner of the folder, 0 while it is just being taken; ok is false if there is none.
func Owner(path string) (pid int, ok bool, err error) {
	lock, err := os.Open(filepath.Join(path, lockName))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("opening the lock of %q: %w", path, err)
	}
	defer func() { _ = lock.Close() }() // only read from
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if err == nil {
		return 0, false, nil
	}
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return 0, false, fmt.Errorf("probing the lock of %q: %w", path, err)
	}
	data, err := os.ReadFile(lock.Name())
	if err != nil {
		return 0, false, fmt.Errorf("reading the lock of %q: %w", path, err)
	}
	// Between locking and writing the file is empty: owned, by a process not known yet.
	pid, _ = strconv.Atoi(strings.TrimSpace(string(data)))
	return pid, true, nil
}

// RemoveStale removes the folder if it is empty, or a cluster's whose owner is dead. It returns ErrLocked or ErrForeign when it must not.
func RemoveStale(path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	lock, err := grab(path, os.O_RDWR, 1)
	if errors.Is(err, fs.ErrNotExist) {
		return removeEmpty(path)
	}
	if err != nil {
		return fmt.Errorf("removing folder %q: %w", path, err)
	}
	return (&Folder{path: path, lock: lock}).Remove()
}

// Sweep removes the temporary folders below parent that dead owners left. Folders it may not touch stay.
func Sweep(parent string, now time.Time) error {
	paths, err := filepath.Glob(filepath.Join(parent, tempPrefix+"*"))
	if err != nil {
		return fmt.Errorf("sweeping %q: %w", parent, err)
	}
	var errs []error
	for _, path := range paths {
		if fresh(path, now) {
			continue
		}
		err := RemoveStale(path)
		if err != nil && !errors.Is(err, ErrLocked) && !errors.Is(err, ErrForeign) && !errors.Is(err, fs.ErrPermission) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// fresh says that the folder may be one that its owner is about to lock, or gone.
func fresh(path string, now time.Time) bool {
	if _, err := os.Stat(filepath.Join(path, lockName)); err == nil {
		return false
	}
	info, err := os.Stat(path)
	return err != nil || now.Sub(info.ModTime()) < lockless
}

// removeEmpty removes a folder without a lock: one that its owner is just done with, or never got to take.
func removeEmpty(path string) error {
	err := os.Remove(path)
	if errors.Is(err, syscall.ENOTEMPTY) {
		return fmt.Errorf("removing folder %q: %w", path, ErrForeign)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing folder %q: %w", path, err)
	}
	return nil
}

// grab opens and locks the lock file. The file must still be at its path once it is locked: another process may have
// removed the folder and made it again in between.
func grab(path string, flags, attempts int) (*os.File, error) {
	name := filepath.Join(path, lockName)
	for range attempts {
		lock, err := os.OpenFile(name, flags, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil && current(lock, name) {
			return lock, nil
		}
		_ = lock.Close() // nothing was written
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, err
		}
		time.Sleep(pause)
	}
	return nil, ErrLocked
}

func current(lock *os.File, name string) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(held, there)
}

// initialize removes what a dead owner left in the folder, and writes the process id into the lock.
func (f *Folder) initialize() error {
	if err := f.empty(); err != nil {
		return err
	}
	if err := f.lock.Truncate(0); err != nil {
		return fmt.Errorf("writing the lock of %q: %w", f.path, err)
	}
	if _, err := f.lock.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return fmt.Errorf("writing the lock of %q: %w", f.path, err)
	}
	return nil
}

// empty removes everything but the lock.
func (f *Folder) empty() error { return f.emptyBut(func(string) bool { return false }) }

// emptyBut removes everything but the lock, and what is to be kept.
func (f *Folder) emptyBut(kept func(name string) bool) error {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return fmt.Errorf("reading folder %q: %w", f.path, err)
	}
	for _, entry := range entries {
		if entry.Name() == lockName || kept(entry.Name()) {
			continue
		}
		if err := os.RemoveAll(f.File(entry.Name())); err != nil {
			return fmt.Errorf("emptying folder %q: %w", f.path, err)
		}
	}
	return nil
}
