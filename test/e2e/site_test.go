//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sso"
)

// siteNamespace is where the customer's own servers are: Git and the OIDC provider.
const siteNamespace = "e2e-site"

// gitSecretName is the Secret with the password for the customer's repository.
const gitSecretName = "git-password"

// site is a customer whose people come to Argo CD from outside the cluster, and sign on with their own provider.
type site struct {
	// live has a URL, sign-on and a first Application from the start; rival wants its host.
	live, rival *claim.Live
	// host is the one that live names, below the platform's domain.
	host string
	// authorities are those that the customer's machines trust, in PEM.
	authorities []byte
	provider    *sso.Provider
	secrets     ownSecrets
	events      crossplaneEvents

	// admin is a session from the beginning; password and kept are what it was opened with, and lives on.
	admin    *argocd.Client
	password string
	kept     map[string]string
}

// TestSite begins with no other test beside it, since it counts all events of Crossplane, and leaves its claims there
// for what it does beside others. So tests that compare listings of the whole cluster must come before it.
func TestSite(t *testing.T) {
	if ingress.Address == "" {
		t.Skip("URLS, SIGN-ON AND THE WEB INTERFACE ARE NOT TRIED: THAT TAKES THE INGRESS CONTROLLER OF THE EMBEDDED CLUSTER, AND THE TESTS RUN ON ANOTHER ONE")
	}
	s := &site{}
	t.Cleanup(func() { s.remove(context.Background(), t) })
	testenv.Test(t, features.New("site comes up").
		Setup(s.servers).
		Assess("EverythingAtOnceBecomesReady", s.becomesReady).
		Feature())
	if t.Failed() {
		return
	}
	t.Parallel()
	testenv.Test(t, features.New("site").
		Setup(s.createRival).
		Assess("URLIsOpenToTheOutside", s.url).
		Assess("CLIWorksThroughIt", s.cli).
		Assess("GroupsGiveRoles", s.groups).
		Assess("BrowserShowsTheApplication", s.browse).
		Assess("RotatedClientSecretIsInUse", s.rotated).
		Assess("MissingClientSecretIsNamedAndHarmless", s.clientSecretMissing).
		Assess("AdminIsSwitchedOff", s.adminOff).
		Assess("SignOnIsRemoved", s.signOnRemoved).
		Assess("HostIsTheFirstClaims", s.hostTaken).
		Assess("HostInValuesIsNobodys", s.takenOver).
		Assess("IngressThatNobodyServesWaits", s.nobodyServes).
		Assess("HostAndCertificateOfItsOwn", s.ownCertificate).
		Assess("HostGivenUpIsTheNextClaims", s.hostGivenUp).
		Assess("HostOfADeletedClaimIsTheNextClaims", s.hostFreed).
		Assess("IngressIsRemoved", s.ingressRemoved).
		Feature())
}

func (s *site) remove(ctx context.Context, t *testing.T) {
	cleanUp(ctx, t, s.live, s.rival)
	if t.Failed() && keep {
		return
	}
	s.secrets.deleteAll(ctx, t)
	deleteNamespace(ctx, t, siteNamespace)
}

func (s *site) servers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(siteNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	lab, err := os.ReadFile(ingress.CA)
	if err != nil {
		t.Fatal(err)
	}
	s.host = "site." + ingress.Domain
	s.provider = sso.Run(ctx, t, host, siteNamespace, "https://"+s.host)
	s.authorities = slices.Concat(lab, s.provider.CA)
	s.writeClientSecret(ctx, t)
	return ctx
}

