package ingress

import (
	"slices"
	"strconv"
	"strings"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// grpcPrefix begins the hostname of an Ingress for gRPC alone, as the argo-cd chart makes
// it with server.ingressGrpc: who has a hostname has that one, too.
const grpcPrefix = "grpc."

const (
	// RequiredHostname is the name of the requirement for the record of a hostname.
	RequiredHostname = "ingress-host"
	// HostnameKind is the kind of a record.
	HostnameKind = "ConfigMap"

	// maxHostnames is the maximum number of hostnames that a claim has, with those that it is giving up.
	maxHostnames = 5
)

// Observe reads whose the hostnames are: those of the tenant, and the one that it asks
// for, "" for none. namespace is the claim's.
func Observe(req *fnv1.RunFunctionRequest, o tenant.Observed, namespace, recordsIn, asked string) tenant.Hostnames {
	var h tenant.Hostnames
	for name, c := range o.Composed {
		if hostname := c.String("data", tenant.HostnameKey); hostname != "" && name == tenant.HostnameResource(hostname) {
			h.Held = append(h.Held, hostname)
		}
	}
	ns := o.Composed[tenant.Namespace]
	h.Allowed = strings.Split(ns.Get("spec", "forProvider", "manifest", "metadata", "annotations").String(tenant.AnnotationIngressHost), ",")
	h.NamespaceSeen = ns.Current() && ns.Condition("Synced").True()
	if count := o.Composed[tenant.IngressCount]; count.Condition("Synced").True() {
		n, err := strconv.ParseInt(count.Get("status", "atProvider", "manifest", "status", "used").String(tenant.QuotaOfIngresses), 10, 64)
		if err == nil {
			h.Ingresses = &n
		}
	}
	release := o.Composed[tenant.ArgoCDRelease]
	h.Settled = !release.Exists() || release.Current() && release.Deployed()

	// Without a hostname that is asked for there is no record.
	record, read := wire.RequiredObject(req, RequiredHostname, HostnameKind, recordsIn, tenant.HostnameRecord(asked))
	if h.Read = read; record.Exists() {
		// Crossplane labels what it composes for a claim.
		labels := record.Get("metadata", "labels")
		if h.Taken = !controls(o.XR, record); !h.Taken {
			h.Held = append(h.Held, asked)
		} else if labels.String("crossplane.io/claim-namespace") == namespace {
			h.Holder = labels.String("crossplane.io/claim-name")
		}
	}
	slices.Sort(h.Held)
	h.Held = slices.Compact(h.Held)
	// The claim's own values may name any hostname here.
	in := release.Get("spec", "forProvider", "values", "server", "ingress")
	if hostname := in.String("hostname"); in.Bool("enabled") && slices.Contains(h.Held, hostname) {
		h.Serving = hostname
	}
	return h
}

// controls reports whether the XR is the controller of an object.
func controls(xr, object wire.Struct) bool {
	uid := xr.String("metadata", "uid")
	return uid != "" && slices.ContainsFunc(object.List("metadata", "ownerReferences"), func(ref wire.Struct) bool {
		return ref.Bool("controller") && ref.String("uid") == uid
	})
}

// decide decides which hostname is in use. A hostname is in use once its record is seen
// to be the tenant's: an API server has only one object of a name, so that of two
// tenants that ask at once one gets it.
func decide(asked string, h tenant.Hostnames) tenant.Ingress {
	held := slices.Contains(h.Held, asked)
	// Somebody has deleted the record of a hostname that the tenant had, and nobody else has it.
	lost := !held && h.Read && !h.Taken && slices.Contains(h.Allowed, asked)
	i := tenant.Ingress{Asked: asked, Taken: h.Taken && !held, Holder: h.Holder}
	i.Full = asked != "" && !held && !lost && !i.Taken && len(h.Held) >= maxHostnames
	switch {
	case asked == "":
	case held, lost:
		i.Hostname = asked
	default:
		// What was in use stays until the one that is asked for is the tenant's.
		i.Hostname = h.Serving
	}
	if asked != "" && (i.Hostname == asked || h.Read && !h.Taken && !i.Full) {
		i.Records = append(i.Records, asked)
	}
	var own []string
	if i.Hostname != "" {
		own = append(own, i.Hostname)
	}
	for _, held := range h.Held {
		// Argo CD's own Ingress may still have it, unless all of Argo CD is as asked.
		if held == i.Hostname || !h.Settled || h.Serving != i.Hostname {
			own = append(own, held)
			i.Records = append(i.Records, held)
		} else {
			i.Leaving = append(i.Leaving, held)
		}
	}
	slices.Sort(own)
	for _, hostname := range slices.Compact(own) {
		i.Own = append(i.Own, hostname, grpcPrefix+hostname)
	}
	i.Counted = len(i.Leaving) > 0 && h.NamespaceSeen && !slices.ContainsFunc(i.Leaving, func(hostname string) bool { return slices.Contains(h.Allowed, hostname) })
	if i.Counted && h.Ingresses != nil && (*h.Ingresses <= 0 || *h.Ingresses == 1 && i.Hostname != "") {
		// The tenant has no Ingress but Argo CD's.
		i.Leaving = nil
	}
	i.Records = append(i.Records, i.Leaving...)
	slices.Sort(i.Records)
	i.Records = slices.Compact(i.Records)
	return i
}
