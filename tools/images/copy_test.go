package images

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
)

// upstream returns a registry that has the images and packages of a list, each for two platforms, but for the one that has a digest.
func upstream(t *testing.T, items []Item) *server {
	t.Helper()
	from := newServer(t)
	for _, item := range items {
		if item.Kind != KindChart && item.Name != pinned {
			from.put(t, item.Name, randomIndex(t))
		}
	}
	return from
}

// TestCopy: all that can be copied is, under the paths that the input's images.registry means; a second run writes nothing; and with the settings that are
// printed a tenant pulls nothing from elsewhere but what is said.
func TestCopy(t *testing.T) {
	of := installation(t, withBackups+withRollouts)
	lister := NewLister([]string{"testdata/charts"}, "")
	list, err := lister.List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	from, to := upstream(t, list.Items), newServer(t)
	lister.from = source(from.address)
	lister.charts.from = lister.from
	target := Target{To: to.address + "/mirror", PlainHTTP: true}
	copied, err := lister.Copy(t.Context(), list.Items, target)
	if err == nil || strings.Count(err.Error(), "\n") > 2 || !strings.Contains(err.Error(), "image "+pinned) {
		t.Errorf("want an error about %s alone, got %v", pinned, err)
	}
	if len(copied) != len(list.Items)-1 {
		t.Errorf("copied %d of %d", len(copied), len(list.Items))
	}
	for _, c := range copied {
		if c.There {
			t.Errorf("%s was there before", c.Name)
		}
		if c.Kind != KindChart && from.has(t, c.Name) != c.Digest {
			t.Errorf("%s is another", c.Name)
		}
		if path := strings.TrimPrefix(c.To, to.address+"/"); to.has(t, path) != c.Digest {
			t.Errorf("the registry doesn't have %s", path)
		}
	}
	for _, path := range []string{"charts/argo-cd:10.1.1", "charts/argo-rollouts:2.41.0", "argoproj/argocd:v3.4.4", "docker/library/redis:8.2.3-alpine", "virtual-argocd/function-virtual-argocd:v0.3.0"} {
		if to.has(t, "mirror/"+path) == "" {
			t.Errorf("the registry doesn't have %s", path)
		}
	}

	before := to.writes.Load()
	again, _ := lister.Copy(t.Context(), list.Items, target)
	if to.writes.Load() != before {
		t.Error("a second run writes something")
	}
	for _, c := range again {
		if !c.There {
			t.Errorf("%s wasn't there before", c.Name)
		}
	}

	// It asks nobody for the charts again.
	lister.charts.folders = nil
	settings, err := lister.Settings(t.Context(), of, copied, target)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := []string{
		"image docker.io/nats:2.10.10",
		"image ecr-public.aws.com/docker/library/redis:8.2.3-alpine", "image ghcr.io/oliver006/redis_exporter:v1", "image quay.io/argoproj/argo-rollouts:v1.9.0", "image quay.io/argoproj/argoexec:v4.0.6", "image " + pinned,
		"image quay.io/argoproj/workflow-controller:v4.0.6", "image registry.example.org/extension:1", "image registry.example.org/extra:1", "image registry.k8s.io/kubectl:v1.36.0",
	}
	// The function sets the image of redis.
	elsewhere = slices.Delete(elsewhere, 1, 2)
	if diff := cmp.Diff(elsewhere, names(settings.Elsewhere)); diff != "" {
		t.Errorf("what still comes from elsewhere: -want +got:\n%s", diff)
	}
	text, err := settings.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"registry: " + target.To + "\n", "repository: oci://" + target.To + "/charts\n", "prefix: " + target.To + "\n",
		"#   xpkg.crossplane.io/virtual-argocd/function-virtual-argocd:v0.3.0\n#   -> " + target.To + "/virtual-argocd/function-virtual-argocd:v0.3.0\n",
		"#   -> " + target.To + "/oliver006/redis_exporter:v1\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the settings lack %q:\n%s", want, text)
		}
	}

	// Without an input it is the same, but for backups.
	without := of
	without.Input = nil
	without.Tenants = []map[string]any{{
		"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDPlan", "metadata": map[string]any{"name": "small", "labels": map[string]any{"virtualargocd.io/default-plan": "true"}},
		"spec": map[string]any{"components": map[string]any{"allowed": []any{}}},
	}}
	plain, err := lister.Settings(t.Context(), without, copied, target)
	if err != nil || plain.Input["kind"] != "Input" {
		t.Errorf("without an input: %v, %v", plain.Input, err)
	}

	// Somebody else, who has nothing but that registry and these settings.
	of.Input, of.Platform = settings.Input, Platform{}
	fresh := NewLister(nil, "")
	closed, err := fresh.List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range closed.Items {
		switch path, inside := strings.CutPrefix(item.Name, to.address+"/"); {
		case item.Kind == KindChart:
			if !strings.HasPrefix(item.Name, "oci://"+target.To+"/charts/") {
				t.Errorf("chart %s is from elsewhere", item.Name)
			}
		case inside && to.has(t, path) == "":
			t.Errorf("%s was not copied", item.Name)
		case !inside && !slices.Contains(elsewhere, "image "+item.Name):
			t.Errorf("%s is from elsewhere", item.Name)
		}
	}
}

