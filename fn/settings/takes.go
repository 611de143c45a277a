package settings

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/virtual-argocd/virtual-argocd/fn/text"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
)

// A taker returns what is wrong with the text of a setting, and what to write instead; "" for one that Argo CD takes as it is meant.
type taker func(text string) string

// takers are how Argo CD reads settings of which the record only has that they are text (3.2 to 3.6, util/settings, util/settings/accounts.go,
// util/rbac, cmd). * stands for any text. The first one counts.
var takers = []struct {
	place   Place
	pattern string
	takes   taker
}{
	{CM, "accounts.*.enabled", parsed},
	{CM, "accounts.*", capabilities},
	{CM, "additionalUrls", list("[https://argocd.example.org]")},
	{CM, "admin.enabled", parsed},
	{CM, "application.links", list("[{url: ..., title: ...}]")},
	{CM, "application.resourceTrackingMethod", oneOf("annotation", "annotation+label", "label")},
	{CM, "application.sync.impersonation.*", onlyTrue},
	{CM, "application.sync.requireOverridePrivilegeForRevisionSync", onlyTrue},
	{CM, "cluster.inClusterEnabled", onlyFalse},
	{CM, "exec.enabled", onlyTrue},
	{CM, "ga.anonymizeusers", onlyFalse},
	{CM, "globalProjects", list("[{projectName: ...}]")},
	{CM, "helm.enable", onlyTrue},
	{CM, "helm.enabled", misnamed("helm.enable")},
	{CM, "jsonnet.enable", onlyTrue},
	{CM, "jsonnet.enabled", misnamed("jsonnet.enable")},
	{CM, "kustomize.enable", onlyTrue},
	{CM, "kustomize.enabled", misnamed("kustomize.enable")},
	{CM, "oidc.tls.insecure.skip.verify", onlyTrue},
	{CM, "passwordPattern", expression},
	{CM, "project.links", list("[{url: ..., title: ...}]")},
	{CM, "resource.customizations.useOpenLibs.*", parsed},
	{CM, "resource.exclusions", list("[{kinds: [Event]}]")},
	{CM, "resource.ignoreResourceUpdatesEnabled", parsed},
	{CM, "resource.inclusions", list("[{kinds: [Deployment]}]")},
	{CM, "resource.links", list("[{url: ..., title: ...}]")},
	{CM, "resource.manifest.compression.enabled", parsed},
	{CM, "resource.respectRBAC", oneOf("normal", "strict")},
	{CM, "server.maxPodLogsToRender", number(false, "")},
	{CM, "server.rbac.disableApplicationFineGrainedRBACInheritance", parsed},
	{CM, "server.rbac.rollback.enforce.enable", parsed},
	{CM, "statusbadge.enabled", onlyTrue},
	{CM, "ui.bannerpermanent", onlyTrue},
	{CM, "ui.bannerposition", oneOf("top", "bottom", "both")},
	{CM, "ui.view.resources.disabled", onlyTrue},
	{CM, "users.anonymous.enabled", onlyTrue},
	{CM, "users.session.duration", duration},
	{CM, "webhook.maxPayloadSizeMB", number(false, "")},
	{CM, "webhook.refresh.jitter", duration},
	{CM, "webhook.refresh.jitter.threshold", number(false, "")},
	{Params, "*.log.format", anyCase("json", "text")},
	{Params, "*.log.level", anyCase("debug", "info", "warn", "error", "warning", "trace", "fatal", "panic")},
	{Params, "*.tls.maxversion", oneOf("1.0", "1.1", "1.2", "1.3")},
	{Params, "*.tls.minversion", oneOf("1.0", "1.1", "1.2", "1.3")},
	{Params, "applicationsetcontroller.policy", oneOf("sync", "create-only", "create-update", "create-delete")},
	{Params, "controller.sharding.algorithm", oneOf("legacy", "round-robin", "consistent-hashing")},
	{Params, "redis.compression", oneOf("gzip", "none")},
	{RBAC, "policy.matchMode", oneOf("glob", "regex")},
	{RBAC, "scopes", list("[groups, email]")},
}

// Wrong returns what is wrong with the value of a setting, and what to write instead; "" for nothing. Values that are empty set nothing.
func (p Place) Wrong(key string, v any) string {
	switch v.(type) {
	case string, bool, float64, int64, int:
	default:
		return ""
	}
	// As Helm makes text of it: a large number gets an exponent.
	is := fmt.Sprint(v)
	if strings.TrimSpace(is) == "" {
		return ""
	}
	for _, t := range takers {
		if t.place == p && (t.pattern == key || strings.Contains(t.pattern, "*") && matches(key, t.pattern)) {
			return t.takes(is)
		}
	}
	kind, least, _ := strings.Cut(string(record()[p][key]), " ")
	switch Kind(kind) {
	case Bool:
		return boolean(is)
	case Number:
		return number(false, least)(is)
	case Float:
		return number(true, least)(is)
	case Duration:
		return duration(is)
	}
	return ""
}

