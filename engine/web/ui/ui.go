// Package ui holds the page of the Control Center as make ui has built it. Its source stands beside it, in TypeScript.
package ui

import (
	"embed"
	"fmt"
	"io/fs"
)

//go:embed dist
var built embed.FS

// Files are index.html, which is the answer to every path that is no other file's, app.js and app.css.
func Files() (fs.FS, error) {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		return nil, fmt.Errorf("the files of the page: %w", err)
	}
	return files, nil
}
