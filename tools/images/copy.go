package images

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"golang.org/x/sync/errgroup"

	"github.com/virtual-argocd/virtual-argocd/tools/xpkg"
)

// A Target is the registry that is copied to.
type Target struct {
	// To is its host, optionally with a path.
	To string
	// PlainHTTP: it has no TLS.
	PlainHTTP bool
	// Replace has tags that are there with something else written over.
	Replace bool
	// Platform is the only one that is copied of images for several; nil for all of them.
	Platform *v1.Platform
	// Done is told of each item, after it was copied.
	Done func(Copied)
}

// A Copied item.
type Copied struct {
	Item
	// To is its reference in the target.
	To string
	// Digest is the one that it has there.
	Digest string
	// There: it was there before.
	There bool
}

// chartFolder is the folder of charts in the target.
const chartFolder = "charts"

// atOnce is how many items are copied at a time.
const atOnce = 4

// reference returns where an item is in the target: images and packages below it under their upstream paths, as the function's input images.registry has
// them, and charts in charts/.
func (t Target) reference(item Item) string {
	to := strings.TrimSuffix(t.To, "/") + "/"
	if item.Chart != nil {
		// A tag can't have a +.
		return to + chartFolder + "/" + item.Chart.Name + ":" + strings.ReplaceAll(item.Chart.Version, "+", "_")
	}
	_, path := split(item.Name)
	return to + path
}

// parse parses a reference in the target.
func (t Target) parse(reference string) (name.Reference, error) {
	var options []name.Option
	if t.PlainHTTP {
		options = append(options, name.Insecure)
	}
	return name.ParseReference(reference, options...)
}

// Copy copies items. It leaves alone what is there, and goes on where one can't be copied: the error has all of these. Claims name images, too:
// what two items would both be in the target is copied from neither, and what is there stays.
func (l *Lister) Copy(ctx context.Context, items []Item, t Target) ([]Copied, error) {
	if _, err := t.parse(strings.TrimSuffix(t.To, "/") + "/x"); err != nil || strings.Contains(t.To, "://") || t.To == "" {
		return nil, fmt.Errorf("%q is no registry: write its host, and optionally a path, such as registry.example.org/mirror", t.To)
	}
	copied, found := make([]*Copied, len(items)), make([]error, len(items))
	g := errgroup.Group{}
	g.SetLimit(atOnce)
	for _, same := range byTarget(items, t) {
		g.Go(func() error {
			what := map[int]artifact{}
			for _, i := range same {
				if is, err := l.read(ctx, items[i], t); err != nil {
					found[i] = err
				} else {
					what[i] = is
				}
			}
			tagged := digestOfTag(items, same, what)
			for _, i := range same {
				is, ok := what[i]
				if !ok {
					continue
				}
				var done Copied
				if done, found[i] = l.copy(ctx, items[i], is, t, tagged); found[i] != nil {
					continue
				}
				copied[i] = &done
				if t.Done != nil {
					t.Done(done)
				}
			}
			return nil
		})
	}
	_ = g.Wait()
	for i, err := range found {
		if err != nil {
			found[i] = fmt.Errorf("%s %s: %w", items[i].Kind, items[i].Name, err)
		}
	}
	var out []Copied
	for _, done := range copied {
		if done != nil {
			out = append(out, *done)
		}
	}
	return out, errors.Join(found...)
}

// byTarget groups items, by their indexes, that have one reference in the target.
func byTarget(items []Item, t Target) [][]int {
	at, out := map[string]int{}, [][]int{}
	for i, item := range items {
		reference := withOne(t.reference(item))
		n, ok := at[reference]
		if !ok {
			n, at[reference] = len(out), len(out)
			out = append(out, nil)
		}
		out[n] = append(out[n], i)
	}
	return out
}

// several stands for the digest of a tag that would be several things.
const several = "several"

// digestOfTag returns the digest that the tag of one reference in the target is to have, by what is named by it: the others are named by their
// digests, and need none. It is "" where all are.
func digestOfTag(items []Item, same []int, what map[int]artifact) string {
	out := ""
	for _, i := range same {
		is, read := what[i]
		switch {
		case digestOf(items[i].Name) != "":
		case !read || out != "" && out != is.digest:
			// What can't be read is something else.
			return several
		default:
			out = is.digest
		}
	}
	return out
}

