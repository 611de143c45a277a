package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/settings"
	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
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
func Settings(g tenant.Given, of *values.Stack, version string) error {
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
	for _, place := range []settings.Place{settings.CM, settings.Params, settings.RBAC} {
		if !values.Enabled(of.Merged(), true, "configs", string(place), "create") {
			// Then the chart makes nothing of it, which is named.
			continue
		}
		in := values.At[values.Values](configs, string(place))
		for _, key := range slices.Sorted(maps.Keys(in)) {
			if message := wrongSetting(place, key, in[key]); message != "" {
				refuse([]string{string(place), key}, ": %s", message)
			}
		}
	}
	for _, wrong := range policies(g, of) {
		refuse([]string{"rbac", wrong.key}, ": %s", wrong.message)
	}
	of.Name(misspelt)
	for _, part := range slices.Sorted(maps.Keys(notifications)) {
		in := values.At[values.Values](g.Spec.ArgoCDValues, "notifications", part)
		for _, key := range slices.Sorted(maps.Keys(in)) {
			if prefix := notifications[part]; !isNotification(key) && !g.KeepsValues("notifications", part, key) {
				found = append(found, fmt.Errorf("spec.argocd.values.notifications.%s.%q: Argo CD ignores it, because its name doesn't begin with %s: write %q", part, key, prefix, prefix+key))
			}
		}
	}
	secret := values.At[values.Values](configs, "secret")
	passwords := [][]string{{"argocdServerAdminPassword"}}
	for _, key := range slices.Sorted(maps.Keys(values.At[values.Values](secret, "extra"))) {
		if message := settings.Unread(key); message != "" {
			refuse([]string{"secret", "extra", key}, ": %s", message)
		}
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

// wrongSetting returns what is wrong with a setting of Argo CD; "" for nothing.
func wrongSetting(place settings.Place, key string, v any) string {
	text, _ := v.(string)
	isYAML := place == settings.CM && (strings.HasSuffix(key, ".config") || strings.HasPrefix(key, "resource."))
	switch elsewhere := place.Elsewhere(key); {
	case v == nil || v == "":
		return ""
	case isChart[key]:
		return ""
	case elsewhere == settings.Secret:
		return fmt.Sprintf("Argo CD reads it in argocd-secret: write it into a Secret, and an entry with key %q into spec.argocd.secretKeys", key)
	case elsewhere != "":
		return fmt.Sprintf("Argo CD ignores it there: write it in configs.%s", elsewhere)
	case isYAML && slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "\t") }):
		return "YAML has no tabs at the beginning of lines, and Argo CD would leave the whole setting out: write spaces"
	}
	if name, ok := strings.CutPrefix(key, "accounts."); ok && place == settings.CM {
		if account, rest, more := strings.Cut(name, "."); more && rest != "enabled" {
			return fmt.Sprintf("Argo CD has no such setting of an account: write %q or %q; names of accounts have no dots", "accounts."+account, "accounts."+account+".enabled")
		}
	}
	return place.Wrong(key, v)
}

// isChart are keys of the chart's own, which are no settings.
var isChart = map[string]bool{"annotations": true, "create": true, "labels": true}

// maxCompared is the number of unknown settings that are compared with those that there are, which takes time.
const maxCompared = 100

// misspelt returns settings that Argo CD doesn't have, and that are written almost like one. They may be for something else.
func misspelt(v values.Values) []known.Unknown {
	var out []known.Unknown
	compared := 0
	for _, place := range []settings.Place{settings.CM, settings.Params, settings.RBAC} {
		in := values.At[values.Values](v, "configs", string(place))
		for _, key := range slices.Sorted(maps.Keys(in)) {
			if isChart[key] || in[key] == nil || in[key] == "" || place.Has(key) || place.Elsewhere(key) != "" {
				continue
			}
			if compared++; compared > maxCompared {
				return out
			}
			if near := place.Nearest(key); near != "" {
				out = append(out, known.Unknown{Path: []string{"configs", string(place), key}, Message: fmt.Sprintf("Argo CD has no such setting: did you mean %q?", near)})
			}
		}
	}
	return out
}

// notifications are the values of the chart that become settings of notifications, with the beginnings of their names. Argo CD reads all of them in
// one ConfigMap (notifications-engine, pkg/api/config.go).
var notifications = map[string]string{"notifiers": "service.", "templates": "template.", "triggers": "trigger."}

func isNotification(key string) bool {
	return slices.Contains([]string{"context", "defaultTriggers", "subscriptions"}, key) || slices.ContainsFunc([]string{"service.", "template.", "trigger.", "defaultTriggers."}, func(prefix string) bool {
		return strings.HasPrefix(key, prefix)
	})
}
