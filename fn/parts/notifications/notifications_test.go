package notifications_test

import (
	"fmt"
	"strings"
	"testing"

	fnv1 "github.com/crossplane/function-sdk-go/proto/v1"
	"github.com/google/go-cmp/cmp"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/internal/crossplanetest"
)

const whole = `{"notifications":{"secretRef":{"name":"s"},
	"services":[{"type":"slack","config":{"token":"$slack-token"}},{"type":"webhook","name":"hook","config":{"url":"https://hooks.example.org","headers":[{"name":"Authorization","value":"Bearer $hook-token"}]}}],
	"templates":[{"name":"sync-failed","message":"{{.app.metadata.name | upper}} failed","config":{"webhook":{"hook":{"method":"POST","body":"{{toJson .app.metadata.name}}"}},"slack":{"notifyBroadcast":true}}}],
	"triggers":[{"name":"on-sync-failed","conditions":[{"when":"app.status.operationState != nil and app.status.operationState.phase in ['Error', 'Failed']","send":["sync-failed"],"oncePer":"app.status.sync.revision"}]}],
	"defaultTriggers":["on-sync-failed"],"subscriptions":[{"recipients":["slack:deployments","hook"],"selector":"team=web"}],"context":{"region":"east"}}}`

// secretOf returns the Secret in Argo CD's namespace with what services refer to, decoded; nil for none.
func secretOf(t *testing.T, e *crossplanetest.Engine) map[string]any {
	t.Helper()
	objects, _ := crossplanetest.ValuesOf(t, e.Observed("values-secret"))["extraObjects"].([]any)
	for _, o := range objects {
		if o := o.(map[string]any); o["metadata"].(map[string]any)["name"] == "argocd-notifications-secret" {
			return o["data"].(map[string]any)
		}
	}
	return nil
}

func TestNotifications(t *testing.T) {
	e := crossplanetest.New(t, whole, "")
	e.AddSecret("s", "Opaque", map[string]string{"slack-token": "tok-of-slack\n", "hook-tokn": "tok-of-hook"})
	e.Install()
	if c := e.Condition(v1alpha1.ConditionNotificationsReady); c.GetReason() != v1alpha1.ReasonSecretInvalid ||
		!strings.Contains(c.GetMessage(), "key hook-token is missing or empty: spec.notifications.services[1].config refers to it; did you mean hook-tokn?") {
		t.Errorf("NotificationsReady: %v", c)
	}
	// A service without its secret would only fail, and some keep Argo CD from sending any.
	if got := e.ArgoCDValue("notifications", "notifiers"); got != nil {
		t.Errorf("services without their secrets are there: %v", got)
	}
	// The chart writes it until ours is there.
	if got := e.ArgoCDValue("notifications", "secret"); got != nil {
		t.Errorf("notifications.secret is %v", got)
	}
	e.AddSecret("s", "Opaque", map[string]string{"slack-token": "tok-of-slack\n", "hook-token": "tok-of-hook"})
	e.Cycle(3)
	if c := e.Condition(v1alpha1.ConditionNotificationsReady); c.GetStatus() != fnv1.Status_STATUS_CONDITION_TRUE {
		t.Errorf("NotificationsReady: %v", c)
	}
	want := map[string]any{
		"notifiers": map[string]any{"service.slack": "token: $slack-token\n", "service.webhook.hook": "headers:\n- name: Authorization\n  value: Bearer $hook-token\nurl: https://hooks.example.org\n"},
		"templates": map[string]any{"template.sync-failed": "message: '{{.app.metadata.name | upper}} failed'\nslack:\n  notifyBroadcast: true\nwebhook:\n  hook:\n    body: '{{toJson .app.metadata.name}}'\n    method: POST\n"},
		"triggers": map[string]any{
			"trigger.on-sync-failed": "- oncePer: app.status.sync.revision\n  send:\n  - sync-failed\n  when: app.status.operationState != nil and app.status.operationState.phase in ['Error',\n    'Failed']\n",
			"defaultTriggers":        "- on-sync-failed\n",
		},
		"subscriptions": []any{map[string]any{"recipients": []any{"slack:deployments", "hook"}, "selector": "team=web"}},
		"context":       map[string]any{"region": "east"},
		"secret":        map[string]any{"create": false},
	}
	got := map[string]any{}
	for key := range want {
		got[key] = e.ArgoCDValue("notifications", key)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values: -want, +got:\n%s", diff)
	}
	secret := map[string]any{"slack-token": crossplanetest.Base64("tok-of-slack"), "hook-token": crossplanetest.Base64("tok-of-hook")}
	if diff := cmp.Diff(secret, secretOf(t, e)); diff != "" {
		t.Errorf("Secret: -want, +got:\n%s", diff)
	}
	delete(e.Cluster, "Secret/"+crossplanetest.Namespace+"/s")
	e.Cycle(2)
	if diff := cmp.Diff(secret, secretOf(t, e)); diff != "" {
		t.Errorf("the claim's Secret is gone: -want, +got:\n%s", diff)
	}
	if c := e.Condition(v1alpha1.ConditionNotificationsReady); c.GetReason() != v1alpha1.ReasonSecretMissing || !strings.Contains(c.GetMessage(), "what it gave before stays in use") {
		t.Errorf("NotificationsReady: %v", c)
	}
	e.SetSpec(`{}`)
	e.Cycle(3)
	if got := secretOf(t, e); got != nil {
		t.Errorf("the Secret stays after the claim has no notifications: %v", got)
	}
}

