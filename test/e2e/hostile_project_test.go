//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/argocd"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// mayEdit gives a ServiceAccount of the same namespace Kubernetes' role edit.
func mayEdit(name string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: team, Name: name}},
	}
}

// developersRights tries, with the rights to one namespace of the virtual cluster, what is beside it.
func developersRights(ctx context.Context, t *testing.T, i *intrusion) {
	i.mallory.makeTeam(ctx, t)
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	read := func(in string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Secrets(in).List(ctx, metav1.ListOptions{Limit: 1})
			return err
		}
	}
	pod := func(in string) func(kubernetes.Interface) error {
		return func(c kubernetes.Interface) error {
			_, err := c.CoreV1().Pods(in).Create(ctx, probePod("trick"), dry)
			return err
		}
	}
	tricks := []overreach{
		{"Argo CD's Secrets", read("argocd"), ""},
		{"the Secrets of kube-system", read("kube-system"), ""},
		{"the Secrets of all", read(metav1.NamespaceAll), ""},
		{"a pod beside Argo CD", pod("argocd"), ""},
		{"a pod in kube-system", pod("kube-system"), ""},
		{"a command in Argo CD's repository server", func(c kubernetes.Interface) error {
			return c.CoreV1().RESTClient().Post().Resource("pods").Namespace("argocd").Name("argocd-repo-server-0").SubResource("exec").Do(ctx).Error()
		}, ""},
		{"Argo CD's Services, by the API server", func(c kubernetes.Interface) error {
			return c.CoreV1().RESTClient().Get().Resource("services").Namespace("argocd").Name("https:argocd-repo-server:8081").SubResource("proxy").Do(ctx).Error()
		}, ""},
		{"an Application", func(c kubernetes.Interface) error {
			return c.CoreV1().RESTClient().Post().AbsPath("/apis/argoproj.io/v1alpha1/namespaces/argocd/applications").Body([]byte(`{}`)).Do(ctx).Error()
		}, ""},
		{"a right to Secrets for all", func(c kubernetes.Interface) error {
			_, err := c.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "trick"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			}, dry)
			return err
		}, ""},
	}
	for _, account := range []string{"developer", "default"} {
		c, err := kubernetes.NewForConfig(i.mallory.member(team, account))
		if err != nil {
			t.Fatal(err)
		}
		if err := pod(team)(c); account == "developer" && err != nil {
			t.Fatalf("the developer may do nothing, which shows nothing: %v", err)
		}
		cannot(t, c, account+" of "+team, tricks)
	}

	// Of the URL of Argo CD, a longer path would be another Ingress's.
	own := i.mallory.ingress(ctx, t)
	stolen := own.Spec.Rules[0].DeepCopy()
	stolen.HTTP.Paths = []networkingv1.HTTPIngressPath{{
		Path: "/api/v1/session", PathType: stolen.HTTP.Paths[0].PathType,
		Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "login", Port: networkingv1.ServiceBackendPort{Number: answerPort}}},
	}}
	c, err := kubernetes.NewForConfig(i.mallory.member(team, "developer"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.NetworkingV1().Ingresses(team).Create(ctx, &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "login"}, Spec: networkingv1.IngressSpec{IngressClassName: own.Spec.IngressClassName, Rules: []networkingv1.IngressRule{*stolen}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	i.mallory.awaitEvent(ctx, t, team, "Ingress", "login", "it could take paths of Argo CD's URL")
	if after := i.mallory.ingress(ctx, t); after.UID != own.UID {
		t.Errorf("mallory has another Ingress on the host than before: %v", after)
	}
	if err := c.NetworkingV1().Ingresses(team).Delete(ctx, "login", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// developersProject tries, with a role in one project of Argo CD, what is outside of that project.
func developersProject(ctx context.Context, t *testing.T, i *intrusion) {
	i.mallory.makeTeam(ctx, t)
	admin := loggedIn(ctx, t, i.mallory.live)
	const project, role = "dev", "developer"
	err := admin.CreateProject(ctx, project, map[string]any{
		"sourceRepos":  []string{"*"},
		"destinations": []any{map[string]any{"server": "https://kubernetes.default.svc", "namespace": team}},
		"roles": []any{map[string]any{"name": role, "policies": []string{
			fmt.Sprintf("p, proj:%[1]s:%[2]s, applications, *, %[1]s/*, allow", project, role),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	token, err := admin.ProjectToken(ctx, project, role)
	if err != nil {
		t.Fatal(err)
	}
	details := connectionDetails(ctx, t, i.mallory.live)
	developer, nobody := argocd.New(dialer, details["url"]), argocd.New(dialer, details["url"])
	developer.As(token)

	repo := i.hijackRepo(ctx, t)
	application := func(name, project, namespace string) map[string]any {
		return map[string]any{"metadata": map[string]any{"name": name}, "spec": map[string]any{
			"project": project, "source": map[string]any{"repoURL": repo, "path": ".", "targetRevision": "HEAD"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": namespace},
		}}
	}
	// Of the same form as the one that Argo CD accepts, and where Argo CD doesn't look.
	applications, err := i.mallory.cluster.Resource(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}, team)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := &unstructured.Unstructured{Object: application("elsewhere", "default", "argocd")}
	elsewhere.SetAPIVersion("argoproj.io/v1alpha1")
	elsewhere.SetKind("Application")
	if _, err := applications.Create(ctx, elsewhere, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const path = "/api/v1/applications"
	eventually.True(ctx, t, time.Minute, "the developer makes an Application of the project", func(ctx context.Context) (bool, string) {
		err := developer.Try(ctx, http.MethodPost, path+"?upsert=true", application("within", project, team))
		return err == nil, fmt.Sprint(err)
	})
	const denied = "permission denied"
	for what, try := range map[string]struct {
		method, path string
		in           any
		words        string
	}{
		"an Application of the default project":     {http.MethodPost, path, application("trick", "default", team), denied},
		"an Application in Argo CD's own namespace": {http.MethodPost, path, application("trick", project, "argocd"), "do not match any of the allowed destinations"},
		"an Application in a namespace of somebody": {http.MethodPost, path, application("trick", project, "default"), "do not match any of the allowed destinations"},
		"the Application of somebody":               {http.MethodGet, path + "/look-at-" + ownCluster, nil, denied},
		"a project":                                 {http.MethodPost, "/api/v1/projects", map[string]any{"project": map[string]any{"metadata": map[string]any{"name": "trick"}}}, denied},
		"the project with more":                     {http.MethodPut, "/api/v1/projects/" + project, map[string]any{"project": map[string]any{"metadata": map[string]any{"name": project}}}, denied},
		"the default project":                       {http.MethodGet, "/api/v1/projects/default", nil, denied},
		"a cluster":                                 {http.MethodPost, "/api/v1/clusters", map[string]any{"server": "https://192.0.2.7", "name": "trick"}, denied},
		"a repository":                              {http.MethodPost, "/api/v1/repositories", map[string]any{"repo": "https://192.0.2.7/x.git"}, denied},
		"an account":                                {http.MethodGet, "/api/v1/account/admin", nil, denied},
	} {
		if err := developer.Try(ctx, try.method, try.path, try.in); !says(err, try.words) {
			t.Errorf("a developer, %s: want %q, got %v", what, try.words, err)
		}
		if err := nobody.Try(ctx, try.method, try.path, try.in); !says(err, "401") {
			t.Errorf("somebody without a login, %s: want 401, got %v", what, err)
		}
	}
	if got, err := developer.Clusters(ctx); err != nil || len(got) > 0 {
		t.Errorf("a developer sees clusters: %v, %v", got, err)
	}
	eventually.True(ctx, t, 2*time.Minute, "Argo CD compares the developer's Application", func(ctx context.Context) (bool, string) {
		is, err := developer.Get(ctx, "within")
		return err == nil && is.Status.Sync.Status != "", fmt.Sprint(is, err)
	})
	ignored, err := applications.Get(ctx, "elsewhere", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if ignored.Object["status"] != nil {
		t.Errorf("Argo CD looks at an Application in namespace %s: %v", team, ignored.Object["status"])
	}
	cm, err := i.mallory.cluster.Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-cm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rbac, err := i.mallory.cluster.Typed.CoreV1().ConfigMaps("argocd").Get(ctx, "argocd-rbac-cm", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if on := func(c *corev1.ConfigMap, key string) bool { return c.Data[key] != "" && c.Data[key] != "false" }; on(cm, "users.anonymous.enabled") || on(cm, "exec.enabled") || on(rbac, "policy.default") {
		t.Errorf("everybody may do something in Argo CD: %v, %v", cm.Data, rbac.Data)
	}
}
