package artifacts

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/virtual-argocd/virtual-argocd/lab/debian"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

func build(ctx context.Context, c toolchain.Cache, purposes []toolchain.Purpose, say func(string)) error {
	if err := debian.Install(ctx, say, debian.Missing(needed)...); err != nil {
		return err
	}
	// Serve, which has no network, reads the charts in the sources of these tools, also on a cluster that runs
	// without the tools.
	for _, tool := range []string{"vcluster", toolchain.Crossplane, "argocd"} {
		if _, err := c.ModuleDir(ctx, tool); err != nil {
			return err
		}
	}
	all, err := recipes(ctx, c, purposes)
	if err != nil {
		return fmt.Errorf("cannot list the images to build: %w", err)
	}
	s, err := openStore(imagesDir(c))
	if err != nil {
		return err
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Name)
		if err := s.make(ctx, r, say); err != nil {
			return fmt.Errorf("cannot build image %s: %w", r.Name, err)
		}
	}
	if !slices.Contains(purposes, toolchain.Tenants) {
		// Only a cluster whose tenants aren't simulated knows which of their images are out of date.
		return nil
	}
	// What not every cluster needs stays for the next one that does.
	return s.keep(append(names, testImages()...))
}

// make builds an image unless the store has it.
func (s *store) make(ctx context.Context, r recipe, say func(string)) error {
	key, err := r.key()
	if err != nil {
		return err
	}
	if ok, err := s.has(r.Name, key); ok || err != nil {
		return err
	}
	base := ""
	if len(r.Debian) > 0 {
		if base, err = rootfs(ctx, filepath.Join(filepath.Dir(s.dir), "rootfs"), slices.Sorted(slices.Values(r.Debian)), say); err != nil {
			return err
		}
	}
	say("building image " + r.Name)
	img, err := r.image(base)
	if err != nil {
		return err
	}
	return s.put(r.Name, key, img)
}
