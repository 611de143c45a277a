//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/external"
)

// Names that mallory's Argo CD has for virtual clusters.
const (
	ownCluster    = "own"
	othersCluster = "others"
)

// registerClusters gives mallory's Argo CD two clusters, its own and alice's, in one form, and an Application in each that
// has it look there. It takes half a minute to give up, so this comes long before byCluster.
func (i *intrusion) registerClusters(ctx context.Context, t *testing.T) {
	t.Helper()
	applications, err := i.mallory.cluster.Resource(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}, "argocd")
	if err != nil {
		t.Fatal(err)
	}
	account := external.Prepare(ctx, t, i.mallory.cluster, "")
	repo := i.hijackRepo(ctx, t)
	for name, of := range map[string]*tenant{ownCluster: i.mallory, othersCluster: i.alice} {
		at := *account
		at.Server = "https://" + virtualAPI(ctx, t, of)
		data, err := at.Declarative()
		if err != nil {
			t.Fatal(err)
		}
		data["name"] = name
		_, err = i.mallory.cluster.Typed.CoreV1().Secrets("argocd").Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "cluster-" + name, Labels: map[string]string{"argocd.argoproj.io/secret-type": "cluster"}}, StringData: data,
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		// Nothing is synced: to compare, Argo CD has to connect.
		application := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": repo, "path": ".", "targetRevision": "HEAD"},
			"destination": map[string]any{"name": name, "namespace": metav1.NamespaceDefault},
		}}}
		application.SetAPIVersion("argoproj.io/v1alpha1")
		application.SetKind("Application")
		application.SetName("look-at-" + name)
		if _, err := applications.Create(ctx, application, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// virtualAPI is the address of a tenant's virtual API, by its Service.
func virtualAPI(ctx context.Context, t *testing.T, of *tenant) string {
	t.Helper()
	return net.JoinHostPort(serviceAddress(ctx, t, of.namespace, "vcluster"), "443")
}

// byCluster has mallory's Argo CD deploy to alice's virtual cluster. It gets as far as connecting.
func byCluster(ctx context.Context, t *testing.T, i *intrusion) {
	i.insider.mustReach(ctx, t, virtualAPI(ctx, t, i.alice))
	api := loggedIn(ctx, t, i.mallory.live)
	eventually.True(ctx, t, 6*time.Minute, "mallory's Argo CD is connected to its own cluster, and gets no answer of alice's", func(ctx context.Context) (bool, string) {
		got, err := api.Clusters(ctx)
		if err != nil {
			return false, err.Error()
		}
		own, others := got[ownCluster].ConnectionState, got[othersCluster].ConnectionState
		done := own.Status == "Successful" && others.Status == "Failed" && unanswered(errors.New(others.Message))
		if done {
			t.Logf("%s: %v", othersCluster, others)
		}
		return done, fmt.Sprintf("%s: %v, %s: %v", ownCluster, own, othersCluster, others)
	})
}

// byRepository has mallory's Argo CD read repositories at addresses of others, all at once.
func byRepository(ctx context.Context, t *testing.T, i *intrusion) {
	alices := servicesOfVictim(ctx, t, i)
	others := append(hostAPIServer(ctx, t, i), metadataService(ctx, t, i)...)
	i.insider.mustReach(ctx, t, alices...)
	i.onlooker.mustReach(ctx, t, others...)

	own := net.JoinHostPort(serviceAddress(ctx, t, i.mallory.namespace, onHost("argocd-server", "argocd")), "443")
	repo := i.hijackRepo(ctx, t)
	api := loggedIn(ctx, t, i.mallory.live)
	var wg sync.WaitGroup
	var mu sync.Mutex
	said := map[string]error{}
	register := func(target, url string) {
		wg.Go(func() {
			err := api.Register(ctx, url)
			mu.Lock()
			defer mu.Unlock()
			said[target] = err
		})
	}
	targets := slices.Concat(alices, others)
	for _, target := range append([]string{own}, targets...) {
		scheme := "https"
		if _, port, _ := net.SplitHostPort(target); port == "80" {
			scheme = "http"
		}
		register(target, scheme+"://"+target+"/loot.git")
	}
	register(repo, repo)
	wg.Wait()

	if err := said[repo]; err != nil {
		t.Errorf("mallory's Argo CD reads no repository at all, which shows nothing: %v", err)
	}
	// What Argo CD's repository server says of one that it can't read.
	const unread = "failed to list refs"
	if err := said[own]; !says(err, unread) || unanswered(err) {
		t.Errorf("mallory's own Argo CD as a repository: want an answer that is none of Git's, got %v", err)
	}
	for _, target := range targets {
		err := said[target]
		address, _, _ := net.SplitHostPort(target)
		if !says(err, unread, address) || !unanswered(err) {
			t.Errorf("a repository at %s: want no answer, got %v", target, err)
		}
	}
}
