package notifications

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"text/template/parse"

	"github.com/expr-lang/expr/parser"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/virtual-argocd/virtual-argocd/apis/v1alpha1"
	"github.com/virtual-argocd/virtual-argocd/fn/mistakes"
	"github.com/virtual-argocd/virtual-argocd/fn/part"
	"github.com/virtual-argocd/virtual-argocd/fn/values"
	"github.com/virtual-argocd/virtual-argocd/fn/values/known"
	"github.com/virtual-argocd/virtual-argocd/internal/pages"
)

// Argo CD reads all of its notifications at once: with one template or trigger that it can't read, it sends none. So whatever it would refuse
// is refused here.

// maxExpression is the length of an expression, as in the schema.
const maxExpression = 4096

var (
	// name of a template or a trigger, and of a service, which can't have dots.
	name        = regexp.MustCompile(`^[a-zA-Z0-9]([-_.a-zA-Z0-9]*[a-zA-Z0-9])?$`)
	serviceName = regexp.MustCompile(`^[a-zA-Z0-9]([-_a-zA-Z0-9]*[a-zA-Z0-9])?$`)
	// reference is how the engine finds the keys of argocd-notifications-secret in the texts of a service.
	reference = regexp.MustCompile(`[$][\w-]+`)
)

// names of what notifications refer to: those of the claim, and of chart values, whoever has written them.
type names struct {
	services, templates, triggers []string
	// keys of chart values that have services, by the names of these.
	keys map[string]string
	// webhooks are the names of services of type webhook.
	webhooks []string
	// secrets are keys of argocd-notifications-secret that chart values set. others reports whether it may have more, which nobody knows of.
	secrets []string
	others  bool
}

func namesOf(c part.Candidate, spec v1alpha1.NotificationsSpec) names {
	n := names{keys: map[string]string{}}
	of := values.At[values.Values](c.ArgoCD.Merged(), "notifications")
	for key := range values.At[values.Values](of, "notifiers") {
		if parts := strings.Split(key, "."); parts[0] == "service" && len(parts) > 1 {
			n.services, n.keys[parts[len(parts)-1]] = append(n.services, parts[len(parts)-1]), key
			if parts[1] == "webhook" {
				n.webhooks = append(n.webhooks, parts[len(parts)-1])
			}
		}
	}
	add := func(to *[]string, at, prefix string) {
		for key := range values.At[values.Values](of, at) {
			if is, ok := strings.CutPrefix(key, prefix); ok {
				*to = append(*to, is)
			}
		}
	}
	add(&n.templates, "templates", "template.")
	add(&n.triggers, "triggers", "trigger.")
	for _, s := range spec.Services {
		n.services = append(n.services, nameOf(s))
		if s.Type == "webhook" {
			n.webhooks = append(n.webhooks, nameOf(s))
		}
	}
	for _, t := range spec.Templates {
		n.templates = append(n.templates, t.Name)
	}
	for _, t := range spec.Triggers {
		n.triggers = append(n.triggers, t.Name)
	}
	n.secrets = slices.Collect(maps.Keys(values.At[values.Values](of, "secret", "items")))
	n.others = !values.Enabled(of, true, "secret", "create") || c.Unassigned
	for _, list := range []*[]string{&n.services, &n.templates, &n.triggers, &n.webhooks, &n.secrets} {
		slices.Sort(*list)
	}
	return n
}

// nameOf returns the name of a service.
func nameOf(s v1alpha1.NotificationServiceSpec) string {
	if s.Name == "" {
		return s.Type
	}
	return s.Name
}

// keyOf returns the key of argocd-notifications-cm that has a service.
func keyOf(s v1alpha1.NotificationServiceSpec) string {
	key := "service." + s.Type
	if called := nameOf(s); called != s.Type {
		key += "." + called
	}
	return key
}

