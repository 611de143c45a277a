//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/gitserver"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/inventory"
)

// customer is a tenant that a test follows from its claim to its end.
type customer struct {
	live   *claim.Live
	state  *claim.State
	before inventory.Listing

	credentials credentials
	events      crossplaneEvents
}

// TestCustomer is the whole life of one customer. It runs with no other test beside it, since it compares listings of
// the whole cluster.
func TestCustomer(t *testing.T) {
	c := &customer{}
	testenv.Test(t, features.New("customer1").
		Setup(c.list).
		Assess("ClaimBecomesRunningArgoCD", c.becomesReady).
		Assess("CrossplaneIsNotWornOut", c.fewEvents).
		Assess("StatusIsTheTruth", c.statusIsTheTruth).
		Assess("ColumnsSayWhatRunsWhere", c.columns).
		Assess("ArgoCDDeploysFromGit", c.deploysFromGit).
		Assess("TakesCredentials", c.givesCredentials).
		Assess("CrossplaneIsNotWornOutByCredentials", c.fewEvents).
		Assess("NoSecretOutsideSecrets", c.noSecretOutsideSecrets).
		Assess("BrokenArgoCDIsDegradedAndRecovers", c.degradesAndRecovers).
		Assess("DeleteLeavesNothing", c.deleteLeavesNothing).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, c.live)
			c.credentials.remove(ctx, t)
			return ctx
		}).Feature())
}

func (c *customer) list(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	var err error
	if c.before, err = inventory.Take(ctx, host); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d objects before the claim", len(c.before))
	c.events = countCrossplaneEvents(ctx, t)
	return ctx
}

func (c *customer) becomesReady(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	request, err := claim.FromFile("../../examples/claims/customer1.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.live = claim.Create(ctx, t, host, request.In(claims))

	progress, phases, message := 0, []string{}, ""
	err = c.live.Follow(ctx, readyWithin, func(s claim.Step) bool {
		if s.Message != message {
			t.Logf("%6s %-12s %3d%% %s", s.At, s.Phase, s.Progress, s.Message)
			message = s.Message
		}
		if s.Progress < progress {
			t.Errorf("progress went back from %d to %d at %s\n%s", progress, s.Progress, s.At, s)
		}
		progress = s.Progress
		if s.Phase != "" && !slices.Contains(phases, s.Phase) {
			phases = append(phases, s.Phase)
		}
		if !s.True(claim.Ready) {
			return true
		}
		c.state = s.State
		measured.add("customer1: claim to Ready", s.At)
		c.everythingIsAvailable(ctx, t)
		return false
	})
	if err != nil {
		t.Fatal(err)
	}
	if progress != 100 || c.state.Phase != "Ready" {
		t.Errorf("a Ready claim has phase Ready and progress 100: %s", c.state)
	}
	// Ready doesn't wait for the Ingress, which there is where the platform has a domain.
	whole := c.live.Await(ctx, t, time.Minute, "has its Ingress, if any", func(s *claim.State) bool { return s.Condition(claim.IngressReady).Status != metav1.ConditionFalse })
	showsOnTheHost(ctx, t, whole, "Healthy", "Argo CD is ready")
	if !slices.Contains(phases, "Provisioning") {
		t.Errorf("phases seen on the way are %v, Provisioning is not among them", phases)
	}
	return ctx
}

// everythingIsAvailable looks once, with no grace: at the moment the claim says Ready, Argo CD is what it says.
func (c *customer) everythingIsAvailable(ctx context.Context, t *testing.T) {
	t.Helper()
	virtual := open(ctx, t, c.live)
	all, wrong, err := workloads(ctx, virtual)
	if err != nil {
		t.Fatal(err)
	}
	if len(wrong) > 0 {
		t.Errorf("the claim is Ready, but Argo CD's workloads are not available:\n%s", lines(wrong))
	}
	for _, name := range []string{"argocd-server", "argocd-repo-server", "argocd-application-controller", "argocd-redis"} {
		if _, ok := all[name]; !ok {
			t.Errorf("Argo CD has no workload %s, but %v", name, all)
		}
	}
	// The look above came after the claim said Ready. That each Deployment was available before is on record in it.
	ready := c.state.Condition(claim.Ready).LastTransitionTime
	deployments, err := virtual.Typed.AppsV1().Deployments("argocd").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deployments.Items {
		for _, cond := range d.Status.Conditions {
			if cond.Type == "Available" && ready.Before(&cond.LastTransitionTime) {
				t.Errorf("Deployment %s became available at %s, the claim Ready at %s, too early", d.Name, cond.LastTransitionTime, ready)
			}
		}
	}
}

func (c *customer) deploysFromGit(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	secret, err := c.live.ConnectionSecret(ctx)
	if err != nil {
		t.Fatal(err)
	}
	api := argocd.New(dialer, string(secret.Data["url"]))
	if err := api.Login(ctx, string(secret.Data["username"]), "not "+string(secret.Data["password"])); err == nil {
		t.Error("Argo CD lets a user with a wrong password in")
	}
	start := time.Now()
	if err := api.Login(ctx, string(secret.Data["username"]), string(secret.Data["password"])); err != nil {
		t.Fatalf("cannot log in with the published password: %v", err)
	}
	measured.add("customer1: log in to Argo CD", time.Since(start))

	virtual := open(ctx, t, c.live)
	image := deployment(ctx, t, virtual, "argocd-repo-server").Spec.Template.Spec.Containers[0].Image
	if _, err := createNamespace(gitNamespace)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	repo := gitserver.RunPublic(ctx, t, host, gitNamespace, image, map[string]string{"web.yaml": webManifest})

	const app = "web"
	createApp(ctx, t, api, app, wholeOf(repo), argocd.InCluster)
	took := eventually.True(ctx, t, 6*time.Minute, "the Application becomes Synced and Healthy", func(ctx context.Context) (bool, string) {
		a, err := api.Get(ctx, app)
		if err != nil {
			return false, err.Error()
		}
		return a.Status.Sync.Status == "Synced" && a.Status.Health.Status == "Healthy", a.String()
	})
	measured.add("customer1: Application created to Synced and Healthy", took)

	web, err := virtual.Typed.AppsV1().Deployments(app).Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatalf("the Application's Deployment is not in the virtual cluster: %v", err)
	}
	if web.Status.AvailableReplicas != 1 {
		t.Errorf("the Application is Healthy, its Deployment has %d of 1 replicas available", web.Status.AvailableReplicas)
	}
	return ctx
}

