package platform

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

const (
	pkgGroup      = "pkg.crossplane.io"
	claimXRD      = "xvirtualargocds.virtualargocd.io"
	frontXRD      = "virtualargocds.m.virtualargocd.io"
	packagesReady = 5 * time.Minute
)

var xrdKind = schema.GroupVersionKind{Group: "apiextensions.crossplane.io", Version: "v1", Kind: "CompositeResourceDefinition"}

var objectKind = schema.GroupVersionKind{Group: "kubernetes.crossplane.io", Version: "v1alpha2", Kind: "Object"}

// dependencies are the packages that tenants need beside the Configuration.
var dependencies = []struct{ kind, source string }{
	{"Provider", publicRegistry + "/crossplane-contrib/provider-helm"},
	{"Provider", publicRegistry + "/crossplane-contrib/provider-kubernetes"},
	{"Function", xpkg.PublishedRegistry + "/" + xpkg.FunctionName},
}

// installed are the files of examples/install that every installation needs before the packages are there.
var installed = []string{
	"rbac.yaml", "priorities.yaml", "tenants.yaml", "confinement.yaml", "claims.yaml", "dns.yaml", "runtime.yaml", "network.yaml", "providers.yaml", "configuration.yaml",
}

// installConfiguration applies what examples/install holds, and waits until
// claims are served.
func (i *installer) installConfiguration(ctx context.Context, pushed []xpkg.Pushed, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, packagesReady)
	defer cancel()

	objects, err := i.manifests(pushed, installed...)
	if err != nil {
		return err
	}
	own, err := i.ownManifests()
	if err != nil {
		return err
	}
	if i.embedded != nil {
		amounts, err := i.examples("amounts.yaml")
		if err != nil {
			return err
		}
		own = append(own, amounts...)
	}
	// Before the Configuration, or Crossplane would look in vain first.
	objects = append(own, objects...)
	if i.ExistingProviders {
		if err := i.installBeside(ctx, objects, note); err != nil {
			return err
		}
	}
	if objects, err = i.withExisting(ctx, objects); err != nil {
		return err
	}
	if err := apply(ctx, i.client, objects...); err != nil {
		return err
	}
	if err := i.removeImageConfigs(ctx); err != nil {
		return err
	}
	if err := i.waitForPackage(ctx, "Configuration", xpkg.PublishedRegistry+"/"+xpkg.ConfigurationName, note); err != nil {
		return err
	}
	for _, d := range dependencies {
		if err := i.waitForPackage(ctx, d.kind, d.source, note); err != nil {
			return err
		}
	}
	for _, p := range pushed {
		if err := i.useDigest(ctx, p, note); err != nil {
			return err
		}
	}
	if err := waitFor(ctx, i.client, xrdKind, client.ObjectKey{Name: claimXRD}, note, "Established", "Offered"); err != nil {
		return err
	}
	configs, err := i.examples("providerconfigs.yaml")
	if err != nil {
		return err
	}
	if err := apply(ctx, i.client, configs...); err != nil || i.SimulatedProviders {
		return err
	}
	// No tenant comes up before the address of its resolver is known.
	if err := waitFor(ctx, i.client, objectKind, client.ObjectKey{Name: "virtual-argocd-dns"}, note, "Ready"); err != nil {
		return err
	}
	return i.installFront(ctx, note)
}

// installFront installs the namespaced kind of Crossplane 2. It is for the providers that examples/install brings.
func (i *installer) installFront(ctx context.Context, note func(string)) error {
	if i.ExistingProviders {
		return nil
	}
	objects, err := i.examples("front-definition.yaml", "front.yaml")
	if err != nil {
		return err
	}
	if err := apply(ctx, i.client, objects...); err != nil {
		return err
	}
	return waitFor(ctx, i.client, xrdKind, client.ObjectKey{Name: frontXRD}, note, "Established")
}

// waitForPackage waits until the package of a source is there and healthy,
// under whatever name.
func (i *installer) waitForPackage(ctx context.Context, kind, source string, note func(string)) error {
	for {
		name, err := i.findPackage(ctx, kind, source)
		if err != nil {
			return err
		}
		if name != "" {
			err := waitFor(ctx, i.client, schema.GroupVersionKind{Group: pkgGroup, Version: "v1", Kind: kind},
				client.ObjectKey{Name: name}, note, "Installed", "Healthy")
			if err != nil {
				return errors.Join(err, errors.New(i.lockTrouble(ctx)), i.podTrouble(ctx, Namespace))
			}
			return nil
		}
		note(fmt.Sprintf("%s %s: Crossplane has not resolved this dependency yet", kind, source))
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot find %s %s, which the Configuration depends on; %s: %w", kind, source, i.lockTrouble(ctx), timedOut(ctx))
		case <-time.After(pollEvery):
		}
	}
}

