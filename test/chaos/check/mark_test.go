package check

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	kubetesting "k8s.io/client-go/testing"
)

func TestMark(t *testing.T) {
	written := func(ctx context.Context, t *testing.T, configs typed.ConfigMapInterface) *corev1.ConfigMap {
		t.Helper()
		o, err := configs.Get(ctx, markName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	for name, c := range map[string]struct {
		// disturb changes the virtual cluster after the first writes.
		disturb func(ctx context.Context, t *testing.T, client *fake.Clientset, configs typed.ConfigMapInterface)
		want    string
	}{
		"Untouched": {},
		"AWriteIsLost": {
			disturb: func(ctx context.Context, t *testing.T, _ *fake.Clientset, configs typed.ConfigMapInterface) {
				o := written(ctx, t, configs)
				o.Data[markKey] = "1"
				if _, err := configs.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			want: "has acknowledged 2 writes and has 1",
		},
		"AWriteWithoutAnswerIsKept": {
			disturb: func(ctx context.Context, t *testing.T, _ *fake.Clientset, configs typed.ConfigMapInterface) {
				o := written(ctx, t, configs)
				o.Data[markKey] = "3"
				if _, err := configs.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
		},
		"Deleted": {
			disturb: func(ctx context.Context, t *testing.T, _ *fake.Clientset, configs typed.ConfigMapInterface) {
				if err := configs.Delete(ctx, markName, metav1.DeleteOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			want: "is gone",
		},
		"AnotherVirtualCluster": {
			disturb: func(ctx context.Context, t *testing.T, _ *fake.Clientset, configs typed.ConfigMapInterface) {
				o := written(ctx, t, configs)
				o.UID = "another"
				if _, err := configs.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
			},
			want: "was replaced",
		},
		"LostBeforeAConflict": {
			disturb: func(ctx context.Context, t *testing.T, client *fake.Clientset, configs typed.ConfigMapInterface) {
				o := written(ctx, t, configs)
				o.Data[markKey] = "0"
				if _, err := configs.Update(ctx, o, metav1.UpdateOptions{}); err != nil {
					t.Fatal(err)
				}
				client.PrependReactor("update", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
					return true, nil, kerrors.NewConflict(corev1.Resource("configmaps"), markName, errors.New("changed"))
				})
			},
			want: "has acknowledged 2 writes and has 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, client, m := t.Context(), fake.NewClientset(), &Mark{}
			configs := client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
			if is, err := m.Problem(ctx, configs); is != "" || err != nil {
				t.Errorf("before the first write: %q, %v", is, err)
			}
			for range 3 {
				if err := m.Write(ctx, configs); err != nil {
					t.Fatal(err)
				}
			}
			if c.disturb != nil {
				c.disturb(ctx, t, client, configs)
			}
			if name == "LostBeforeAConflict" {
				if err := m.Write(ctx, configs); err == nil {
					t.Error("the write succeeded, want an error")
				}
			}
			is, err := m.Problem(ctx, configs)
			if err != nil || (is == "") != (c.want == "") || !strings.Contains(is, c.want) {
				t.Errorf("got %q, %v, want %q", is, err, c.want)
			}
		})
	}
}
