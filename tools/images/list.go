package images

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/yaml"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	inputv1alpha1 "github.com/virtual-argocd/virtual-argocd/fn/input/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// An Installation is what the list is made for.
type Installation struct {
	// Input of the function; nil for the built-in defaults.
	Input map[string]any
	// Tenants are plans, channels and claims, and Secrets that claims name.
	Tenants []map[string]any
	// Versions that tenants may have in addition to those that follow from all that.
	Versions Versions
	// Platform is what installs the platform: manifests, and releases of charts.
	Platform Platform
}

// input returns the function's input. Where it has no catalogue of components, it has the built-in one, as for the function.
func (of Installation) input() map[string]any {
	out := maps.Clone(of.Input)
	if out == nil {
		out = map[string]any{"apiVersion": inputv1alpha1.APIVersion, "kind": inputv1alpha1.Kind}
	}
	if _, has := out["components"]; !has {
		builtIn := copyOf(map[string]any{"components": tenant.Catalogue(inputv1alpha1.Input{})})
		out["components"] = builtIn["components"]
	}
	return out
}

// Versions of what runs in tenants.
type Versions struct{ ArgoCDCharts, VClusterCharts, Kubernetes []string }

// A Lister lists what installations need.
type Lister struct {
	charts  *Charts
	from    source
	options []remote.Option
	renders map[string]rendered
	// now is how late it is for the function.
	now time.Time
}

// NewLister returns one that looks for charts in folders before it asks their repositories, and for what is in registries in another one, from, which has
// it under whole names; "" for none.
func NewLister(folders []string, from string, options ...remote.Option) *Lister {
	return &Lister{charts: newCharts(folders, source(from), options), from: source(from), options: options, renders: map[string]rendered{}, now: time.Now().UTC().Truncate(time.Second)}
}

// A List is what an installation needs.
type List struct {
	Items []Item
	// Notes say what the list may lack.
	Notes []string
}

// List returns what an installation needs. It goes on where a plan, a claim or a version has a mistake: the error has all of them, and the list lacks what
// these need.
func (l *Lister) List(ctx context.Context, of Installation) (List, error) {
	of.Input = of.input()
	c, out := collection{}, List{}
	wrong := mistakes{}
	wrong.add("the platform", l.platform(ctx, of.Platform, c))

	cluster, tenants := l.tenants(ctx, of, wrong)
	wanted, notes := versionsOf(of)
	out.Notes = notes
	reached := map[variant]bool{}
	for _, v := range append([]variant{{}}, wanted...) {
		for _, t := range tenants {
			has, err := l.tenant(ctx, t, v.set(of.Input), cluster, c)
			switch {
			case err != nil && v == (variant{}):
				wrong.add(t.what, err)
			case err != nil && !wrong.has(t.what, err):
				wrong.add(v.String(), err)
				// That says why.
				reached[v] = true
			}
			for _, is := range has {
				reached[is] = true
			}
		}
	}
	for _, v := range wanted {
		if !reached[v] {
			wrong.add(v.String(), errors.New("no tenant gets it: each has another by its claim, its plan or its channel"))
		}
	}
	out.Items = slices.DeleteFunc(c.sorted(), func(item Item) bool {
		if item.Kind == KindChart {
			return false
		}
		// Claims name images, and a list of names is read by people and by scripts.
		_, err := name.ParseReference(item.Name, name.WeakValidation)
		if err != nil {
			wrong.add(strings.Join(item.Sources, ", "), fmt.Errorf("%q is no reference of an image, and no node pulls it", item.Name))
		}
		return err != nil
	})
	return out, wrong.error()
}

// mistakes are what is wrong, by what is said of it, with what it is wrong with.
type mistakes map[string][]string

func (m mistakes) add(of string, err error) {
	if err != nil && !m.has(of, err) {
		m[err.Error()] = append(m[err.Error()], of)
	}
}

func (m mistakes) has(of string, err error) bool { return slices.Contains(m[err.Error()], of) }

