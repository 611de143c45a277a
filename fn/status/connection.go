package status

import (
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
)

// Keys of a claim's connection Secret.
const (
	KubeconfigKey = compose.KubeconfigKey
	URLKey        = "url"
	UsernameKey   = "username"
	PasswordKey   = compose.PasswordKey
)

// admin is Argo CD's built-in user.
const admin = "admin"

// connection are the tenant's connection details: what is published stays, even
// while the Secret it came from can't be read.
func connection(t compose.Tenant) map[string][]byte {
	o := t.Observed
	details := map[string][]byte{}
	set := func(key string, value []byte) {
		if len(value) == 0 {
			value = o.XRConnection[key]
		}
		if len(value) > 0 {
			details[key] = value
		}
	}
	set(KubeconfigKey, compose.Kubeconfig(t))
	var url, user []byte
	if compose.ArgoCDInstalled(t) {
		url, user = []byte(URL(t.Plan)), []byte(admin)
	}
	// Crossplane takes no key out of a Secret, so what is true no more is emptied.
	empty := func(key string) {
		if _, published := o.XRConnection[key]; published {
			details[key] = []byte{}
		}
	}
	set(URLKey, url)
	if t.AdminDisabled {
		empty(UsernameKey)
	} else {
		set(UsernameKey, user)
	}
	if t.GeneratesPassword {
		set(PasswordKey, o.Composed[compose.ArgoCD].Connection[compose.PasswordKey])
	} else {
		empty(PasswordKey)
	}
	return details
}
