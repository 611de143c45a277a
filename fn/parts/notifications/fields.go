package notifications

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What a field holds.
const (
	aText   = "text"
	aNumber = "number"
	aBool   = "bool"
	texts   = "texts"
	// aMap has texts, by any names.
	aMap = "map"
	// anObject and objects have fields of their own: see inside.
	anObject = "object"
	objects  = "objects"
	aURL     = "URL"
	// anything isn't looked at.
	anything = "anything"
)

// A service is what Argo CD's notifications engine knows of a type of services: pkg/services of github.com/argoproj/notifications-engine, as
// Argo CD 3.6 has it. It leaves out fields that it doesn't know, without a word, and sends nothing at all where a field is of another kind.
type service struct {
	// config are the fields of its configuration, and template those of templates, by name.
	config, template map[string]string
	// needs are the fields without which it can send nothing.
	needs []string
	// since is the first version of Argo CD that knows the type, such as 3.4; "" for all that are supported.
	since string
}

// transport are fields that services with HTTP have.
var transport = map[string]string{"insecureSkipVerify": aBool, "maxIdleConns": aNumber, "maxIdleConnsPerHost": aNumber, "maxConnsPerHost": aNumber, "idleConnTimeout": aText}

func overHTTP(fields map[string]string) map[string]string {
	maps.Copy(fields, transport)
	return fields
}

// teams are the fields of templates for Microsoft Teams.
func teams() map[string]string {
	return map[string]string{"template": aText, "title": aText, "summary": aText, "text": aText, "themeColor": aText, "facts": aText, "sections": aText, "potentialAction": aText}
}

var services = map[string]service{
	"alertmanager": {
		config:   overHTTP(map[string]string{"targets": texts, "scheme": aText, "apiPath": aText, "basicAuth": anObject, "bearerToken": aText, "timeout": aNumber}),
		template: map[string]string{"labels": aMap, "annotations": aMap, "generatorURL": aText, "startsAt": aText},
	},
	"awssqs": {
		config:   map[string]string{"queue": aText, "account": aText, "region": aText, "endpointUrl": aURL, "key": aText, "secret": aText},
		template: map[string]string{"messageAttributes": aMap, "messageGroupId": aText},
	},
	"email": {
		needs:    []string{"host"},
		config:   map[string]string{"host": aText, "port": aNumber, "insecure_skip_verify": aBool, "username": aText, "password": aText, "from": aText, "html": aBool},
		template: map[string]string{"subject": aText, "body": aText},
	},
	"gcppubsub": {
		config:   map[string]string{"topic": aText, "project": aText, "keyFile": aText},
		template: map[string]string{"attributes": aMap}, since: "3.5",
	},
	"github": {
		needs:  []string{"appID", "installationID", "privateKey"},
		config: overHTTP(map[string]string{"appID": anything, "installationID": anything, "privateKey": aText, "enterpriseBaseURL": aURL}),
		template: map[string]string{"status": anObject, "deployment": anObject, "pullRequestComment": anObject, "repoURLPath": aText, "revisionPath": aText,
			"checkRun": anObject, "repositoryDispatch": anObject},
	},
	"googlechat": {
		needs:    []string{"webhooks"},
		config:   overHTTP(map[string]string{"webhooks": aMap}),
		template: map[string]string{"cards": aText, "cardsV2": aText, "threadKey": aText},
	},
	"grafana":    {needs: []string{"apiUrl", "apiKey"}, config: overHTTP(map[string]string{"apiUrl": aURL, "apiKey": aText})},
	"mattermost": {needs: []string{"apiURL", "token"}, config: overHTTP(map[string]string{"apiURL": aURL, "token": aText}), template: map[string]string{"attachments": aText}},
	"nats":       {needs: []string{"url"}, config: map[string]string{"url": aURL, "headers": aMap, "nkey": aText, "username": aText, "password": aText}, since: "3.4"},
	"newrelic": {
		needs:    []string{"apiKey"},
		config:   overHTTP(map[string]string{"apiKey": aText, "apiURL": aURL}),
		template: map[string]string{"revision": aText, "changelog": aText, "description": aText, "user": aText},
	},
	"opsgenie": {
		needs:  []string{"apiKeys"},
		config: overHTTP(map[string]string{"apiUrl": aURL, "apiKeys": aMap}),
		template: map[string]string{"description": aText, "priority": aText, "alias": aText, "note": aText, "actions": texts, "tags": texts, "details": aMap,
			"entity": aText, "visibleTo": objects, "user": aText},
	},
	"pagerduty": {
		needs:    []string{"token"},
		config:   map[string]string{"token": aText, "from": aText, "serviceId": aText},
		template: map[string]string{"title": aText, "body": aText, "urgency": aText, "priorityId": aText},
	},
	"pagerdutyv2": {
		needs:  []string{"serviceKeys"},
		config: map[string]string{"serviceKeys": aMap},
		template: map[string]string{"summary": aText, "severity": aText, "source": aText, "component": aText, "group": aText, "class": aText, "url": aText,
			"dedupKey": aText},
	},
	"pushover": {needs: []string{"token"}, config: map[string]string{"token": aText}},
	"rocketchat": {
		config:   map[string]string{"alias": aText, "email": aText, "password": aText, "icon": aText, "avatar": aText, "serverUrl": aURL},
		template: map[string]string{"attachments": aText},
	},
	"slack": {
		needs: []string{"token"},
		config: overHTTP(map[string]string{"username": aText, "icon": aText, "token": aText, "signingSecret": aText, "channels": texts, "apiURL": aURL,
			"disableUnfurl": aBool}),
		template: map[string]string{"username": aText, "icon": aText, "attachments": aText, "blocks": aText, "groupingKey": aText, "notifyBroadcast": aBool,
			"deliveryPolicy": aText},
	},
	"teams":           {needs: []string{"recipientUrls"}, config: overHTTP(map[string]string{"recipientUrls": aMap}), template: teams()},
	"teams-workflows": {needs: []string{"recipientUrls"}, config: overHTTP(map[string]string{"recipientUrls": aMap}), template: func() map[string]string { t := teams(); t["adaptiveCard"] = aText; return t }()},
	"telegram":        {needs: []string{"token"}, config: map[string]string{"token": aText}},
	"webex":           {needs: []string{"token"}, config: overHTTP(map[string]string{"token": aText, "apiURL": aURL})},
	"webhook": {
		needs:    []string{"url"},
		config:   overHTTP(map[string]string{"url": aURL, "headers": objects, "basicAuth": anObject, "retryWaitMin": aNumber, "retryWaitMax": aNumber, "retryMax": aNumber}),
		template: ofWebhook,
	},
}