// error returns all of them; nil for none.
func (m mistakes) error() error {
	var out []error
	for text, of := range m {
		out = append(out, fmt.Errorf("%s: %s", strings.Join(of, ", "), text))
	}
	slices.SortFunc(out, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errors.Join(out...)
}

// Resolve asks the registries for the digests of images and packages that are known by their tags alone.
func (l *Lister) Resolve(ctx context.Context, items []Item) error {
	found := make([]error, len(items))
	g := errgroup.Group{}
	g.SetLimit(8)
	for i := range items {
		item := &items[i]
		if item.Kind == KindChart || item.Digest != "" {
			continue
		}
		g.Go(func() error {
			ref, err := l.from.parse(item.Name)
			if err == nil {
				item.Digest, err = digestAt(ref, append(l.options, remote.WithContext(ctx))...)
			}
			if err != nil {
				found[i] = fmt.Errorf("%s %s: %w", item.Kind, item.Name, err)
			}
			return nil
		})
	}
	_ = g.Wait()
	return errors.Join(found...)
}

// digestAt returns the digest that a registry has for a reference.
func digestAt(ref name.Reference, options ...remote.Option) (string, error) {
	head, err := remote.Head(ref, options...)
	if err == nil {
		return head.Digest.String(), nil
	}
	// Some registries answer no HEAD, and the answer to a GET says more of what is wrong.
	got, err := remote.Get(ref, options...)
	if err != nil {
		return "", err
	}
	return got.Digest.String(), nil
}

// A tenantOf is a composite resource, and what it is in messages.
type tenantOf struct {
	what string
	xr   map[string]any
}

// tenants returns the composite resources of all claims, and one for each plan and each channel with a claim that wants all components that it may have,
// and nothing more. With them it
// returns what the function may ask for.
func (l *Lister) tenants(ctx context.Context, of Installation, wrong mistakes) (cluster []map[string]any, out []tenantOf) {
	out = []tenantOf{{"a claim without a plan", withComponents(of, "")}}
	for _, o := range of.Tenants {
		cluster = append(cluster, o)
		name := textAt(o, "metadata", "name")
		switch textAt(o, "kind") {
		case v1alpha1.PlanKind:
			out = append(out, tenantOf{"plan " + name, withComponents(of, name)})
		case v1alpha1.ChannelKind:
			published, err := l.channel(ctx, o, of, cluster)
			if err != nil {
				wrong.add("channel "+name, err)
				continue
			}
			cluster = append(cluster, published...)
			xr := withComponents(of, "")
			mapAt(xr, "spec")["channel"] = name
			out = append(out, tenantOf{"channel " + name, xr})
		case "VirtualArgoCD", "XVirtualArgoCD":
			out = append(out, tenantOf{"claim " + strings.TrimPrefix(textAt(o, "metadata", "namespace")+"/"+name, "/"), composite(o)})
		}
	}
	return cluster, out
}

// withComponents is the composite resource of a tenant that has a plan and all components of the catalogue that the plan allows; "" for the default plan.
func withComponents(of Installation, plan string) map[string]any {
	var allows map[string]any
	for _, o := range of.Tenants {
		isDefault := textAt(o, "metadata", "labels", v1alpha1.LabelDefaultPlan) == "true"
		if textAt(o, "kind") == v1alpha1.PlanKind && (textAt(o, "metadata", "name") == plan || plan == "" && isDefault) {
			allows = mapAt(o, "spec", "components")
		}
	}
	var all []any
	for _, c := range listOf(of.Input["components"]) {
		name := textAt(c, "name")
		if allowed := allows["allowed"]; allowed == nil || slices.Contains(listOf(allowed), any(name)) {
			all = append(all, map[string]any{"name": name})
		}
	}
	out := ofPlan(plan)
	if len(all) > 0 {
		mapAt(out, "spec")["components"] = all
	}
	return out
}

// channel returns what a channel publishes.
func (l *Lister) channel(ctx context.Context, o map[string]any, of Installation, cluster []map[string]any) ([]map[string]any, error) {
	e, err := newPlay(l.now, composite(o), of.Input, cluster)
	if err != nil {
		return nil, err
	}
	all, _, err := e.compose(ctx)
	if err != nil {
		return nil, err
	}
	_ = all
	return e.cluster[len(hostObjects())+len(cluster):], nil
}

// tenant adds what a tenant needs. It returns the versions that the tenant has.
func (l *Lister) tenant(ctx context.Context, t tenantOf, input map[string]any, cluster []map[string]any, into collection) ([]variant, error) {
	e, err := newPlay(l.now, copyOf(t.xr), input, cluster)
	if err != nil {
		return nil, err
	}
	e.server = func(composed map[string]map[string]any) (string, error) { return l.serverImage(ctx, composed) }
	all, message, err := e.compose(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{tenant.VClusterRelease, tenant.ArgoCDRelease} {
		if all[name] == nil {
			return nil, fmt.Errorf("the function composes no Release %s: %s", name, message)
		}
	}
	var has []variant
	var found []error
	for _, name := range slices.Sorted(maps.Keys(all)) {
		o := all[name]
		if textAt(o, "kind") != "Release" {
			for _, reference := range inPods(o) {
				into.add(KindImage, withRegistry(reference), digestOf(reference), textAt(o, "kind")+" "+name, nil)
			}
			continue
		}
		r, err := releaseOf(all, name)
		if err == nil {
			err = l.release(ctx, r, into)
		}
		if err != nil {
			found = append(found, err)
			continue
		}
		switch name {
		case tenant.VClusterRelease:
			has = append(has, variant{vclusterChart, r.chart.Version}, variant{kubernetesVersion, r.kubernetes})
		case tenant.ArgoCDRelease:
			has = append(has, variant{argocdChart, r.chart.Version})
		}
	}
	return has, errors.Join(found...)
}

// release adds a chart, and the images in what is rendered of it.
func (l *Lister) release(ctx context.Context, r release, into collection) error {
	is, err := l.charts.get(ctx, r.chart)
	if err != nil {
		return err
	}
	source := r.chart.Name + " " + r.chart.Version
	into.add(KindChart, r.chart.String(), is.digest, "Release "+cmp.Or(r.composed, r.name), &r.chart)
	done, err := l.render(ctx, r)
	if err != nil {
		return err
	}
	repositories := repositoriesOf(done.values)
	for _, o := range done.objects {
		if err := l.add(o, source+": "+identity(o), into); err != nil {
			return err
		}
		for _, reference := range inTexts(o, repositories) {
			into.add(KindImage, withRegistry(reference), digestOf(reference), source+": named in "+identity(o), nil)
		}
	}
	if r.composed == tenant.VClusterRelease {
		own, err := ofVCluster(done.values)
		if err != nil {
			return err
		}
		for _, f := range own {
			into.add(KindImage, withRegistry(f.reference), digestOf(f.reference), source+": "+f.place, nil)
		}
	}
	return nil
}

// add adds the package or the images that an object names.
func (l *Lister) add(o map[string]any, source string, into collection) error {
	if strings.HasPrefix(textAt(o, "apiVersion"), "pkg.crossplane.io/") {
		if reference := textAt(o, "spec", "package"); reference != "" {
			into.add(KindPackage, withRegistry(reference), digestOf(reference), source, nil)
		}
	}
	for _, reference := range inPods(o) {
		into.add(KindImage, withRegistry(reference), digestOf(reference), source, nil)
	}
	return nil
}

// render renders a release, each once.
func (l *Lister) render(ctx context.Context, r release) (rendered, error) {
	raw, err := json.Marshal(r.values)
	if err != nil {
		return rendered{}, err
	}
	key := strings.Join([]string{r.chart.String(), r.name, r.namespace, r.kubernetes, string(raw)}, "\n")
	if done, ok := l.renders[key]; ok {
		return done, nil
	}
	is, err := l.charts.get(ctx, r.chart)
	if err != nil {
		return rendered{}, err
	}
	done, err := render(is.chart, r)
	if err != nil {
		return done, fmt.Errorf("cannot render chart %s: %w", r.chart, err)
	}
	l.renders[key] = done
	return done, nil
}

// serverImage returns the image of Argo CD's API server in the Release of argo-cd.
func (l *Lister) serverImage(ctx context.Context, composed map[string]map[string]any) (string, error) {
	r, err := releaseOf(composed, tenant.ArgoCDRelease)
	if err != nil {
		return "", err
	}
	done, err := l.render(ctx, r)
	if err != nil {
		return "", err
	}
	for _, o := range done.objects {
		if textAt(o, "kind") != "Deployment" || textAt(o, "metadata", "name") != tenant.HelmArgoCD+"-"+tenant.ComponentServer {
			continue
		}
		for _, c := range listOf(mapAt(o, "spec", "template", "spec")["containers"]) {
			if textAt(c, "name") == tenant.ComponentServer {
				return textAt(c, "image"), nil
			}
		}
	}
	return "", fmt.Errorf("chart %s has no Deployment %s-%s", r.chart, tenant.HelmArgoCD, tenant.ComponentServer)
}

// releaseOf returns the release that a composed Release describes, with the values in Secrets of the same tenant.
func releaseOf(composed map[string]map[string]any, name string) (release, error) {
	o := composed[name]
	is := mapAt(o, "spec", "forProvider")
	r := release{
		composed: name, namespace: textAt(is, "namespace"),
		chart: Chart{
			Repository: textAt(is, "chart", "repository"), Name: textAt(is, "chart", "name"), Version: textAt(is, "chart", "version"), Digest: textAt(is, "chart", "digest"),
		},
		name:       cmp.Or(textAt(o, "metadata", "annotations", "crossplane.io/external-name"), name),
		kubernetes: textAt(composed[tenant.VClusterRelease], "spec", "forProvider", "values", "controlPlane", "distro", "k8s", "version"),
	}
	var layers []values.Values
	for _, from := range listOf(is["valuesFrom"]) {
		secret, key := textAt(from, "secretKeyRef", "name"), textAt(from, "secretKeyRef", "key")
		for _, s := range composed {
			if textAt(s, "kind") != "Secret" || textAt(s, "metadata", "name") != secret {
				continue
			}
			text, err := secretText(s, key)
			if err != nil {
				return r, err
			}
			var layer values.Values
			if err := yaml.Unmarshal([]byte(text), &layer); err != nil {
				return r, fmt.Errorf("cannot read Secret %s: %w", secret, err)
			}
			layers = append(layers, layer)
		}
	}
	r.values = values.Merge(append(layers, mapAt(is, "values"))...)
	return r, nil
}

// What versions are of.
const (
	argocdChart       = "argo-cd"
	vclusterChart     = "vcluster"
	kubernetesVersion = "Kubernetes"
)

// A variant is a version that tenants may have.
type variant struct{ of, version string }

func (v variant) String() string { return v.of + " " + v.version }

// set returns an input with the version as the platform's.
func (v variant) set(input map[string]any) map[string]any {
	out := copyOf(input)
	switch v.of {
	case argocdChart:
		values.Insert(out, v.version, "charts", "argocd", "version")
	case vclusterChart:
		values.Insert(out, v.version, "charts", "vcluster", "version")
	case kubernetesVersion:
		values.Insert(out, v.version, "kubernetes", "version")
	}
	return out
}

// versionsOf returns the versions that are asked for, and those that plans list one by one. Its notes are about plans that have ranges.
func versionsOf(of Installation) (out []variant, notes []string) {
	add := func(what string, versions []string) (ranges []string) {
		for _, text := range versions {
			v, err := semver.StrictNewVersion(strings.TrimPrefix(text, "v"))
			if err != nil {
				ranges = append(ranges, text)
				continue
			}
			is := variant{what, v.String()}
			if what == kubernetesVersion {
				is.version = "v" + is.version
			}
			if !slices.Contains(out, is) {
				out = append(out, is)
			}
		}
		return ranges
	}
	for _, list := range []struct{ what, key, flag string }{
		{argocdChart, "argocdCharts", "--argocd-chart"}, {vclusterChart, "vclusterCharts", "--vcluster-chart"}, {kubernetesVersion, "kubernetes", "--kubernetes"},
	} {
		var plans, ranges []string
		for _, o := range of.Tenants {
			if textAt(o, "kind") != v1alpha1.PlanKind {
				continue
			}
			var texts []string
			for _, text := range listOf(mapAt(o, "spec", "versions")[list.key]) {
				text, _ := text.(string)
				texts = append(texts, text)
			}
			if in := add(list.what, texts); len(in) > 0 {
				plans, ranges = append(plans, textAt(o, "metadata", "name")), append(ranges, in...)
			}
		}
		if len(ranges) > 0 {
			slices.Sort(ranges)
			notes = append(notes, fmt.Sprintf("claims of plan %s may have %s %s: name those of these versions that are to be listed with %s",
				strings.Join(plans, ", "), list.what, strings.Join(slices.Compact(ranges), " or "), list.flag))
		}
	}
	for what, versions := range map[string][]string{argocdChart: of.Versions.ArgoCDCharts, vclusterChart: of.Versions.VClusterCharts, kubernetesVersion: of.Versions.Kubernetes} {
		for _, text := range add(what, versions) {
			notes = append(notes, fmt.Sprintf("%s %q is no exact version, and left out", what, text))
		}
	}
	slices.SortFunc(out, func(a, b variant) int { return cmp.Or(cmp.Compare(a.of, b.of), cmp.Compare(a.version, b.version)) })
	return out, notes
}

// copyOf is a copy of an object that nobody else changes.
func copyOf(o map[string]any) map[string]any {
	raw, err := json.Marshal(o)
	out := map[string]any{}
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil || out == nil {
		return map[string]any{}
	}
	return out
}
