package ingress

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/condition"
	"github.com/virtual-argocd/virtual-argocd/fn/core/argocd"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

func observe(t tenant.Tenant, is condition.Of) condition.Condition {
	i, release := t.Ingress, t.Observed.Composed[tenant.ArgoCDRelease]
	o := t.Observed.Composed[tenant.IngressObject]
	switch {
	case i.Taken:
		holder := "another claim"
		if i.Holder != "" {
			holder = "claim " + i.Holder
		}
		message := fmt.Sprintf("Host %s is in use by %s: write another spec.ingress.host", i.Asked, holder)
		if i.Hostname != "" {
			message += "; " + i.Hostname + " stays in use"
		}
		return is.No(v1alpha1.ReasonHostTaken, message, "")
	case i.Certificate != nil && i.Certificate.State != v1alpha1.StateConnected:
		return is.No(string(i.Certificate.State), "Certificate", i.Certificate.Message)
	case i.Hostname != i.Asked && release.Exists():
		return is.No(v1alpha1.ReasonWaitingForHost, "Host "+i.Asked+" is being reserved for this claim", "")
	case !release.Exists() || !argocd.Runs(t):
		return is.No(v1alpha1.ReasonWaitingForArgoCD, "The Ingress waits for Argo CD", "")
	case !release.Current() || !o.Exists() || !o.Get("status", "atProvider", "manifest").Has("metadata"):
		return is.No(v1alpha1.ReasonInstalling, "Waiting to see the Ingress for host "+i.Hostname, condition.Problem(o))
	case address(o) == "":
		return is.No(v1alpha1.ReasonWaitingForAddress, "No ingress controller has given the Ingress for host "+i.Hostname+" an address: one must serve "+class(t)+", and publish where. If the host refuses the Ingress, its events in the virtual cluster say so", "")
	}
	message := "https://" + i.Hostname + " is served at " + address(o)
	if len(i.Leaving) > 0 {
		message += "; kept from other claims while the virtual cluster may have further Ingresses for it: " + strings.Join(i.Leaving, ", ")
	}
	return is.Yes(message)
}

// class is the IngressClass that the Ingress asks for.
func class(t tenant.Tenant) string {
	server, _ := t.ArgoCD.Values["server"].(values.Values)
	ingress, _ := server["ingress"].(values.Values)
	if name, _ := ingress["ingressClassName"].(string); name != "" {
		return "class " + name
	}
	return "the host cluster's default class (or write spec.ingress.className)"
}

// address is where the ingress controller serves an Ingress.
func address(o wire.Composed) string {
	for _, at := range o.List("status", "atProvider", "manifest", "status", "loadBalancer", "ingress") {
		if a := cmp.Or(at.String("ip"), at.String("hostname")); a != "" {
			return a
		}
	}
	return ""
}
