//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/helmrepo"
)

// repositoriesNamespace is where the servers of private repositories are.
const repositoriesNamespace = "e2e-repositories"

// The Secrets of the claim.
const (
	passwordSecret = "repository-password"
	keySecret      = "repository-key"
	templateSecret = "repository-template"
	plainSecret    = "repository-plain"
)

// library is a customer with private repositories: two that a server's password opens, one that its key opens, and one
// for which only the template has credentials; and with one in a registry that speaks plain http.
type library struct {
	live    *claim.Live
	git     *gitserver.Private
	secrets ownSecrets
	// artifact is the URL of the one in the registry.
	artifact string
	// entries of spec.repositories, and those of spec.credentialTemplates.
	entries, templates []any
}

func TestRepositories(t *testing.T) {
	needsEmbedded(t)
	t.Parallel()
	l := &library{}
	testenv.Test(t, features.New("library").
		Setup(l.create).
		Assess("EachIsRegistered", l.registered).
		Assess("UnknownHostKeyIsRefused", l.unknownHost).
		Assess("ApplicationsSyncFromEach", l.synced).
		Assess("RefusedPasswordIsTold", l.refused).
		Assess("RotatedCredentialsAreInUse", l.rotated).
		Assess("MissingAndBrokenSecretsAreNamedAndHarmless", l.brokenSecrets).
		Assess("CorrectionHeals", l.corrected).
		Assess("RemovedEntriesRemoveTheirRepositories", l.removed).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, l.live)
			if t.Failed() && keep {
				return ctx
			}
			l.secrets.deleteAll(ctx, t)
			deleteNamespace(ctx, t, repositoriesNamespace)
			return ctx
		}).Feature())
}

func (l *library) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(repositoriesNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	artifact := pushArtifact(ctx, t, map[string]string{"deployment.yaml": webManifest})
	l.artifact = "oci://" + gitserver.RunRegistry(ctx, t, host, repositoriesNamespace, registry) + "/" + artifact
	l.git = gitserver.RunPrivate(ctx, t, host, repositoriesNamespace, func(string) map[string]string {
		return map[string]string{"deployment.yaml": webManifest}
	})
	l.publish(ctx, t, "1.0.0")

	ref := func(name string) map[string]any { return map[string]any{"name": name} }
	l.entries = []any{
		map[string]any{"name": "password", "url": l.git.HTTPS(), "secretRef": ref(passwordSecret)},
		map[string]any{"name": "key", "url": l.git.SSH(), "secretRef": ref(keySecret)},
		map[string]any{"name": "charts", "url": l.git.Charts(), "type": "helm", "secretRef": ref(passwordSecret)},
		map[string]any{"name": "team", "url": l.git.Teams() + "web.git"},
		map[string]any{"name": "artifact", "url": l.artifact, "type": "oci", "secretRef": ref(plainSecret)},
	}
	l.templates = []any{map[string]any{"name": "teams", "url": l.git.Teams(), "secretRef": ref(templateSecret)}}
	l.writeSecrets(ctx, t, "")
	// The server's certificate is signed by an authority that nobody trusts unasked.
	certificates := []any{map[string]any{"server": l.git.Host(), "certificates": string(l.git.CA)}}
	l.live = claim.Create(ctx, t, host, newClaim("library").
		Set(l.entries, "spec", "repositories").Set(l.templates, "spec", "credentialTemplates").
		Set(certificates, "spec", "trustedCertificates"))
	l.live.AwaitReady(ctx, t, readyWithin)
	return ctx
}

// publish puts a chart into the Helm repository, under each of the versions.
func (l *library) publish(ctx context.Context, t *testing.T, versions ...string) {
	t.Helper()
	files, err := helmrepo.Files("web", webManifest, versions...)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		l.git.Publish(ctx, t, name, content)
	}
}

// writeSecrets writes the credentials in use down.
func (l *library) writeSecrets(ctx context.Context, t *testing.T, knownHosts string) {
	t.Helper()
	password := map[string]string{"username": gitserver.Username, "password": l.git.Password()}
	l.secrets.write(ctx, t, passwordSecret, password)
	l.secrets.write(ctx, t, templateSecret, password)
	l.secrets.write(ctx, t, plainSecret, map[string]string{"insecureOCIForceHttp": "true"})
	key := map[string]string{"ssh-privatekey": l.git.Key()}
	if knownHosts != "" {
		key["knownHosts"] = knownHosts
	}
	l.secrets.write(ctx, t, keySecret, key)
}

