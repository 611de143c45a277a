package settings_test

import (
	"strings"
	"testing"

	"github.com/virtual-argocd/virtual-argocd/fn/settings"
)

// TestWrong: values that Argo CD doesn't take as they are meant, and right ones beside them.
func TestWrong(t *testing.T) {
	for name, tc := range map[string]struct {
		place settings.Place
		key   string
		right []any
		// wrong are values with a part of the message about each.
		wrong map[any]string
	}{
		"DurationOfVariable": {settings.CM, "timeout.reconciliation", []any{"60s", "0", "0s", "1h30m", "2d", "", 0.0}, map[any]string{60.0: `"60" has no unit, and Argo CD would take its default: write 60s for seconds`, "60": "write 60s", "3 minutes": "is no duration", "3min": "is no duration", true: "is no duration"}},
		"Duration":           {settings.CM, "users.session.duration", []any{"24h", "7d", "12h30m"}, map[any]string{"1 day": "is no duration", "1w": "is no duration", 3600.0: "write 3600s"}},
		"DurationOfParams":   {settings.Params, "controller.repo.error.grace.period.seconds", []any{"180s", "3m"}, map[any]string{180.0: "write 180s"}},
		"True":               {settings.CM, "exec.enabled", []any{"true", true, false, "false", "no", "False", "0", "off", ""}, map[any]string{"yes": `"yes" is not "true", and Argo CD would take it for false: write "true"`, "True": `write "true"`, 1.0: `write "true"`, "maybe": `write "true" or "false"`}},
		"Anonymous":          {settings.CM, "users.anonymous.enabled", []any{"true", "false"}, map[any]string{"yes": `write "true"`, "on": `write "true"`}},
		"Tool":               {settings.CM, "kustomize.enable", []any{"true", "false"}, map[any]string{"TRUE": `write "true"`}},
		"ToolsOtherName":     {settings.CM, "kustomize.enabled", nil, map[any]string{"false": `Argo CD has no such setting: write "kustomize.enable"`}},
		"False":              {settings.CM, "cluster.inClusterEnabled", []any{"true", "false", "yes", "True"}, map[any]string{"no": `"no" is not "false", and Argo CD would take it for true: write "false"`, "False": `write "false"`, "off": `write "false"`}},
		"Parsed":             {settings.CM, "admin.enabled", []any{"true", "False", "0", "t"}, map[any]string{"no": `write "false"`, "yes": `write "true"`, "off": `write "false"`}},
		"EnabledAccount":     {settings.CM, "accounts.alice.enabled", []any{"true", "false", false}, map[any]string{"no": `Argo CD can't read it: write "false"`}},
		"Capabilities":       {settings.CM, "accounts.ci", []any{"apiKey", "login", "apiKey, login", "apiKey,", ""}, map[any]string{"apikey, Login": `"apikey" is no capability of an account, and Argo CD would leave it out: did you mean apiKey?`, "apiKey, Login": "did you mean login?", "apiKey login": "is no capability", "admin": "write apiKey, login"}},
		"BoolOfVariable":     {settings.Params, "controller.diff.server.side", []any{"true", "True", false}, map[any]string{"yes": `"yes" is neither true nor false, and Argo CD would take its default: write "true"`, "0": `write "false"`}},
		"Number":             {settings.Params, "controller.status.processors", []any{20.0, "50", "-1"}, map[any]string{"twenty": "is no whole number", "1.5": "is no whole number", 1000000.0: `"1e+06" is no whole number, and Argo CD would take its default: write "1000000", in quotes`, "20 ": "is no whole number"}},
		"LeastNumber":        {settings.Params, "server.webhook.parallelism.limit", []any{1.0, "50"}, map[any]string{0.0: "is less than 1"}},
		"Float":              {settings.Params, "server.k8s.client.qps", []any{50.0, "0.5"}, map[any]string{"fast": "is no number"}},
		"Sharding":           {settings.Params, "controller.sharding.algorithm", []any{"legacy", "round-robin", "consistent-hashing"}, map[any]string{"consistent-hashin": "did you mean consistent-hashing?", "hash": "write one of legacy, round-robin, consistent-hashing"}},
		"Policy":             {settings.Params, "applicationsetcontroller.policy", []any{"sync", "create-only"}, map[any]string{"createonly": "did you mean create-only?"}},
		"LogLevel":           {settings.Params, "reposerver.log.level", []any{"debug", "Warn", "warning"}, map[any]string{"verbose": "write one of debug"}},
		"LogFormat":          {settings.Params, "server.log.format", []any{"json", "TEXT"}, map[any]string{"logfmt": "write one of json, text"}},
		"TLS":                {settings.Params, "server.tls.minversion", []any{"1.2", 1.2}, map[any]string{"TLS1.2": "did you mean 1.2?"}},
		"Tracking":           {settings.CM, "application.resourceTrackingMethod", []any{"annotation", "annotation+label"}, map[any]string{"annotations": "did you mean annotation?"}},
		"RespectRBAC":        {settings.CM, "resource.respectRBAC", []any{"normal", "strict"}, map[any]string{"true": "write one of normal, strict"}},
		"Banner":             {settings.CM, "ui.bannerposition", []any{"top", "bottom"}, map[any]string{"botom": "did you mean bottom?"}},
		"Scopes":             {settings.RBAC, "scopes", []any{"[groups, email]", "- groups\n- email", "['cognito:groups']", "&a [*a]", ""}, map[any]string{"groups, email": `is no list in YAML, and Argo CD can't read it: write text such as "[groups, email]"`, "groups": "is no list", "[groups": "is no list"}},
		"MatchMode":          {settings.RBAC, "policy.matchMode", []any{"glob", "regex"}, map[any]string{"globb": "did you mean glob?", "regexp": "did you mean regex?"}},
		"Exclusions":         {settings.CM, "resource.exclusions", []any{"- kinds: [Event]\n  apiGroups: ['']\n"}, map[any]string{"kinds: [Event]": "is no list in YAML"}},
		"AdditionalURLs":     {settings.CM, "additionalUrls", []any{"- https://a.example.org"}, map[any]string{"https://a.example.org": "is no list in YAML"}},
		"Password":           {settings.CM, "passwordPattern", []any{"^.{8,32}$"}, map[any]string{"^(?!a).{8}$": "is no regular expression"}},
		"Unknown":            {settings.CM, "something.new", []any{"x", 1.0, true}, nil},
		"FreeText":           {settings.CM, "ui.bannercontent", []any{"yes", "60"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, v := range tc.right {
				if got := tc.place.Wrong(tc.key, v); got != "" {
					t.Errorf("%v is refused: %s", v, got)
				}
			}
			for v, want := range tc.wrong {
				if got := tc.place.Wrong(tc.key, v); !strings.Contains(got, want) || want == "" {
					t.Errorf("%v: want %q, got %q", v, want, got)
				}
			}
		})
	}
}

