// Package pages has the addresses of the documentation that messages send people to. Whoever reads a message has a cluster, and not
// this repository. TestPages of test/docs checks that every page and every heading exists.
package pages

import "strings"

const (
	project  = "https://github.com/virtual-argocd/virtual-argocd/blob/main/"
	docs     = project + "docs/"
	examples = project + "examples/"
)

// How to install.
const (
	// Install has what each file of examples/install is for.
	Install = examples + "install/README.md"
	// ExistingProviders is for clusters that run a provider already.
	ExistingProviders = Install + "#providers-that-you-already-run"
	// Monitoring says how to install examples/monitoring.
	Monitoring = examples + "monitoring/README.md#install"
)

// How Argo CD gets credentials for a cloud.
const (
	Cloud       = docs + "cloud-identity.md"
	CloudAWS    = Cloud + "#aws"
	CloudGoogle = Cloud + "#google-cloud"
	CloudAzure  = Cloud + "#azure"
)

// Lists of fields in the API reference.
const (
	SpecFields    = docs + "api.md#spec"
	InputFields   = docs + "api.md#input"
	PlanFields    = docs + "api.md#plan"
	ChannelFields = docs + "api.md#channel"
	PoolFields    = docs + "api.md#pool"
)

// KubernetesFields has the fields of Kubernetes' own types.
const KubernetesFields = "https://kubernetes.io/docs/reference/kubernetes-api/"

// Expressions and functions in the notifications of Argo CD.
const (
	Expressions = "https://expr-lang.org/docs/language-definition"
	Functions   = "https://masterminds.github.io/sprig/"
)

// troubleshooting has a heading for each reason with which something is to be done.
const troubleshooting = docs + "troubleshooting.md"

// Of returns the address of what the troubleshooting page says of a condition's reason.
func Of(reason string) string { return troubleshooting + "#" + strings.ToLower(reason) }