// TestCopyOnePlatform: only what is named by its digest has all platforms.
func TestCopyOnePlatform(t *testing.T) {
	from, to := newServer(t), newServer(t)
	all := mutate.AppendManifests(empty.Index, ofPlatform(t, "amd64"), ofPlatform(t, "arm64"))
	digest, err := all.Digest()
	if err != nil {
		t.Fatal(err)
	}
	from.put(t, "quay.io/a/b:1", all)
	items := []Item{{Kind: KindImage, Name: "quay.io/a/b:1"}, {Kind: KindImage, Name: "quay.io/a/b@" + digest.String()}, {Kind: KindImage, Name: "quay.io/a/b:2@" + digest.String()}}
	copied, err := NewLister(nil, from.address).Copy(t.Context(), items, Target{To: to.address, Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}})
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if want := manifest.Manifests[1].Digest.String(); copied[0].Digest != want || to.has(t, "a/b:1") != want {
		t.Errorf("want %s, got %s", want, copied[0].Digest)
	}
	if got := to.has(t, "a/b@"+digest.String()); got != digest.String() || to.has(t, "a/b:2") != digest.String() {
		t.Errorf("what is named by its digest isn't there by it: %q", got)
	}
}

func ofPlatform(t *testing.T, architecture string) mutate.IndexAddendum {
	t.Helper()
	img, err := random.Image(128, 1)
	if err != nil {
		t.Fatal(err)
	}
	return mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: architecture}}}
}

