//go:build e2e

package e2e

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	given "github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// ownSecrets are the Secrets beside its claims that a test has made, by name. No name begins with that of a claim: such
// are the tenant's own, which go with it.
type ownSecrets []string

// forClaims is what a Secret beside the claims is called, with the labels that let them use it, also beside many others.
func forClaims(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{given.LabelCredentials: "true", given.LabelSecretName: name}}
}

// write creates a Secret that claims may use, or puts other data into it.
func (s *ownSecrets) write(ctx context.Context, t *testing.T, name string, data map[string]string) {
	t.Helper()
	s.put(ctx, t, forClaims(name), data)
}

// put creates a Secret, or puts other labels and data into it.
func (s *ownSecrets) put(ctx context.Context, t *testing.T, meta metav1.ObjectMeta, data map[string]string) {
	t.Helper()
	secrets := host.Typed.CoreV1().Secrets(claims)
	// Not StringData, which would leave the keys of before.
	bytes := map[string][]byte{}
	for key, v := range data {
		bytes[key] = []byte(v)
	}
	secret := &corev1.Secret{ObjectMeta: meta, Data: bytes}
	_, err := secrets.Update(ctx, secret, metav1.UpdateOptions{})
	if kerrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	if err != nil {
		t.Fatalf("cannot write Secret %s: %v", meta.Name, err)
	}
	if !slices.Contains(*s, meta.Name) {
		*s = append(*s, meta.Name)
	}
}

func (s *ownSecrets) delete(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if err := host.Typed.CoreV1().Secrets(claims).Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !kerrors.IsNotFound(err) {
		t.Fatalf("cannot delete Secret %s: %v", name, err)
	}
}

func (s *ownSecrets) deleteAll(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, name := range *s {
		s.delete(ctx, t, name)
	}
}
