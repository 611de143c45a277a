package platform

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"text/template"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/lab/artifacts"
	"github.com/virtual-argocd/virtual-argocd/lab/certs"
	"github.com/virtual-argocd/virtual-argocd/lab/manifests"
	"github.com/virtual-argocd/virtual-argocd/lab/toolchain"
)

//go:embed ingress.yaml
var ingressManifests string

const (
	ingressNamespace   = "traefik"
	ingressCertificate = "wildcard-certificate"
	ingressStarts      = 3 * time.Minute
)

// installIngress installs the ingress controller, with a certificate for each name
// of its domain.
func (i *installer) installIngress(ctx context.Context, note func(string)) error {
	ctx, cancel := context.WithTimeout(ctx, ingressStarts)
	defer cancel()
	a := i.embedded.Addresses()
	objects, err := ingressObjects(artifacts.TraefikImage(), a.Ingress)
	if err != nil {
		return err
	}
	// The namespace, for the certificate, which the Gateway has, too.
	if err := apply(ctx, i.client, objects[0]); err != nil {
		return err
	}
	if err := i.ensureCertificate(ctx, a.Domain); err != nil {
		return err
	}
	if err := i.installGatewayAPI(ctx, note); err != nil {
		return err
	}
	if err := apply(ctx, i.client, objects[1:]...); err != nil {
		return err
	}
	key := client.ObjectKey{Namespace: ingressNamespace, Name: "traefik"}
	if err := waitFor(ctx, i.client, appsv1.SchemeGroupVersion.WithKind("Deployment"), key, note, "Available"); err != nil {
		return errors.Join(err, i.podTrouble(ctx, ingressNamespace))
	}
	return nil
}

// installGatewayAPI installs the kinds of the Gateway API.
func (i *installer) installGatewayAPI(ctx context.Context, note func(string)) error {
	files, err := toolchain.GatewayAPI(ctx)
	if err != nil {
		return err
	}
	kinds, err := readManifests(files...)
	if err != nil {
		return err
	}
	if err := apply(ctx, i.client, kinds...); err != nil {
		return err
	}
	for _, kind := range kinds {
		if err := waitFor(ctx, i.client, kind.GroupVersionKind(), client.ObjectKeyFromObject(kind), note, "Established"); err != nil {
			return err
		}
	}
	// The API server serves them a moment later.
	for {
		_, err := i.client.RESTMapper().RESTMapping(schema.GroupKind{Group: "gateway.networking.k8s.io", Kind: "GatewayClass"})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the API server doesn't serve the Gateway API: %w: %w", err, timedOut(ctx))
		case <-time.After(pollEvery):
		}
	}
}

func ingressObjects(image, address string) ([]*unstructured.Unstructured, error) {
	t, err := template.New("ingress.yaml").Option("missingkey=error").Parse(ingressManifests)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, map[string]string{"Image": image, "Address": address}); err != nil {
		return nil, err
	}
	objects, err := manifests.Decode(&out)
	if err != nil {
		return nil, fmt.Errorf("cannot parse the ingress controller's manifests: %w", err)
	}
	return objects, nil
}

// ensureCertificate makes a certificate for the names of a domain, unless the
// cluster has one, and writes down who has signed it.
func (i *installer) ensureCertificate(ctx context.Context, domain string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ingressNamespace, Name: ingressCertificate}}
	err := i.client.Get(ctx, client.ObjectKeyFromObject(secret), secret)
	if apierrors.IsNotFound(err) {
		if secret.Data, err = newCertificate(domain); err != nil {
			return err
		}
		secret.Type = corev1.SecretTypeTLS
		err = i.client.Create(ctx, secret)
	}
	if err != nil {
		return fmt.Errorf("cannot make the certificate of *.%s: %w", domain, err)
	}
	if err := os.WriteFile(i.embedded.ingressCA(), secret.Data["ca.crt"], 0o644); err != nil {
		return fmt.Errorf("cannot write the ingress controller's authority: %w", err)
	}
	return nil
}

func newCertificate(domain string) (map[string][]byte, error) {
	ca, err := certs.NewAuthority("virtual-argocd-lab")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Sign(certs.Identity{Name: "ingress", Hosts: []string{"*." + domain}})
	if err != nil {
		return nil, err
	}
	key, err := pair.KeyPEM()
	return map[string][]byte{corev1.TLSCertKey: pair.CertPEM(), corev1.TLSPrivateKeyKey: key, "ca.crt": ca.CertPEM()}, err
}
