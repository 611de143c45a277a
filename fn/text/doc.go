// Package text reads text that strangers have written: Secrets that claims name, kubeconfigs that virtual clusters write, and texts in
// chart values and in Helm's records, which others decode. It is the only package that decodes such text.
//
// A limit on the size of a text doesn't limit what it becomes: with YAML's anchors and aliases, 44 KB become a gigabyte. So this
// package refuses what makes a text grow (anchors, aliases, merge keys, tags, directives), and limits bytes, items and depth. What it
// allocates is proportional to the size of the text: FuzzText has the factor. Its errors show nothing of the text.
//
// JSON can't refer to its own parts. What is bounded where it comes from (objects of the host's API server, answers that package limits of
// the proxy lets through) is decoded where it is needed.
package text
