package images

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"
)

// pinned is the digest that the chart argo-cd of testdata names.
const pinned = "quay.io/argoproj/upgrade@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// names are kind and name of items.
func names(items []Item) []string {
	var out []string
	for _, item := range items {
		out = append(out, item.Kind+" "+item.Name)
	}
	return out
}

// installation is that of testdata, with an input.
func installation(t *testing.T, input string) Installation {
	t.Helper()
	tenants, err := ReadObjects("testdata/tenants.yaml")
	if err != nil {
		t.Fatal(err)
	}
	of := Installation{Tenants: tenants, Platform: Platform{Paths: []string{"testdata/platform.yaml"}}}
	if !strings.Contains(input, "components:") {
		input += withoutComponents
	}
	if err := yaml.Unmarshal([]byte("apiVersion: input.virtualargocd.io/v1alpha1\nkind: Input\n"+input), &of.Input); err != nil {
		t.Fatal(err)
	}
	return of
}

const (
	withBackups = "backup: {remote: \"backup:\"}\n"
	// withoutComponents has an empty catalogue: the charts of the built-in one aren't here.
	withoutComponents = "components: []\n"
	// withRollouts has a catalogue with a component.
	withRollouts = "components: [{name: rollouts, chart: {repository: \"https://charts.example.org\", name: argo-rollouts, version: 2.41.0}}]\n"
)

// ofTestdata is all that the installation of testdata needs.
var ofTestdata = []string{
	"chart https://argoproj.github.io/argo-helm/argo-cd:10.1.1",
	"chart https://charts.loft.sh/vcluster:0.36.1",
	"image docker.io/alpine/kubectl:1.36.0",
	"image docker.io/coredns/coredns:1.14.1",
	"image docker.io/coredns/coredns:1.14.2",
	"image docker.io/nats:2.10.10",
	"image docker.io/rclone/rclone:1.76.0",
	"image ecr-public.aws.com/docker/library/redis:8.2.3-alpine",
	"image ghcr.io/loft-sh/kubernetes:v1.35.0",
	"image ghcr.io/loft-sh/kubernetes:v1.36.0",
	"image ghcr.io/loft-sh/vcluster-oss:0.36.1",
	"image ghcr.io/oliver006/redis_exporter:v1",
	"image quay.io/argoproj/argocd:v3.4.4",
	"image quay.io/argoproj/argoexec:v4.0.6",
	"image " + pinned,
	"image quay.io/argoproj/workflow-controller:v4.0.6",
	"image registry.example.org/extension:1",
	"image registry.example.org/extra:1",
	"image registry.k8s.io/kubectl:v1.36.0",
	"package xpkg.crossplane.io/virtual-argocd/function-virtual-argocd:v0.3.0",
}

// TestList: everything that tenants of the plan and the claim, and their Jobs, pull; at any time of the day, though the plan's tenants sleep at night.
func TestList(t *testing.T) {
	for name, now := range map[string]time.Time{"Day": time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), "Night": time.Date(2026, 1, 2, 23, 0, 0, 0, time.UTC)} {
		t.Run(name, func(t *testing.T) {
			l := NewLister([]string{"testdata/charts"}, "")
			l.now = now
			list, err := l.List(t.Context(), installation(t, withBackups))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ofTestdata, names(list.Items)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for _, item := range list.Items {
				if len(item.Sources) == 0 || item.Kind == KindChart && !strings.HasPrefix(item.Digest, "sha256:") || strings.Contains(item.Name, "@") && item.Digest == "" {
					t.Errorf("%s lacks something: %+v", item.Name, item)
				}
			}
			if len(list.Notes) != 1 || !strings.Contains(list.Notes[0], "~1.34") || !strings.Contains(list.Notes[0], "--kubernetes") {
				t.Errorf("want a note about the range of the plan, got %q", list.Notes)
			}
		})
	}
}

// TestWithoutParts: what no plan and no claim has isn't listed.
func TestWithoutParts(t *testing.T) {
	of := installation(t, withBackups)
	of.Tenants = nil
	list, err := NewLister([]string{"testdata/charts"}, "").List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range list.Items {
		for _, part := range []string{"alpine/kubectl", "rclone", "redis_exporter", "v1.35"} {
			if strings.Contains(item.Name, part) {
				t.Errorf("%s is listed", item.Name)
			}
		}
	}
}

