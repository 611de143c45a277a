// Package written tells whether an object was written between two looks, other than its status.
package written

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// lastUsed is the label in which the API server notes the day, in UTC, on which a token was last used.
const lastUsed = "kubernetes.io/legacy-token-last-used"

// Text is an object without what is reported in its status, and without what is in Secrets. It is the same as long as nobody writes the
// object.
func Text(o *unstructured.Unstructured) (string, error) {
	o = o.DeepCopy()
	secret := o.GroupVersionKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Secret").GroupKind()
	switch {
	case o.Object["status"] != nil:
		// Controllers write it, and only a change of the rest increases the generation.
		o.SetResourceVersion("")
	case secret && o.Object["type"] == string(corev1.SecretTypeServiceAccountToken):
		// Who uses the token on another day has the API server write the label. So the resource version doesn't say whether anybody else has
		// written the Secret, and a digest of its data does.
		labels := o.GetLabels()
		delete(labels, lastUsed)
		o.SetLabels(labels)
		data, err := json.Marshal(o.Object["data"])
		if err != nil {
			return "", err
		}
		o.SetResourceVersion(fmt.Sprintf("data %x", sha256.Sum256(data)))
	}
	o.SetManagedFields(nil)
	delete(o.Object, "status")
	if secret {
		// Its resource version says whether that was written, and it isn't to be shown.
		delete(o.Object, "data")
	}
	text, err := json.Marshal(o)
	return string(text), err
}