// missing returns an error about a name that isn't among those there are.
func missing(at, what, is string, all []string, otherwise string) error {
	if slices.Contains(all, is) {
		return nil
	}
	return fmt.Errorf("%s: there is no %s %.80q: %s", at, what, is, known.Instead(is, all, otherwise))
}

// check returns all mistakes in the notifications of a claim.
func check(c part.Candidate, spec v1alpha1.NotificationsSpec) error {
	n := namesOf(c, spec)
	var found []error
	found = append(found, checkServices(c, spec, n), checkTemplates(spec, n), checkTriggers(c, spec, n))
	for i, trigger := range spec.DefaultTriggers {
		found = append(found, missingTrigger(c, fmt.Sprintf("%s.defaultTriggers[%d]", field, i), trigger, n))
	}
	return mistakes.Join(append(found, checkSubscriptions(c, spec, n), checkContext(spec))...)
}

func missingTrigger(c part.Candidate, at, trigger string, n names) error {
	if c.Unassigned {
		return nil
	}
	return missing(at, "trigger", trigger, n.triggers, "write it into "+field+".triggers, too")
}

func checkServices(c part.Candidate, spec v1alpha1.NotificationsSpec, n names) error {
	var found []error
	seen := map[string]bool{}
	for i, s := range spec.Services {
		at := fmt.Sprintf("%s.services[%d]", field, i)
		of, is := services[s.Type]
		switch why := c.Ignored(of.since); {
		case !is:
			found = append(found, fmt.Errorf("%s.type: %.80q is unknown to Argo CD: %s", at, s.Type, known.Instead(s.Type, Types(), "write one of "+strings.Join(Types(), ", "))))
		case why != "":
			found = append(found, fmt.Errorf("%s.type: %s, so that it would send no notification at all: write another, or a later version into spec.argocd.chartVersion", at, why))
		}
		called := nameOf(s)
		switch other := n.keys[called]; {
		case !serviceName.MatchString(called) && is:
			found = append(found, fmt.Errorf("%s.name: %.80q is not the name of a service: write letters, digits, dashes and underscores, such as deploy-hook", at, called))
		case seen[called]:
			found = append(found, fmt.Errorf("%s.name: %q is the name of another service, too: write another", at, called))
		case other != "" && other != keyOf(s):
			// Where the keys are the same, that of the claim counts.
			found = append(found, fmt.Errorf("%s.name: %q is the name of another service, too, by %s, and Argo CD would take either: write another", at, called, c.ArgoCD.Field("notifications", "notifiers", other)))
		}
		seen[called] = true
		config, err := decode(s.Config)
		if err != nil {
			found = append(found, fmt.Errorf("%s.config: is no object: write the service's configuration", at))
			continue
		}
		if is {
			found = append(found, checkFields(at+".config", "a service of type "+s.Type, config, of.config))
			for _, need := range of.needs {
				if !slices.ContainsFunc(slices.Collect(maps.Keys(config)), func(key string) bool { return strings.EqualFold(key, need) && config[key] != "" && config[key] != nil }) {
					found = append(found, fmt.Errorf("%s.config has no %s, and without it a service of type %s sends nothing: write it, or $<key> of the Secret of %s.secretRef", at, need, s.Type, field))
				}
			}
		}
		found = append(found, checkSecrets(at+".config", config), checkReferences(at+".config", config, spec, n))
	}
	return mistakes.Join(found...)
}

