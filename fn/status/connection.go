package status

import (
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/resource"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
)

// admin is Argo CD's built-in user.
const admin = "admin"

// connection are the tenant's connection details: what is published stays, even
// while the Secret it came from can't be read.
func connection(t tenant.Tenant) map[string][]byte {
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
	set(tenant.KubeconfigKey, resource.Kubeconfig(t))
	var url, user []byte
	if argocd.Installed(t) {
		url, user = []byte(tenant.URL(t.Decision)), []byte(admin)
	}
	// Crossplane takes no key out of a Secret, so what is true no more is emptied.
	empty := func(key string) {
		if _, published := o.XRConnection[key]; published {
			details[key] = []byte{}
		}
	}
	set(tenant.URLKey, url)
	if t.AdminDisabled {
		empty(tenant.UsernameKey)
	} else {
		set(tenant.UsernameKey, user)
	}
	if t.GeneratesPassword {
		set(tenant.PasswordKey, o.Composed[tenant.ArgoCDRelease].Connection[tenant.PasswordKey])
	} else {
		empty(tenant.PasswordKey)
	}
	return details
}
