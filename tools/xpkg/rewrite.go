package xpkg

import "fmt"

// RewriteManifest is an ImageConfig that makes Crossplane look for this
// project's packages in another registry. Package names stay what they are,
// in the Configuration's dependencies too. The image of the proxies beside the providers
// is no package: its name is to be changed.
func RewriteManifest(registry string) string {
	return fmt.Sprintf(`# The proxies in runtime.yaml run the function's image, which no ImageConfig rewrites. Before you apply that file:
#   sed -i 's|image: %[1]s/|image: %[2]s/|' runtime.yaml
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: virtual-argocd-packages
spec:
  matchImages:
    - type: Prefix
      prefix: %[1]s
  rewriteImage:
    prefix: %[2]s
`, PublishedRegistry, registry)
}
