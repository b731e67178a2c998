package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"
)

// index is the file of all paths that the page itself knows.
const index = "index.html"

// files are those of the page by their names, each compressed once, when the server is made.
type files map[string]file

// file is one of the page. It never changes: a new binary has another one.
type file struct {
	contentType string
	plain, zip  representation
}

// representation is a file as it is sent. Each has a tag of its own, as HTTP asks for.
type representation struct {
	content []byte
	tag     string
}

// filesOf reads all files. They are compiled in, so that what can't be read is a mistake in the program.
func filesOf(from fs.FS) (files, error) {
	all := files{}
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err //nolint:wrapcheck // it names the file
		}
		all[name], err = fileOf(name, content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading the files of the page: %w", err)
	}
	return all, nil
}

func fileOf(name string, content []byte) (file, error) {
	var small bytes.Buffer
	out, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
	if err == nil {
		_, err = out.Write(content)
	}
	if err == nil {
		err = out.Close()
	}
	if err != nil {
		return file{}, fmt.Errorf("compressing %s: %w", name, err)
	}
	sum := sha256.Sum256(content)
	tag := base64.RawURLEncoding.EncodeToString(sum[:16])
	contentType := mime.TypeByExtension(path.Ext(name))
	if contentType == "" {
		contentType = http.DetectContentType(content)
	}
	return file{
		contentType: contentType,
		plain:       representation{content: content, tag: `"` + tag + `"`},
		zip:         representation{content: small.Bytes(), tag: `"` + tag + `-gzip"`},
	}, nil
}

// page serves a file, or index.html for the paths that the page itself knows.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	if !reads(w, r) {
		return
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	found, ok := s.files[name]
	if !ok {
		name = index
		found = s.files[name]
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // it asks whether what it has is still so: a new binary has another page
	h.Set("Vary", "Accept-Encoding")
	h.Set("Content-Type", found.contentType)
	sent := found.plain
	if acceptsGzip(r.Header) {
		sent = found.zip
		h.Set("Content-Encoding", "gzip")
		if r.Header.Get("Range") == "" {
			h.Set("Content-Length", strconv.Itoa(len(sent.content))) // ServeContent sets it only for what is not encoded
		}
	}
	h.Set("ETag", sent.tag)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(sent.content)) // it answers 304 where the browser has this tag
}

// acceptsGzip says whether who asks understands gzip (RFC 9110, 12.5.3).
func acceptsGzip(h http.Header) bool {
	others := false
	for one := range strings.SplitSeq(strings.Join(h.Values("Accept-Encoding"), ","), ",") {
		coding, parameter, _ := strings.Cut(one, ";")
		weight, weighted := strings.CutPrefix(strings.ReplaceAll(strings.ToLower(parameter), " ", ""), "q=")
		q, err := strconv.ParseFloat(weight, 64)
		wanted := !weighted || err == nil && q > 0
		switch strings.ToLower(strings.TrimSpace(coding)) {
		case "gzip":
			return wanted
		case "*":
			others = wanted
		default:
		}
	}
	return others
}
