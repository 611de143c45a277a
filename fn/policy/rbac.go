package policy

import (
	"encoding/csv"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/virtual-argocd/virtual-argocd/fn/tenant"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// What policies are about (3.2 to 3.6, util/rbac). Argo CD doesn't say that a policy is about something else.
var (
	resources = []string{"accounts", "applications", "applicationsets", "certificates", "clusters", "exec", "extensions", "gpgkeys", "logs", "projects", "repositories", "write-repositories"}
	actions   = []string{"action", "create", "delete", "get", "invoke", "override", "rollback", "sync", "update"}
	// ofResources are the actions that can be followed by a resource of an Application.
	ofResources = []string{"action", "delete", "update"}
	effects     = []string{"allow", "deny"}
)

// maxPolicies is the number of policies of a claim that are refused at once.
const maxPolicies = 20

// A wrongPolicy is what is wrong with a setting of Argo CD's roles.
type wrongPolicy struct{ key, message string }

// policies returns what is wrong with the roles and policies of a claim.
func policies(g tenant.Given, of *values.Stack) []wrongPolicy {
	rbac := values.At[values.Values](g.Spec.ArgoCDValues, "configs", "rbac")
	all := values.At[values.Values](of.Merged(), "configs", "rbac")
	if !values.Enabled(all, true, "create") {
		return nil
	}
	var out []wrongPolicy
	defined := subjects(all)
	for _, key := range slices.Sorted(maps.Keys(rbac)) {
		text, isText := rbac[key].(string)
		if !isText || !isPolicy(key) {
			continue
		}
		eachPolicy(text, func(n int, line string, fields []string) {
			// A message has no more, and comparing names takes time.
			if len(out) >= maxPolicies {
				return
			}
			message := brokenPolicy(fields)
			if message == "" && fields[0] == "p" && all["policy.matchMode"] != "regex" {
				message = wrongRule(fields, g.ArgoCD != nil)
			}
			if message == "" && fields[0] == "g" && !g.Unassigned {
				message = undefined(fields[2], defined)
			}
			if message != "" {
				out = append(out, wrongPolicy{key, fmt.Sprintf("line %d, %.80q, %s", n, line, message)})
			}
		})
	}
	// Without a role that is defined, nobody has rights by default, which may be meant.
	if is, _ := rbac["policy.default"].(string); is != "" && !g.Unassigned && !defined[is] {
		if near := known.Nearest(is, slices.Sorted(maps.Keys(defined))); defined["role:"+is] || near != "" && known.Like(is, near) {
			if defined["role:"+is] {
				near = "role:" + is
			}
			out = append(out, wrongPolicy{"policy.default", fmt.Sprintf("%.80q is no role that a policy has, so that nobody has rights by default: did you mean %s?", is, near)})
		}
	}
	return out
}

// isPolicy reports whether Argo CD reads policies in a setting.
func isPolicy(key string) bool {
	return strings.HasPrefix(key, "policy.") && strings.HasSuffix(key, "csv")
}

// eachPolicy calls a function with the fields of each line; nil for a line that is no CSV. Argo CD reads each line by itself (3.4, util/rbac,
// loadPolicyLine).
func eachPolicy(text string, call func(n int, line string, fields []string)) {
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		reader := csv.NewReader(strings.NewReader(line))
		reader.TrimLeadingSpace = true
		fields, err := reader.Read()
		if err != nil {
			fields = nil
		}
		call(i+1, line, fields)
	}
}

// subjects are those that policies give rights to, or take some from, with Argo CD's own.
func subjects(rbac values.Values) map[string]bool {
	out := map[string]bool{"admin": true, "role:admin": true, "role:readonly": true}
	for key, text := range rbac {
		if text, ok := text.(string); ok && isPolicy(key) {
			eachPolicy(text, func(_ int, _ string, fields []string) {
				if len(fields) > 2 {
					out[fields[1]] = true
				}
			})
		}
	}
	return out
}

// brokenPolicy returns why Argo CD takes no policies at all.
func brokenPolicy(fields []string) string {
	if len(fields) == 0 || fields[0] != "p" && fields[0] != "g" || fields[0] == "g" && len(fields) != 3 || fields[0] == "p" && len(fields) != 6 {
		return "is no policy, and Argo CD then takes none of them: write p, <who>, <resource>, <action>, <object>, <allow or deny>, or g, <who>, <role>"
	}
	for _, field := range fields[1:] {
		if strings.TrimRight(field, " \t") != field {
			return fmt.Sprintf("has a space after %.40q, which Argo CD takes for a part of it: leave the space out", strings.TrimSpace(field))
		}
	}
	return ""
}

// wrongRule returns why nothing ever is what a policy is about. certain reports whether the version of Argo CD is known.
func wrongRule(fields []string, certain bool) string {
	for _, part := range []struct {
		what, is string
		names    []string
	}{{"resource", fields[2], resources}, {"action", fields[3], actions}, {"effect", fields[5], effects}} {
		name, below, more := strings.Cut(part.is, "/")
		is, names := name, part.names
		switch {
		case part.what != "action":
			is = part.is
		case more && below != "":
			names = ofResources
		}
		if slices.Contains(names, is) || part.what != "effect" && strings.ContainsAny(is, `*?[]{}\`) {
			continue
		}
		near := known.Nearest(is, names)
		if certain || part.what == "effect" || near != "" {
			return fmt.Sprintf("has %s %.40q, which Argo CD doesn't have, so that it has no effect: %s", part.what, is, known.Instead(is, names, "write one of "+strings.Join(names, ", ")))
		}
	}
	return ""
}

// undefined returns why a role gives nobody any rights.
func undefined(role string, defined map[string]bool) string {
	switch {
	case defined[role]:
		return ""
	case defined["role:"+role]:
		return fmt.Sprintf("gives nobody any rights, because no policy has %.80q: write role:%[1]s", role)
	case strings.HasPrefix(role, "role:"):
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(defined)), func(name string) bool { return !strings.HasPrefix(name, "role:") })
		return fmt.Sprintf("gives nobody any rights, because no policy has %.80q: %s", role, known.Instead(role, names, "write policies for it, or role:admin or role:readonly"))
	}
	return ""
}
