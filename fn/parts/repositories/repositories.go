// Package repositories is the part of a claim with the repositories of its Argo CD, and
// with templates of credentials for them.
package repositories

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/proxy"
)

// Part is spec.repositories with spec.credentialTemplates.
var Part = part.Part{
	Field: "spec.repositories or spec.credentialTemplates", Secrets: secrets, Resolve: resolve,
	Condition: v1alpha1.ConditionRepositoriesConnected,
	Has:       func(t tenant.Tenant) bool { return len(t.Repositories) > 0 },
	Observe: func(t tenant.Tenant, is condition.Of) condition.Condition {
		return argocd.Connected(t, is, t.Repositories, "repository")
	},
	Report: func(t tenant.Tenant, s *v1alpha1.Status) {
		for _, c := range argocd.Seen(t, t.Repositories) {
			s.Repositories = append(s.Repositories, v1alpha1.RepositoryStatus{Kind: c.Kind, Name: c.Name, State: c.State, Message: c.Message})
		}
	},
}

func secrets(s tenant.Ask) []string {
	var names []string
	for _, r := range s.Repositories {
		if r.SecretRef != nil {
			names = append(names, r.SecretRef.Name)
		}
	}
	for _, c := range s.CredentialTemplates {
		names = append(names, c.SecretRef.Name)
	}
	return names
}

// A repository is what repositories and credential templates have in common.
type repository struct {
	kind string
	// field of the entry, and the chart's key for the list it is in.
	field, key string
	name, url  string
	typ        v1alpha1.RepositoryType
	project    string
	secretRef  *v1alpha1.SecretReference
	// before reports whether the list had the URL when it was accepted last.
	before bool
}

// resolve registers the repositories and credential templates of the spec.
func resolve(of part.Candidate) error {
	d, s, argocd := of.Decision, of.Sensitive, of.ArgoCD
	was := of.WasAsked()
	var all []repository
	for i, e := range of.Spec.Repositories {
		before := slices.ContainsFunc(was.Repositories, func(r v1alpha1.RepositorySpec) bool { return r.URL == e.URL })
		all = append(all, repository{v1alpha1.KindRepository, fmt.Sprintf("spec.repositories[%d]", i), "repositories", e.Name, e.URL, e.Type, e.Project, e.SecretRef, before})
	}
	for i, e := range of.Spec.CredentialTemplates {
		before := slices.ContainsFunc(was.CredentialTemplates, func(t v1alpha1.CredentialTemplateSpec) bool { return t.URL == e.URL })
		all = append(all, repository{v1alpha1.KindCredentialTemplate, fmt.Sprintf("spec.credentialTemplates[%d]", i), "credentialTemplates", e.Name, e.URL, e.Type, "", &e.SecretRef, before})
	}
	places, err := checkPlaces(all)
	found := []error{err}
	for _, e := range all {
		if !e.before {
			found = append(found, e.checkMeaning())
		}
	}
	hosts := map[string]string{}
	for _, e := range all {
		path := []string{"configs", e.key, e.name}
		if err := argocd.Reserve(values.Input, e.field+", which has the same name", values.Not(path...)); err != nil {
			found = append(found, err)
			continue
		}
		value, known, secret := e.read(of.Given, places)
		c := s.Add(tenant.Connection{Kind: e.kind, Name: e.name}, secret.Problem, value, path...)
		if c.State == v1alpha1.StateConfigured {
			c.Message = secret.Notes()
		}
		if e.kind == v1alpha1.KindRepository {
			c.Key = proxy.RepositoryKey(e.url)
		}
		d.Repositories = append(d.Repositories, c)
		name := e.kind + " " + e.name
		if c.State != v1alpha1.StateConfigured {
			known = knownHostsInUse(s)[name]
		}
		if known != "" {
			hosts[name] = known
		}
	}
	return mistakes.Join(append(found, setKnownHosts(d, hosts, s, argocd))...)
}

// places are entries by how Argo CD tells them apart.
type places map[string]repository

// other returns the entry that is at the place of another one, if there is any.
func (p places) other(e repository) (repository, bool) {
	other, ok := p[e.place(e.url)]
	if !ok {
		other, ok = p[e.place(e.normalized())]
	}
	return other, ok
}

func (p places) add(e repository) {
	p[e.place(e.url)] = e
	p[e.place(e.normalized())] = e
}

