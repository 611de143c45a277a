package ingress

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// Annotations of ingress controllers that say how they speak to what is behind them, by the part of their keys after the slash. Different
// controllers have the same ones below domains of their own: ingress-nginx, NGINX's own, Traefik, HAProxy's two, Contour, Kong, the
// AWS Load Balancer Controller, Azure's and Google's.
var (
	// protocols have a protocol, for all ports or for some: HTTPS, h2, {"https":"HTTPS"}.
	protocols = []string{
		"app-protocols", "backend-protocol", "backend-protocol-version", "healthcheck-protocol", "protocol", "protocols", "router.protocol", "secure-backend-protocol",
		"server-proto", "server-protocol", "service.serversscheme", "upstream-protocol",
	}
	// upstreams begin annotations of Contour, such as upstream-protocol.tls, which have ports.
	upstreams = "upstream-protocol."
	// passes are on with any value other than false: TLS that isn't ended, or is begun again behind the controller.
	passes = []string{
		"grpc-services", "router.tls.passthrough", "secure-backends", "server-ssl", "service.serverstransport", "ssl-passthrough", "ssl-services", "tls-passthrough",
	}
	// rewrites change the paths of requests.
	rewrites = []string{"path-rewrite", "rewrite-path", "rewrite-target", "rewrites", "backend-path-prefix", "strip-path", "rewrite"}
)

// plainHTTP are the protocols that Argo CD speaks behind the Ingress.
var plainHTTP = []string{"", "http", "http1", "http1.1", "http/1.1", "h1", "auto_http", "http,https", "https,http"}

// contradicts returns why an annotation of the Ingress can't work with what the function sets; "" if it can.
func contradicts(key, value string) string {
	domain, name, _ := strings.Cut(strings.ToLower(key), "/")
	is := strings.ToLower(strings.ReplaceAll(value, " ", ""))
	off := is == "" || is == "false" || is == "off"
	switch {
	// Kong's are the protocols that clients may speak, not those behind it.
	case domain == "konghq.com" && name == "protocols":
		return ""
	case domain == "route.openshift.io" && name == "termination" && !off && is != "edge":
		return "TLS ends at the ingress controller, and Argo CD speaks plain HTTP behind it: write edge, or leave it out"
	case slices.Contains(protocols, name) && !slices.Contains(plainHTTP, is), strings.HasPrefix(name, upstreams), slices.Contains(passes, name) && !off:
		return "TLS ends at the ingress controller, and Argo CD speaks plain HTTP behind it: leave it out"
	case slices.Contains(rewrites, name) && !off:
		return `Argo CD is at the whole of its path: leave it out; for a path of the URL, write it to argocd.values, in configs.params."server.rootpath"`
	}
	return ""
}

// checkInsecure refuses what would have Argo CD's API server speak TLS behind the Ingress, or what looks as if it did, unless it was accepted
// before.
func checkInsecure(g tenant.Given) error {
	var found []error
	refuse := func(field, is string) {
		found = append(found, fmt.Errorf("spec.argocd.values.%s: %.80q is not possible: TLS ends at the ingress controller, and Argo CD speaks plain HTTP behind it: leave it out", field, is))
	}
	if !g.KeepsValues("server", "extraArgs") {
		for i, arg := range values.At[[]any](g.Spec.ArgoCDValues, "server", "extraArgs") {
			if flag, value, _ := strings.Cut(fmt.Sprint(arg), "="); flag == "--insecure" && value != "" && !isOn(value) {
				refuse(fmt.Sprintf("server.extraArgs[%d]", i), fmt.Sprint(arg))
			}
		}
	}
	for _, of := range []string{"global", "server"} {
		if g.KeepsValues(of, "env") {
			continue
		}
		for i, env := range values.At[[]any](g.Spec.ArgoCDValues, of, "env") {
			variable, _ := env.(values.Values)
			if name, value := values.At[string](variable, "name"), fmt.Sprint(variable["value"]); name == "ARGOCD_SERVER_INSECURE" && !isOn(value) {
				refuse(fmt.Sprintf("%s.env[%d]", of, i), name+"="+value)
			}
		}
	}
	return mistakes.Join(found...)
}

// checkServices refuses annotations by which a claim has Argo CD's Service spoken to otherwise than it speaks, unless they were accepted
// before: vcluster copies them to the host, where ingress controllers act on them.
func checkServices(g tenant.Given) error {
	const field = "spec.argocd.values.server.service.annotations"
	path := []string{"server", "service", "annotations"}
	if g.KeepsValues(path...) {
		return nil
	}
	var found []error
	annotations := values.At[values.Values](g.Spec.ArgoCDValues, path...)
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		value := fmt.Sprint(annotations[key])
		if why := contradicts(key, value); why != "" {
			found = append(found, fmt.Errorf("%s[%s]: %.80q is not possible: %s", field, key, value, why))
		}
	}
	return mistakes.Join(found...)
}
