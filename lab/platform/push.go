package platform

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// push fills the registry that the cluster takes packages from, where that is
// for us to do.
func (i *installer) push(ctx context.Context) ([]xpkg.Pushed, error) {
	switch {
	case i.embedded != nil:
		return i.pushEmbedded(ctx)
	case i.Push && i.Registry == "":
		return nil, fmt.Errorf("where should the packages be pushed? Set REGISTRY to a host and an organisation, such as ghcr.io/acme")
	case i.Push:
		var pushed []xpkg.Pushed
		err := i.Progress.Step("Build and push the packages", func(note func(string)) (err error) {
			pushed, err = i.pushProject(ctx, i.Registry, "", xpkg.Architectures(), note)
			return err
		})
		return pushed, err
	}
	return nil, nil
}

// pushEmbedded pushes everything to the lab's own registry, under the paths
// that a mirror of the public one would have.
func (i *installer) pushEmbedded(ctx context.Context) ([]xpkg.Pushed, error) {
	mirror := i.embedded.mirror()
	var pushed []xpkg.Pushed
	err := i.Progress.Step("Build and push the packages", func(note func(string)) error {
		g, gctx := errgroup.WithContext(ctx)
		if !i.Upstream {
			g.Go(func() error { return i.pushProviders(gctx, mirror, note) })
		}
		g.Go(func() (err error) {
			// The built-in defaults are upstream's charts and images.
			input := ""
			if !i.Upstream {
				if input, err = i.writeInput(); err != nil {
					return err
				}
			}
			// The node is this machine: its own platform will do.
			pushed, err = i.pushProject(gctx, i.embedded.project(), input, []string{runtime.GOARCH}, note)
			return err
		})
		return g.Wait()
	})
	return pushed, err
}
