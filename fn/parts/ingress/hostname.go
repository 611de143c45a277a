package ingress

import (
	"slices"
	"strconv"
	"strings"
	"time"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"

	"github.com/virtual-argocd/virtual-argocd/fn/core/release"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// grpcPrefix begins the hostname of an Ingress for gRPC alone, as the argo-cd chart makes
// it with server.ingressGrpc: who has a hostname has that one, too.
const grpcPrefix = "grpc."

const (
	// HostnameKind is the kind of a record.
	HostnameKind = "ConfigMap"

	// maxHostnames is the maximum number of hostnames that a claim has, with those that it is giving up: more than it may ask
	// for, so that one can replace another.
	maxHostnames = 8
)

// Observe reads whose the hostnames are: those of the tenant, and those that it asks for, with records in the namespace recordsIn.
// namespace is the claim's.
func Observe(req *fnv1.RunFunctionRequest, o tenant.Observed, namespace, recordsIn string) tenant.Hostnames {
	h := tenant.Hostnames{Records: map[string]tenant.Reservation{}}
	for name, c := range o.Composed {
		if hostname := c.String("data", tenant.HostnameKey); hostname != "" && name == tenant.HostnameResource(hostname) {
			h.Held = append(h.Held, hostname)
		}
	}
	ns := o.Composed[tenant.Namespace]
	h.Allowed = strings.Split(ns.Get("spec", "forProvider", "manifest", "metadata", "annotations").String(tenant.AnnotationIngressHost), ",")
	h.NamespaceSeen = ns.Current() && ns.Condition("Synced").True()
	if count := o.Composed[tenant.IngressCount]; reads(count) {
		n, err := strconv.ParseInt(count.Get("status", "atProvider", "manifest", "status", "used").String(tenant.QuotaOfIngresses), 10, 64)
		if err == nil {
			h.Ingresses = &n
		}
	}
	h.ArgoCDs = onHost(o.Composed[tenant.IngressOnHost], o.Composed[tenant.IngressCount])
	argocds := o.Composed[tenant.ArgoCDRelease]
	state := release.StateOf(argocds)
	h.Settled = state == release.Absent || state >= release.Unready
	h.Serving = serving(argocds)
	h.Routed, h.Gateway = hostnamesOfRoute(o.Composed[tenant.Route]), findGateway(req)
	for requirement := range req.GetRequiredResources() {
		hash, ok := strings.CutPrefix(requirement, tenant.HostnamePrefix)
		if !ok {
			continue
		}
		record, _ := wire.RequiredObject(req, requirement, HostnameKind, recordsIn, tenant.HostnameRecordPrefix+hash)
		is := tenant.Reservation{Own: record.Exists() && controls(o.XR, record)}
		is.Taken = record.Exists() && !is.Own
		// Crossplane labels what it composes for a claim.
		if labels := record.Get("metadata", "labels"); is.Taken && labels.String(tenant.LabelClaimNamespace) == namespace {
			is.Holder = labels.String(tenant.LabelClaimName)
		}
		h.Records[requirement] = is
	}
	return h
}

// withAsked returns what is known of hostnames, with those that are asked for among the held ones if the tenant has their records. Those that
// Argo CD serves are the held ones alone.
func withAsked(h tenant.Hostnames, asked []string) tenant.Hostnames {
	held := slices.Clone(h.Held)
	for _, hostname := range asked {
		if h.Records[tenant.HostnameResource(hostname)].Own {
			held = append(held, hostname)
		}
	}
	slices.Sort(held)
	h.Held = slices.Compact(held)
	others := func(hostname string) bool { return !slices.Contains(h.Held, hostname) }
	h.Serving, h.Routed = slices.DeleteFunc(slices.Clone(h.Serving), others), slices.DeleteFunc(slices.Clone(h.Routed), others)
	return h
}

// onHost returns what an Object has read of Argo CD's Ingress on the host; nil for nothing. It is composed after the Ingresses were
// counted, so what it has read is newer than the count. An Ingress that is older than the Object of the count, too, is one of those counted.
func onHost(o, count wire.Composed) *tenant.HostIngress {
	ingress := o.Get("status", "atProvider", "manifest")
	created, err := time.Parse(time.RFC3339, ingress.String("metadata", "creationTimestamp"))
	if err != nil || !reads(o) {
		return nil
	}
	counted, err := time.Parse(time.RFC3339, count.String("metadata", "creationTimestamp"))
	out := &tenant.HostIngress{Counted: err == nil && created.Before(counted)}
	for _, rule := range ingress.List("spec", "rules") {
		out.Hosts = append(out.Hosts, rule.String("host"))
	}
	for _, certificate := range ingress.List("spec", "tls") {
		out.Hosts = append(out.Hosts, certificate.Strings("hosts")...)
	}
	return out
}

// reads reports whether what an Object has read is what it was composed for, and not for an earlier count.
func reads(o wire.Composed) bool {
	return o.Condition("Synced").True() && !o.Deleting()
}

// serving returns the hostnames of the installed Argo CD's Ingress.
func serving(release wire.Composed) []string {
	in := release.Get("spec", "forProvider", "values", "server", "ingress")
	if !in.Bool("enabled") {
		return nil
	}
	hostnames := []string{in.String("hostname")}
	for _, extra := range in.List("extraHosts") {
		hostnames = append(hostnames, extra.String("name"))
	}
	return hostnames
}

// controls reports whether the XR is the controller of an object.
func controls(xr, object wire.Struct) bool {
	uid := xr.String("metadata", "uid")
	return uid != "" && slices.ContainsFunc(object.List("metadata", "ownerReferences"), func(ref wire.Struct) bool {
		return ref.Bool("controller") && ref.String("uid") == uid
	})
}

// decide decides which hostnames are in use. A hostname is in use once its record is seen
// to be the tenant's: an API server has only one object of a name, so that of two
// tenants that ask at once one gets it.
func decide(asked []string, h tenant.Hostnames, gateway *tenant.Gateway) tenant.Ingress {
	i := tenant.Ingress{Gateway: gateway}
	h = withAsked(h, asked)
	before := slices.Concat(h.Serving, h.Routed)
	room := maxHostnames - len(h.Held)
	for n, hostname := range asked {
		held := slices.Contains(h.Held, hostname)
		is, read := h.Records[tenant.HostnameResource(hostname)]
		is.Taken = is.Taken && !held
		// Somebody has deleted the record of a hostname that the tenant had, and nobody else has it.
		lost := !held && read && !is.Taken && slices.Contains(h.Allowed, hostname)
		a := tenant.AskedHostname{Name: hostname, Reservation: is}
		if !held && !is.Taken {
			a.Full = !lost && room <= 0
			room--
		}
		i.Asked = append(i.Asked, a)
		if held || lost || read && !is.Taken && !a.Full {
			i.Records = append(i.Records, hostname)
		}
		switch {
		case n == 0 && (held || lost):
			i.Hostname = hostname
		case n == 0 && len(before) > 0:
			// What was in use stays until the one that is asked for is the tenant's.
			i.Hostname = before[0]
		case n > 0 && (held || lost) && hostname != i.Hostname:
			i.Additional = append(i.Additional, hostname)
		}
	}
	if gateway != nil {
		// The host refuses an HTTPRoute with another hostname than those of the namespace.
		i.Routed = slices.DeleteFunc(i.InUse(), func(hostname string) bool {
			return (!h.NamespaceSeen || !slices.Contains(h.Allowed, hostname)) && !slices.Contains(h.Routed, hostname)
		})
	}
	giveUp(&i, asked, h)
	return i
}

// giveUp decides which hostnames that the tenant has are given up.
func giveUp(i *tenant.Ingress, asked []string, h tenant.Hostnames) {
	own := i.InUse()
	same := func(is []string, wanted bool) bool {
		if !wanted {
			return len(is) == 0
		}
		return slices.Equal(slices.Sorted(slices.Values(is)), slices.Sorted(slices.Values(own)))
	}
	// Argo CD's own Ingress may still have others, and so may its HTTPRoute, unless all of Argo CD is as asked.
	asWanted := h.Settled && same(h.Serving, i.HasIngress()) && same(h.Routed, i.Gateway != nil)
	for _, held := range h.Held {
		if slices.Contains(own, held) || slices.Contains(asked, held) || !asWanted {
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
	// A count from before is of a moment in which the tenant could have new ones.
	i.Counted = len(i.Leaving) > 0 && h.NamespaceSeen && !slices.ContainsFunc(i.Leaving, func(hostname string) bool { return slices.Contains(h.Allowed, hostname) })
	i.Single = i.Counted && h.Ingresses != nil && *h.Ingresses == 1 && i.Hostname != ""
	none := i.Counted && h.Ingresses != nil && *h.Ingresses <= 0
	seen := i.Single && h.ArgoCDs != nil
	switch {
	case none, seen && h.ArgoCDs.Counted && !slices.ContainsFunc(h.ArgoCDs.Hosts, func(hostname string) bool { return !slices.Contains(i.Own, hostname) }):
		i.Leaving, i.Counted, i.Single = nil, false, false
	case seen && !h.ArgoCDs.Counted:
		// The one that was counted may have been another. They are counted anew, by another Object.
		i.Counted, i.Single = false, false
	}
	i.Records = append(i.Records, i.Leaving...)
	slices.Sort(i.Records)
	i.Records = slices.Compact(i.Records)
}
