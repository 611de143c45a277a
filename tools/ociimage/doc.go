// Package ociimage builds OCI images from files, with no container engine.
//
// An image is a list of layers and a configuration. A layer is a list of files.
// The same input gives the same bytes on every machine: entries are sorted,
// owners are numbers and every time stamp is the Unix epoch.
//
// Static makes the image most callers want: one static binary, run by an
// unprivileged user, with nothing else inside but the files such a binary
// expects. Build and Layer are for images that need more.
package ociimage
