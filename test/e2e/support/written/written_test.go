package written

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestText(t *testing.T) {
	object := func(apiVersion, kind string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetAPIVersion(apiVersion)
		o.SetKind(kind)
		o.SetName("a")
		o.SetGeneration(1)
		o.SetResourceVersion("10")
		return o
	}
	release := func() *unstructured.Unstructured {
		o := object("helm.crossplane.io/v1beta1", "Release")
		o.Object["status"] = map[string]any{"state": "deployed"}
		return o
	}
	config := func() *unstructured.Unstructured { return object("v1", "ConfigMap") }
	secret := func() *unstructured.Unstructured {
		o := object("v1", "Secret")
		o.Object["type"], o.Object["data"] = "Opaque", map[string]any{"token": "aGlkZGVu"}
		return o
	}
	token := func() *unstructured.Unstructured {
		o := secret()
		o.Object["type"] = "kubernetes.io/service-account-token"
		o.SetLabels(map[string]string{"virtualargocd.io/tenant": "a", "kubernetes.io/legacy-token-last-used": "2026-11-24"})
		return o
	}
	label := func(key string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			labels := o.GetLabels()
			if labels == nil {
				labels = map[string]string{}
			}
			labels[key] = "2026-11-25"
			o.SetLabels(labels)
		}
	}
	data := func(o *unstructured.Unstructured) { o.Object["data"] = map[string]any{"token": "aGlkZGVuLTI="} }
	for name, c := range map[string]struct {
		of      func() *unstructured.Unstructured
		write   func(*unstructured.Unstructured)
		written bool
	}{
		"ReportingAStatusIsNoWrite": {release, func(o *unstructured.Unstructured) { o.Object["status"] = map[string]any{"state": "failed"} }, false},
		"AGenerationIsAWrite":       {release, func(o *unstructured.Unstructured) { o.SetGeneration(2) }, true},
		"AnAnnotationIsAWrite": {release, func(o *unstructured.Unstructured) {
			o.SetAnnotations(map[string]string{"virtualargocd.io/failed": "1"})
		}, true},
		"ADeletionIsAWrite": {release, func(o *unstructured.Unstructured) {
			now := metav1.Now()
			o.SetDeletionTimestamp(&now)
		}, true},
		"WithoutAStatusAnyVersionIsAWrite":   {config, func(*unstructured.Unstructured) {}, true},
		"ASecretsVersionIsAWrite":            {secret, func(*unstructured.Unstructured) {}, true},
		"TheDayOfATokensUseIsNoWrite":        {token, label("kubernetes.io/legacy-token-last-used"), false},
		"AnotherTokenIsAWrite":               {token, data, true},
		"AnotherLabelOfATokenIsAWrite":       {token, label("virtualargocd.io/tenant"), true},
		"TheDayOfUseOfWhatIsNoTokenIsAWrite": {secret, label("kubernetes.io/legacy-token-last-used"), true},
		"AConfigMapOfATokensTypeIsStillAConfigMap": {func() *unstructured.Unstructured {
			o := config()
			o.Object["type"] = "kubernetes.io/service-account-token"
			return o
		}, func(*unstructured.Unstructured) {}, true},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := c.of(), c.of()
			// Each write gives an object another version, also one of its status.
			after.SetResourceVersion("11")
			after.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
			c.write(after)
			was, err := Text(before)
			if err != nil {
				t.Fatal(err)
			}
			is, err := Text(after)
			if err != nil {
				t.Fatal(err)
			}
			if (was != is) != c.written {
				t.Errorf("written: want %t, got %t:\n%s\n%s", c.written, was != is, was, is)
			}
			if strings.Contains(was+is, "aGlkZGVu") {
				t.Errorf("this shows what is in a Secret:\n%s\n%s", was, is)
			}
			if before.GetResourceVersion() != "10" {
				t.Error("Text has changed the object")
			}
		})
	}
	same, err := Text(config())
	if again, errAgain := Text(config()); err != nil || errAgain != nil || same != again {
		t.Errorf("an object that nobody has written is shown as %s and as %s (%v, %v)", same, again, err, errAgain)
	}
}