// TestCopySamePath: of two images with one path neither is copied, whichever comes first, and none is written over what is there. A claim could
// otherwise put an image of its author's in the place of one that all tenants run.
func TestCopySamePath(t *testing.T) {
	from := newServer(t)
	all := map[string]v1.ImageIndex{}
	for _, path := range []string{"docker.io/a/b:1", "quay.io/a/b:1", "quay.io/a/b:pinned"} {
		all[path] = randomIndex(t)
		from.put(t, path, all[path])
	}
	docker, quay, other := from.has(t, "docker.io/a/b:1"), from.has(t, "quay.io/a/b:1"), from.has(t, "quay.io/a/b:pinned")
	const ofDocker, ofQuay = "docker.io/a/b:1", "quay.io/a/b:1"
	pinned := "docker.io/a/b:1@" + other
	from.put(t, pinned[:len("docker.io/a/b")]+"@"+other, all["quay.io/a/b:pinned"])
	for name, tc := range map[string]struct {
		there   string
		items   []string
		replace bool
		// tag is the digest that a/b:1 has then, and errors what is said.
		tag    string
		errors []string
	}{
		"Both":            {items: []string{ofDocker, ofQuay}, errors: []string{"image docker.io/a/b:1: another image would be", "image quay.io/a/b:1: another image would be"}},
		"BothReplace":     {items: []string{ofDocker, ofQuay}, replace: true, errors: []string{"image docker.io/a/b:1: another image would be", "image quay.io/a/b:1: another image would be"}},
		"BesidePinned":    {items: []string{pinned, ofQuay}, tag: quay},
		"There":           {there: ofQuay, items: []string{ofDocker}, tag: quay, errors: []string{"image docker.io/a/b:1: ", "is there already, and is another"}},
		"TherePinned":     {there: ofQuay, items: []string{pinned}, tag: quay},
		"ThereAndReplace": {there: ofQuay, items: []string{ofDocker}, replace: true, tag: docker},
		"ThereTheSame":    {there: ofQuay, items: []string{ofQuay}, tag: quay},
	} {
		t.Run(name, func(t *testing.T) {
			to := newServer(t)
			if tc.there != "" {
				to.put(t, "a/b:1", all[tc.there])
			}
			var items []Item
			for _, name := range tc.items {
				items = append(items, Item{Kind: KindImage, Name: name})
			}
			_, err := NewLister(nil, from.address).Copy(t.Context(), items, Target{To: to.address, Replace: tc.replace})
			if (err == nil) != (len(tc.errors) == 0) {
				t.Errorf("got error %v", err)
			}
			for _, want := range tc.errors {
				if err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in %v", want, err)
				}
			}
			if got := to.has(t, "a/b:1"); got != tc.tag {
				t.Errorf("a/b:1 is %q, want %q", got, tc.tag)
			}
			if slices.Contains(tc.items, pinned) && to.has(t, "a/b@"+other) != other {
				t.Error("what is named by its digest isn't there")
			}
		})
	}
}

// TestCopySignatures: a package comes with what was signed.
func TestCopySignatures(t *testing.T) {
	from, to := newServer(t), newServer(t)
	from.put(t, "xpkg.crossplane.io/a/b:1", randomIndex(t))
	digest := from.has(t, "xpkg.crossplane.io/a/b:1")
	signature := "a/b:" + strings.ReplaceAll(digest, ":", "-") + ".sig"
	from.put(t, "xpkg.crossplane.io/"+signature, ofPlatform(t, "").Add.(v1.Image))
	hash, err := v1.NewHash(digest)
	if err != nil {
		t.Fatal(err)
	}
	bundle := mutate.Subject(ofPlatform(t, "").Add.(v1.Image), v1.Descriptor{Digest: hash, MediaType: "application/vnd.oci.image.index.v1+json"}).(v1.Image)
	refers, err := bundle.Digest()
	if err != nil {
		t.Fatal(err)
	}
	from.put(t, "xpkg.crossplane.io/a/b@"+refers.String(), bundle)
	if _, err := NewLister(nil, from.address).Copy(t.Context(), []Item{{Kind: KindPackage, Name: "xpkg.crossplane.io/a/b:1"}}, Target{To: to.address}); err != nil {
		t.Fatal(err)
	}
	if to.has(t, signature) == "" || to.has(t, signature) != from.has(t, "xpkg.crossplane.io/"+signature) {
		t.Error("the signature isn't there")
	}
	if to.has(t, "a/b@"+refers.String()) == "" {
		t.Error("what refers to the package isn't there")
	}
}

// TestResolve: digests that registries have, and all that they don't.
func TestResolve(t *testing.T) {
	from := newServer(t)
	from.put(t, "quay.io/a/b:1", randomIndex(t))
	items := []Item{{Kind: KindImage, Name: "quay.io/a/b:1"}, {Kind: KindImage, Name: "quay.io/a/c:1"}, {Kind: KindPackage, Name: "quay.io/a/d:1"}, {Kind: KindImage, Name: pinned, Digest: digestOf(pinned)}}
	err := NewLister(nil, from.address).Resolve(t.Context(), items)
	if err == nil || !strings.Contains(err.Error(), "quay.io/a/c:1") || !strings.Contains(err.Error(), "quay.io/a/d:1") || strings.Contains(err.Error(), "upgrade") {
		t.Errorf("want an error about two, got %v", err)
	}
	if items[0].Digest != from.has(t, "quay.io/a/b:1") || items[0].Digest == "" {
		t.Errorf("got %q", items[0].Digest)
	}
}