// TestElsewhere: settings are found in the place in which Argo CD reads them.
func TestElsewhere(t *testing.T) {
	for key, want := range map[string]settings.Place{
		"server.insecure": settings.Params, "application.namespaces": settings.Params, "exec.enabled": settings.CM, "timeout.reconciliation": settings.CM, "url": settings.CM,
		"accounts.ci": settings.CM, "accounts.ci.enabled": settings.CM, "accounts.ci.password": settings.Secret, "accounts.ci.tokens": settings.Secret, "kustomize.buildOptions": settings.CM, "kustomize.version.v5.0.0": settings.CM,
		"resource.customizations.health.apps_Deployment": settings.CM, "resource.customizations": settings.CM, "policy.csv": settings.RBAC, "policy.default": settings.RBAC, "policy.mine.csv": settings.RBAC, "scopes": settings.RBAC,
		"webhook.github.secret": settings.Secret, "webhook.maxPayloadSizeMB": settings.CM, "globalProjects": settings.CM, "something.new": "", "accounts": "", "policy.csvs": "",
	} {
		for _, in := range []settings.Place{settings.CM, settings.Params, settings.RBAC} {
			want := want
			if want == in {
				want = ""
			}
			if got := in.Elsewhere(key); got != want {
				t.Errorf("%s in %s: want %q, got %q", key, in, want, got)
			}
		}
	}
}

// TestNearest: what is written almost like a setting may be that one, and nothing else is.
func TestNearest(t *testing.T) {
	for key, want := range map[string]string{"timeout.reconcilation": "timeout.reconciliation", "exec.enable": "exec.enabled", "extension.configs": "extension.config", "my.own": "", "help.download.linux-arm": ""} {
		if got := settings.CM.Nearest(key); got != want {
			t.Errorf("%s: want %q, got %q", key, want, got)
		}
	}
}
