//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/browser"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/sso"
)

type parts struct {
	live, other *claim.Live
	git         *gitserver.Private
	sso         *sso.Provider
	host        string
}

func TestZZParts(t *testing.T) {
	p := &parts{}
	testenv.Test(t, features.New("parts").
		Assess("Git", p.gitServer).
		Assess("SSO", p.provider).
		Assess("Claim", p.claim).
		Assess("URL", p.url).
		Assess("CLI", p.cli).
		Assess("SignOn", p.signOn).
		Assess("Apps", p.apps).
		Assess("External", p.external).
		Assess("Browser", p.browse).
		Feature())
}

func (p *parts) gitServer(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace(gitNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	p.git = gitserver.RunPrivate(ctx, t, host, gitNamespace, map[string]string{"web.yaml": webManifest})
	t.Logf("private git up in %s", time.Since(start))
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca.crt")
	_ = os.WriteFile(ca, p.git.CA, 0o600)
	https := func(password string) error {
		cmd := exec.Command("git", "-c", "credential.helper=", "ls-remote", strings.Replace(p.git.HTTPS(), "https://", "https://deployer:"+password+"@", 1))
		cmd.Env = append(os.Environ(), "GIT_SSL_CAINFO="+ca, "GIT_TERMINAL_PROMPT=0")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	known := filepath.Join(dir, "known")
	_ = os.WriteFile(known, []byte(p.git.KnownHosts+"\n"), 0o600)
	overSSH := func(key string) error {
		file := filepath.Join(dir, "key")
		_ = os.Remove(file)
		_ = os.WriteFile(file, []byte(key), 0o600)
		cmd := exec.Command("git", "ls-remote", p.git.SSH())
		cmd.Env = append(os.Environ(), "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o IdentitiesOnly=yes -i "+file+" -o UserKnownHostsFile="+known)
		out, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	}
	pw, key := p.git.Password(), p.git.Key()
	t.Logf("https right: %v; wrong: %v", https(pw), https("x") != nil)
	t.Logf("ssh: %v", overSSH(key))
	p.git.RotatePassword(ctx, t)
	p.git.RotateKey(ctx, t)
	t.Logf("after rotation https old refused: %v; new: %v", https(pw) != nil, https(p.git.Password()))
	t.Logf("after rotation ssh old refused: %v; new: %v", overSSH(key) != nil, overSSH(p.git.Key()))
	t.Logf("commit %s", p.git.Commit(ctx, t, map[string]string{"cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"}))
	return ctx
}

func (p *parts) provider(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	if _, err := createNamespace("e2e-sso")(ctx, nil); err != nil {
		t.Fatal(err)
	}
	p.host = "parts1-" + claims + "." + ingress.Domain
	start := time.Now()
	p.sso = sso.Run(ctx, t, host, "e2e-sso", "https://"+p.host)
	t.Logf("sso up in %s", time.Since(start))
	return ctx
}

func (p *parts) claim(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	out, err := exec.Command("sh", "-c", "$(ls -d /root/.cache/virtual-argocd/bin/kubectl/*/kubectl | head -1) --kubeconfig /root/.cache/virtual-argocd-parts/cluster/parts/kubeconfig apply --server-side --force-conflicts -f /work/customer/examples/install/rbac.yaml").CombinedOutput()
	t.Logf("%s %v", out, err)
	oidc := "name: SSO\nissuer: " + p.sso.Issuer + "\nclientID: argocd\nclientSecret: $oidc.clientSecret\nrequestedScopes: [openid, profile, email, groups]\nrootCA: |\n  " +
		strings.ReplaceAll(strings.TrimSpace(string(p.sso.CA)), "\n", "\n  ") + "\n"
	p.live = claim.Create(ctx, t, host, newClaim("parts1").
		Set(map[string]any{"sync": map[string]any{"toHost": map[string]any{"ingresses": map[string]any{"enabled": true}}}}, "spec", "vcluster", "values").
		Set(map[string]any{
			"global": map[string]any{"domain": p.host},
			"server": map[string]any{"ingress": map[string]any{"enabled": true, "hostname": p.host, "ingressClassName": "traefik"}},
			"configs": map[string]any{
				"params": map[string]any{"server.insecure": "true"},
				"cm":     map[string]any{"oidc.config": oidc},
				"secret": map[string]any{"extra": map[string]any{"oidc.clientSecret": p.sso.ClientSecret}},
				"rbac":   map[string]any{"policy.csv": "g, " + sso.Admins + ", role:admin\ng, " + sso.Observers + ", role:readonly\n", "scopes": "[groups]"},
			},
		}, "spec", "argocd", "values"))
	p.other = claim.Create(ctx, t, host, newClaim("parts2"))
	p.live.AwaitReady(ctx, t, readyWithin)
	return ctx
}

func (p *parts) url(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	ca, err := os.ReadFile(ingress.CA)
	if err != nil {
		t.Fatal(err)
	}
	api, err := argocd.NewTrusting(dialer, "https://"+p.host, ca)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		v, err := api.Version(ctx)
		t.Logf("version through the ingress: %s %v", v, err)
		if err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	list, err := host.Typed.NetworkingV1().Ingresses("").List(ctx, metav1.ListOptions{})
	for _, i := range list.Items {
		t.Logf("ingress %s/%s %v status %v %v", i.Namespace, i.Name, i.Spec, i.Status.LoadBalancer, err)
	}
	return ctx
}

func (p *parts) password(ctx context.Context, t *testing.T) string {
	s, err := p.live.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return string(s.Data["password"])
}

func (p *parts) cli(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c := argocd.NewCLI(t, map[string]string{p.host: ingress.Address})
	for _, args := range [][]string{
		{"login", p.host, "--insecure", "--username", "admin", "--password", p.password(ctx, t)},
		{"login", p.host, "--insecure", "--grpc-web", "--username", "admin", "--password", p.password(ctx, t)},
		{"app", "list"},
		{"version"},
	} {
		out, err := c.Run(ctx, args...)
		t.Logf("argocd %s: %s %v", args[0], out, err)
	}
	return ctx
}

func (p *parts) signOn(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	for _, u := range []sso.User{p.sso.Ada, p.sso.Olga, p.sso.Nemo} {
		api := argocd.New(dialer, "https://"+p.host)
		err := api.LoginSSO(ctx, u.Name, u.Password)
		info, err2 := api.UserInfo(ctx)
		may, err3 := api.May(ctx, "create", "applications", "default/x")
		get, err4 := api.May(ctx, "get", "applications", "default/x")
		t.Logf("%s: %v; %+v %v; create %t %v; get %t %v", u.Name, err, info, err2, may, err3, get, err4)
	}
	err := argocd.New(dialer, "https://"+p.host).LoginSSO(ctx, "ada", "wrong")
	t.Logf("wrong password: %v", err)
	return ctx
}

func (p *parts) apps(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	c := argocd.NewCLI(t, map[string]string{p.host: ingress.Address})
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	_ = os.WriteFile(key, []byte(p.git.Key()), 0o600)
	for _, args := range [][]string{
		{"login", p.host, "--insecure", "--grpc-web", "--username", "admin", "--password", p.password(ctx, t)},
		{"repo", "add", p.git.HTTPS(), "--username", gitserver.Username, "--password", p.git.Password(), "--insecure-skip-server-verification"},
		{"repo", "add", p.git.SSH(), "--ssh-private-key-path", key, "--insecure-ignore-host-key"},
		{"repo", "list"},
		{"app", "create", "web", "--repo", p.git.HTTPS(), "--path", ".", "--dest-server", "https://kubernetes.default.svc", "--dest-namespace", "web", "--sync-policy", "auto", "--sync-option", "CreateNamespace=true"},
		{"app", "create", "web2", "--repo", p.git.SSH(), "--path", ".", "--dest-server", "https://kubernetes.default.svc", "--dest-namespace", "web2", "--sync-policy", "auto", "--sync-option", "CreateNamespace=true"},
		{"app", "wait", "web", "web2", "--health", "--sync", "--timeout", "120"},
	} {
		out, err := c.Run(ctx, args...)
		t.Logf("argocd %s %s: %s %v", args[0], args[1], out, err)
	}
	return ctx
}

func (p *parts) external(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	p.other.AwaitReady(ctx, t, readyWithin)
	other := open(ctx, t, p.other)
	e := external.Prepare(ctx, t, other, external.URL(ctx, t, host, other))
	k, err := e.Kubeconfig()
	t.Logf("server %s, kubeconfig %d bytes %v", e.Server, len(k["kubeconfig"]), err)
	d, err := e.Declarative()
	if err != nil {
		t.Fatal(err)
	}
	virtual := open(ctx, t, p.live)
	putCluster(ctx, t, virtual, d)
	c := argocd.NewCLI(t, map[string]string{p.host: ingress.Address})
	run := func(args ...string) {
		out, err := c.Run(ctx, args...)
		t.Logf("argocd %s %s: %s %v", args[0], args[1], out, err)
	}
	run("login", p.host, "--insecure", "--grpc-web", "--username", "admin", "--password", p.password(ctx, t))
	run("app", "create", "far", "--repo", p.git.HTTPS(), "--path", ".", "--dest-name", "external", "--dest-namespace", "far", "--sync-policy", "auto", "--sync-option", "CreateNamespace=true")
	run("app", "wait", "far", "--health", "--sync", "--timeout", "120")
	web, err := other.Typed.AppsV1().Deployments("far").Get(ctx, "web", metav1.GetOptions{})
	t.Logf("deployed in the other cluster: %v %v", web.Status.AvailableReplicas, err)
	e.Rotate(ctx, t)
	if d, err = e.Declarative(); err != nil {
		t.Fatal(err)
	}
	putCluster(ctx, t, virtual, d)
	e.Revoke(ctx, t)
	run("app", "get", "far", "--hard-refresh")
	run("cluster", "list")
	return ctx
}

func (p *parts) browse(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	b := browser.Open(t, browser.Options{Hosts: map[string]string{ingress.Domain: ingress.Address}})
	url := "https://" + p.host
	b.Visit(t, url+"/login")
	b.AwaitText(t, 30*time.Second, "Sign In")
	b.Picture(t, "/tmp/partswork/pics/login.png")
	b.LogIn(t, url, "admin", p.password(ctx, t))
	b.AwaitText(t, 30*time.Second, "web", "Healthy", "Synced")
	time.Sleep(2 * time.Second)
	b.Picture(t, "/tmp/partswork/pics/list.png")
	b.Visit(t, url+"/applications/argocd/web?view=tree")
	b.AwaitText(t, 30*time.Second, "web", "Healthy")
	time.Sleep(2 * time.Second)
	b.Picture(t, "/tmp/partswork/pics/app.png")
	b.Visit(t, url+"/settings/repos")
	time.Sleep(2 * time.Second)
	b.Picture(t, "/tmp/partswork/pics/repos.png")
	b.Visit(t, url+"/settings/clusters")
	time.Sleep(2 * time.Second)
	b.Picture(t, "/tmp/partswork/pics/clusters.png")
	b.Visit(t, url+"/user-info")
	time.Sleep(2 * time.Second)
	b.Picture(t, "/tmp/partswork/pics/user.png")
	s := browser.Open(t, browser.Options{Hosts: map[string]string{ingress.Domain: ingress.Address}})
	s.LogInSSO(t, url, "ada", p.sso.Ada.Password)
	s.Visit(t, url+"/user-info")
	s.AwaitText(t, 30*time.Second, sso.Admins)
	s.Picture(t, "/tmp/partswork/pics/sso.png")
	return ctx
}

func putCluster(ctx context.Context, t *testing.T, virtual *kube.Cluster, d map[string]string) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cluster-external", Namespace: "argocd", Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}}, StringData: d}
	_ = virtual.Typed.CoreV1().Secrets("argocd").Delete(ctx, s.Name, metav1.DeleteOptions{})
	if _, err := virtual.Typed.CoreV1().Secrets("argocd").Create(ctx, s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
