package condition

import (
	"regexp"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/wire"
)

// A delay is a kind of error of a server that is slow, starts, or can't be reached for a while. Waiting mends it, so that the first
// installation of a tenant goes on. The errors are in the words of Go, Kubernetes and etcd, which tell users little.
type delay struct {
	says *regexp.Regexp
	// message says what is waited for: %s is the server, $1 a part of the error.
	message string
}

const noAnswer = "waiting for %s, which doesn't answer"

// delays are tried in order: the more special ones come first.
var delays = []delay{
	{regexp.MustCompile(`resource quota evaluation timed out`), "waiting for %s, which is slow to check the quota of the namespace"},
	// The words of a webhook that has answered may be anything, and are no delay.
	{regexp.MustCompile(`(?s)failed (?:to call|calling) webhook "([^"]{1,100})".*(?:` + network + `)`), `waiting for the admission webhook $1 of %s, which doesn't answer`},
	{regexp.MustCompile(`etcdserver: |database is locked`), "waiting for the datastore of %s, which doesn't answer"},
	{regexp.MustCompile(`(?i)the server is currently unable to handle the request|\bapiserver not ready\b|\bapiserver is shutting down\b|the server is not ready|` +
		`the server was unable to return a response in the time allotted|request did not complete within`), noAnswer},
	{regexp.MustCompile(`(?i)the server has received too many requests|too many requests, please try again later`), "waiting for %s, which has too many requests at once"},
	{regexp.MustCompile(network), noAnswer},
}

// network are the words of Go's net, net/http and context, and of Helm's and client-go's waiting.
const network = `context deadline exceeded|context canceled|(?:i/o|TLS handshake|awaiting headers|Client\.Timeout.*) ?timeout|timeout awaiting response headers|` +
	`Client\.Timeout|connection refused|connection reset by peer|connection timed out|no route to host|network is unreachable|host is unreachable|broken pipe|` +
	`use of closed network connection|net/http: request canceled|http: server closed idle connection|http2: |server sent GOAWAY|` +
	`(?:^|: |unexpected |")EOF\b|timed out waiting for the condition|client rate limiter Wait returned an error|would exceed context deadline|server misbehaving`

// ofText matches what Go's templates and decoders say about a text, which may sound like a connection that was cut.
var ofText = regexp.MustCompile(`(?:^|[\s:(])(?:template|parse error at \([^)]*\)|execution error at \([^)]*\)|YAML parse error on \S+|error (?:converting|unmarshaling) \w+|` +
	`(?:json|yaml|toml|base64|asn1|x509): \w+)`)

// waitsFor returns what an error of a server says that is waited for. It reports false for an error that waiting doesn't mend.
func waitsFor(problem, server string) (string, bool) {
	if ofText.MatchString(problem) && !strings.Contains(problem, "://") {
		return "", false
	}
	for _, d := range delays {
		at := d.says.FindStringSubmatchIndex(problem)
		if at == nil {
			continue
		}
		message := string(d.says.ExpandString(nil, d.message, problem, at))
		return strings.Replace(message, "%s", server, 1), true
	}
	return "", false
}

// chartPull is in an error of provider-helm that comes from the chart's repository, and not from an API server.
const chartPull = "failed to pull chart"

// serverOf returns whose answer a provider's error about a resource is, as people say it.
func serverOf(c wire.Composed, problem string) string {
	if repository := c.String("spec", "forProvider", "chart", "repository"); repository != "" && strings.Contains(problem, chartPull) {
		return "the chart repository " + repository
	}
	if tenant.IsVirtual(c.String("spec", "providerConfigRef", "name")) {
		return "the API server of the virtual cluster"
	}
	return "the API server of the host"
}

// gaveUpWaiting matches what Helm says where it has waited in vain for what it has changed.
var gaveUpWaiting = regexp.MustCompile(`(?:context deadline exceeded|timed out waiting for the condition)$`)

// Plain returns an error of a server in plain words, where it has only those of Go for it, and whether it passes by itself.
func Plain(said, server string) (string, bool) {
	if message, passes := waitsFor(said, server); passes {
		return message, true
	}
	return said, false
}

// OfRepository reports whether a problem is one of the repository that a Release's chart comes from.
func OfRepository(c wire.Composed) bool { return strings.Contains(Said(c), chartPull) }

// plain returns a problem of a resource in plain words, and whether it passes by itself.
func plain(c wire.Composed, said string) (string, bool) {
	release := c.Get("spec", "forProvider")
	if release.Bool("wait") && gaveUpWaiting.MatchString(said) && !strings.Contains(said, "://") {
		return "what the chart installs wasn't ready within " + release.String("waitTimeout"), false
	}
	return Plain(said, serverOf(c, said))
}

// Waits returns what a resource waits for that will pass by itself; "" where it has no problem, or one that doesn't pass.
func Waits(c wire.Composed) string {
	if message, passes := plain(c, Said(c)); passes {
		return message
	}
	return ""
}