// checkFields refuses fields that aren't known, and values of another kind.
func checkFields(at, of string, is map[string]any, fields map[string]string) error {
	var found []error
	for _, key := range slices.Sorted(maps.Keys(is)) {
		name := key
		for other := range fields {
			// Argo CD reads names of fields as Go's JSON does.
			if _, exact := fields[key]; !exact && strings.EqualFold(other, key) {
				name = other
			}
		}
		kind, ok := fields[name]
		text, _ := is[key].(string)
		switch wrong := wrongKind(kind, is[key]); {
		case !ok:
			found = append(found, noSuchField(at, key, of, fields))
		case wrong != "":
			// A colon after its name would have the next word taken for a token or a password, and redacted.
			found = append(found, fmt.Errorf("%s.%s is of another kind: %s", at, key, wrong))
		case kind == anObject || kind == objects:
			found = append(found, checkInside(at+"."+key, is[key], inside[name]))
		case kind == aURL && text != "" && !reference.MatchString(text) && !isURL(text):
			found = append(found, fmt.Errorf("%s.%s: %.80q is no URL: write one with its scheme, such as https://hooks.example.org, or $<key> of the Secret", at, key, text))
		}
	}
	return mistakes.Join(found...)
}

func noSuchField(at, key, of string, fields map[string]string) error {
	all := slices.Sorted(maps.Keys(fields))
	instead := "it has no fields, leave it out"
	if len(all) > 0 {
		instead = "write one of " + strings.Join(all, ", ")
	}
	return fmt.Errorf("%s.%s: %s has no such field: %s", at, key, of, known.Instead(key, all, instead))
}

// checkInside checks the fields of an object, or of each object in a list, if they are known.
func checkInside(at string, v any, fields map[string]string) error {
	if fields == nil {
		return nil
	}
	if of, isMap := v.(map[string]any); isMap {
		return checkFields(at, "it", of, fields)
	}
	list, _ := v.([]any)
	var found []error
	for i, item := range list {
		of, _ := item.(map[string]any)
		found = append(found, checkFields(fmt.Sprintf("%s[%d]", at, i), "it", of, fields))
	}
	return mistakes.Join(found...)
}

// secrets are the fields of services that hold secrets, in lower case. In a map, each value is one: the URLs of chats let whoever knows them write there.
var secrets = []string{"token", "password", "apikey", "apikeys", "privatekey", "signingsecret", "servicekeys", "nkey", "bearertoken", "secret", "recipienturls", "webhooks"}

var (
	// secretWord is in what headers and parameters of URLs are called that hold secrets.
	secretWord = regexp.MustCompile(`(?i)auth|cookie|credential|key|passw|secret|sig$|token`)
	// secretURL are addresses of services in which the path is the secret: who knows it can write there.
	secretURL = regexp.MustCompile(`^https://(hooks\.slack\.com/|([a-z]+\.)?discord(app)?\.com/api/webhooks/|([^/]+\.)?webhook\.office\.com/|chat\.googleapis\.com/|[^/]+\.logic\.azure\.com[:/])`)
)

// checkSecrets refuses secrets that stand in the claim.
func checkSecrets(at string, v any) error {
	var found []error
	refuse := func(at string) {
		// A colon would have the next word taken for the password, and redacted.
		found = append(found, fmt.Errorf("%s has a secret that stands in the claim: write it into the Secret of %s.secretRef, and $<key> here", at, field))
	}
	literal := func(v any) bool {
		s, ok := v.(string)
		return ok && s != "" && !reference.MatchString(s) || v != nil && !ok
	}
	// allOf refuses the values of a map.
	allOf := func(at string, of map[string]any, is func(key string) bool) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			if is(key) && literal(of[key]) {
				refuse(at + "." + key)
			}
		}
	}
	switch v := v.(type) {
	case string:
		if hasSecret(v) {
			refuse(at)
		}
	case []any:
		for i, item := range v {
			at := fmt.Sprintf("%s[%d]", at, i)
			if header, ok := item.(map[string]any); ok && secretWord.MatchString(fmt.Sprint(header["name"])) && literal(header["value"]) {
				refuse(at + ".value")
				continue
			}
			found = append(found, checkSecrets(at, item))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below, isMap := v[key].(map[string]any)
			switch secret := slices.Contains(secrets, strings.ToLower(key)); {
			case secret && isMap:
				allOf(at+"."+key, below, func(string) bool { return true })
			case isMap && strings.EqualFold(key, "headers"):
				allOf(at+"."+key, below, secretWord.MatchString)
			case secret && literal(v[key]):
				refuse(at + "." + key)
			default:
				found = append(found, checkSecrets(at+"."+key, v[key]))
			}
		}
	}
	return mistakes.Join(found...)
}

