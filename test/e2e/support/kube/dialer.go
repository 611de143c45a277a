package kube

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Dialer connects the test's machine to Services by their in-cluster names, which the machine's DNS does not know.
// Where the machine reaches ClusterIPs (the embedded cluster), it dials those; elsewhere it goes through the API
// server's port-forward, so that a kubeconfig is all that a test needs. It also knows names that Resolve told it.
type Dialer struct {
	cluster *Cluster

	once   sync.Once
	direct bool

	mu       sync.Mutex
	resolved map[string]string
}

// NewDialer returns a Dialer into the cluster.
func NewDialer(c *Cluster) *Dialer {
	return &Dialer{cluster: c, resolved: map[string]string{}}
}

// Resolve makes a name, and every name below it, mean an address, such as that of an ingress controller.
func (d *Dialer) Resolve(name, address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.resolved[name] = address
}

// Lookup is the address that Resolve has given a name or one above it, or nothing.
func (d *Dialer) Lookup(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	for {
		if address, ok := d.resolved[name]; ok {
			return address
		}
		_, above, ok := strings.Cut(name, ".")
		if !ok {
			return ""
		}
		name = above
	}
}

// DialContext connects to <service>.<namespace>.svc[.<cluster domain>]:<port>, or to a name that Resolve knows. Any
// other address is dialled as it is.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot split address %q: %w", address, err)
	}
	if known := d.Lookup(host); known != "" {
		address = net.JoinHostPort(known, port)
	}
	labels := strings.Split(host, ".")
	if len(labels) < 3 || labels[2] != "svc" {
		return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, network, address)
	}
	service, namespace := labels[0], labels[1]
	if d.reachesClusterIPs(ctx) {
		return d.dialClusterIP(ctx, namespace, service, port)
	}
	return d.dialForwarded(ctx, namespace, service, port)
}

// reachesClusterIPs tries the one Service that every cluster has, once.
func (d *Dialer) reachesClusterIPs(ctx context.Context) bool {
	d.once.Do(func() {
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		conn, err := d.dialClusterIP(ctx, metav1.NamespaceDefault, "kubernetes", "443")
		if err == nil {
			d.direct = true
			_ = conn.Close()
		}
	})
	return d.direct
}

func (d *Dialer) dialClusterIP(ctx context.Context, namespace, service, port string) (net.Conn, error) {
	svc, err := d.cluster.Typed.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("cannot find Service %s/%s: %w", namespace, service, err)
	}
	return (&net.Dialer{Timeout: 10 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(svc.Spec.ClusterIP, port))
}

// dialForwarded picks a ready pod behind the Service and opens one port-forward stream to it.
func (d *Dialer) dialForwarded(ctx context.Context, namespace, service, port string) (net.Conn, error) {
	portName, err := d.portName(ctx, namespace, service, port)
	if err != nil {
		return nil, err
	}
	slices, err := d.cluster.Typed.DiscoveryV1().EndpointSlices(namespace).List(ctx,
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, fmt.Errorf("cannot list endpoints of Service %s/%s: %w", namespace, service, err)
	}
	for _, slice := range slices.Items {
		for _, p := range slice.Ports {
			if p.Name == nil || *p.Name != portName || p.Port == nil {
				continue
			}
			for _, e := range slice.Endpoints {
				ready := e.Conditions.Ready == nil || *e.Conditions.Ready
				if ready && e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
					return forward(d.cluster, e.TargetRef.Namespace, e.TargetRef.Name, int(*p.Port))
				}
			}
		}
	}
	return nil, fmt.Errorf("no ready pod behind Service %s/%s port %s", namespace, service, port)
}

func (d *Dialer) portName(ctx context.Context, namespace, service, port string) (string, error) {
	svc, err := d.cluster.Typed.CoreV1().Services(namespace).Get(ctx, service, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("cannot find Service %s/%s: %w", namespace, service, err)
	}
	for _, p := range svc.Spec.Ports {
		if strconv.Itoa(int(p.Port)) == port {
			return p.Name, nil
		}
	}
	return "", fmt.Errorf("port %s is none of Service %s/%s", port, namespace, service)
}
