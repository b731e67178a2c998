package expr

import (
	sproutfs "github.com/go-sprout/sprout/registry/filesystem"
)

const argPath = "PATH"

// pathFuncs take paths apart. They read no files.
func pathFuncs() []row {
	s := sproutfs.NewRegistry()
	return []row{
		{"base", argPath, "The last part of a path.", `base "a/b.txt"`, "b.txt", s.PathBase, 0, "pathBase"},
		{"dir", argPath, "A path without its last part.", `dir "a/b.txt"`, "a", s.PathDir, 0, "pathDir"},
		{"clean", argPath, "The shortest spelling of a path.", `clean "a/./c/../d"`, "a/d", s.PathClean, 0, "pathClean"},
		{"ext", argPath, "The extension of a path, with its dot.", `ext "a/b.txt"`, ".txt", s.PathExt, 0, "pathExt"},
		{"isAbs", argPath, "Whether a path begins at the root.", `isAbs "/a"`, "true", s.PathIsAbs, 0, "pathIsAbs"},
	}
}