// inside are the fields of objects in the configuration of services, by the names of these.
var inside = map[string]map[string]string{
	"basicAuth": {"username": aText, "password": aText},
	"headers":   {"name": aText, "value": aText},
}

// ofWebhook are the fields of what a template has for one service of type webhook.
var ofWebhook = map[string]string{"method": aText, "body": aText, "path": aText}

// Types returns the types of services that are known, sorted.
func Types() []string { return slices.Sorted(maps.Keys(services)) }

//go:embed functions.txt
var listed string

// Functions returns the names of functions that templates may call, sorted: those of Go's own templates, and of sprig 3.3 without those that
// Argo CD takes away.
func Functions() []string { return strings.Fields(listed) }

// wrongKind returns what is wrong with a value that isn't of a kind; "" for nothing.
func wrongKind(kind string, v any) string {
	is, instead := true, ""
	switch kind {
	case aText, aURL:
		switch v.(type) {
		case map[string]any, []any:
			is, instead = false, "text"
		}
	case aNumber:
		_, is = v.(interface{ Float64() (float64, error) })
		instead = "a number"
	case aBool:
		_, is = v.(bool)
		instead = "true or false"
	case texts:
		var list []any
		list, is = v.([]any)
		is = is && !slices.ContainsFunc(list, isNested)
		instead = "a list of texts"
	case objects:
		var list []any
		list, is = v.([]any)
		is = is && !slices.ContainsFunc(list, func(item any) bool { _, isMap := item.(map[string]any); return !isMap })
		instead = "a list of objects"
	case aMap:
		var of map[string]any
		of, is = v.(map[string]any)
		is = is && !slices.ContainsFunc(slices.Collect(maps.Values(of)), isNested)
		instead = "an object with texts"
	case anObject:
		_, is = v.(map[string]any)
		instead = "an object"
	}
	if is || v == nil {
		return ""
	}
	return fmt.Sprintf("Argo CD reads %s there, and sends no notification at all if it can't: write %[1]s", instead)
}

// isNested reports whether a value is no single one.
func isNested(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}
