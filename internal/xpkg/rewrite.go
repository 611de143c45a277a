package xpkg

import "fmt"

// RewriteManifest is an ImageConfig that makes Crossplane look for this
// project's packages in another registry. Package names stay what they are,
// in the Configuration's dependencies too.
func RewriteManifest(registry string) string {
	return fmt.Sprintf(`apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: virtual-argocd-packages
spec:
  matchImages:
    - type: Prefix
      prefix: %s
  rewriteImage:
    prefix: %s
`, PublishedRegistry, registry)
}
