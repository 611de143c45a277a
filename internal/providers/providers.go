// Package providers knows which versions of the providers are tested, and reads them from what is installed.
package providers

import (
	"path"
	"strings"
)

// Tested are the versions that the end-to-end tests run, by the name of the provider's package.
var Tested = map[string]string{"provider-helm": "v1.3.0", "provider-kubernetes": "v1.3.0"}

// NameOf is the last part of the path of a package, such as xpkg.crossplane.io/crossplane-contrib/provider-helm:v1.3.0, and its tag. digest is
// that of a package that is named by one, such as sha256:0123...; "" for none.
func NameOf(pkg string) (name, tag, digest string) {
	pkg, digest, _ = strings.Cut(pkg, "@")
	name, tag, _ = strings.Cut(path.Base(pkg), ":")
	return name, tag, digest
}
