package xpkg

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// ownReference is a reference to one of this project's packages in a manifest: what it is for, its name, and its version, as its tag or in the
// comment after its digest.
var ownReference = regexp.MustCompile(`(package: |)` + regexp.QuoteMeta(PublishedRegistry) +
	`/([a-z-]+)(?::(v[0-9][0-9A-Za-z.-]*))?(?:@sha256:[0-9a-f]{64}(?: # (v\S+))?)?`)

// pinReferences names packages by their digests, wherever a manifest names them. digest returns that of a package's name and version, or nothing.
//
// An image of a container has its tag and its digest. A package has its digest only, with the version as a comment: Crossplane 2.4 takes all before the
// digest for the package's name, so that with a tag there, no other package's dependency on it is ever found.
func pinReferences(text string, digest func(name, version string) (string, string)) string {
	return ownReference.ReplaceAllStringFunc(text, func(reference string) string {
		m := ownReference.FindStringSubmatch(reference)
		version := cmp.Or(m[3], m[4])
		if version == "" {
			return reference
		}
		version, pinned := digest(m[2], version)
		switch {
		case pinned == "":
			return reference
		case m[1] != "":
			return fmt.Sprintf("%s%s/%s@%s # %s", m[1], PublishedRegistry, m[2], pinned, version)
		}
		return fmt.Sprintf("%s/%s:%s@%s", PublishedRegistry, m[2], version, pinned)
	})
}

// PinExamples writes the digests that the package files in Out have in a registry into examples/install, wherever these name a package of
// this version. None of these files is in a package, so that the digests are known before the release is committed.
func (p Project) PinExamples() error {
	version, err := p.version()
	if err != nil {
		return err
	}
	if len(p.functionFiles()) != len(Architectures()) {
		return fmt.Errorf("the Function in %s isn't for all of %v: run `make xpkg` without ARCH", p.Out, Architectures())
	}
	digests := map[string]string{}
	for name, files := range map[string][]string{FunctionName: p.functionFiles(), ConfigurationName: {p.ConfigurationFile()}} {
		pkg, err := assemble(annotations(version), files...)
		if err != nil {
			return err
		}
		digest, err := pkg.Digest()
		if err != nil {
			return err
		}
		digests[name] = digest.String()
	}
	files, err := filepath.Glob(filepath.Join(p.Root, "examples", "install", "*"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		pinned := pinReferences(string(text), func(name, of string) (string, string) {
			if of != version {
				return of, ""
			}
			return of, digests[name]
		})
		if pinned == string(text) {
			continue
		}
		if err := os.WriteFile(file, []byte(pinned), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// PinProviders returns ImageConfigs that make Crossplane pull the versions of the providers that examples/install/providers.yaml names by the
// digest that a registry has for them now. registry is a host, and optionally a path, below which it has the packages, as a mirror of
// xpkg.crossplane.io has.
//
// providers.yaml itself can't name these digests: Crossplane compares them with the versions that other packages depend on, and a digest fits
// no range of versions.
func (p Project) PinProviders(ctx context.Context, registry string) (string, error) {
	text, err := os.ReadFile(filepath.Join(p.Root, "examples", "install", "providers.yaml"))
	if err != nil {
		return "", err
	}
	host, _, _ := strings.Cut(PublishedRegistry, "/")
	var out strings.Builder
	for _, doc := range strings.Split(string(text), "\n---\n") {
		var o struct {
			Kind string
			Spec struct{ Package string }
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			return "", fmt.Errorf("cannot parse providers.yaml: %w", err)
		}
		if o.Kind != "Provider" {
			continue
		}
		pkg, err := name.NewTag(o.Spec.Package, name.StrictValidation)
		if err != nil {
			return "", fmt.Errorf("providers.yaml: package %s must have a tag: %w", o.Spec.Package, err)
		}
		source, tag := pkg.Context().Name(), pkg.TagStr()
		path, ok := strings.CutPrefix(source, host+"/")
		if !ok {
			return "", fmt.Errorf("providers.yaml: %s isn't in registry %s", source, host)
		}
		from := strings.TrimSuffix(registry, "/") + "/" + path + ":" + tag
		ref, err := name.NewTag(from, name.StrictValidation)
		if err != nil {
			return "", fmt.Errorf("cannot parse reference %s: %w", from, err)
		}
		found, err := remote.Head(ref, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
		if err != nil {
			return "", fmt.Errorf("cannot ask for the digest of %s: %w", from, err)
		}
		fmt.Fprintf(&out, `---
# Crossplane pulls %[1]s:%[2]s by its digest.
apiVersion: pkg.crossplane.io/v1beta1
kind: ImageConfig
metadata:
  name: pinned-%[3]s
spec:
  matchImages:
    - type: Prefix
      prefix: %[1]s:%[2]s
  rewriteImage:
    prefix: %[4]s@%[5]s
`, source, tag, filepath.Base(path), from, found.Digest)
	}
	return out.String(), nil
}
