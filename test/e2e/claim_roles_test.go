//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/kube"
)

// ofTeams is the namespace that teams have a role in.
const ofTeams = "e2e-teams"

// TestRolesByImpersonation binds each role of examples/install/claim-roles.yaml to a team in one namespace, and tries as
// a member of that team what it may and what it may not.
func TestRolesByImpersonation(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if _, err := createNamespace(ofTeams)(ctx, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteNamespace(ctx, t, ofTeams) })
	installRoles(ctx, t)
	read := []string{"get", "list", "watch"}
	write := append(slices.Clone(read), "create", "delete", "deletecollection", "patch", "update")
	for role, tc := range map[string]struct {
		verbs []string
		// more tells that the role is one of Kubernetes' own, which are for more than claims.
		more bool
	}{
		"virtual-argocd-view": {verbs: read},
		"virtual-argocd-edit": {verbs: write},
		"view":                {verbs: read, more: true},
		"edit":                {verbs: write, more: true},
		"admin":               {verbs: write, more: true},
	} {
		t.Run(role, func(t *testing.T) {
			outsider, member := asMember(t, "nobody-of-"+role), asMember(t, "team-of-"+role)
			_, err := host.Typed.RbacV1().RoleBindings(ofTeams).Create(ctx, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "team-of-" + role}},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var want []string
			for _, verb := range tc.verbs {
				want = append(want, verb+" virtualargocds.virtualargocd.io", verb+" virtualargocds.m.virtualargocd.io")
			}
			// Kubernetes adds to its own roles a little after ours are installed. All that the binding brings is
			// as the API server counts it up.
			eventually.True(ctx, t, 2*time.Minute, "the role allows\n"+lines(sorted(want)), func(ctx context.Context) (bool, string) {
				everybodys, err1 := outsider.rules(ctx)
				ours, err2 := member.rules(ctx)
				if err := errors.Join(err1, err2); err != nil {
					return false, err.Error()
				}
				ours = slices.DeleteFunc(ours, func(rule string) bool {
					return slices.Contains(everybodys, rule) || tc.more && !strings.Contains(rule, "virtualargocd")
				})
				return slices.Equal(ours, sorted(want)), "it allows\n" + lines(ours)
			})

			// And by doing it.
			mayWrite := slices.Contains(tc.verbs, "create")
			for what, try := range map[string]struct {
				err     error
				allowed bool
			}{
				"create a claim":                    {member.create(ctx, ofTeams), mayWrite},
				"delete a claim":                    {member.delete(ctx, ofTeams), mayWrite},
				"list claims of another team":       {member.list(ctx, claim.GVK, claims), false},
				"create a claim of another team's":  {member.create(ctx, claims), false},
				"list all claims":                   {member.list(ctx, claim.GVK, ""), false},
				"list composite resources":          {member.list(ctx, schema.GroupVersionKind{Group: claim.GVK.Group, Version: claim.GVK.Version, Kind: "XVirtualArgoCD"}, ""), false},
				"list plans":                        {member.list(ctx, schema.GroupVersionKind{Group: claim.GVK.Group, Version: claim.GVK.Version, Kind: "XArgoCDPlan"}, ""), false},
				"list Releases":                     {member.list(ctx, schema.GroupVersionKind{Group: "helm.crossplane.io", Version: "v1beta1", Kind: "Release"}, ""), false},
				"list Secrets of the namespace":     {member.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, ofTeams), role == "edit" || role == "admin"},
				"list Secrets of Crossplane's":      {member.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "crossplane-system"), false},
				"list ConfigMaps of the namespace":  {member.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, ofTeams), tc.more},
				"list namespaces, those of tenants": {member.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, ""), false},
			} {
				if allowed := !kerrors.IsForbidden(try.err); allowed != try.allowed || allowed && try.err != nil && !kerrors.IsNotFound(try.err) {
					t.Errorf("%s: want it allowed: %t, got %v", what, try.allowed, try.err)
				}
			}
		})
	}
}

// installRoles installs the roles, as a platform engineer does who wants them.
func installRoles(ctx context.Context, t *testing.T) {
	t.Helper()
	file, err := os.Open("../../examples/install/claim-roles.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	roles := host.Typed.RbacV1().ClusterRoles()
	for documents := yaml.NewYAMLOrJSONDecoder(file, 4096); ; {
		role := &rbacv1.ClusterRole{}
		if err := documents.Decode(role); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if _, err := roles.Create(ctx, role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := roles.Delete(ctx, role.Name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }

// member is somebody of a group.
type member struct{ *kube.Cluster }

func asMember(t *testing.T, group string) member {
	t.Helper()
	return member{as(t, "somebody", group)}
}

func (m member) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	client, err := m.Resource(kind, namespace)
	if err != nil {
		return err
	}
	_, err = client.List(ctx, metav1.ListOptions{})
	return err
}

// create asks whether a claim could be made.
func (m member) create(ctx context.Context, namespace string) error {
	client, err := m.Resource(claim.GVK, namespace)
	if err != nil {
		return err
	}
	_, err = client.Create(ctx, claim.New("theirs").In(namespace).Object(), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// delete deletes a claim that isn't there: who may not doesn't get to know.
func (m member) delete(ctx context.Context, namespace string) error {
	client, err := m.Resource(claim.GVK, namespace)
	if err != nil {
		return err
	}
	return client.Delete(ctx, "theirs", metav1.DeleteOptions{})
}

// rules are what the member may in the namespace, such as "get pods" or "get deployments.apps".
func (m member) rules(ctx context.Context) ([]string, error) {
	review, err := m.Typed.AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: ofTeams},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	// The API server may know a binding before it knows the role.
	if review.Status.Incomplete {
		return nil, fmt.Errorf("cannot read what may be done: %s", review.Status.EvaluationError)
	}
	var out []string
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					out = append(out, strings.TrimSuffix(verb+" "+resource+"."+group, "."))
				}
			}
		}
	}
	for _, rule := range review.Status.NonResourceRules {
		out = append(out, fmt.Sprint(rule.Verbs, rule.NonResourceURLs))
	}
	return slices.Compact(sorted(out)), nil
}
