package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// write puts the site into a folder in place of the one that is there. A folder with anything else in it is left as it is.
func write(folder string, files map[string][]byte) error {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, searchFile)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s holds something else than a site: name another folder with -out, or empty it", folder)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// serve shows the site on this machine until the context ends.
func serve(ctx context.Context, files map[string][]byte, port int) error {
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler(files), ReadHeaderTimeout: 10 * time.Second}
	ended := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer ended()
	fmt.Printf("The site is on http://%s/ until Ctrl-C.\n", listener.Addr())
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// handler serves the site as it should be served elsewhere.
func handler(files map[string][]byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := cmp.Or(strings.TrimPrefix(r.URL.Path, "/"), "index.html")
		content, ok := files[name]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(content))
	})
}
