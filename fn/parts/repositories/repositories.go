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
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
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
		for _, c := range t.Repositories {
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
}

// resolve registers the repositories and credential templates of the spec.
func resolve(of part.Candidate) error {
	p, s, argocd := of.Decision, of.Sensitive, of.ArgoCD
	var all []repository
	for i, e := range of.Spec.Repositories {
		all = append(all, repository{v1alpha1.KindRepository, fmt.Sprintf("spec.repositories[%d]", i), "repositories", e.Name, e.URL, e.Type, e.Project, e.SecretRef})
	}
	for i, e := range of.Spec.CredentialTemplates {
		all = append(all, repository{v1alpha1.KindCredentialTemplate, fmt.Sprintf("spec.credentialTemplates[%d]", i), "credentialTemplates", e.Name, e.URL, e.Type, "", &e.SecretRef})
	}
	seen := map[string]string{}
	hosts := map[string]string{}
	for _, e := range all {
		e.typ = cmp.Or(e.typ, v1alpha1.RepositoryGit)
		if err := e.check(); err != nil {
			return err
		}
		for _, unique := range []struct{ field, id, value string }{{"name", e.key + "/" + e.name, e.name}, {"url", e.key + " " + e.url + " " + e.project, e.url}} {
			if other, ok := seen[unique.id]; ok {
				return fmt.Errorf("%s.%s: %q is that of %s, too: leave one of the two out", e.field, unique.field, unique.value, other)
			}
			seen[unique.id] = e.field
		}
		path := []string{"configs", e.key, e.name}
		if err := argocd.Reserve(values.Input, e.field+", which has the same name", values.Not(path...)); err != nil {
			return err
		}
		value, known, problem := e.read(of.Given)
		c := s.Add(tenant.Connection{Kind: e.kind, Name: e.name}, problem, value, path...)
		p.Repositories = append(p.Repositories, c)
		name := e.kind + " " + e.name
		if c.State != v1alpha1.StateConnected {
			known = knownHostsInUse(s)[name]
		}
		if known != "" {
			hosts[name] = known
		}
	}
	return setKnownHosts(p, hosts, s, argocd)
}

// check checks an entry, as the schema does.
func (e repository) check() error {
	switch {
	case len(validation.IsDNS1123Label(e.name)) > 0:
		return fmt.Errorf("%s.name: %q is not a name: write a DNS label, such as apps", e.field, e.name)
	case !slices.Contains(credentials.RepositoryTypes, e.typ):
		return fmt.Errorf("%s.type: %q is unknown: write one of %v", e.field, e.typ, credentials.RepositoryTypes)
	case e.secretRef != nil:
		if err := credentials.CheckSecretRef(e.field, *e.secretRef); err != nil {
			return err
		}
	}
	return cmp.Or(credentials.CheckProject(e.field, e.project), credentials.CheckRepositoryURL(e.field+".url", e.url, e.typ))
}

// read is the entry of the chart's list, and the known hosts that go with it.
func (e repository) read(r tenant.Given) (values.Values, string, *credentials.Problem) {
	v := values.Values{"url": e.url, "type": string(e.typ)}
	if e.kind == v1alpha1.KindRepository {
		v["name"] = e.name
	}
	if e.project != "" {
		v["project"] = e.project
	}
	// Argo CD has Helm charts in OCI registries without a scheme.
	if host, ok := strings.CutPrefix(e.url, "oci://"); ok && e.typ == v1alpha1.RepositoryHelm {
		v["url"], v["enableOCI"] = host, "true"
	}
	if e.secretRef == nil {
		return v, "", nil
	}
	s := credentials.Read(r, e.secretRef.Name)
	overSSH := strings.HasPrefix(e.url, "ssh://") || !strings.Contains(e.url, "://") && credentials.SCPURL.MatchString(e.url)
	known := readRepository(s, overSSH, v)
	return v, known, s.Problem
}