// TestMistakes: all of them are told, each with whose it is, and the rest is listed.
func TestMistakes(t *testing.T) {
	of := installation(t, withBackups)
	of.Tenants = append(of.Tenants,
		map[string]any{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD", "metadata": map[string]any{"name": "b", "namespace": "team-b"}, "spec": map[string]any{"plan": "no-such-plan"}},
		map[string]any{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDPlan", "metadata": map[string]any{"name": "wrong"}, "spec": map[string]any{"quota": map[string]any{"limits.cpu": "many"}}},
	)
	// What a customer writes isn't printed as it is.
	for _, image := range []string{"quay.io/a/b:1\nimage  quay.io/argoproj/argocd:v9", "quay.io/\x1b[2J"} {
		pod := map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"containers": []any{map[string]any{"name": "a", "image": image}}}}
		of.Tenants = append(of.Tenants, map[string]any{"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD", "metadata": map[string]any{"name": "c", "namespace": "team-b"},
			"spec": map[string]any{"argocd": map[string]any{"values": map[string]any{"extraObjects": []any{pod}}}}})
	}
	of.Input["charts"] = map[string]any{"argocd": map[string]any{"repository": "http://127.0.0.1:1"}}
	of.Versions = Versions{ArgoCDCharts: []string{"9.9.9"}, Kubernetes: []string{"v1.99.0", "~1.35"}}
	list, err := NewLister([]string{"testdata/charts"}, "").List(t.Context(), of)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"claim team-b/b: ", "plan wrong: ", "argo-cd 9.9.9: ", "Kubernetes v1.99.0: ", `"quay.io/a/b:1\nimage  quay.io/argoproj/argocd:v9" is no reference of an image`, `"quay.io/\x1b[2J:latest" is no reference`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %s: %v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 5 {
		t.Errorf("want six lines, got %d: %v", n+1, err)
	}
	want := append([]string{"chart http://127.0.0.1:1/argo-cd:10.1.1"}, ofTestdata[1:]...)
	if diff := cmp.Diff(want, names(list.Items)); diff != "" {
		t.Errorf("what is right isn't listed, -want +got:\n%s", diff)
	}
}

