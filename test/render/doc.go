// Package render tests whole tenants without a cluster: it renders them with
// Crossplane's own engine and this project's program, compares them with the
// files in testdata/golden, and holds every object against the schemas it will
// meet when it is applied. A file has one object, in which encoded text is shown
// decoded: see package golden.
//
// Nothing here plays Crossplane. The tests do only what the providers do between
// two stages of a tenant. Tests of the function that need no engine use
// internal/crossplanetest, which plays Crossplane, too, and takes milliseconds.
//
// After a change that is meant to show, write the files anew and look at the
// difference:
//
//	go test -C test ./render -update
//	git diff test/render/testdata
package render