func (c *customer) degradesAndRecovers(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	const name = "argocd-server"
	deployments := open(ctx, t, c.live).Typed.AppsV1().Deployments("argocd")
	patchDeployment(ctx, t, deployments, name, stopped)
	start := time.Now()
	// All of it, since Crossplane writes conditions a moment after the rest of the status.
	s := c.live.Await(ctx, t, 5*time.Minute, "turns Degraded, is neither Ready nor ArgoCDReady, and names "+name, func(s *claim.State) bool {
		return s.Phase == "Degraded" && strings.Contains(s.Message, name) && !s.True(claim.Ready) && !s.True(claim.ArgoCDReady)
	})
	measured.add("customer1: argocd-server gone to Degraded", time.Since(start))
	if !s.True(claim.VirtualClusterReady) {
		t.Errorf("the virtual cluster is fine when Argo CD in it is not: %s", s)
	}
	showsOnTheHost(ctx, t, s, "Degraded", name)
	patchDeployment(ctx, t, deployments, name, runs)
	start = time.Now()
	c.live.AwaitReady(ctx, t, 5*time.Minute)
	measured.add("customer1: argocd-server back to Ready", time.Since(start))
	return ctx
}

func (c *customer) deleteLeavesNothing(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	// What the test itself brought is not the claim's to clean up.
	deleteNamespace(ctx, t, gitNamespace)
	c.credentials.remove(ctx, t)

	podsGoFirst(ctx, t, c.state.Namespace)
	took := deletePromptly(ctx, t, c.live)
	measured.add("customer1: deleted to nothing left", took)
	// Without other tests beside it, also a busy machine does it in half of the time.
	if took > promptly/2 {
		t.Errorf("the tenant was there for %s", took)
	}

	eventually.True(ctx, t, goneWithin-took, "the cluster is as it was before the claim", func(ctx context.Context) (bool, string) {
		after, err := inventory.Take(ctx, host)
		if err != nil {
			return false, err.Error()
		}
		diff := inventory.Diff(c.before, after)
		return len(diff) == 0, fmt.Sprintf("\n%s", lines(diff))
	})
	return ctx
}