// TestJobs: the images of Jobs that come later in the life of a tenant.
func TestJobs(t *testing.T) {
	const kubectl, rclone = "image docker.io/alpine/kubectl:1.36.0", "image docker.io/rclone/rclone:1.76.0"
	for name, tc := range map[string]struct {
		spec map[string]any
		want []string
	}{
		"None":       {map[string]any{}, nil},
		"Backup":     {map[string]any{"backup": map[string]any{"enabled": true}}, []string{kubectl, rclone}},
		"Restore":    {map[string]any{"restoreFrom": map[string]any{"backup": "latest"}}, []string{kubectl, rclone}},
		"Copy":       {map[string]any{"restoreFrom": map[string]any{"tenant": "b"}}, []string{kubectl, rclone}},
		"Hibernates": {map[string]any{"hibernation": map[string]any{"schedules": []any{map[string]any{"start": "0 20 * * *", "end": "0 6 * * *"}}}}, []string{kubectl}},
		"Asleep":     {map[string]any{"hibernation": map[string]any{"enabled": true}}, []string{kubectl}},
		"Suspended":  {map[string]any{"suspension": map[string]any{"reason": "unpaid"}}, []string{kubectl}},
	} {
		t.Run(name, func(t *testing.T) {
			of := installation(t, withBackups)
			of.Tenants = []map[string]any{{
				"apiVersion": "virtualargocd.io/v1alpha1", "kind": "VirtualArgoCD", "metadata": map[string]any{"name": "a", "namespace": "team-a"}, "spec": tc.spec,
			}}
			l := NewLister([]string{"testdata/charts"}, "")
			l.now = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
			list, err := l.List(t.Context(), of)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, is := range names(list.Items) {
				if is == kubectl || is == rclone {
					got = append(got, is)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestListOfCatalogue: components of the catalogue are listed where a plan allows them, and those of claims in any case; one whose chart can't be pulled keeps
// nothing else from being listed.
func TestListOfCatalogue(t *testing.T) {
	const chart, image = "chart https://charts.example.org/argo-rollouts:2.41.0", "image quay.io/argoproj/argo-rollouts:v1.9.0"
	object := func(kind, name string, labels, spec map[string]any) map[string]any {
		meta := map[string]any{"name": name, "labels": labels}
		if kind == "VirtualArgoCD" {
			meta["namespace"] = "team-a"
		}
		return map[string]any{"apiVersion": "virtualargocd.io/v1alpha1", "kind": kind, "metadata": meta, "spec": spec}
	}
	byDefault := map[string]any{"virtualargocd.io/default-plan": "true"}
	none := map[string]any{"components": map[string]any{"allowed": []any{}}}
	for name, tc := range map[string]struct {
		tenants []map[string]any
		want    []string
	}{
		"NoPlan":     {nil, []string{chart, image}},
		"NoneByPlan": {[]map[string]any{object("XArgoCDPlan", "p", byDefault, none)}, nil},
		"OneByPlan":  {[]map[string]any{object("XArgoCDPlan", "p", byDefault, none), object("XArgoCDPlan", "q", nil, map[string]any{"components": map[string]any{"allowed": []any{"rollouts"}}})}, []string{chart, image}},
		"Always":     {[]map[string]any{object("XArgoCDPlan", "p", byDefault, map[string]any{"components": map[string]any{"allowed": []any{}, "always": []any{"rollouts"}}})}, []string{chart, image}},
		"Claim": {[]map[string]any{
			object("XArgoCDPlan", "p", byDefault, none), object("XArgoCDPlan", "q", nil, map[string]any{"values": map[string]any{"components": []any{map[string]any{
				"name": "rollouts", "values": map[string]any{"controller": map[string]any{"image": map[string]any{"registry": "registry.example.org"}}},
			}}}}),
			object("VirtualArgoCD", "a", nil, map[string]any{"plan": "q", "components": []any{map[string]any{"name": "rollouts"}}}),
		}, []string{chart, "image registry.example.org/argoproj/argo-rollouts:v1.9.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			of := installation(t, withRollouts)
			of.Tenants = tc.tenants
			list, err := NewLister([]string{"testdata/charts"}, "").List(t.Context(), of)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, is := range names(list.Items) {
				if strings.Contains(is, "argo-rollouts") {
					got = append(got, is)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	// The built-in one, where the input has none. Its charts aren't here.
	var named []string
	for _, c := range listOf(mapAt(withComponents(Installation{Input: Installation{}.input()}, ""), "spec")["components"]) {
		named = append(named, textAt(c, "name"))
	}
	if want := []string{"rollouts", "workflows", "events", "image-updater"}; !slices.Equal(named, want) {
		t.Errorf("an installation without a catalogue lists components %q", named)
	}
	of := installation(t, strings.NewReplacer("https://charts.example.org", "http://127.0.0.1:1", "2.41.0", "9.9.9").Replace(withRollouts))
	of.Tenants = nil
	list, err := NewLister([]string{"testdata/charts"}, "").List(t.Context(), of)
	if err == nil || !strings.Contains(err.Error(), "argo-rollouts:9.9.9") || !slices.Contains(names(list.Items), "image ghcr.io/loft-sh/vcluster-oss:0.36.1") {
		t.Errorf("got %v and %v", err, names(list.Items))
	}
}

// TestChannel: what a channel offers is listed.
func TestChannel(t *testing.T) {
	of := installation(t, "")
	of.Tenants = []map[string]any{{
		"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDChannel", "metadata": map[string]any{"name": "stable"},
		"spec": map[string]any{"offer": map[string]any{"kubernetes": map[string]any{"version": "v1.35.4"}}},
	}}
	list, err := NewLister([]string{"testdata/charts"}, "").List(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image ghcr.io/loft-sh/kubernetes:v1.35.4", "image ghcr.io/loft-sh/kubernetes:v1.36.0"} {
		if !slices.Contains(names(list.Items), want) {
			t.Errorf("%s isn't listed: %v", want, names(list.Items))
		}
	}
}

// TestNobodyGetsIt: a version that is asked for, and that all tenants have another of, isn't left out in silence.
func TestNobodyGetsIt(t *testing.T) {
	of := installation(t, "")
	of.Tenants = []map[string]any{
		{
			"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDChannel", "metadata": map[string]any{"name": "stable"},
			"spec": map[string]any{"offer": map[string]any{"argocd": map[string]any{"chartVersion": "10.1.1"}}},
		},
		{
			"apiVersion": "virtualargocd.io/v1alpha1", "kind": "XArgoCDPlan",
			"metadata": map[string]any{"name": "standard", "labels": map[string]any{"virtualargocd.io/default-plan": "true"}}, "spec": map[string]any{"channel": "stable"},
		},
	}
	of.Versions.ArgoCDCharts = []string{"10.0.0"}
	_, err := NewLister([]string{"testdata/charts"}, "").List(t.Context(), of)
	if err == nil || err.Error() != "argo-cd 10.0.0: no tenant gets it: each has another by its claim, its plan or its channel" {
		t.Errorf("got %v", err)
	}
}

// TestInTexts: text is no image unless it names a repository of the values with a tag or a digest.
func TestInTexts(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	repositories := repositoriesOf(map[string]any{
		"executor": map[string]any{"image": map[string]any{"registry": "quay.io", "repository": "argoproj/argoexec", "tag": ""}},
		"whole":    map[string]any{"repository": "quay.io/argoproj/cli", "tag": "v1"}, "natsImage": "nats:2.10", "chart": map[string]any{"repository": "https://charts.example.org"},
		"image": "plain", "list": []any{map[string]any{"reloaderImage": "natsio/reloader:1"}},
	})
	if diff := cmp.Diff([]string{"argoproj/argoexec", "argoproj/cli", "nats", "natsio/reloader"}, repositories); diff != "" {
		t.Errorf("repositories: -want +got:\n%s", diff)
	}
	for text, want := range map[string][]string{
		"--executor-image=quay.io/argoproj/argoexec:v4": {"quay.io/argoproj/argoexec:v4"},
		"r.example.org:5000/argoproj/cli" + digest:      {"r.example.org:5000/argoproj/cli" + digest},
		"argoproj/argoexec:v4" + digest + " nats:1":     {"argoproj/argoexec:v4" + digest, "nats:1"},
		`{"image":"natsio/reloader:1.2-alpine"}`:        {"natsio/reloader:1.2-alpine"},
		"argoproj/argoexec":                             nil,
		"xnats:1 my-nats:2 team/nats:3 a/b/nats:4":      nil,
		"nats: 2.10": nil,
		"plain:1":    nil,
	} {
		for place, o := range map[string]map[string]any{
			"an argument":   {"spec": map[string]any{"containers": []any{map[string]any{"args": []any{text}}}}},
			"a command":     {"spec": map[string]any{"containers": []any{map[string]any{"command": []any{text}}}}},
			"a variable":    {"spec": map[string]any{"containers": []any{map[string]any{"env": []any{map[string]any{"name": "A", "value": text}}}}}},
			"a ConfigMap":   {"data": map[string]any{"a": text}},
			"a Secret":      {"stringData": map[string]any{"a": text}},
			"no such place": {"metadata": map[string]any{"annotations": map[string]any{"a": text}}},
		} {
			expected := want
			if place == "no such place" {
				expected = nil
			}
			if diff := cmp.Diff(expected, inTexts(o, repositories)); diff != "" {
				t.Errorf("%s in %s: -want +got:\n%s", text, place, diff)
			}
		}
	}
}

// TestOfVCluster: what vcluster starts itself follows from its values.
func TestOfVCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		values string
		want   []string
	}{
		"Default":  {`{controlPlane: {coredns: {enabled: true}, distro: {k8s: {image: {tag: v1.33.4}}}}}`, []string{"docker.io/coredns/coredns:1.12.0"}},
		"Mirror":   {`{controlPlane: {advanced: {defaultImageRegistry: r.example.org/m/}, coredns: {enabled: true}, distro: {k8s: {image: {tag: v1.36.1}}}}}`, []string{"r.example.org/m/coredns/coredns:1.14.2"}},
		"NoDNS":    {`{controlPlane: {coredns: {enabled: false}}}`, nil},
		"Hosts":    {`{sync: {toHost: {pods: {rewriteHosts: {enabled: true, initContainer: {image: {registry: mirror.gcr.io, repository: library/alpine, tag: "3.20"}}}}}}}`, []string{"mirror.gcr.io/library/alpine:3.20"}},
		"Manifest": {`{experimental: {deploy: {vcluster: {manifests: "kind: Pod\nspec:\n  containers:\n  - image: example.org/a:1"}}}}`, []string{"example.org/a:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var values map[string]any
			if err := yaml.Unmarshal([]byte(tc.values), &values); err != nil {
				t.Fatal(err)
			}
			got, err := ofVCluster(values)
			if err != nil {
				t.Fatal(err)
			}
			var references []string
			for _, f := range got {
				references = append(references, f.reference)
			}
			if diff := cmp.Diff(tc.want, references); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A server is a registry that counts what is written to it.
type server struct {
	address string
	writes  atomic.Int32
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	h := registry.New(registry.Logger(log.New(io.Discard, "", 0)), registry.WithReferrersSupport(true))
	is := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			s.writes.Add(1)
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(is.Close)
	s.address = strings.TrimPrefix(is.URL, "http://")
	return s
}

// has returns the digest of what the registry has; "" for nothing.
func (s *server) has(t *testing.T, path string) string {
	t.Helper()
	ref, err := name.ParseReference(s.address + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	d, err := remote.Head(ref)
	if err != nil {
		return ""
	}
	return d.Digest.String()
}

// put pushes something to the registry.
func (s *server) put(t *testing.T, path string, what remote.Taggable) {
	t.Helper()
	ref, err := name.ParseReference(s.address + "/" + path)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(ref, what); err != nil {
		t.Fatal(err)
	}
}

func randomIndex(t *testing.T) v1.ImageIndex {
	t.Helper()
	out, err := random.Index(256, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