// findPackage returns the name of the package that was installed from a source,
// or nothing.
func (i *installer) findPackage(ctx context.Context, kind, source string) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: pkgGroup, Version: "v1", Kind: kind + "List"})
	if err := i.client.List(ctx, list); err != nil {
		if ctx.Err() != nil {
			return "", timedOut(ctx)
		}
		return "", fmt.Errorf("cannot list packages of kind %s: %w", kind, err)
	}
	for _, p := range list.Items {
		pkg, _, _ := unstructured.NestedString(p.Object, "spec", "package")
		if rest, ok := strings.CutPrefix(pkg, source); ok && (rest == "" || strings.ContainsAny(rest[:1], ":@")) {
			return p.GetName(), nil
		}
	}
	return "", nil
}

// lockTrouble tells what Crossplane says about resolving dependencies.
func (i *installer) lockTrouble(ctx context.Context) string {
	lock := of(schema.GroupVersionKind{Group: pkgGroup, Version: "v1beta1", Kind: "Lock"})
	if err := i.client.Get(context.WithoutCancel(ctx), client.ObjectKey{Name: "lock"}, lock); err != nil {
		return fmt.Sprintf("cannot read the package lock: %v", err)
	}
	if u := unmet(lock, []string{"Resolved"}); u != "" {
		return "the package lock says " + u
	}
	return "the package lock reports no trouble"
}

// useDigest makes Crossplane run what was just pushed, where an earlier push
// had the same tag: a development build's version stays while its content
// changes.
func (i *installer) useDigest(ctx context.Context, p xpkg.Pushed, note func(string)) error {
	kind, name := "Configuration", xpkg.ConfigurationName
	if p.IsFunction() {
		kind, name = "Function", xpkg.FunctionName
	}
	found, err := i.findPackage(ctx, kind, xpkg.PublishedRegistry+"/"+name)
	if err != nil {
		return err
	}
	gvk := schema.GroupVersionKind{Group: pkgGroup, Version: "v1", Kind: kind}
	for asked := false; ; asked = true {
		o := of(gvk)
		if err := i.client.Get(ctx, client.ObjectKey{Name: found}, o); err != nil {
			return fmt.Errorf("cannot get %s %s: %w", kind, found, err)
		}
		revision, _, _ := unstructured.NestedString(o.Object, "status", "currentRevision")
		suffix := revisionSuffix(p.Digest, o.GetGeneration())
		if strings.HasSuffix(revision, suffix) || strings.HasSuffix(revision, oldRevisionSuffix(p.Digest)) {
			return waitFor(ctx, i.client, gvk, client.ObjectKey{Name: found}, note, "Installed", "Healthy")
		}
		note(fmt.Sprintf("%s %s: waiting for revision %s%s", kind, found, found, suffix))
		if !asked {
			// Ask the registry again, and at once: the annotation wakes Crossplane up.
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"virtualargocd.io/pushed":%q}},"spec":{"packagePullPolicy":"Always"}}`, p.Digest)
			if err := i.client.Patch(ctx, o, client.RawPatch("application/merge-patch+json", patch)); err != nil {
				return fmt.Errorf("cannot update %s %s: %w", kind, found, err)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s %s stays at revision %s, though %s was pushed: %w", kind, found, revision, p, timedOut(ctx))
		case <-time.After(pollEvery):
		}
	}
}

// oldRevisionSuffix is the same of Crossplane before 2.4, which makes it of the digest
// alone.
func oldRevisionSuffix(digest string) string {
	return "-" + strings.TrimPrefix(digest, "sha256:")[:12]
}

// revisionSuffix ends the name of a package's revision, as Crossplane 2.4 makes
// it of the digest and of the generation of the package's object.
func revisionSuffix(digest string, generation int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s|%d", strings.TrimPrefix(digest, "sha256:"), generation))
	return fmt.Sprintf("-%x", sum)[:13]
}
