package status

import (
	"fmt"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/compose"
	"github.com/virtual-argocd/virtual-argocd/fn/decode"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

func ingressReady(t compose.Tenant, is conditionOf) Condition {
	i, release := t.Ingress, t.Observed.Composed[compose.ArgoCD]
	o := t.Observed.Composed[compose.Ingress]
	switch {
	case i.Taken:
		holder := "another claim"
		if i.Holder != "" {
			holder = "claim " + i.Holder
		}
		message := fmt.Sprintf("Host %s is in use by %s: write another spec.ingress.host", i.Wanted, holder)
		if i.Host != "" {
			message += "; " + i.Host + " stays in use"
		}
		return is.no(v1alpha1.ReasonHostTaken, message, "")
	case i.Certificate != nil && i.Certificate.State != v1alpha1.StateConnected:
		return is.no(string(i.Certificate.State), "Certificate", i.Certificate.Message)
	case i.Host != i.Wanted && release.Exists():
		return is.no(v1alpha1.ReasonWaitingForHost, "Host "+i.Wanted+" is being reserved for this claim", "")
	case !release.Exists() || !argoCDRuns(t):
		return is.no(v1alpha1.ReasonWaitingForArgoCD, "The Ingress waits for Argo CD", "")
	case !release.Current() || !o.Exists() || !o.Get("status", "atProvider", "manifest").Has("metadata"):
		return is.no(v1alpha1.ReasonInstalling, "Waiting to see the Ingress for host "+i.Host, problem(o))
	case address(o) == "":
		return is.no(v1alpha1.ReasonWaitingForAddress, "No ingress controller has given the Ingress for host "+i.Host+" an address: one must serve "+class(t)+", and publish where. If the host refuses the Ingress, its events in the virtual cluster say so", "")
	}
	message := "https://" + i.Host + " is served at " + address(o)
	if len(i.Leaving) > 0 {
		message += "; kept from other claims while the virtual cluster may have further Ingresses for it: " + strings.Join(i.Leaving, ", ")
	}
	return is.yes(message)
}

// class is the IngressClass that the Ingress asks for.
func class(t compose.Tenant) string {
	server, _ := t.ArgoCD.Values["server"].(values.Values)
	ingress, _ := server["ingress"].(values.Values)
	if name, _ := ingress["ingressClassName"].(string); name != "" {
		return "class " + name
	}
	return "the host cluster's default class (or write spec.ingress.className)"
}

// address is where the ingress controller serves an Ingress.
func address(o decode.Composed) string {
	for _, at := range o.List("status", "atProvider", "manifest", "status", "loadBalancer", "ingress") {
		if a := or(at.String("ip"), at.String("hostname")); a != "" {
			return a
		}
	}
	return ""
}
