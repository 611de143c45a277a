//go:build e2e

package e2e

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
	"sigs.k8s.io/e2e-framework/pkg/envconf"
	"sigs.k8s.io/e2e-framework/pkg/features"

	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/claim"
	"github.com/virtual-argocd/virtual-argocd/test/e2e/support/eventually"
)

// certificatesWithin is how long a virtual cluster may take to renew its certificates and start anew.
const certificatesWithin = 3 * time.Minute

// aged is a customer with an old Kubernetes, whose certificates are about to expire.
type aged struct {
	tenant

	plan *installedPlan
}

// TestOldKubernetes runs a virtual cluster whose Kubernetes is two minor versions behind the host's, and has vcluster renew
// its certificates, as it does 90 days before they expire.
func TestOldKubernetes(t *testing.T) {
	onlyInFull(t)
	t.Parallel()
	a := &aged{}
	testenv.Test(t, features.New("aged").
		Setup(a.create).
		Assess("CertificatesAreRenewed", a.renews).
		Teardown(func(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
			cleanUp(ctx, t, a.live)
			a.plan.remove(ctx, t)
			return ctx
		}).Feature())
}

func (a *aged) create(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	a.plan = allVersions(ctx, t, "aged")
	a.live = claim.Create(ctx, t, host, newClaim("aged").Set("aged", "spec", "plan").Kubernetes(oldKubernetes))
	s := a.live.AwaitReady(ctx, t, readyWithin)
	a.cluster, a.namespace = open(ctx, t, a.live), tenantNamespace(ctx, a.live)
	version, err := a.cluster.Typed.Discovery().ServerVersion()
	if err != nil || version.GitVersion != oldKubernetes || s.VCluster.KubernetesVersion != oldKubernetes {
		t.Fatalf("want Kubernetes %s, got %v in the virtual cluster, %s in the status: %v", oldKubernetes, version, s.VCluster.KubernetesVersion, err)
	}
	return ctx
}

// renews has one of the certificates expire in 30 days, and the control plane start anew: it renews all of them, the one by
// which the providers come in too.
func (a *aged) renews(ctx context.Context, t *testing.T, _ *envconf.Config) context.Context {
	before := a.published(ctx, t)
	a.expire(ctx, t, "apiserver-kubelet-client")
	if err := host.Typed.CoreV1().Pods(a.namespace).Delete(ctx, "vcluster-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.True(ctx, t, certificatesWithin, "the virtual cluster has another client certificate", func(ctx context.Context) (bool, string) {
		return a.published(ctx, t) != before, "it has the one from before"
	})
	began := time.Now()
	eventually.True(ctx, t, time.Minute, "the claim has it, and it works", func(ctx context.Context) (bool, string) {
		details, err := detailsOf(ctx, a.live)
		if err != nil {
			return false, err.Error()
		}
		if is := serialOf(t, []byte(details["kubeconfig"])); is != a.published(ctx, t) {
			return false, "it has certificate " + is
		}
		c, err := openKubeconfig([]byte(details["kubeconfig"]))
		if err == nil {
			_, err = c.Typed.Discovery().ServerVersion()
		}
		return err == nil, fmt.Sprint(err)
	})
	measured.add("aged: certificate renewed to the claim has it", time.Since(began))
	a.cluster = open(ctx, t, a.live)
	a.live.AwaitReady(ctx, t, certificatesWithin)
	// For longer than two looks at each workload nothing is Degraded; and both providers come in.
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Second) {
		if s, err := a.live.State(ctx); err != nil || s.Phase != "Ready" {
			t.Fatalf("after the certificates were renewed: %v, %v", s, err)
		}
	}
	a.breaksAndHeals(ctx, t, "after its certificates were renewed")
	a.changes(ctx, t)
	return ctx
}

// published is the serial number of the client certificate that vcluster publishes.
func (n *tenant) published(ctx context.Context, t *testing.T) string {
	t.Helper()
	s, err := host.Typed.CoreV1().Secrets(n.namespace).Get(ctx, "vc-vcluster", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return serialOf(t, s.Data["config"])
}

func serialOf(t *testing.T, kubeconfig []byte) string {
	t.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := cert.ParseCertsPEM(config.CertData)
	if err != nil {
		t.Fatal(err)
	}
	return certificates[0].SerialNumber.String()
}

// expire puts a certificate in the place of one of the virtual cluster's that is as good, and for 30 days only.
func (n *tenant) expire(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	secrets := host.Typed.CoreV1().Secrets(n.namespace)
	s, err := secrets.Get(ctx, "vcluster-certs", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	certificate, authority := parsed(t, s.Data[name+".crt"]), parsed(t, s.Data["ca.crt"])
	key, err := keyutil.ParsePrivateKeyPEM(s.Data["ca.key"])
	if err != nil {
		t.Fatal(err)
	}
	certificate.SerialNumber, certificate.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(30*24*time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, certificate, authority, certificate.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := json.Marshal(map[string]any{"data": map[string][]byte{name + ".crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.Patch(ctx, s.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func parsed(t *testing.T, certificate []byte) *x509.Certificate {
	t.Helper()
	certificates, err := cert.ParseCertsPEM(certificate)
	if err != nil {
		t.Fatal(err)
	}
	return certificates[0]
}
