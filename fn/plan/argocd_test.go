package plan

import (
	"strings"
	"testing"
)

// TestTemplates: provider-helm renders nothing of a claim's own.
func TestTemplates(t *testing.T) {
	const template = `{{ repeat 1099511627776 "a" }}`
	cases := map[string]struct {
		path string
		to   any
		free bool
	}{
		"Object":              {"extraObjects", []any{Values{"kind": "ConfigMap", "data": Values{"a": template}}}, false},
		"ObjectAsText":        {"extraObjects", []any{template}, false},
		"Key":                 {"extraObjects", []any{Values{template: "a"}}, false},
		"KeyOfTheChart":       {"server.podAnnotations." + template, "a", false},
		"Container":           {"server.extraContainers", []any{Values{"name": "a", "args": []any{template}}}, false},
		"SubchartsTemplate":   {"redis-ha.haproxy.customConfig", template, false},
		"NotificationsInits":  {"notifications.initContainers", []any{template}, false},
		"MessageOfArgoCD":     {"notifications.templates.app", "{{ .app.metadata.name }}", true},
		"SettingOfArgoCD":     {"configs.cm.help", "{{ x }}", true},
		"OneBrace":            {"server.podAnnotations.a", "{ {x} }", true},
		"LookalikeOfSettings": {"configsx.cm", template, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			v := Values{}
			path := strings.SplitN(tc.path, ".", 3)
			set(v, path, tc.to)
			err := checkTemplates("f", v)
			if (err == nil) != tc.free {
				t.Fatalf("want possible: %v, got %v", tc.free, err)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "f."+path[0]) {
				t.Errorf("the error doesn't begin with the path: %v", err)
			}
		})
	}
}
