package policy

import (
	"encoding/csv"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
)

// gone are settings of earlier versions of Argo CD, by their place in configs, with the first version of the chart whose Argo CD ignores them
// (see the pages about upgrades in Argo CD's documentation), and what to write instead.
var gone = []struct {
	path    []string
	since   *semver.Version
	instead string
}{
	{[]string{"cm", "repositories"}, semver.New(8, 0, 0, "", ""), "write spec.repositories, or configs.repositories"},
	{[]string{"cm", "repository.credentials"}, semver.New(8, 0, 0, "", ""), "write spec.credentialTemplates, or configs.credentialTemplates"},
	{[]string{"cm", "helm.repositories"}, semver.New(0, 0, 0, "", ""), "write spec.repositories, or configs.repositories"},
	{[]string{"cm", "configManagementPlugins"}, semver.New(0, 0, 0, "", ""), "write configs.cmp.plugins, and a container for each in repoServer.extraContainers"},
	{[]string{"params", "applicationsetcontroller.enable.progressive.rollouts"}, semver.New(0, 0, 0, "", ""), `write configs.params."applicationsetcontroller.enable.progressive.syncs"`},
}

// bcrypt is what the hash of a password looks like.
var bcrypt = regexp.MustCompile(`^\$2[aby]?\$[0-9]{2}\$`)

// Settings refuses what Argo CD ignores or can't read of its own settings in a claim's values, unless it was accepted before. version is that
// of the chart.
func Settings(g tenant.Given, version string) error {
	const root = "spec.argocd.values.configs"
	configs := values.At[values.Values](g.Spec.ArgoCDValues, "configs")
	var found []error
	refuse := func(path []string, format string, args ...any) {
		if !g.KeepsValues(append([]string{"configs"}, path...)...) {
			last := len(path) - 1
			at := fmt.Sprintf("%s.%s.%q", root, strings.Join(path[:last], "."), path[last])
			found = append(found, fmt.Errorf(at+format, args...))
		}
	}
	is, err := semver.NewVersion(version)
	for _, s := range gone {
		if value, ok := values.Lookup(configs, s.path...); ok && value != nil && value != "" && err == nil && !is.LessThan(s.since) {
			refuse(s.path, ": Argo CD has no such setting any more: %s", s.instead)
		}
	}
	cm := values.At[values.Values](configs, "cm")
	for _, key := range slices.Sorted(maps.Keys(cm)) {
		setting, _ := cm[key].(string)
		isYAML := strings.HasSuffix(key, ".config") || strings.HasPrefix(key, "resource.")
		if isYAML && slices.ContainsFunc(strings.Split(setting, "\n"), func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "\t") }) {
			refuse([]string{"cm", key}, ": YAML has no tabs at the beginning of lines, and Argo CD would leave the whole setting out: write spaces")
		}
	}
	rbac := values.At[values.Values](configs, "rbac")
	for _, key := range slices.Sorted(maps.Keys(rbac)) {
		if policies, ok := rbac[key].(string); ok && strings.HasPrefix(key, "policy.") && strings.HasSuffix(key, "csv") {
			if n, line := brokenPolicy(policies); n > 0 {
				refuse([]string{"rbac", key}, ": line %d, %.80q, is no policy, and Argo CD then takes none of them: write p, <who>, <resource>, <action>, <object>, <allow or deny>, or g, <who>, <role>", n, line)
			}
		}
	}
	secret := values.At[values.Values](configs, "secret")
	passwords := [][]string{{"argocdServerAdminPassword"}}
	for _, key := range slices.Sorted(maps.Keys(values.At[values.Values](secret, "extra"))) {
		if key == "admin.password" || strings.HasPrefix(key, "accounts.") && strings.HasSuffix(key, ".password") {
			passwords = append(passwords, []string{"extra", key})
		}
	}
	for _, path := range passwords {
		text := values.At[string](secret, path...)
		if text == "" || bcrypt.MatchString(text) {
			continue
		}
		// A colon would have the next word taken for the password, and redacted.
		refuse(append([]string{"secret"}, path...), " is no bcrypt hash of a password, so that nobody could log in: write what argocd account bcrypt --password prints")
	}
	return mistakes.Join(found...)
}

// brokenPolicy returns the number of the first line that Argo CD doesn't take for a policy, and the line; 0 for none. Argo CD reads each
// line by itself (3.4, util/rbac, loadPolicyLine).
func brokenPolicy(policies string) (int, string) {
	for i, line := range strings.Split(policies, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		reader := csv.NewReader(strings.NewReader(line))
		reader.TrimLeadingSpace = true
		fields, err := reader.Read()
		if err != nil || fields[0] != "p" && fields[0] != "g" || fields[0] == "g" && len(fields) != 3 || fields[0] == "p" && len(fields) != 6 {
			return i + 1, line
		}
	}
	return 0, ""
}
