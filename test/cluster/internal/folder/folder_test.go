package folder_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/orkspace/orkestra/test/cluster/internal/folder"
)

func TestTake(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	owner(t, path, 0)
	first, err := folder.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, first.File("secret"))
	owner(t, path, os.Getpid())
	if _, err := folder.Take(path); !errors.Is(err, folder.ErrLocked) {
		t.Errorf("taking it twice: got %v, want ErrLocked", err)
	}
	if err := folder.RemoveStale(path); !errors.Is(err, folder.ErrLocked) {
		t.Errorf("removing a live one: got %v, want ErrLocked", err)
	}
	if err := first.Remove(); err != nil {
		t.Fatal(err)
	}
	gone(t, path)
	owner(t, path, 0)
}

func TestTakeOver(t *testing.T) {
	path := t.TempDir()
	write(t, filepath.Join(path, "lock")) // nobody holds it: the owner is dead
	write(t, filepath.Join(path, "secret"))
	f, err := folder.Take(path)
	if err != nil {
		t.Fatal(err)
	}
	gone(t, filepath.Join(path, "secret"))
	owner(t, path, os.Getpid())
	if err := f.Remove(); err != nil {
		t.Error(err)
	}
}

func TestForeign(t *testing.T) {
	path := t.TempDir()
	mine := filepath.Join(path, "mine")
	write(t, mine)
	if _, err := folder.Take(path); !errors.Is(err, folder.ErrForeign) {
		t.Errorf("taking: got %v, want ErrForeign", err)
	}
	if err := folder.RemoveStale(path); !errors.Is(err, folder.ErrForeign) {
		t.Errorf("removing: got %v, want ErrForeign", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Errorf("the file is gone: %v", err)
	}
	if err := folder.RemoveStale(filepath.Join(path, "nothing")); err != nil {
		t.Errorf("removing nothing: %v", err)
	}
}

func TestSweep(t *testing.T) {
	parent := t.TempDir()
	live, err := folder.TakeTemp(parent)
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(parent, "orkestra-cluster-stale")
	write(t, filepath.Join(stale, "lock"))
	write(t, filepath.Join(stale, "etcd", "db"))
	fresh := filepath.Join(parent, "orkestra-cluster-fresh") // made, not yet locked
	foreign := filepath.Join(parent, "other", "lock")
	write(t, foreign)
	if err := os.Mkdir(fresh, 0o700); err != nil {
		t.Fatal(err)
	}
	sweep := func(now time.Time) {
		t.Helper()
		if err := folder.Sweep(parent, now); err != nil {
			t.Error(err)
		}
	}
	foreignTemp := filepath.Join(parent, "orkestra-cluster-foreign", "mine")
	write(t, foreignTemp)
	sweep(time.Now())
	gone(t, stale)
	for _, path := range []string{live.Path(), fresh, foreign} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("swept too much: %v", err)
		}
	}
	sweep(time.Now().Add(time.Hour))
	gone(t, fresh)
	if _, err := os.Stat(foreignTemp); err != nil {
		t.Errorf("swept too much: %v", err)
	}
	if err := live.Remove(); err != nil {
		t.Error(err)
	}
	gone(t, live.Path())
}

func owner(t *testing.T, path string, want int) {
	t.Helper()
	pid, ok, err := folder.Owner(path)
	if err != nil || pid != want || ok != (want != 0) {
		t.Errorf("the owner is %d, %t, %v; want %d", pid, ok, err, want)
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func gone(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("%s is left (%v)", path, err)
	}
}