// hasSecret reports whether a text is a URL with a password, a parameter with a secret, or a path that is one.
func hasSecret(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || reference.MatchString(text) {
		return false
	}
	if _, has := u.User.Password(); has {
		return true
	}
	for name, is := range u.Query() {
		if secretWord.MatchString(name) && strings.Join(is, "") != "" {
			return true
		}
	}
	return secretURL.MatchString(text)
}

// isURL reports whether a text is a URL of a server.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme != "" && u.Host != ""
}

// checkReferences refuses references to secrets where there are none. Those to keys of the Secret are looked at when that is read.
func checkReferences(at string, config map[string]any, spec v1alpha1.NotificationsSpec, n names) error {
	if spec.SecretRef != nil || n.others {
		return nil
	}
	var found []error
	for _, key := range referencesIn(config) {
		if !slices.Contains(n.secrets, key) {
			found = append(found, fmt.Errorf("%s: $%s refers to no secret: write %s.secretRef, with a Secret that has the key %[2]s", at, key, field))
		}
	}
	return mistakes.Join(found...)
}

// referencesIn returns the keys that the texts of a configuration refer to, sorted.
func referencesIn(v any) []string {
	var out []string
	each(v, "", func(_, text string) {
		for _, is := range reference.FindAllString(text, -1) {
			out = append(out, is[1:])
		}
	})
	slices.Sort(out)
	return slices.Compact(out)
}

// each calls a function for all texts below a value, with their places.
func each(v any, at string, do func(at, text string)) {
	switch v := v.(type) {
	case string:
		do(at, v)
	case []any:
		for i, item := range v {
			each(item, fmt.Sprintf("%s[%d]", at, i), do)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			each(v[key], at+"."+key, do)
		}
	}
}

func checkTemplates(spec v1alpha1.NotificationsSpec, n names) error {
	var found []error
	seen := map[string]bool{}
	for i, t := range spec.Templates {
		at := fmt.Sprintf("%s.templates[%d]", field, i)
		found = append(found, checkName(at, t.Name, seen))
		config, err := decode(t.Config)
		if err != nil {
			found = append(found, fmt.Errorf("%s.config: is no object: write what services get, by their type, such as {email: {subject: ...}}", at))
			continue
		}
		if t.Message == "" && len(config) == 0 {
			found = append(found, fmt.Errorf("%s: is empty: write message, or config for the services that need more", at))
		}
		found = append(found, checkTemplate(at+".message", t.Message))
		for _, typ := range slices.Sorted(maps.Keys(config)) {
			found = append(found, checkPart(at+".config", typ, config[typ], n))
		}
		each(config, at+".config", func(at, text string) { found = append(found, checkTemplate(at, text)) })
	}
	return mistakes.Join(found...)
}

// checkPart checks what a template has for one type of services.
func checkPart(at, typ string, v any, n names) error {
	if typ == "message" {
		return fmt.Errorf("%s.message: write it beside config, not in it", at)
	}
	of, is := services[typ]
	if !is || of.template == nil {
		var all []string
		for _, typ := range Types() {
			if services[typ].template != nil {
				all = append(all, typ)
			}
		}
		return fmt.Errorf("%s.%s: templates have nothing of that name: %s", at, typ, known.Instead(typ, all, "write one of "+strings.Join(all, ", ")+"; the other services get the message"))
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s.%s: is no object: write one, as in Argo CD's documentation", at, typ)
	}
	if typ != "webhook" {
		return checkFields(at+"."+typ, "a template for "+typ, fields, of.template)
	}
	var found []error
	for _, called := range slices.Sorted(maps.Keys(fields)) {
		at := at + ".webhook." + called
		found = append(found, missing(at, "service of type webhook named", called, n.webhooks, "write it into "+field+".services, too"))
		below, ok := fields[called].(map[string]any)
		if !ok {
			found = append(found, fmt.Errorf("%s: is no object: write one such as {method: POST, body: ...}", at))
			continue
		}
		found = append(found, checkFields(at, "a template for webhook", below, ofWebhook))
	}
	return mistakes.Join(found...)
}

