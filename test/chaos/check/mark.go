package check

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
)

const (
	markName = "chaos"
	markKey  = "count"
)

// A Mark is a ConfigMap in a virtual cluster whose value counts up. What the virtual cluster has acknowledged must stay there. The zero value is
// one that doesn't exist yet.
type Mark struct {
	mu sync.Mutex
	// last is the object as the virtual cluster has last returned it; nil if it doesn't exist yet.
	last *corev1.ConfigMap
}

// Write counts up by one. After an error, the virtual cluster may have the new value or not.
func (m *Mark) Write(ctx context.Context, configs typed.ConfigMapInterface) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		o, err := configs.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: markName}, Data: map[string]string{markKey: "0"}}, metav1.CreateOptions{})
		if kerrors.IsAlreadyExists(err) {
			o, err = configs.Get(ctx, markName, metav1.GetOptions{})
		}
		if err == nil {
			m.last = o
		}
		return err
	}
	n, err := countOf(m.last)
	if err != nil {
		return err
	}
	next := m.last.DeepCopy()
	next.Data[markKey] = strconv.Itoa(n + 1)
	// An update that reaches the virtual cluster only after a later one has another resource version, and is refused.
	next, err = configs.Update(ctx, next, metav1.UpdateOptions{})
	if kerrors.IsConflict(err) {
		// The answer to an earlier write got lost.
		if next, err = configs.Get(ctx, markName, metav1.GetOptions{}); err == nil && m.problem(next) != "" {
			// Problem will find it, too.
			return fmt.Errorf("cannot count up: %s", m.problem(next))
		}
	}
	if err == nil {
		m.last = next
	}
	return err
}

// Problem returns what the virtual cluster has lost; "" for nothing.
func (m *Mark) Problem(ctx context.Context, configs typed.ConfigMapInterface) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		return "", nil
	}
	is, err := configs.Get(ctx, markName, metav1.GetOptions{})
	if kerrors.IsNotFound(err) {
		return "what was in the virtual cluster is gone", nil
	}
	if err != nil {
		return "", err
	}
	return m.problem(is), nil
}

func (m *Mark) problem(is *corev1.ConfigMap) string {
	had, err := countOf(m.last)
	if err != nil {
		return err.Error()
	}
	has, err := countOf(is)
	switch {
	case err != nil:
		return err.Error()
	case is.UID != m.last.UID:
		return "what was in the virtual cluster was replaced by another object"
	case has < had:
		return fmt.Sprintf("the virtual cluster has acknowledged %d writes and has %d", had, has)
	default:
		return ""
	}
}

func countOf(o *corev1.ConfigMap) (int, error) {
	n, err := strconv.Atoi(o.Data[markKey])
	if err != nil {
		return 0, fmt.Errorf("ConfigMap %s has no number: %w", o.Name, err)
	}
	return n, nil
}
