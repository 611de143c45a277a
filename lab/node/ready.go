package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A check is something that must hold before the cluster is of use.
type check struct {
	what string
	// log is the daemon whose log tells why it does not.
	log string
	do  func(context.Context) error
}

// checks of a cluster, in the order in which they come true.
func checks(cfg Config, c func() (client.Client, error)) []check {
	get := func(ctx context.Context, namespace, name string, o client.Object) error {
		kube, err := c()
		if err != nil {
			return err
		}
		return kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o)
	}
	return []check{
		{what: "the API server answers", log: "kube-apiserver", do: func(ctx context.Context) error {
			return get(ctx, "", "kube-system", &corev1.Namespace{})
		}},
		{what: "DNS, storage and NetworkPolicies are set up", log: "kube-apiserver", do: func(ctx context.Context) error {
			kube, err := c()
			if err != nil {
				return err
			}
			return applyAddons(ctx, cfg, kube)
		}},
		{what: "images and charts are served", log: "artifacts", do: func(context.Context) error {
			return artifactsReady(cfg)
		}},
		{what: "the node is Ready", log: "kubelet", do: func(ctx context.Context) error {
			node := &corev1.Node{}
			if err := get(ctx, "", cfg.id(), node); err != nil {
				return err
			}
			return nodeReady(node)
		}},
		{what: "new namespaces get their ServiceAccount", log: "kube-controller-manager", do: func(ctx context.Context) error {
			return get(ctx, "default", "default", &corev1.ServiceAccount{})
		}},
		{what: "DNS is Ready", log: "kubelet", do: func(ctx context.Context) error {
			dns := &appsv1.Deployment{}
			if err := get(ctx, "kube-system", "coredns", dns); err != nil {
				return err
			}
			if dns.Status.AvailableReplicas == 0 {
				return errors.New("no pod of CoreDNS is available")
			}
			return nil
		}},
		{what: "NetworkPolicies are enforced", log: "kubelet", do: func(ctx context.Context) error {
			policies := &appsv1.DaemonSet{}
			if err := get(ctx, "kube-system", "kube-network-policies", policies); err != nil {
				return err
			}
			if policies.Status.NumberAvailable == 0 {
				return errors.New("no pod of kube-network-policies is available")
			}
			return nil
		}},
	}
}

func nodeReady(n *corev1.Node) error {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			if c.Status == corev1.ConditionTrue {
				return nil
			}
			return fmt.Errorf("node %s is not Ready: %s", n.Name, c.Message)
		}
	}
	return fmt.Errorf("node %s does not say whether it is Ready", n.Name)
}

// readyWithin is how long a start may take; a loaded machine is slow.
const readyWithin = 3 * time.Minute

// waitReady waits until every check holds. When one does not, the error has the
// end of the log that tells why.
func waitReady(ctx context.Context, cfg Config, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	began := time.Now()
	for _, check := range checks(cfg, clientOnce(cfg)) {
		for {
			err := check.do(ctx)
			if err == nil {
				cfg.say("%s after %s", check.what, time.Since(began).Round(100*time.Millisecond))
				break
			}
			select {
			case <-ended:
				return fmt.Errorf("the cluster's first process has ended; its log says:\n%s", tail(cfg.dir().log("init"), 20))
			case <-ctx.Done():
				return fmt.Errorf("cannot tell that %s: %w: %w\n%s ends with:\n%s", check.what,
					context.Cause(ctx), err, cfg.dir().log(check.log), tail(cfg.dir().log(check.log), 20))
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	return nil
}

// clientOnce makes the client at its first successful use.
func clientOnce(cfg Config) func() (client.Client, error) {
	var c client.Client
	return func() (client.Client, error) {
		if c != nil {
			return c, nil
		}
		var err error
		c, err = newClient(cfg)
		return c, err
	}
}
