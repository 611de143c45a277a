// Package proxy is what the function and the proxy between Crossplane's providers and the API servers of virtual clusters agree on: the
// token with which a provider is sent to one of them (Credentials), and three ConfigMaps that exist in the proxy alone, in which
// provider-kubernetes observes the workloads of an Argo CD (Workload), with what else is known of it (Missing, Applications), those of
// components beside it, and what it connects to (Connection).
//
// The proxy itself is in the packages below. Each imports only packages further down in this table:
//
//	server       the HTTP server: selects the virtual API server by the token, refuses requests that no provider needs, passes on the
//	             others, and answers for the ConfigMaps
//	argocd       which objects of Argo CD's chart somebody has deleted, and how many Applications there are
//	connections  what an Argo CD connects to, from its metrics, Applications and login page
//	workloads    whether the workloads of an Argo CD are available, and why not
//	watch        answers the watches of provider-kubernetes: watches and polls single objects in its place
//	helm         Helm's records: refuses what would use up provider-helm's memory, shows releases in which Helm was interrupted as failed, and
//	             reads which objects a release has
//	openapi      reduces OpenAPI documents to what the providers use
//	metrics      reads the metrics of Argo CD's application controllers
//	virtualapi   requests to one virtual API server, with its credentials, within the limits
//	limits       bounds of time, size and form of responses; memory for all of them; the circuit breaker
//
// The proxy runs beside each provider, on the loopback address of its pod, because a virtual API server is its tenant's. With an APIService
// the tenant answers for it, as slowly, as long and as compressed as it likes, and with Secrets it writes records of Helm that unpack to
// gigabytes. A provider has one memory and one set of workers for all tenants, and no bounds of its own. What the proxy does beyond bounds
// makes up for something that a provider, Helm or Argo CD lacks; the comment there names it, and what would replace it upstream.
package proxy
