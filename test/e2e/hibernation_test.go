//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

const (
	// asleepWithin and awakeWithin are how long it may take beside other tests.
	asleepWithin = 2 * time.Minute
	awakeWithin  = 4 * time.Minute
	// undisturbed is how long nobody may write anything of a tenant that is asleep, once what follows on its last change is over.
	undisturbed = 10 * time.Minute
)

// hibernation is a customer whose Argo CD sleeps.
type hibernation struct {
	live *claim.Live
	// uids are those of the customer's objects in the virtual cluster.
	uids map[string]string
}

func TestHibernation(t *testing.T) {
	t.Parallel()
	h := &hibernation{}
	testenv.Test(t, features.New("hibernation").
		Setup(h.create).
		Assess("FallsAsleep", h.fallsAsleep).
		Assess("NobodyWrites", h.nobodyWrites).
		Assess("ChangesWait", h.changesWait).
		Assess("WakesUp", h.wakesUp).
		Assess("IsSuspended", h.isSuspended).
		Assess("AgainAndAgain", h.cycles).
		Assess("DeletedWhileAsleep", h.deleted).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, h.live)
			return ctx
		}).Feature())
}

func (h *hibernation) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	h.live = claim.Create(ctx, t, host, newClaim("sleeper"))
	h.live.AwaitReady(ctx, t, readyWithin)
	createIdleApps(ctx, t, h.live, 3)
	h.uids = uidsIn(ctx, t, h.live)
	if full && registry != "" {
		runImpostor(ctx, t, h.live)
	}
	return ctx
}

// runImpostor runs a pod of a customer that has the labels of the control plane's, and the name of its container, and takes as long as it may to
// end. On the host it is there with these labels.
func runImpostor(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	impostor := probePod("impostor")
	impostor.Labels = map[string]string{"app": "vcluster", "release": "vcluster"}
	impostor.Spec.Containers[0].Name = "syncer"
	graceOf(60)(impostor)
	runProbe(ctx, t, open(ctx, t, l), metav1.NamespaceDefault, impostor)
	is, err := host.Typed.CoreV1().Pods(tenantNamespace(ctx, l)).Get(ctx, onHost(impostor.Name, metav1.NamespaceDefault), metav1.GetOptions{})
	// vcluster replaces the label release.
	if err != nil || is.Labels["app"] != "vcluster" {
		t.Fatalf("on the host, the pod isn't there as one that poses as the control plane: %v, %v", is.Labels, err)
	}
}

