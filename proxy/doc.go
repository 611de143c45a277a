// Package proxy stands between Crossplane's providers and the API servers of virtual
// clusters. It runs beside each provider, on the loopback address of its pod.
//
// A virtual API server is its tenant's: with an APIService the tenant answers for it, as
// slowly, as long and as compressed as it likes, and with Secrets it writes records of
// Helm that unpack to gigabytes. The providers have one memory and one set of workers for
// all tenants, and set no bounds of their own. The proxy bounds the time, the size and the
// form of each answer, and leaves a virtual API server alone for a while that has gone
// over them.
//
// If Helm was interrupted during a rollback or an uninstallation, the proxy shows
// provider-helm a release that has failed, so that it can go on.
//
// It also sums up Argo CD's workloads as one object, with why one isn't available: nothing
// that a provider can observe by name has that.
//
// And it watches that object, the first Application and Argo CD's Ingress in place of
// provider-kubernetes, which would otherwise have to poll often, or to keep all of a
// tenant's objects of these kinds in memory.
package proxy
