package decode

import (
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/plan"
)

const (
	// HostPrefix begins the names in the composition of the records of hosts.
	HostPrefix = "ingress-host-"
	// HostKey is the key of the host in its record.
	HostKey = "host"

	requiredHost = "ingress-host"
	hostKind     = "ConfigMap"

	// Labels that Crossplane gives what it composes for a claim.
	claimNameLabel      = "crossplane.io/claim-name"
	claimNamespaceLabel = "crossplane.io/claim-namespace"
)

// hosts reads whose the hosts are.
func hosts(req *fnv1.RunFunctionRequest, o Observed, r plan.Request) plan.Hosts {
	var h plan.Hosts
	for name, c := range o.Composed {
		if host := c.String("data", HostKey); strings.HasPrefix(name, HostPrefix) && host != "" {
			h.Held = append(h.Held, host)
		}
	}
	release := o.Composed[ArgoCD]
	if in := release.Get("spec", "forProvider", "values", "server", "ingress"); in.Bool("enabled") {
		h.Serving = in.String("hostname")
	}
	h.Synced = o.Composed[VCluster].Get("spec", "forProvider", "values", "sync", "toHost", "ingresses").Bool("enabled") ||
		o.Composed[IngressesBinding].Exists()
	if ns := o.Composed[Namespace]; ns.Current() && ns.Condition("Synced").True() {
		h.NamespaceSeen = true
		h.Allowed = strings.Split(ns.Get("spec", "forProvider", "manifest", "metadata", "annotations").String(plan.AnnotationIngressHost), ",")
	}
	if count := o.Composed[IngressCount]; count.Condition("Synced").True() {
		n, err := strconv.ParseInt(count.Get("status", "atProvider", "manifest", "status", "used").String(plan.QuotaOfIngresses), 10, 64)
		if err == nil {
			h.Ingresses = &n
		}
	}
	h.Settled = !release.Exists() || release.Current() && release.Deployed()

	wanted, err := r.WantedHost()
	if err != nil || wanted == "" {
		slices.Sort(h.Held)
		return h
	}
	record, read := requiredObject(req, requiredHost, hostKind, r.RecordsIn(), plan.HostRecord(wanted))
	if h.Read = read; record.s != nil {
		if h.Taken = !controls(o.XR, record); !h.Taken {
			h.Held = append(h.Held, wanted)
		} else if record.String("metadata", "labels", claimNamespaceLabel) == r.Claim.Namespace {
			h.Holder = record.String("metadata", "labels", claimNameLabel)
		}
	}
	slices.Sort(h.Held)
	h.Held = slices.Compact(h.Held)
	return h
}

// controls tells whether the XR is the controller of an object.
func controls(xr, object Struct) bool {
	uid := xr.String("metadata", "uid")
	return uid != "" && slices.ContainsFunc(object.List("metadata", "ownerReferences"), func(ref Struct) bool {
		return ref.Bool("controller") && ref.String("uid") == uid
	})
}