func checkName(at, is string, seen map[string]bool) error {
	defer func() { seen[is] = true }()
	switch {
	case !name.MatchString(is):
		return fmt.Errorf("%s.name: %.80q is not a name: write letters, digits, dashes, underscores and dots, such as app-sync-failed", at, is)
	case seen[is]:
		return fmt.Errorf("%s.name: %q is the name of another entry, too: write another", at, is)
	}
	return nil
}

// checkTemplate refuses what isn't a template of Go's, and functions that Argo CD doesn't have. Nothing is executed.
func checkTemplate(at, text string) error {
	if !strings.Contains(text, "{{") {
		return nil
	}
	t := parse.New("template")
	t.Mode = parse.SkipFuncCheck
	if _, err := t.Parse(text, "", "", map[string]*parse.Tree{}); err != nil {
		return fmt.Errorf("%s: is no template of Go's, and Argo CD would send no notification at all: %s: correct it", at, strings.TrimPrefix(err.Error(), "template: "))
	}
	var found []error
	for _, function := range calledIn(t.Root) {
		if all := Functions(); !slices.Contains(all, function) {
			found = append(found, fmt.Errorf("%s: templates have no function %.40q, and Argo CD would send no notification at all: %s", at, function, known.Instead(function, all, "see "+pages.Functions+" for those there are")))
		}
	}
	return mistakes.Join(found...)
}

// calledIn returns the names of the functions that a template calls, sorted.
func calledIn(root parse.Node) []string {
	var out []string
	var walk func(n parse.Node)
	ofList := func(l *parse.ListNode) {
		if l != nil {
			for _, n := range l.Nodes {
				walk(n)
			}
		}
	}
	ofPipe := func(p *parse.PipeNode) {
		if p != nil {
			for _, c := range p.Cmds {
				walk(c)
			}
		}
	}
	ofBranch := func(b *parse.BranchNode) {
		ofPipe(b.Pipe)
		ofList(b.List)
		ofList(b.ElseList)
	}
	walk = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			ofList(n)
		case *parse.ActionNode:
			ofPipe(n.Pipe)
		case *parse.PipeNode:
			ofPipe(n)
		case *parse.CommandNode:
			for _, arg := range n.Args {
				walk(arg)
			}
		case *parse.ChainNode:
			walk(n.Node)
		case *parse.IfNode:
			ofBranch(&n.BranchNode)
		case *parse.RangeNode:
			ofBranch(&n.BranchNode)
		case *parse.WithNode:
			ofBranch(&n.BranchNode)
		case *parse.TemplateNode:
			ofPipe(n.Pipe)
		case *parse.IdentifierNode:
			out = append(out, n.Ident)
		}
	}
	walk(root)
	slices.Sort(out)
	return slices.Compact(out)
}