// states of the entries in the claim's status.
func states(s *claim.State) map[string]string {
	out := map[string]string{}
	for _, r := range s.Repositories {
		out[r.Kind+" "+r.Name] = r.State
	}
	return out
}

func (l *library) registered(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	want := map[string]string{
		"Repository password": "Configured", "Repository key": "Configured", "Repository charts": "Configured", "Repository team": "Configured",
		"Repository artifact": "Configured", "CredentialTemplate teams": "Configured",
	}
	// Argo CD reads a repository once it is used.
	l.live.Await(ctx, t, 2*time.Minute, "tells that its repositories are configured", func(s *claim.State) bool {
		return s.Condition(claim.RepositoriesConnected).Reason == v1alpha1.ReasonConfigured && maps.Equal(states(s), want)
	})
	api := loggedIn(ctx, t, l.live)
	awaitRepositories(ctx, t, api, []argocd.Repository{
		{Name: "password", Repo: l.git.HTTPS(), Type: "git"},
		{Name: "key", Repo: l.git.SSH(), Type: "git"},
		{Name: "charts", Repo: l.git.Charts(), Type: "helm"},
		{Name: "team", Repo: l.git.Teams() + "web.git", Type: "git", InheritedCreds: true},
		{Name: "artifact", Repo: l.artifact, Type: "oci", Insecure: true},
	})
	templates, err := api.CredentialTemplates(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{l.git.Teams()}; !slices.Equal(templates, want) {
		t.Errorf("credential templates in Argo CD: want %v, got %v", want, templates)
	}
	return ctx
}

// anyProxy stands for a proxy whose URL has a password, which only Argo CD tells.
const anyProxy = "any"

// awaitRepositories waits until Argo CD knows repositories: it takes a moment to notice their Secrets.
func awaitRepositories(ctx context.Context, t *testing.T, api *argocd.Client, want []argocd.Repository) {
	t.Helper()
	eventually.True(ctx, t, time.Minute, "Argo CD knows the repositories", func(ctx context.Context) (bool, string) {
		got, err := api.Repositories(ctx)
		if err != nil {
			return false, err.Error()
		}
		var wrong []string
		for _, r := range want {
			is := got[r.Name]
			if r.Proxy == anyProxy {
				is.Proxy = anyProxy
			}
			if is != r {
				wrong = append(wrong, fmt.Sprintf("repository %s: want %+v, got %+v", r.Name, r, is))
			}
		}
		return len(wrong) == 0, "\n" + lines(wrong)
	})
}

// apps are the Applications of the test, one for each of the repositories.
func (l *library) apps() map[string]argocd.Source {
	return map[string]argocd.Source{
		"password": {RepoURL: l.git.HTTPS(), Path: "."},
		"key":      {RepoURL: l.git.SSH(), Path: "."},
		"team":     {RepoURL: l.git.Teams() + "web.git", Path: "."},
		"chart":    {RepoURL: l.git.Charts(), Chart: "web", Revision: "1.0.0"},
		"artifact": {RepoURL: l.artifact, Path: ".", Revision: artifactTag},
	}
}

// unknownHost shows that the SSH server's key is looked at: before the claim has told it, Argo CD refuses the server.
func (l *library) unknownHost(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	api := loggedIn(ctx, t, l.live)
	eventually.True(ctx, t, time.Minute, "Argo CD refuses an SSH server with a key that nobody has told", func(ctx context.Context) (bool, string) {
		err := api.Create(ctx, "key", l.apps()["key"], argocd.InCluster)
		if err == nil {
			t.Fatal("an SSH server with a key that nobody has told is accepted")
		}
		return strings.Contains(err.Error(), "knownhosts: key is unknown"), err.Error()
	})
	return ctx
}

func (l *library) synced(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	start := time.Now()
	l.writeSecrets(ctx, t, l.git.KnownHosts)
	api, virtual := loggedIn(ctx, t, l.live), open(ctx, t, l.live)
	apps := l.apps()
	// That of the key is the last, since the known hosts reach Argo CD's pods with the patience of a kubelet.
	for _, app := range []string{"password", "team", "chart", "artifact", "key"} {
		createApp(ctx, t, api, app, apps[app], argocd.InCluster)
	}
	measured.add("repositories: known host told to Argo CD trusts it", time.Since(start))
	for app := range apps {
		awaitHealthy(ctx, t, api, app)
		web, err := virtual.Typed.AppsV1().Deployments(app).Get(ctx, "web", metav1.GetOptions{})
		if err != nil || web.Status.AvailableReplicas != 1 {
			t.Errorf("Application %s is Healthy, its Deployment is %v, %v", app, web.Status, err)
		}
	}
	start = time.Now()
	l.connected(ctx, t)
	measured.add("repositories: used to connected in the status", time.Since(start))
	return ctx
}

// connected waits until the claim tells that all repositories are connected.
func (l *library) connected(ctx context.Context, t *testing.T) {
	t.Helper()
	want := map[string]string{
		"Repository password": "Connected", "Repository key": "Connected", "Repository charts": "Connected", "Repository team": "Connected",
		"Repository artifact": "Connected", "CredentialTemplate teams": "Configured",
	}
	l.live.Await(ctx, t, toldOfWithin, "tells that its repositories are connected", func(s *claim.State) bool {
		return s.True(claim.RepositoriesConnected) && maps.Equal(states(s), want)
	})
}

// refused has the server refuse the password for a while.
func (l *library) refused(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	api := loggedIn(ctx, t, l.live)
	l.secrets.write(ctx, t, passwordSecret, map[string]string{"username": gitserver.Username, "password": "not " + l.git.Password()})
	fails := func(is bool) {
		t.Helper()
		// Argo CD looks at it in its own time otherwise, and tells of the second failure.
		eventually.True(ctx, t, 6*time.Minute, fmt.Sprintf("Argo CD can read the repository: %t", !is), func(ctx context.Context) (bool, string) {
			a, err := api.HardRefresh(ctx, "password")
			return err == nil && len(a.Status.Conditions) > 0 == is, fmt.Sprint(a, err)
		})
	}
	fails(true)
	start := time.Now()
	s := l.live.Await(ctx, t, toldOfWithin, "tells that Argo CD isn't let in", func(s *claim.State) bool {
		is := s.Condition(claim.RepositoriesConnected)
		return is.Status == metav1.ConditionFalse && is.Reason == v1alpha1.ReasonConnectionFailed && states(s)["Repository password"] == "Failed" && s.IsReady()
	})
	measured.add("repositories: refused to failed in the status", time.Since(start))
	if is := s.Condition(claim.RepositoriesConnected).Message; !strings.Contains(is, "Repository password: ") || !strings.Contains(is, "authentication required") {
		t.Errorf("RepositoriesConnected: %s", is)
	}
	l.writeSecrets(ctx, t, l.git.KnownHosts)
	fails(false)
	start = time.Now()
	l.connected(ctx, t)
	measured.add("repositories: let in to connected in the status", time.Since(start))
	return ctx
}

// rotated takes the old credentials' power away first, and shows that Argo CD is lost without the new ones.
func (l *library) rotated(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	l.git.RotatePassword(ctx, t)
	l.git.RotateKey(ctx, t)
	commit := l.commit(ctx, t, "rotated")
	l.publish(ctx, t, "1.0.0", "1.0.1")
	api := loggedIn(ctx, t, l.live)
	for _, app := range []string{"password", "key", "team"} {
		eventually.True(ctx, t, time.Minute, "Argo CD can't read the repository of "+app+" any more", func(ctx context.Context) (bool, string) {
			a, err := api.Refresh(ctx, app)
			if err == nil && a.Status.Sync.Revision == commit {
				t.Fatalf("Application %s has the newest commit, read with a credential that is revoked", app)
			}
			return err == nil && len(a.Status.Conditions) > 0, fmt.Sprint(a, err)
		})
	}

	calm.RLock()
	defer calm.RUnlock()
	start := time.Now()
	l.writeSecrets(ctx, t, l.git.KnownHosts)
	l.awaitCommit(ctx, t, commit)
	createApp(ctx, t, api, "newer-chart", argocd.Source{RepoURL: l.git.Charts(), Chart: "web", Revision: "1.0.1"}, argocd.InCluster)
	took := time.Since(start)
	measured.add("repositories: rotated password and key to synced with them", took)
	if took > inUseWithin {
		t.Errorf("the new credentials are in use %s after they were written, more than %s", took.Round(time.Second), inUseWithin)
	}
	awaitHealthy(ctx, t, api, "newer-chart")
	return ctx
}

// commit changes the Git repository, and returns the commit.
func (l *library) commit(ctx context.Context, t *testing.T, what string) string {
	t.Helper()
	return l.git.Commit(ctx, t, map[string]string{"what.yaml": fmt.Sprintf(`apiVersion: v1
kind: ConfigMap
metadata:
  name: what
data:
  what: %s
`, what)})
}

// awaitCommit waits until each Git repository's Application has the commit, which takes somebody who can read it.
func (l *library) awaitCommit(ctx context.Context, t *testing.T, commit string) {
	t.Helper()
	api := loggedIn(ctx, t, l.live)
	for _, app := range []string{"password", "key", "team"} {
		eventually.True(ctx, t, 3*time.Minute, "Application "+app+" has commit "+commit, func(ctx context.Context) (bool, string) {
			a, err := api.Refresh(ctx, app)
			if err != nil {
				return false, err.Error()
			}
			is := a.Status
			return is.Sync.Status == "Synced" && is.Sync.Revision == commit && is.Health.Status == "Healthy" && len(is.Conditions) == 0, a.String()
		})
	}
}

// brokenSecrets deletes one Secret that is in use and breaks another, and adds an entry that never had one.
func (l *library) brokenSecrets(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	l.secrets.delete(ctx, t, passwordSecret)
	l.secrets.write(ctx, t, keySecret, map[string]string{"ssh-privatekey": "no key"})
	absent := map[string]any{"name": "absent", "url": "https://git.example.org/absent.git", "secretRef": map[string]any{"name": "repository-absent"}}
	l.live.Patch(ctx, t, append(slices.Clone(l.entries), absent), "spec", "repositories")
	want := map[string]string{
		"Repository password": "SecretMissing", "Repository charts": "SecretMissing", "Repository key": "SecretInvalid", "Repository absent": "SecretMissing",
		"Repository team": "Connected", "Repository artifact": "Connected", "CredentialTemplate teams": "Configured",
	}
	named := []string{passwordSecret, keySecret, "repository-absent"}
	start := time.Now()
	l.live.Await(ctx, t, 2*time.Minute, "tells which Secrets are missing or broken, names them in condition RepositoriesConnected, and is Ready", func(s *claim.State) bool {
		return s.IsReady() && maps.Equal(states(s), want) && !slices.ContainsFunc(named, func(name string) bool {
			return !namesIt(s, claim.RepositoriesConnected, "Secret "+name+" ")
		})
	})
	measured.add("repositories: Secrets broken to told in the status", time.Since(start))
	for _, name := range named {
		eventually.True(ctx, t, time.Minute, "the claim has an event that names Secret "+name, func(ctx context.Context) (bool, string) {
			return warned(ctx, l.live, name)
		})
	}
	l.awaitCommit(ctx, t, l.commit(ctx, t, "broken"))
	return ctx
}

func (l *library) corrected(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	l.writeSecrets(ctx, t, l.git.KnownHosts)
	l.live.Patch(ctx, t, l.entries, "spec", "repositories")
	start := time.Now()
	l.live.Await(ctx, t, 2*time.Minute, "tells that its repositories are connected", func(s *claim.State) bool {
		return s.True(claim.RepositoriesConnected) && len(s.Repositories) == len(l.entries)+len(l.templates)
	})
	measured.add("repositories: Secrets corrected to told in the status", time.Since(start))
	return ctx
}

func (l *library) removed(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	l.live.Patch(ctx, t, l.entries[:1], "spec", "repositories")
	l.live.Patch(ctx, t, nil, "spec", "credentialTemplates")
	start := time.Now()
	api := loggedIn(ctx, t, l.live)
	eventually.True(ctx, t, 2*time.Minute, "Argo CD has one repository and no template", func(ctx context.Context) (bool, string) {
		repositories, err := api.Repositories(ctx)
		if err != nil {
			return false, err.Error()
		}
		templates, err := api.CredentialTemplates(ctx)
		_, stays := repositories["password"]
		return err == nil && stays && len(repositories) == 1 && len(templates) == 0, fmt.Sprint(repositories, templates, err)
	})
	measured.add("repositories: entries removed to gone from Argo CD", time.Since(start))
	web, err := open(ctx, t, l.live).Typed.AppsV1().Deployments("key").Get(ctx, "web", metav1.GetOptions{})
	if err != nil || web.DeletionTimestamp != nil {
		t.Errorf("what was deployed from a removed repository does not stay: %v", err)
	}
	return ctx
}
