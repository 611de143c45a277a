package ingress

import (
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

const (
	// RequiredHostname is the name of the requirement for the record of a hostname.
	RequiredHostname = "ingress-host"
	// HostnameKind is the kind of a record.
	HostnameKind = "ConfigMap"

	// Labels that Crossplane gives what it composes for a claim.
	claimNameLabel      = "crossplane.io/claim-name"
	claimNamespaceLabel = "crossplane.io/claim-namespace"
)

// Observe reads whose the hostnames are: those of the tenant, and the one that it asks
// for, "" for none. namespace is the claim's.
func Observe(req *fnv1.RunFunctionRequest, o tenant.Observed, namespace, recordsIn, asked string) tenant.Hostnames {
	var h tenant.Hostnames
	for name, c := range o.Composed {
		if hostname := c.String("data", tenant.HostnameKey); strings.HasPrefix(name, tenant.HostnamePrefix) && hostname != "" {
			h.Held = append(h.Held, hostname)
		}
	}
	release := o.Composed[tenant.ArgoCDRelease]
	if in := release.Get("spec", "forProvider", "values", "server", "ingress"); in.Bool("enabled") {
		h.Serving = in.String("hostname")
	}
	if ns := o.Composed[tenant.Namespace]; ns.Current() && ns.Condition("Synced").True() {
		h.NamespaceSeen = true
		h.Allowed = strings.Split(ns.Get("spec", "forProvider", "manifest", "metadata", "annotations").String(tenant.AnnotationIngressHost), ",")
	}
	if count := o.Composed[tenant.IngressCount]; count.Condition("Synced").True() {
		n, err := strconv.ParseInt(count.Get("status", "atProvider", "manifest", "status", "used").String(tenant.QuotaOfIngresses), 10, 64)
		if err == nil {
			h.Ingresses = &n
		}
	}
	h.Settled = !release.Exists() || release.Current() && release.Deployed()

	// No hostname has no record.
	record, read := wire.RequiredObject(req, RequiredHostname, HostnameKind, recordsIn, tenant.HostnameRecord(asked))
	if h.Read = read; record.Exists() {
		if h.Taken = !controls(o.XR, record); !h.Taken {
			h.Held = append(h.Held, asked)
		} else if record.String("metadata", "labels", claimNamespaceLabel) == namespace {
			h.Holder = record.String("metadata", "labels", claimNameLabel)
		}
	}
	slices.Sort(h.Held)
	h.Held = slices.Compact(h.Held)
	return h
}

// controls reports whether the XR is the controller of an object.
func controls(xr, object wire.Struct) bool {
	uid := xr.String("metadata", "uid")
	return uid != "" && slices.ContainsFunc(object.List("metadata", "ownerReferences"), func(ref wire.Struct) bool {
		return ref.Bool("controller") && ref.String("uid") == uid
	})
}
