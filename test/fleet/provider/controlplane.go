package provider

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/lab/certs"
)

// controlPlanes are the control planes of the tenants' virtual clusters. They run even while the providers don't.
type controlPlanes struct {
	Options
	// admin is an administrator of the host.
	admin client.Client
	// kubeconfig is what each virtual cluster publishes.
	kubeconfig map[string][]byte

	mu sync.Mutex
	// starting has the namespaces whose control planes are starting, and restarting those whose control planes don't answer until a time.
	starting   map[string]bool
	restarting map[string]time.Time
	// asleep has those whose tenants are asleep, and delivered those that a snapshot was handed to.
	asleep, delivered map[string]bool
	// store has the backups of all tenants.
	store *backups
}

func newControlPlanes(o Options, admin client.Client, kubeconfig map[string][]byte) *controlPlanes {
	return &controlPlanes{
		Options: o, admin: admin, kubeconfig: kubeconfig, starting: map[string]bool{}, restarting: map[string]time.Time{},
		asleep: map[string]bool{}, delivered: map[string]bool{}, store: &backups{in: map[string][]stored{}},
	}
}

// newKubeconfig returns the data of a Secret with a kubeconfig, as vcluster writes it.
func newKubeconfig() (map[string][]byte, error) {
	ca, err := certs.NewAuthority("kubernetes")
	if err != nil {
		return nil, err
	}
	pair, err := ca.Sign(certs.Identity{Name: "kubernetes-super-admin", Group: "system:masters"})
	if err != nil {
		return nil, err
	}
	key, err := pair.KeyPEM()
	if err != nil {
		return nil, err
	}
	const name = "my-vcluster"
	config, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{name: {Server: "https://localhost:8443", CertificateAuthorityData: ca.CertPEM()}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{name: {ClientCertificateData: pair.CertPEM(), ClientKeyData: key}},
		Contexts:       map[string]*clientcmdapi.Context{name: {Cluster: name, AuthInfo: name}},
		CurrentContext: name,
	})
	if err != nil {
		return nil, fmt.Errorf("cannot write a kubeconfig: %w", err)
	}
	return map[string][]byte{
		tenant.KubeconfigSourceKey: config,
		"certificate-authority":    ca.CertPEM(), "client-certificate": pair.CertPEM(), "client-key": key,
	}, nil
}

// start starts the control plane in a namespace, unless it runs. Once started, it publishes its kubeconfig. If it restores a snapshot, it waits until
// that is handed over.
func (s *controlPlanes) start(ctx context.Context, local client.Client, namespace string, installed time.Time, restores bool) {
	if s.answers(ctx, local, namespace) == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.starting[namespace] {
		return
	}
	s.starting[namespace] = true
	// It goes on if the provider ends.
	ctx = context.WithoutCancel(ctx)
	go func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.starting, namespace)
		}()
		time.Sleep(time.Until(installed.Add(s.Faults.takes(tenantOf(namespace), s.Durations.ControlPlane))))
		for {
			err := s.publish(ctx, namespace, restores)
			if err == nil || kerrors.IsAlreadyExists(err) || kerrors.IsNotFound(err) || kerrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
				return
			}
			time.Sleep(time.Second)
		}
	}()
}

// publish writes the kubeconfig.
func (s *controlPlanes) publish(ctx context.Context, namespace string, restores bool) error {
	if err := s.admin.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}); err != nil {
		return err
	}
	if id := tenantOf(namespace); s.Faults.Has(NeverStarts, id) || s.Faults.Has(Silent, id) {
		return fmt.Errorf("the control plane in %s doesn't start", namespace)
	}
	s.mu.Lock()
	waits := restores && !s.delivered[namespace]
	s.mu.Unlock()
	if waits {
		return fmt.Errorf("the control plane in %s waits for its snapshot", namespace)
	}
	return s.admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: tenant.KubeconfigSource},
		Data:       s.kubeconfig,
	})
}

// restart makes the virtual cluster in a namespace unavailable for Durations.Restart.
func (s *controlPlanes) restart(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarting[namespace] = time.Now().Add(s.Faults.takes(tenantOf(namespace), s.Durations.Restart))
}