// TestPlatformsNotifications: what the platform has for all tenants stays beside what a claim has.
func TestPlatformsNotifications(t *testing.T) {
	e := crossplanetest.New(t, whole, `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"notifications":{
		"secret":{"items":{"ours":"p"}},"notifiers":{"service.email.ops":"host: mail.example.org"},"subscriptions":[{"recipients":["ops:a@example.org"]}]}}}}}`)
	e.AddSecret("s", "Opaque", map[string]string{"slack-token": "a", "hook-token": "b"})
	e.Install()
	if got := fmt.Sprint(e.ArgoCDValue("notifications", "subscriptions")); !strings.HasPrefix(got, "[map[recipients:[ops:a@example.org]] map[recipients:[slack:deployments hook]") {
		t.Errorf("subscriptions: %s", got)
	}
	if got := secretOf(t, e)["ours"]; got != crossplanetest.Base64("p") {
		t.Errorf("the platform's secret: %v", got)
	}
}

func TestRefusedNotifications(t *testing.T) {
	of := func(notifications string) string { return `{"notifications":{` + notifications + `}}` }
	const slack, template = `"secretRef":{"name":"s"},"services":[{"type":"slack","config":{"token":"$t"}}]`, `"templates":[{"name":"a","message":"a"}]`
	const newest = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"version":"10.1.1"}}}`
	const platforms = `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"notifications":{"notifiers":{"service.slack":"username: ops"}}}}}}`
	trigger := func(when string) string {
		return template + `,"triggers":[{"name":"t","conditions":[{"when":"` + when + `","send":["a"]}]}]`
	}
	crossplanetest.CheckClaims(t, map[string]crossplanetest.Claim{
		"Type":             {Spec: of(`"services":[{"type":"slak"}]`), Want: []string{`spec.notifications.services[0].type: "slak" is unknown to Argo CD: did you mean slack?`}},
		"TypeOfLater":      {Spec: `{"argocd":{"chartVersion":"9.3.7"},"notifications":{"services":[{"type":"nats"}]}}`, Want: []string{"spec.notifications.services[0].type: Argo CD reads it from version 3.4 on"}},
		"Twice":            {Spec: of(`"services":[{"type":"slack"},{"type":"slack"}]`), Want: []string{`spec.notifications.services[1].name: "slack" is the name of another service`}},
		"Dots":             {Spec: of(`"services":[{"type":"webhook","name":"a.b"}]`), Want: []string{`spec.notifications.services[0].name: "a.b" is not the name of a service`}},
		"Field":            {Spec: of(`"services":[{"type":"slack","config":{"tokn":"$a"}}]`), Want: []string{"spec.notifications.services[0].config.tokn: a service of type slack has no such field: did you mean token?"}},
		"Kind":             {Spec: of(`"services":[{"type":"email","config":{"port":"587"}}]`), Want: []string{"spec.notifications.services[0].config.port is of another kind: Argo CD reads a number there"}},
		"KindRight":        {Spec: of(`"services":[{"type":"email","config":{"host":"mail.example.org","port":587,"html":true}}]`)},
		"Literal":          {Spec: of(`"services":[{"type":"email","config":{"password":"p"}}]`), Want: []string{"spec.notifications.services[0].config.password has a secret that stands in the claim"}},
		"LiteralBelow":     {Spec: of(`"services":[{"type":"webhook","config":{"basicAuth":{"username":"u","password":"p"}}}]`), Want: []string{"services[0].config.basicAuth.password has a secret that stands in the claim"}},
		"LiteralHeader":    {Spec: of(`"services":[{"type":"webhook","config":{"headers":[{"name":"authorization","value":"Bearer x"}]}}]`), Want: []string{"services[0].config.headers[0].value has a secret that stands in the claim"}},
		"LiteralInHeader":  {Spec: of(`"services":[{"type":"webhook","config":{"headers":[{"name":"X-Api-Key","value":"x"},{"name":"Content-Type","value":"application/json"}]}}]`), Want: []string{"services[0].config.headers[0].value has a secret that stands in the claim"}},
		"LiteralOfNATS":    {Spec: of(`"services":[{"type":"nats","config":{"url":"nats://a:4222","headers":{"Authorization":"x","Team":"web"}}}]`), Input: newest, Want: []string{"services[0].config.headers.Authorization has a secret that stands in the claim"}},
		"LiteralChannel":   {Spec: of(`"services":[{"type":"teams","config":{"recipientUrls":{"a":"https://example.org/webhook/x"}}}]`), Want: []string{"services[0].config.recipientUrls.a has a secret that stands in the claim"}},
		"LiteralSpace":     {Spec: of(`"services":[{"type":"googlechat","config":{"webhooks":{"a":"https://example.org/x"}}}]`), Want: []string{"services[0].config.webhooks.a has a secret that stands in the claim"}},
		"LiteralPath":      {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"url":"https://hooks.slack.com/services/T0/B0/x"}}]`), Want: []string{"services[0].config.url has a secret that stands in the claim"}},
		"LiteralParameter": {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"url":"https://example.org/x?apikey=y"}}]`), Want: []string{"services[0].config.url has a secret that stands in the claim"}},
		"LiteralInURL":     {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"url":"https://u:p@example.org/x"}}]`), Want: []string{"services[0].config.url has a secret that stands in the claim"}},
		"HeaderRight":      {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"url":"https://example.org/x?team=web","headers":[{"name":"Content-Type","value":"application/json"}]}}]`)},
		"NoURL":            {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"url":"hooks.example.org"}}]`), Want: []string{`services[0].config.url: "hooks.example.org" is no URL: write one with its scheme`}},
		"NameOfPlatforms":  {Spec: of(`"services":[{"type":"webhook","name":"slack","config":{"url":"https://example.org"}}]`), Input: platforms, Want: []string{`services[0].name: "slack" is the name of another service, too, by input.charts.argocd.values.notifications.notifiers.service.slack, and Argo CD would take either`}},
		"SameAsPlatforms":  {Spec: of(`"services":[{"type":"slack","config":{"token":"$t"}}],"secretRef":{"name":"s"}`), Input: platforms},
		"CaseOfField":      {Spec: of(`"templates":[{"name":"a","config":{"pagerduty":{"priorityID":"P1"}}}]`)},
		"HeadersAsMap":     {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"headers":{"X-Team":"web"}}}]`), Want: []string{"services[0].config.headers is of another kind: Argo CD reads a list of objects there, and sends no notification at all if it can't"}},
		"HeadersInUpper":   {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"url":"https://a","Headers":[{"Name":"X-Team","text":"web"}]}}]`), Want: []string{"services[0].config.Headers[0].text: it has no such field: write one of name, value"}},
		"HeaderAsText":     {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"headers":["X-Team: web"]}}]`), Want: []string{"services[0].config.headers is of another kind: Argo CD reads a list of objects there"}},
		"HeadersField":     {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"headers":[{"key":"X-Team","value":"web"}]}}]`), Want: []string{"services[0].config.headers[0].key: it has no such field: write one of name, value"}},
		"BasicAuthAsText":  {Spec: of(`"services":[{"type":"alertmanager","config":{"basicAuth":"u:p"}}]`), Want: []string{"services[0].config.basicAuth is of another kind: Argo CD reads an object there"}},
		"ListInList":       {Spec: of(`"services":[{"type":"alertmanager","config":{"targets":[["a:9093"]]}}]`), Want: []string{"services[0].config.targets is of another kind: Argo CD reads a list of texts there"}},
		"NumberInMap":      {Spec: of(`"templates":[{"name":"a","config":{"alertmanager":{"labels":{"priority":5}}}}]`)},
		"ListInMap":        {Spec: of(`"templates":[{"name":"a","config":{"alertmanager":{"labels":{"priority":["5"]}}}}]`), Want: []string{"templates[0].config.alertmanager.labels is of another kind: Argo CD reads an object with texts there"}},
		"StatusAsText":     {Spec: of(`"templates":[{"name":"a","config":{"github":{"status":"success"}}}]`), Want: []string{"templates[0].config.github.status is of another kind: Argo CD reads an object there"}},
		"NeedsURL":         {Spec: of(`"services":[{"type":"webhook","name":"a","config":{"headers":[]}}]`), Want: []string{"services[0].config has no url, and without it a service of type webhook sends nothing"}},
		"NeedsToken":       {Spec: of(`"services":[{"type":"slack"}]`), Want: []string{"services[0].config has no token, and without it a service of type slack sends nothing"}},
		"LiteralOfTeam":    {Spec: of(`"services":[{"type":"opsgenie","config":{"apiKeys":{"team":"k"}}}]`), Want: []string{"services[0].config.apiKeys.team has a secret that stands in the claim"}},
		"NoSecret":         {Spec: of(`"services":[{"type":"slack","config":{"token":"$slack-token"}}]`), Want: []string{"services[0].config: $slack-token refers to no secret: write spec.notifications.secretRef"}},
		"SecretOfValues":   {Spec: `{"argocd":{"values":{"notifications":{"secret":{"items":{"slack-token":"a"}}}}},"notifications":{"services":[{"type":"slack","config":{"token":"$slack-token"}}]}}`},
		"SecretElsewhere":  {Spec: of(`"secretRef":{"name":"a/b"}`), Want: []string{`spec.notifications.secretRef.name: "a/b"`}},
		"Template":         {Spec: of(`"templates":[{"name":"a","message":"{{.app"}]`), Want: []string{"spec.notifications.templates[0].message: is no template of Go's"}},
		"Function":         {Spec: of(`"templates":[{"name":"a","config":{"email":{"subject":"{{if true}}{{.app.metadata.name | uper}}{{end}}"}}}]`), Want: []string{`templates[0].config.email.subject: templates have no function "uper"`, "did you mean upper?"}},
		"Environment":      {Spec: of(`"templates":[{"name":"a","message":"{{env \"HOME\"}}"}]`), Want: []string{`templates have no function "env"`}},
		"TemplateEmpty":    {Spec: of(`"templates":[{"name":"a"}]`), Want: []string{"spec.notifications.templates[0]: is empty"}},
		"TemplateOf":       {Spec: of(`"templates":[{"name":"a","config":{"mail":{"subject":"a"}}}]`), Want: []string{"templates[0].config.mail: templates have nothing of that name: did you mean email?"}},
		"TemplateField":    {Spec: of(`"templates":[{"name":"a","config":{"email":{"subjct":"a"}}}]`), Want: []string{"templates[0].config.email.subjct: a template for email has no such field: did you mean subject?"}},
		"TemplateKind":     {Spec: of(`"templates":[{"name":"a","config":{"slack":{"attachments":[]}}}]`), Want: []string{"templates[0].config.slack.attachments is of another kind: Argo CD reads text there"}},
		"TemplateHook":     {Spec: of(`"services":[{"type":"webhook","name":"hook"}],"templates":[{"name":"a","config":{"webhook":{"hok":{"body":"a"}}}}]`), Want: []string{`templates[0].config.webhook.hok: there is no service of type webhook named "hok": did you mean hook?`}},
		"Expression":       {Spec: of(trigger("app.status.health ==")), Want: []string{"spec.notifications.triggers[0].conditions[0].when: is no expression"}},
		"Right":            {Spec: of(trigger("time.Now().Sub(time.Parse(app.status.operationState.startedAt)).Minutes() >= 5") + "," + slack + `,"subscriptions":[{"recipients":["slack:a"],"triggers":["t"]}]`)},
		"Send":             {Spec: of(template + `,"triggers":[{"name":"t","conditions":[{"when":"true","send":["app-sync-failed"]}]}]`), Want: []string{`triggers[0].conditions[0].send[0]: there is no template "app-sync-failed": write it into spec.notifications.templates, too`}},
		"SendNear":         {Spec: of(`"templates":[{"name":"sync-failed","message":"a"}],"triggers":[{"name":"t","conditions":[{"when":"true","send":["sync-faild"]}]}]`), Want: []string{`did you mean sync-failed?`}},
		"SendOfValues":     {Spec: `{"argocd":{"values":{"notifications":{"templates":{"template.v":"message: a"}}}},"notifications":{"triggers":[{"name":"t","conditions":[{"when":"true","send":["v"]}]}]}}`},
		"Recipient":        {Spec: of(slack + "," + trigger("true") + `,"subscriptions":[{"recipients":["slak:a"],"triggers":["t"]}]`), Want: []string{`subscriptions[0].recipients[0]: there is no service "slak": did you mean slack?`}},
		"Colons":           {Spec: of(slack + "," + trigger("true") + `,"subscriptions":[{"recipients":["slack:https://a"],"triggers":["t"]}]`), Want: []string{"subscriptions[0].recipients[0]", "second colon"}},
		"Trigger":          {Spec: of(slack + "," + trigger("true") + `,"subscriptions":[{"recipients":["slack:a"],"triggers":["u"]}]`), Want: []string{`subscriptions[0].triggers[0]: there is no trigger "u"`}},
		"NoTrigger":        {Spec: of(slack + "," + trigger("true") + `,"subscriptions":[{"recipients":["slack:a"]}]`), Want: []string{"subscriptions[0].triggers: is missing"}},
		"DefaultTrigger":   {Spec: of(trigger("true") + `,"defaultTriggers":["u"]`), Want: []string{`spec.notifications.defaultTriggers[0]: there is no trigger "u"`}},
		"Selector":         {Spec: of(slack + "," + trigger("true") + `,"subscriptions":[{"recipients":["slack:a"],"triggers":["t"],"selector":"a b"}]`), Want: []string{"subscriptions[0].selector"}},
		"Context":          {Spec: of(`"context":{"argocdUrl":"https://a"}`), Want: []string{"spec.notifications.context.argocdUrl: is always the URL"}},
		"SwitchedOff":      {Spec: `{"argocd":{"values":{"notifications":{"enabled":false}}},"notifications":{"context":{"a":"b"}}}`, Want: []string{"spec.notifications: the notifications controller doesn't run, because of spec.argocd.values.notifications.enabled"}},
		"ValuesHaveIt":     {Spec: `{"argocd":{"values":{"notifications":{"notifiers":{"service.webhook.hook":"url: https://a"}}}},"notifications":{"services":[{"type":"webhook","name":"hook","config":{"url":"https://b"}}]}}`, Want: []string{"spec.argocd.values.notifications.notifiers.service.webhook.hook is set by spec.notifications"}},
		"ValuesHaveItems":  {Spec: `{"argocd":{"values":{"notifications":{"secret":{"items":{"a":"b"}}}}},"notifications":{"secretRef":{"name":"s"}}}`, Want: []string{"spec.argocd.values.notifications.secret.items is set by spec.notifications"}},
		"ValuesHaveSecret": {Spec: `{"argocd":{"values":{"notifications":{"secret":{"name":"mine"}}}},"notifications":{"secretRef":{"name":"s"}}}`, Want: []string{"spec.argocd.values.notifications.secret.name is set by spec.notifications"}},
	})
}

// TestNotificationsStayAccepted: a platform that takes a template away stops no tenant.
func TestNotificationsStayAccepted(t *testing.T) {
	input := `{"apiVersion":"input.virtualargocd.io/v1alpha1","kind":"Input","charts":{"argocd":{"values":{"notifications":{"templates":{"template.ours":"message: a"}}}}}}`
	spec := `{"notifications":{"triggers":[{"name":"t","conditions":[{"when":"true","send":["ours"]}]}]}}`
	e := crossplanetest.New(t, spec, input).Install()
	if msg := crossplanetest.Refusal(e.Response); msg != "" {
		t.Fatal(msg)
	}
	e.Request.Input = nil
	e.Cycle(2)
	if msg := crossplanetest.Refusal(e.Response); msg != "" {
		t.Error(msg)
	}
}