func (s *site) becomesReady(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	git := gitserver.RunPrivate(ctx, t, host, siteNamespace, func(url string) map[string]string {
		return map[string]string{"web/deployment.yaml": webManifest, "root/shop.yaml": fmt.Sprintf(shopApplication, url)}
	})
	s.secrets.write(ctx, t, gitSecretName, map[string]string{"username": gitserver.Username, "password": git.Password(), "insecure": "true"})
	s.events = countCrossplaneEvents(ctx, t)
	s.live = claim.Create(ctx, t, host, newClaim("site").
		Set(s.host, "spec", "ingress", "host").
		Set(map[string]any{"repoURL": git.HTTPS(), "path": "root"}, "spec", "bootstrap").
		Set([]any{map[string]any{"name": "apps", "url": git.HTTPS(), "secretRef": map[string]any{"name": gitSecretName}}}, "spec", "repositories").
		Set(s.oidc(), "spec", "sso", "oidc"))
	var state *claim.State
	seen := map[string]time.Duration{}
	err := s.live.Follow(ctx, readyWithin, func(step claim.Step) bool {
		state = step.State
		waiting := false
		for _, condition := range []string{claim.Ready, claim.IngressReady, claim.SSOReady, claim.BootstrapSynced} {
			if _, was := seen[condition]; !was && step.True(condition) {
				seen[condition] = step.At
			}
			waiting = waiting || !step.True(condition)
		}
		return waiting
	})
	if err != nil {
		t.Fatal(err)
	}
	for condition, at := range seen {
		measured.add("site: claim with URL, sign-on and Application to "+condition, at)
	}
	if state.Bootstrap.Health != "Healthy" || state.Bootstrap.Sync != "Synced" {
		t.Errorf("condition BootstrapSynced is True, status.bootstrap is %+v", state.Bootstrap)
	}
	s.events.holdToBudget(ctx, t, eventsOfParts)
	eventually.True(ctx, t, time.Minute, "the claim has an event that tells of the synced bootstrap", func(ctx context.Context) (bool, string) {
		return told(ctx, s.live, corev1.EventTypeNormal, "Application bootstrap is synced and healthy")
	})
	return ctx
}

func (s *site) createRival(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.rival = claim.Create(ctx, t, host, newClaim("rival").Set(s.host, "spec", "ingress", "host"))
	return ctx
}

// url looks at what a claim gets that names a host below the platform's domain.
func (s *site) url(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	s.admin = s.servedAt(ctx, t, s.live, s.host, s.authorities)
	s.password = connectionDetails(ctx, t, s.live)["password"]
	s.kept = s.keptByArgoCD(ctx, t)
	return ctx
}

// servedAt waits until a claim is served at a host, by its own word, its connection Secret's and its Argo CD's. It
// returns a session of its admin there, whose server proves who it is to those who trust the authorities given.
func (s *site) servedAt(ctx context.Context, t *testing.T, l *claim.Live, at string, authorities []byte) *argocd.Client {
	t.Helper()
	url := "https://" + at
	l.Await(ctx, t, 3*time.Minute, "is served at "+at, func(state *claim.State) bool {
		return state.Phase == "Ready" && state.True(claim.IngressReady) && strings.HasPrefix(state.Condition(claim.IngressReady).Message, url+" ") &&
			state.ArgoCD.URL == url && state.True(claim.Ready)
	})
	api, err := argocd.NewTrusting(dialer, url, authorities)
	if err != nil {
		t.Fatal(err)
	}
	// The ingress controller gives an Ingress its address a moment before it serves it.
	eventually.True(ctx, t, 2*time.Minute, "the Argo CD at "+at+" agrees that it is there, and so does the connection Secret", func(ctx context.Context) (bool, string) {
		settings, err := api.Settings(ctx)
		if err != nil {
			return false, err.Error()
		}
		details, err := detailsOf(ctx, l)
		if err != nil {
			return false, err.Error()
		}
		return settings["url"] == url && details["url"] == url, fmt.Sprintf("Argo CD says %v, the Secret %s", settings["url"], details["url"])
	})
	// Each has a password of its own, so this is the right one.
	if err := api.Login(ctx, "admin", connectionDetails(ctx, t, l)["password"]); err != nil {
		t.Errorf("at %s is not the Argo CD of %s: %v", at, l.Name, err)
	}
	return api
}

// loginWithin is how long the ingress controller may take until it serves the argocd program, which takes a while to start.
const loginWithin = 2 * time.Minute

