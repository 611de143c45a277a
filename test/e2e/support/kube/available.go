package kube

import (
	"context"
	"testing"
	"time"

	"sigs.k8s.io/e2e-framework/klient"
	"sigs.k8s.io/e2e-framework/klient/wait"
	"sigs.k8s.io/e2e-framework/klient/wait/conditions"
)

// AwaitDeployment waits until a Deployment is available. what is its name for people.
func (c *Cluster) AwaitDeployment(ctx context.Context, t testing.TB, what, namespace, name string) {
	t.Helper()
	client, err := klient.New(c.Config)
	if err != nil {
		t.Fatalf("cannot make a client: %v", err)
	}
	available := conditions.New(client.Resources()).DeploymentAvailable(name, namespace)
	if err := wait.For(available, wait.WithContext(ctx), wait.WithTimeout(5*time.Minute), wait.WithInterval(time.Second)); err != nil {
		t.Fatalf("%s does not become available (kubectl -n %s describe pods): %v", what, namespace, err)
	}
}
