// Package artifacts makes everything the lab cluster downloads: OCI images,
// without a container engine, and Helm charts; and serves them there.
//
// Build prepares the images in the cache, on the machine, with access to the
// Debian mirror. Serve needs no network: it answers as an OCI registry and as
// a Helm chart repository, inside the cluster's network namespace.
//
// The images stand under the names that upstream charts use, one repository
// path per image: ghcr.io/loft-sh/kubernetes:v1.35.4 is served as
// <registry>/ghcr.io/loft-sh/kubernetes:v1.35.4. The node's containerd and
// Crossplane are told to look there, so that charts run unmodified.
package artifacts

import (
	"context"
	"net"

	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

// Config says what Serve serves, and where.
type Config struct {
	// Cache holds the binaries and, below images/, what Build made.
	Cache toolchain.Cache
	// Dir is a folder for packaged charts and for blobs pushed from outside.
	// It may be removed when Serve has returned.
	Dir string
	// Registry is where the OCI registry listens, plain http.
	Registry net.Listener
	// Charts is where the chart repository listens, plain http.
	Charts net.Listener
	// ArgoCDChart is the folder or archive of a real argo-cd chart to serve
	// in place of the test chart. Default: the test chart.
	ArgoCDChart string
	// Ready, when set, is called once: both servers answer, with everything
	// that Build made.
	Ready func()
}

// Build makes every image for the purposes that is not in the cache yet. It needs
// root, for the Debian root file systems, and the toolchain's binaries for the same
// purposes.
func Build(ctx context.Context, c toolchain.Cache, purposes []toolchain.Purpose, p toolchain.Progress) error {
	if p == nil {
		p = func(string) {}
	}
	return build(ctx, c, purposes, p)
}

// Publish tells a registry that runs already, at host and port, of the images that
// were built since.
func Publish(ctx context.Context, c toolchain.Cache, registry string) error {
	s, err := openStore(imagesDir(c))
	if err != nil {
		return err
	}
	return publish(ctx, registry, s, nil)
}

// Serve serves until ctx is done, and closes both listeners.
func Serve(ctx context.Context, cfg Config) error {
	return serve(ctx, cfg)
}