// cli logs in with the argocd program in each way that it has. Where an ingress controller speaks HTTP/1 to Argo CD, gRPC
// goes in gRPC-web's form, which the program finds out by itself. gRPC as it is takes a host of its own, of which the
// ingress controller is told.
func (s *site) cli(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const fallsBack = "Use flag --grpc-web"
	grpc := "grpc." + s.host
	authority, remove := s.serveGRPC(ctx, t, grpc)
	defer remove()
	for name, way := range map[string]struct {
		host, authority, warns string
		flags                  []string
	}{
		"gRPC-web":      {host: s.host, authority: ingress.CA, flags: []string{"--grpc-web"}},
		"no flags":      {host: s.host, authority: ingress.CA, warns: fallsBack},
		"gRPC as it is": {host: grpc, authority: authority},
	} {
		cli := argocd.NewCLI(t, map[string]string{way.host: ingress.Address}, way.authority)
		// A call may get a 404 from the ingress controller while other tests make Ingresses.
		run := func(args ...string) (out string) {
			t.Helper()
			eventually.True(ctx, t, loginWithin, fmt.Sprintf("%s: Argo CD answers argocd %s, which warns: %q", name, args[0], way.warns), func(ctx context.Context) (bool, string) {
				var warnings string
				var err error
				out, warnings, err = cli.Run(ctx, append(args, way.flags...)...)
				return err == nil && strings.Contains(warnings, fallsBack) == (way.warns == fallsBack), fmt.Sprint(err, warnings)
			})
			return out
		}
		start := time.Now()
		run("login", way.host, "--username", "admin", "--password", s.password)
		if out := run("app", "list", "-o", "name"); !slices.Equal(strings.Fields(out), []string{"argocd/bootstrap", "argocd/shop"}) {
			t.Errorf("%s: argocd app list prints\n%s", name, out)
		}
		// This one gets a stream of answers.
		run("app", "wait", "bootstrap", "--sync", "--health", "--timeout", "60")
		measured.add("site: argocd login, app list and app wait, "+name, time.Since(start))
	}
	return ctx
}

// serveGRPC has the customer make an Ingress for gRPC alone, as upstream's chart does with server.ingressGrpc, with a
// certificate of an authority of its own, whose file it returns. It waits until the host is served.
func (s *site) serveGRPC(ctx context.Context, t *testing.T, at string) (authority string, remove func()) {
	t.Helper()
	virtual := open(ctx, t, s.live).Typed
	ca, certificate := certificateFor(t, at)
	authority = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(authority, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "grpc-certificate"}, Type: corev1.SecretTypeTLS, StringData: certificate}
	if _, err := virtual.CoreV1().Secrets("argocd").Create(ctx, secret, metav1.CreateOptions{}); err != nil {
		t.Fatalf("cannot make a Secret in the virtual cluster: %v", err)
	}
	class, prefix := "nginx", networkingv1.PathTypePrefix
	ingresses := virtual.NetworkingV1().Ingresses("argocd")
	made, err := ingresses.Create(ctx, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "grpc", Annotations: map[string]string{"nginx.ingress.kubernetes.io/backend-protocol": "GRPC"}},
		Spec: networkingv1.IngressSpec{
			IngressClassName: &class,
			TLS:              []networkingv1.IngressTLS{{Hosts: []string{at}, SecretName: secret.Name}},
			Rules: []networkingv1.IngressRule{{Host: at, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
					Service: &networkingv1.IngressServiceBackend{Name: "argocd-server", Port: networkingv1.ServiceBackendPort{Number: 443}},
				}}},
			}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("cannot make an Ingress in the virtual cluster: %v", err)
	}
	cli := argocd.NewCLI(t, map[string]string{at: ingress.Address}, authority)
	eventually.True(ctx, t, 3*time.Minute, at+" is served", func(ctx context.Context) (bool, string) {
		_, warnings, err := cli.Run(ctx, "version", "--server", at)
		return err == nil && warnings == "", fmt.Sprint(err, warnings)
	})
	return authority, func() {
		if err := ingresses.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("cannot delete the Ingress for gRPC: %v", err)
		}
		if err := virtual.CoreV1().Secrets("argocd").Delete(ctx, secret.Name, metav1.DeleteOptions{}); err != nil {
			t.Errorf("cannot delete the Secret of the Ingress for gRPC: %v", err)
		}
	}
}
