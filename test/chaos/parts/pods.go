package parts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Pods are the pods of an embedded cluster. They are cached, so that they can be disturbed while the API server is, too.
type Pods struct {
	machine Machine
	client  kubernetes.Interface

	mu   sync.Mutex
	last []corev1.Pod
}

// NewPods returns the pods of the cluster of a machine.
func NewPods(m Machine, client kubernetes.Interface) *Pods { return &Pods{machine: m, client: client} }

// everySecond is how often the pods are read.
const everySecond = time.Second

// Follow reads the pods until ctx is done.
func (p *Pods) Follow(ctx context.Context) {
	for ; ctx.Err() == nil; sleep(ctx, everySecond) {
		// Pods that can't be read now are read the next time.
		list, err := p.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
		if err != nil {
			continue
		}
		p.mu.Lock()
		p.last = list.Items
		p.mu.Unlock()
	}
}

// Of returns the part that consists of the selected pods, or of the processes of one program in them; "" stands for all programs.
func (p *Pods) Of(program string, are func(corev1.Pod) bool) Part {
	return podPart{p, program, are}
}

// Labelled returns the part that consists of the pods of a namespace that have a label whose value ends with value: Crossplane puts the
// organization before the names of packages.
func (p *Pods) Labelled(namespace, label, suffix string) Part {
	return p.Of("", func(pod corev1.Pod) bool {
		return pod.Namespace == namespace && strings.HasSuffix(pod.Labels[label], suffix)
	})
}

type podPart struct {
	*Pods

	program string
	are     func(corev1.Pod) bool
}

func (p podPart) selected() (out []corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, pod := range p.last {
		if p.are(pod) {
			out = append(out, pod)
		}
	}
	return out
}

// Kill implements Part. It kills the processes and deletes the pods: Kubernetes starts new pods at once, but waits longer before each restart
// of a container.
func (p podPart) Kill(ctx context.Context) error {
	err := ErrNotThere
	for _, pod := range p.selected() {
		now := int64(0)
		e := p.machine.InPod(pod.UID, p.program).Kill(ctx)
		if e == nil || errors.Is(e, ErrNotThere) {
			e = p.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name,
				metav1.DeleteOptions{GracePeriodSeconds: &now, Preconditions: metav1.NewUIDPreconditions(string(pod.UID))})
		}
		if kerrors.IsNotFound(e) || kerrors.IsConflict(e) {
			e = nil // There is another one by now.
		}
		if err = e; err != nil {
			return fmt.Errorf("cannot kill pod %s: %w", pod.Name, err)
		}
	}
	return err
}

// Stop implements Part.
func (p podPart) Stop(ctx context.Context) (func(), error) {
	var all []func()
	goOn := func() {
		for _, f := range all {
			f()
		}
	}
	for _, pod := range p.selected() {
		f, err := p.machine.InPod(pod.UID, p.program).Stop(ctx)
		if errors.Is(err, ErrNotThere) {
			continue
		}
		if err != nil {
			goOn()
			return nil, fmt.Errorf("cannot stop pod %s: %w", pod.Name, err)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return nil, ErrNotThere
	}
	return goOn, nil
}
