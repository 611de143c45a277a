package repositories

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/virtual-argocd/virtual-argocd/fn/credentials"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// extraHosts is the value of the argo-cd chart for SSH hosts beside those that
// Argo CD knows of its own accord.
var extraHosts = []string{"configs", "ssh", "extraHosts"}

// ofEntry begins the lines of one entry of the spec, so that they can be told from
// those of others later.
const ofEntry = "# of "

// readKnownHosts reads lines of a known_hosts file.
func readKnownHosts(s *credentials.Reader, text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if _, _, _, _, _, err := ssh.ParseKnownHosts([]byte(line + "\n")); err != nil {
			s.Fail("%s has a line that is not one of a known_hosts file: write lines as ssh-keyscan prints them", knownHostsKey)
			return ""
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// knownHostsInUse returns those of each entry.
func knownHostsInUse(s *credentials.Sensitive) map[string]string {
	out := map[string]string{}
	for _, entry := range strings.Split("\n"+values.At[string](s.Before, extraHosts...), "\n"+ofEntry)[1:] {
		name, lines, _ := strings.Cut(entry, "\n")
		out[name] = strings.TrimSpace(lines)
	}
	return out
}

// setKnownHosts hands the lines of all entries to Argo CD, after those that the claim or the
// platform sets: values that stand in the Release win over those it reads from a
// Secret, so they move there.
func setKnownHosts(d *tenant.Decision, known map[string]string, s *credentials.Sensitive, argocd *values.Stack) error {
	if len(known) == 0 {
		return nil
	}
	if err := argocd.Reserve(values.Input, "the known hosts of repositories", values.In("configs"), values.In("configs", "ssh")); err != nil {
		return err
	}
	var lines []string
	if own, ok := values.Lookup(d.ArgoCD.Values, extraHosts...); ok {
		text, isText := own.(string)
		if !isText && own != nil {
			return fmt.Errorf("%s: %v is not text: write lines of a known_hosts file", "spec.argocd.values."+strings.Join(extraHosts, "."), own)
		}
		if text != "" {
			lines = append(lines, strings.TrimRight(text, "\n"))
		}
		unstructured.RemoveNestedField(d.ArgoCD.Values, extraHosts...)
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		lines = append(lines, ofEntry+name, known[name])
	}
	if !s.Put(strings.Join(lines, "\n"), extraHosts) {
		return fmt.Errorf("spec.repositories: the known hosts of all are too large together: write only those of servers that Argo CD doesn't know")
	}
	return nil
}
