package platform

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// useVersion gives a Function that is installed already the version that was
// pushed, which the Configuration needs: Crossplane doesn't change the version of
// a dependency that is there. It is what examples/install/README.md says of upgrades.
func (i *installer) useVersion(ctx context.Context, pushed []xpkg.Pushed) error {
	const source = xpkg.PublishedRegistry + "/" + xpkg.FunctionName
	name, err := i.findPackage(ctx, "Function", source)
	if err != nil || name == "" {
		return err
	}
	for _, p := range pushed {
		if !p.IsFunction() {
			continue
		}
		version := p.Tag[strings.LastIndex(p.Tag, ":"):]
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(schema.GroupVersionKind{Group: pkgGroup, Version: "v1", Kind: "Function"})
		o.SetName(name)
		patch := fmt.Appendf(nil, `{"spec":{"package":%q}}`, source+version)
		if err := i.client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			return fmt.Errorf("cannot change the version of Function %s: %w", name, err)
		}
	}
	return nil
}
