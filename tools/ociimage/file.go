package ociimage

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A File is one entry of a layer: a regular file (Source or Content), a
// symbolic link (Link) or a folder (Dir). An empty Content with nothing else
// set is an empty regular file.
type File struct {
	// Path in the image, absolute: "/usr/local/bin/argocd".
	Path string
	// Source is a regular file of this machine to copy.
	Source string
	// Content is the text of a regular file.
	Content string
	// Link is the target of a symbolic link, as written into the image.
	Link string
	// Dir makes the entry a folder.
	Dir bool
	// Mode is the permission bits. Default: 0755 for folders and for files
	// that have a Source with an execute bit, 0644 for other files.
	Mode fs.FileMode
	// UID and GID own the entry. Default: root.
	UID, GID int
}

// Tree lists the regular files below the folder source as files below the
// folder target of the image.
func Tree(target, source string) ([]File, error) {
	var files []File
	err := filepath.WalkDir(source, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return nil
		}
		rel, err := filepath.Rel(source, p)
		if err != nil {
			return err
		}
		files = append(files, File{Path: path.Join(target, filepath.ToSlash(rel)), Source: p})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot list the files for %s: %w", target, err)
	}
	return files, nil
}

// mode is the entry's permission bits with the defaults filled in.
func (f File) mode() (fs.FileMode, error) {
	switch {
	case f.Mode != 0:
		return f.Mode, nil
	case f.Dir:
		return 0o755, nil
	case f.Source != "":
		info, err := os.Stat(f.Source)
		if err != nil {
			return 0, err
		}
		if info.Mode()&0o111 != 0 {
			return 0o755, nil
		}
	}
	return 0o644, nil
}

func (f File) validate() error {
	if !path.IsAbs(f.Path) || path.Clean(f.Path) != f.Path || f.Path == "/" {
		return fmt.Errorf("path %q of an image file must be absolute and clean", f.Path)
	}
	kinds := 0
	for _, set := range []bool{f.Source != "", f.Content != "", f.Link != "", f.Dir} {
		if set {
			kinds++
		}
	}
	if kinds > 1 {
		return fmt.Errorf("image file %s must have one of source, content, link and dir", f.Path)
	}
	return nil
}

// tarName is the entry's name in the archive: no leading slash, and a trailing
// one for folders.
func (f File) tarName() string {
	name := strings.TrimPrefix(f.Path, "/")
	if f.Dir {
		name += "/"
	}
	return name
}