// uidsIn returns the UIDs of what must outlive a sleep, by kind and name.
func uidsIn(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	virtual, out := open(ctx, t, l), map[string]string{}
	for _, gvk := range []schema.GroupVersionKind{applications, {Version: "v1", Kind: "Secret"}, {Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}} {
		of, err := virtual.Resource(gvk, "argocd")
		if err != nil {
			t.Fatal(err)
		}
		list, err := of.List(ctx, metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range list.Items {
			// Helm makes a record for each change.
			if !strings.HasPrefix(o.GetName(), "sh.helm.release.") {
				out[gvk.Kind+"/"+o.GetName()] = string(o.GetUID())
			}
		}
	}
	return out
}

// sleeps waits until a tenant is asleep, and checks that it is.
func sleeps(ctx context.Context, t *testing.T, l *claim.Live, why string) {
	t.Helper()
	start := time.Now()
	state := l.Await(ctx, t, asleepWithin, "sleep", func(s *claim.State) bool { return s.Phase == string(v1alpha1.PhaseHibernated) })
	measured.add("hibernation: edit to asleep, "+l.Name, time.Since(start))
	if pods, _ := podsOf(ctx, t, state.Namespace, nil); len(pods) > 0 {
		t.Errorf("asleep, it has pods: %v", pods)
	}
	if ready := state.Condition(claim.Ready); ready.Status != metav1.ConditionFalse || state.Hibernation.Since == "" || !strings.Contains(state.Message, why) || !strings.Contains(state.Message, "Asleep since "+state.Hibernation.Since) {
		t.Errorf("asleep, it doesn't say so: %s", state)
	}
}

// wakes waits until a tenant is Ready again.
func wakes(ctx context.Context, t *testing.T, l *claim.Live) {
	t.Helper()
	start := time.Now()
	l.AwaitReady(ctx, t, awakeWithin)
	measured.add("hibernation: edit to Ready, "+l.Name, time.Since(start))
}

func (h *hibernation) fallsAsleep(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	h.live.Patch(ctx, t, true, "spec", "hibernation", "enabled")
	sleeps(ctx, t, h.live, "spec.hibernation.enabled says so")
	events, err := h.live.Events(ctx)
	if err != nil {
		t.Fatal(err)
	}
	told := false
	for _, e := range events {
		told = told || e.Reason == v1alpha1.ReasonHibernated && e.Type == corev1.EventTypeNormal && strings.Contains(e.Message, "nothing is synced")
	}
	if !told {
		t.Error("no event says what a customer loses meanwhile")
	}
	return ctx
}

// versions are the resourceVersions of a claim and of all that is composed for it.
func versions(ctx context.Context, t *testing.T, l *claim.Live) map[string]string {
	t.Helper()
	all, err := l.All(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, o := range all {
		out[o.GetKind()+"/"+o.GetName()] = o.GetResourceVersion()
	}
	return out
}

func (h *hibernation) nobodyWrites(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	time.Sleep(settled)
	was := versions(ctx, t, h.live)
	time.Sleep(undisturbed)
	if diff := cmp.Diff(was, versions(ctx, t, h.live)); diff != "" {
		t.Errorf("asleep, something is written within %s (-before, +after):\n%s", undisturbed, diff)
	}
	return ctx
}

// changesWait: a change of a value is accepted, and installed by nobody.
func (h *hibernation) changesWait(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	h.live.Patch(ctx, t, "5", "spec", "argocd", "values", "configs", "params", "controller.status.processors")
	time.Sleep(10 * time.Second)
	sleeps(ctx, t, h.live, "spec.hibernation.enabled says so")
	return ctx
}

func (h *hibernation) wakesUp(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	h.live.Patch(ctx, t, nil, "spec", "hibernation")
	wakes(ctx, t, h.live)
	h.unchanged(ctx, t)
	params, err := open(ctx, t, h.live).Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cmd-params-cm", metav1.GetOptions{})
	if err != nil || params.Data["controller.status.processors"] != "5" {
		t.Errorf("the change that was made meanwhile isn't in use: %v, %v", params.Data, err)
	}
	return ctx
}

func (h *hibernation) unchanged(ctx context.Context, t *testing.T) {
	t.Helper()
	now := uidsIn(ctx, t, h.live)
	maps.DeleteFunc(now, func(name, _ string) bool { return h.uids[name] == "" })
	if diff := cmp.Diff(h.uids, now); diff != "" {
		t.Errorf("something was lost (-before, +after):\n%s", diff)
	}
}

// isSuspended: what a claim says of its sleep doesn't wake it.
func (h *hibernation) isSuspended(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	h.live.Patch(ctx, t, "unpaid since March", "spec", "suspension", "reason")
	sleeps(ctx, t, h.live, "the platform has suspended it: unpaid since March")
	h.cannotWake(ctx, t)
	h.live.Patch(ctx, t, false, "spec", "hibernation", "enabled")
	time.Sleep(10 * time.Second)
	sleeps(ctx, t, h.live, "unpaid since March")
	h.live.Patch(ctx, t, nil, "spec", "suspension")
	wakes(ctx, t, h.live)
	h.unchanged(ctx, t)
	return ctx
}

// cannotWake: whoever may only write claims can neither end nor change the suspension, nor delete the claim, to make it anew.
func (h *hibernation) cannotWake(ctx context.Context, t *testing.T) {
	t.Helper()
	const group = "e2e-suspended"
	verbs := []string{"get", "create", "update", "patch", "delete"}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: group}, Rules: []rbacv1.PolicyRule{{APIGroups: []string{claim.GVK.Group}, Resources: []string{"virtualargocds"}, Verbs: verbs}}}
	if _, err := host.Typed.RbacV1().Roles(claims).Create(ctx, role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: group}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: group},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: group}},
	}
	if _, err := host.Typed.RbacV1().RoleBindings(claims).Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	defer func() {
		err1 := host.Typed.RbacV1().RoleBindings(claims).Delete(ctx, group, metav1.DeleteOptions{})
		err2 := host.Typed.RbacV1().Roles(claims).Delete(ctx, group, metav1.DeleteOptions{})
		if err1 != nil || err2 != nil {
			t.Error(err1, err2)
		}
	}()
	author, err := asMember(t, group).Resource(claim.GVK, claims)
	if err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, time.Minute, "the author may change the claim", func(ctx context.Context) (bool, string) {
		_, err := author.Patch(ctx, h.live.Name, types.MergePatchType, []byte(`{"metadata":{"labels":{"example.org/author":"true"}}}`), metav1.PatchOptions{})
		return err == nil, fmt.Sprint(err)
	})
	const words = "spec.suspension is the platform's to set, change and remove"
	for _, patch := range []string{`{"spec":{"suspension":null}}`, `{"spec":{"suspension":{"reason":"paid"}}}`, `{"spec":{"suspension":null,"hibernation":{"enabled":false}}}`} {
		if _, err := author.Patch(ctx, h.live.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); !says(err, words) {
			t.Errorf("%s: want %q, got %v", patch, words, err)
		}
	}
	if err := author.Delete(ctx, h.live.Name, metav1.DeleteOptions{}); !says(err, "the claim is suspended by the platform") {
		t.Errorf("the author may delete the claim: %v", err)
	}
}

// cycles has it sleep again and again, as often as CYCLES says: twenty times by default.
func (h *hibernation) cycles(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	onlyInFull(t)
	n := 20
	if set := os.Getenv("CYCLES"); set != "" {
		var err error
		if n, err = strconv.Atoi(set); err != nil {
			t.Fatal("CYCLES: ", err)
		}
	}
	for range n {
		h.live.Patch(ctx, t, true, "spec", "hibernation", "enabled")
		sleeps(ctx, t, h.live, "spec.hibernation.enabled says so")
		h.live.Patch(ctx, t, false, "spec", "hibernation", "enabled")
		wakes(ctx, t, h.live)
	}
	h.unchanged(ctx, t)
	return ctx
}

func (h *hibernation) deleted(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	h.live.Patch(ctx, t, true, "spec", "hibernation", "enabled")
	sleeps(ctx, t, h.live, "spec.hibernation.enabled says so")
	measured.add("hibernation: deletion while asleep", deletePromptly(ctx, t, h.live))
	return ctx
}