func checkTriggers(c part.Candidate, spec v1alpha1.NotificationsSpec, n names) error {
	var found []error
	seen := map[string]bool{}
	for i, t := range spec.Triggers {
		at := fmt.Sprintf("%s.triggers[%d]", field, i)
		found = append(found, checkName(at, t.Name, seen))
		if len(t.Conditions) == 0 {
			found = append(found, fmt.Errorf("%s.conditions: is missing: write one such as {when: app.status.health.status == 'Degraded', send: [app-degraded]}", at))
		}
		for j, of := range t.Conditions {
			at := fmt.Sprintf("%s.conditions[%d]", at, j)
			if strings.TrimSpace(of.When) == "" {
				found = append(found, fmt.Errorf("%s.when: is missing: write an expression such as app.status.health.status == 'Degraded'", at))
			}
			if len(of.Send) == 0 {
				found = append(found, fmt.Errorf("%s.send: is missing: write the names of templates", at))
			}
			found = append(found, checkExpression(at+".when", of.When), checkExpression(at+".oncePer", of.OncePer))
			for k, template := range of.Send {
				if !c.Unassigned {
					found = append(found, missing(fmt.Sprintf("%s.send[%d]", at, k), "template", template, n.templates, "write it into "+field+".templates, too"))
				}
			}
		}
	}
	return mistakes.Join(found...)
}

// checkExpression refuses what isn't an expression. It is only parsed: to compile it can take as much memory as it says.
func checkExpression(at, text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if len(text) > maxExpression {
		return fmt.Errorf("%s: has %d bytes: write %d at most", at, len(text), maxExpression)
	}
	if _, err := parser.Parse(text); err != nil {
		why, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("%s: is no expression, and Argo CD would send no notification at all: %s: see %s", at, why, pages.Expressions)
	}
	return nil
}

func checkSubscriptions(c part.Candidate, spec v1alpha1.NotificationsSpec, n names) error {
	var found []error
	for i, s := range spec.Subscriptions {
		at := fmt.Sprintf("%s.subscriptions[%d]", field, i)
		if len(s.Recipients) == 0 {
			found = append(found, fmt.Errorf("%s.recipients: is missing: write recipients such as slack:deployments", at))
		}
		for j, recipient := range s.Recipients {
			at := fmt.Sprintf("%s.recipients[%d]", at, j)
			service, to, _ := strings.Cut(recipient, ":")
			if !c.Unassigned {
				found = append(found, missing(at, "service", service, n.services, "write it into "+field+".services, too, and recipients as <service>:<recipient>"))
			}
			if strings.Contains(to, ":") {
				found = append(found, fmt.Errorf("%s: %.80q has a second colon, and Argo CD takes only what is before it: write a name for the recipient into the service's configuration", at, recipient))
			}
		}
		for j, trigger := range s.Triggers {
			found = append(found, missingTrigger(c, fmt.Sprintf("%s.triggers[%d]", at, j), trigger, n))
		}
		if len(s.Triggers)+len(spec.DefaultTriggers) == 0 && !c.Unassigned && !hasDefaults(c) {
			found = append(found, fmt.Errorf("%s.triggers: is missing, and there are no default triggers either, so that nobody would be notified: write names of triggers here, or into %s.defaultTriggers", at, field))
		}
		if _, err := labels.Parse(s.Selector); err != nil {
			found = append(found, fmt.Errorf("%s.selector: %.80q is no selector of labels: write one such as team=web", at, s.Selector))
		}
	}
	return mistakes.Join(found...)
}

// hasDefaults reports whether chart values have default triggers.
func hasDefaults(c part.Candidate) bool {
	_, has := values.Lookup(c.ArgoCD.Merged(), "notifications", "triggers", defaultTriggers)
	return has
}

func checkContext(spec v1alpha1.NotificationsSpec) error {
	if _, has := spec.Context[argocdURL]; has {
		return fmt.Errorf("%s.context.%s: is always the URL of the tenant's Argo CD: leave it out, or write another key", field, argocdURL)
	}
	return nil
}

// decode returns an object, with numbers as they are written.
func decode(raw *runtime.RawExtension) (map[string]any, error) {
	object := map[string]any{}
	if raw == nil || len(raw.Raw) == 0 {
		return object, nil
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw.Raw)))
	decoder.UseNumber()
	if err := decoder.Decode(&object); err != nil {
		return nil, err
	}
	if object == nil {
		return nil, errors.New("null")
	}
	return object, nil
}