// copy copies an item, to a tag that is to have a digest: see digestOfTag.
func (l *Lister) copy(ctx context.Context, item Item, what artifact, t Target, tagged string) (Copied, error) {
	done := Copied{Item: item, To: t.reference(item), Digest: what.digest}
	to, err := t.parse(withOne(done.To))
	if err != nil {
		return done, err
	}
	pinned := digestOf(item.Name) != ""
	if !pinned && tagged == several {
		return done, fmt.Errorf("another image would be %s, too, so neither is copied: copy one of them to another registry", done.To)
	}
	options := append(slices.Clone(l.options), remote.WithContext(ctx))
	head, err := remote.Head(to, options...)
	is := ""
	if err == nil {
		is = head.Digest.String()
	}
	switch other := is != "" && is != what.digest; {
	case pinned && (other || tagged != "" && tagged != what.digest):
		// What is named by its digest needs no tag.
		to = to.Context().Digest(what.digest)
		if head, err = remote.Head(to, options...); err == nil {
			is = head.Digest.String()
		}
	case other && !t.Replace:
		return done, fmt.Errorf("%s is there already, and is another (%s): look at who has named which, and write over it with --replace, or copy to another path", done.To, is)
	}
	if is == what.digest {
		done.There = true
	} else if err := remote.Push(to, what.content, options...); err != nil {
		return done, fmt.Errorf("cannot write %s: %w", to, err)
	}
	if item.Kind == KindPackage {
		err = l.copySignatures(ctx, what.from.Context().Digest(what.digest), to.Context())
		return done, err
	}
	return done, nil
}

// artifact is something that is copied.
type artifact struct {
	content remote.Taggable
	digest  string
	// from is where it is from; nil for charts.
	from name.Reference
}

// read reads an item where it is.
func (l *Lister) read(ctx context.Context, item Item, t Target) (artifact, error) {
	if item.Chart != nil {
		is, err := l.charts.get(ctx, *item.Chart)
		if err != nil {
			return artifact{}, err
		}
		content, err := xpkg.ChartArtifact(is.chart.Metadata, is.archive)
		if err != nil {
			return artifact{}, err
		}
		digest, err := content.Digest()
		return artifact{content: content, digest: digest.String()}, err
	}
	from, err := l.from.parse(item.Name)
	if err != nil {
		return artifact{}, err
	}
	got, err := remote.Get(from, append(slices.Clone(l.options), remote.WithContext(ctx), remote.WithPlatform(*cmp.Or(t.Platform, &v1.Platform{OS: "linux", Architecture: "amd64"})))...)
	if err != nil {
		return artifact{}, err
	}
	// One of several platforms has another digest than the one by which it is named.
	if t.Platform == nil || digestOf(item.Name) != "" || !got.MediaType.IsIndex() {
		return artifact{content: got, digest: got.Digest.String(), from: from}, nil
	}
	img, err := got.Image()
	if err != nil {
		return artifact{}, err
	}
	digest, err := img.Digest()
	return artifact{content: img, digest: digest.String(), from: from}, err
}

// signatures are the ends of the tags of a package's signatures and attestations, as cosign and Crossplane have them.
var signatures = []string{"sig", "att"}

// copySignatures copies what is said of a package elsewhere in its repository: its signatures and attestations, and what refers to it.
func (l *Lister) copySignatures(ctx context.Context, of name.Digest, to name.Repository) error {
	options := append(slices.Clone(l.options), remote.WithContext(ctx))
	put := func(from, to name.Reference) error {
		got, err := remote.Get(from, options...)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		return remote.Push(to, got, options...)
	}
	tag := strings.ReplaceAll(of.DigestStr(), ":", "-")
	for _, end := range signatures {
		if err := put(of.Context().Tag(tag+"."+end), to.Tag(tag+"."+end)); err != nil {
			return fmt.Errorf("cannot copy its .%s: %w", end, err)
		}
	}
	index, err := remote.Referrers(of, options...)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cannot list what refers to it: %w", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	for _, d := range manifest.Manifests {
		if err := put(of.Context().Digest(d.Digest.String()), to.Digest(d.Digest.String())); err != nil {
			return fmt.Errorf("cannot copy %s, which refers to it: %w", d.Digest, err)
		}
	}
	return nil
}

// isMissing reports whether a registry has said that it doesn't have something.
func isMissing(err error) bool {
	var answer *transport.Error
	return errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// withOne returns a reference with a tag or a digest, and not both: to write one with both is to write the tag. What is written has its digest there.
func withOne(reference string) string {
	if before, _, ok := strings.Cut(reference, "@"); ok && strings.LastIndex(before, ":") > strings.LastIndex(before, "/") {
		return before
	}
	return reference
}