// What people write for true and false.
var (
	affirmations = []string{"true", "t", "yes", "y", "on", "1", "enabled", "enable"}
	negations    = []string{"false", "f", "no", "n", "off", "0", "disabled", "disable"}
)

func means(text string, words []string) bool {
	return slices.Contains(words, strings.ToLower(strings.TrimSpace(text)))
}

// boolean is for what Argo CD takes its default for.
func boolean(text string) string {
	if strings.EqualFold(text, "true") || strings.EqualFold(text, "false") {
		return ""
	}
	return fmt.Sprintf("%.40q is neither true nor false, and Argo CD would take its default: %s", text, trueOrFalse(text))
}

// onlyTrue is for what is false unless it is "true".
func onlyTrue(text string) string {
	if text == "true" || means(text, negations) {
		return ""
	}
	return fmt.Sprintf(`%.40q is not "true", and Argo CD would take it for false: %s`, text, trueOrFalse(text))
}

// onlyFalse is for what is true unless it is "false".
func onlyFalse(text string) string {
	if text == "false" || means(text, affirmations) {
		return ""
	}
	return fmt.Sprintf(`%.40q is not "false", and Argo CD would take it for true: %s`, text, trueOrFalse(text))
}

// parsed is for what Go's own function reads.
func parsed(text string) string {
	if _, err := strconv.ParseBool(text); err == nil {
		return ""
	}
	return fmt.Sprintf("%.40q is neither true nor false, and Argo CD can't read it: %s", text, trueOrFalse(text))
}

func trueOrFalse(text string) string {
	switch {
	case means(text, affirmations):
		return `write "true"`
	case means(text, negations):
		return `write "false"`
	}
	return `write "true" or "false"`
}

// digits are a number without a unit.
var digits = regexp.MustCompile(`^[0-9]+$`)

// days is what Argo CD reads beside Go's durations.
var days = regexp.MustCompile(`^[0-9]+d$`)

func duration(text string) string {
	_, err := time.ParseDuration(text)
	switch {
	case digits.MatchString(text) && err != nil:
		return fmt.Sprintf("%.40q has no unit, and Argo CD would take its default: write %.40ss for seconds", text, text)
	case err != nil && !days.MatchString(text):
		return fmt.Sprintf("%.40q is no duration, and Argo CD would take its default: write one such as 60s, 3m or 24h", text)
	}
	return ""
}

func number(fraction bool, least string) taker {
	return func(text string) string {
		n, err := strconv.ParseFloat(text, 64)
		if _, whole := strconv.ParseInt(text, 10, 64); err == nil && !fraction && whole != nil {
			err = whole
		}
		if err != nil {
			what := "number"
			if !fraction {
				what = "whole number"
			}
			instead := "write one such as 10"
			if n, err := strconv.ParseFloat(text, 64); err == nil && n == float64(int64(n)) {
				// Helm writes large numbers so.
				instead = fmt.Sprintf(`write "%d", in quotes`, int64(n))
			}
			return fmt.Sprintf("%.40q is no %s, and Argo CD would take its default: %s", text, what, instead)
		}
		if bound, err := strconv.ParseFloat(least, 64); err == nil && n >= 0 && n < bound {
			// With less than 0, people mean no limit, which may be the default.
			return fmt.Sprintf("%.40q is less than %s, and Argo CD would take its default: write %[2]s or more", text, least)
		}
		return ""
	}
}

func oneOf(values ...string) taker {
	return func(text string) string {
		if slices.Contains(values, text) {
			return ""
		}
		return fmt.Sprintf("%.40q is unknown to Argo CD: %s", text, known.Instead(text, values, "write one of "+strings.Join(values, ", ")))
	}
}

func anyCase(values ...string) taker {
	return func(text string) string { return oneOf(values...)(strings.ToLower(text)) }
}

func misnamed(instead string) taker {
	return func(string) string { return fmt.Sprintf("Argo CD has no such setting: write %q", instead) }
}

func expression(text string) string {
	if _, err := regexp.Compile(text); err != nil {
		return fmt.Sprintf("%.80q is no regular expression, and nobody could set a password: write one such as ^.{8,32}$", text)
	}
	return ""
}

// capabilities is for accounts.
func capabilities(is string) string {
	all := []string{"apiKey", "login"}
	for _, capability := range strings.Split(is, ",") {
		capability = strings.TrimSpace(capability)
		if capability != "" && !slices.Contains(all, capability) {
			return fmt.Sprintf("%.40q is no capability of an account, and Argo CD would leave it out: %s", capability, known.Instead(capability, all, "write apiKey, login, or both with a comma between them"))
		}
	}
	return ""
}

// list is for a text that is a list in YAML, such as the example. What the reader here doesn't take, and Argo CD does, passes.
func list(example string) taker {
	return func(is string) string {
		if _, err := text.List([]byte(is)); errors.Is(err, text.ErrNoList) {
			return fmt.Sprintf("%.80q is no list in YAML, and Argo CD can't read it: write text such as %q", is, example)
		}
		return ""
	}
}
