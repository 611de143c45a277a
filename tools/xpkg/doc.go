// Package xpkg builds this project's Crossplane packages and pushes them.
//
// There are two: the Function, one image for each platform with the function's
// binary inside, and the Configuration, which holds the API, the Compositions
// and what they depend on. Both carry the version in the file VERSION.
//
// The packages themselves are made by Crossplane's own command line,
// `crossplane xpkg build` and `crossplane xpkg push`. This package prepares
// what it needs: a folder of manifests and a runtime image, made without a
// container engine and with no network but Go modules.
package xpkg
