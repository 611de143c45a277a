package crossplanetest

// IngressInput is an input with a domain and defaults for every Ingress.
const IngressInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","className":"nginx","annotations":{"a/a":"platform","b/b":"platform"},"tls":{"issuer":{"name":"letsencrypt"}}}}`

// PlatformVersions is an input with these versions.
func PlatformVersions(vcluster, argocd, kubernetes string) string {
	return `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","kubernetes":{"version":"` + kubernetes + `"},
		"charts":{"vcluster":{"version":"` + vcluster + `"},"argocd":{"version":"` + argocd + `"}}}`
}

// GatewayInput is an input with a domain whose hostnames a Gateway serves.
const GatewayInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","ingress":{"domain":"apps.example.org","gateway":{"namespace":"gateways","name":"public","sectionName":"https"}}}`

// TunnelInput is an input with tunnels.
const TunnelInput = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","tunnels":{"image":{"tag":"v0.3.0"}}}`