// checkPlaces checks the entries, and returns where each stands that the claim alone says it of.
func checkPlaces(all []repository) (places, error) {
	names, urls, out := map[string]string{}, places{}, places{}
	var found []error
	for _, e := range all {
		found = append(found, e.check())
		if other, ok := names[e.key+"/"+e.name]; ok {
			found = append(found, fmt.Errorf("%s.name: %q is that of %s, too: leave one of the two out", e.field, e.name, other))
		}
		names[e.key+"/"+e.name] = e.field
		// What was accepted as two places stays so, though Argo CD takes them for one.
		if other, ok := urls.other(e); ok && (!e.open() || !other.open()) && (other.url == e.url || !e.before || !other.before) {
			same := ""
			if other.url != e.url {
				same = fmt.Sprintf(", %q, which is the same to Argo CD", other.url)
			}
			found = append(found, fmt.Errorf("%s.url: %q is that of %s, too%s: leave one of the two out", e.field, e.url, other.field, same))
		}
		urls.add(e)
		if !e.open() {
			out.add(e)
		}
	}
	return out, mistakes.Join(found...)
}

// place is how entries are told apart.
func (e repository) place(url string) string { return e.key + " " + url + " " + e.project }

// normalized is the URL as Argo CD compares it (3.6, util/git, NormalizeGitURL; util/db, getRepositorySecret).
func (e repository) normalized() string {
	url := strings.ToLower(strings.TrimSpace(e.url))
	if e.overSSH() {
		if !strings.HasPrefix(url, "ssh://") {
			url = strings.Replace(url, ":", "/", 1)
		}
		url = strings.TrimPrefix(url, "ssh://")
	}
	return strings.TrimSuffix(url, ".git")
}

// open reports whether the entry leaves its project to its Secret.
func (e repository) open() bool {
	return e.kind == v1alpha1.KindRepository && e.secretRef != nil && e.project == ""
}

// check checks an entry, as the schema does.
func (e repository) check() error {
	var found []error
	if len(validation.IsDNS1123Label(e.name)) > 0 {
		found = append(found, fmt.Errorf("%s.name: %q is not a name: write a DNS label, such as apps", e.field, e.name))
	}
	if e.secretRef != nil {
		found = append(found, credentials.CheckSecretRef(e.field, *e.secretRef))
	}
	found = append(found, credentials.CheckProject(e.field, e.project))
	switch {
	case e.typ != "" && !slices.Contains(credentials.RepositoryTypes, e.typ):
		// Which URLs are possible depends on it.
		found = append(found, fmt.Errorf("%s.type: %q is unknown: write one of %v", e.field, e.typ, credentials.RepositoryTypes))
	case e.typ == "" && e.secretRef != nil && strings.HasPrefix(e.url, "oci://"):
		// The Secret says what is in it.
	default:
		found = append(found, checkURL(e.field, e.url, e.typ))
	}
	return mistakes.Join(found...)
}

// checkMeaning refuses a token in a URL, and a pattern where Argo CD compares the beginnings of URLs.
func (e repository) checkMeaning() error {
	found := []error{credentials.CheckMeaning(e.field+".url", e.url)}
	// A token isn't shown.
	if begin, _, pattern := strings.Cut(e.url, "*"); pattern && found[0] == nil {
		found = append(found, fmt.Errorf("%s.url: %q is no pattern to Argo CD, which takes * as it is: write how the URLs begin, such as %s", e.field, e.url, strings.TrimRight(begin, "/")))
	}
	return mistakes.Join(found...)
}

func checkURL(field, url string, typ v1alpha1.RepositoryType) error {
	if typ == "" && strings.HasPrefix(url, "oci://") {
		return fmt.Errorf("%s.type: is missing, and the url begins with oci://: write helm for charts, or oci for manifests", field)
	}
	return credentials.CheckRepositoryURL(field+".url", url, cmp.Or(typ, v1alpha1.RepositoryGit))
}

func (e repository) overSSH() bool {
	return strings.HasPrefix(e.url, "ssh://") || !strings.Contains(e.url, "://") && credentials.SCPURL.MatchString(e.url)
}

// read is the entry of the chart's list, the known hosts that go with it, and its Secret.
func (e repository) read(g tenant.Given, places places) (values.Values, string, *credentials.Reader) {
	s, known := &credentials.Reader{}, ""
	v := values.Values{}
	if e.kind == v1alpha1.KindRepository {
		v["name"] = e.name
	}
	if e.secretRef != nil {
		s = credentials.Read(g, e.secretRef.Name)
		open := e.open()
		known = e.readSecret(s, v)
		other, ok := places.other(e)
		if open && ok {
			s.Fail("its url and project are those of %s, too: leave one of the two out, or write another project in one", other.field)
		}
		if !ok && s.Problem == nil {
			places.add(e)
		}
	}
	v["url"], v["type"] = e.url, string(cmp.Or(e.typ, v1alpha1.RepositoryGit))
	if e.project != "" {
		v["project"] = e.project
	}
	// Argo CD has Helm charts in OCI registries without a scheme.
	if host, ok := strings.CutPrefix(e.url, "oci://"); ok && e.typ == v1alpha1.RepositoryHelm {
		v["url"], v["enableOCI"] = host, "true"
	}
	return v, known, s
}
